package provider

import (
	"testing"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/plancheck"

	"github.com/aztenancy/terraform-provider-aztenancy/internal/acctest"
	"github.com/aztenancy/terraform-provider-aztenancy/internal/tenancy"
)

// The whole path once on Azurite, which shares no code with this repository.
func TestTenantMovesOnAzurite(t *testing.T) {
	useTerraform(t)
	w := worldOn(t, acctest.StartAzurite(t, acctest.WithAccounts(homeAccount, premiumAccount)))
	expiry := policy("readers", `
  permissions = ["read"]
  start       = "2026-01-01T00:00:00Z" # Azurite takes no policy without a start
  expiry      = "2030-06-30T00:00:00Z"`)
	w.run(
		resource.TestStep{Config: orders + contoso(as("pool")) + expiry, Check: does(func() { w.fill("contoso", 120) })},
		resource.TestStep{
			Config:           orders + contoso(as("own_account")+`account = "premium"`) + expiry,
			ConfigPlanChecks: plans(plancheck.ResourceActionUpdate),
			Check: resource.ComposeAggregateTestCheckFunc(w.isAt("contoso", "own-account", tenancy.Active), w.hasPolicies("readers"), does(func() {
				if n := w.entities("premium", "Orderscontoso"); n != 120 {
					t.Errorf("%d entities at the new place, want 120", n)
				}
			})),
		},
		resource.TestStep{
			ResourceName: contosoAddress, ImportState: true, ImportStateVerify: true,
			ImportStateVerifyIgnore: []string{"deletion_protection", "destroy_policy"},
		},
	)
}
