package provider

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/plancheck"
	tfstate "github.com/hashicorp/terraform-plugin-testing/terraform"

	"github.com/aztenancy/terraform-provider-aztenancy/internal/catalog"
	"github.com/aztenancy/terraform-provider-aztenancy/internal/tenancy"
)

const contosoAddress = "aztenancy_tenant.contoso"

// tenantNamed is another tenant.
func tenantNamed(id, attributes string) string {
	return fmt.Sprintf(`
resource "aztenancy_tenant" %[1]q {
  tenant_id           = %[1]q
  deletion_protection = false
  destroy_policy      = "delete"
  %[2]s
}
`, id, attributes)
}

func plans(action plancheck.ResourceActionType) resource.ConfigPlanChecks {
	return resource.ConfigPlanChecks{PreApply: []plancheck.PlanCheck{plancheck.ExpectResourceAction(contosoAddress, action)}}
}

func TestTenantIsPlacedLabelledImportedAndDeleted(t *testing.T) {
	w := newWorld(t)
	data := `
data "aztenancy_tenant" "contoso" {
  tenant_id  = "contoso"
  depends_on = [aztenancy_tenant.contoso]
}
`
	w.run(
		resource.TestStep{
			Config: orders + contoso(as("pool")+`labels = { tier = "trial" }`) + data,
			Check: resource.ComposeAggregateTestCheckFunc(
				w.isAt("contoso", "pool", tenancy.Active),
				resource.TestCheckResourceAttr(contosoAddress, "id", "contoso"),
				resource.TestCheckResourceAttr(contosoAddress, "state", "active"),
				resource.TestCheckResourceAttr(contosoAddress, "tables.orders.account", "home"),
				resource.TestCheckResourceAttr(contosoAddress, "tables.orders.table", "Orders"),
				resource.TestCheckResourceAttr(contosoAddress, "tables.orders.url", w.server.TableEndpoint(homeAccount)+"/Orders"),
				resource.TestCheckResourceAttr(contosoAddress, "tables.orders.partition_key_start", "Contoso|00"),
				resource.TestCheckResourceAttr(contosoAddress, "tables.orders.partition_key_end", "Contoso|03"),
				resource.TestCheckResourceAttrPair("data."+contosoAddress, "tables.orders.url", contosoAddress, "tables.orders.url"),
				resource.TestCheckResourceAttrPair("data."+contosoAddress, "epoch", contosoAddress, "epoch"),
				resource.TestCheckResourceAttr("data."+contosoAddress, "key", "Contoso"),
				resource.TestCheckResourceAttr("data."+contosoAddress, "labels.tier", "trial"),
			),
		},
		resource.TestStep{
			ResourceName: contosoAddress, ImportState: true, ImportStateVerify: true,
			ImportStateVerifyIgnore: []string{"deletion_protection", "destroy_policy"},
		},
		resource.TestStep{ // labels change nothing else
			Config: orders + contoso(as("pool")+`labels = { tier = "gold", region = "eu" }`) + data,
			ConfigPlanChecks: resource.ConfigPlanChecks{PreApply: []plancheck.PlanCheck{
				plancheck.ExpectResourceAction(contosoAddress, plancheck.ResourceActionUpdate),
				knownAfterPlan{contosoAddress, []string{"state", "epoch", "tables"}},
			}},
			Check: does(func() {
				if rec := w.tenant("contoso"); rec.Labels["tier"] != "gold" || rec.Labels["region"] != "eu" {
					t.Errorf("the catalog has %v", rec.Labels)
				}
			}),
		},
		resource.TestStep{Config: orders + contoso(as("pool")), Check: does(func() {
			if rec := w.tenant("contoso"); len(rec.Labels) > 0 {
				t.Errorf("the catalog has %v", rec.Labels)
			}
		})},
	)
	if all, err := w.catalog.Tenants(context.Background()); err != nil || len(all) > 0 {
		t.Errorf("after the destroy there are %v, %v", all, err)
	}
}

// knownAfterPlan checks that a plan leaves attributes known.
type knownAfterPlan struct {
	address string
	names   []string
}

func (k knownAfterPlan) CheckPlan(_ context.Context, req plancheck.CheckPlanRequest, resp *plancheck.CheckPlanResponse) {
	for _, c := range req.Plan.ResourceChanges {
		if c.Address != k.address {
			continue
		}
		after, ok := c.Change.AfterUnknown.(map[string]any)
		if !ok {
			resp.Error = fmt.Errorf("the plan has no map of unknown values")
			return
		}
		for _, name := range k.names {
			if u, ok := after[name].(bool); ok && u {
				resp.Error = fmt.Errorf("%s.%s is not known in the plan", k.address, name)
			}
		}
	}
}

func TestTenantsOfDedicatedModelsHaveTablesOfTheirOwn(t *testing.T) {
	w := newWorld(t)
	w.run(
		resource.TestStep{
			Config: orders + contoso(as("own_table")) + tenantNamed("fabrikam", as("own_account")+`account = "premium"`),
			Check: resource.ComposeAggregateTestCheckFunc(
				resource.TestCheckResourceAttr(contosoAddress, "tables.orders.table", "Orderscontoso"),
				resource.TestCheckNoResourceAttr(contosoAddress, "account"),
				resource.TestCheckResourceAttr("aztenancy_tenant.fabrikam", "tables.orders.account", "premium"),
				resource.TestCheckResourceAttr("aztenancy_tenant.fabrikam", "key", "fabrikam"),
				w.tableStands("home", "Orderscontoso", true),
				w.tableStands("premium", "Ordersfabrikam", true),
			),
		},
		resource.TestStep{
			ResourceName: "aztenancy_tenant.fabrikam", ImportState: true, ImportStateVerify: true,
			ImportStateVerifyIgnore: []string{"deletion_protection", "destroy_policy"},
		},
		resource.TestStep{
			Config:      orders + tenantNamed("fabrikam", as("own_account")),
			PlanOnly:    true,
			ExpectError: says(`leaves the account to each tenant`),
		},
		resource.TestStep{Config: orders + tenantNamed("fabrikam", as("own_account")+`account = "premium"`), Check: w.tableStands("home", "Orderscontoso", false)},
	)
}

func TestTenantMovesWhenItsModelChanges(t *testing.T) {
	w := newWorld(t)
	w.run(
		resource.TestStep{Config: orders + contoso(as("pool")) + tenantNamed("fabrikam", as("pool")), Check: does(func() {
			w.fill("contoso", 250)
			w.fill("fabrikam", 10)
		})},
		resource.TestStep{
			Config:           orders + contoso(as("own_table")) + tenantNamed("fabrikam", as("pool")),
			ConfigPlanChecks: plans(plancheck.ResourceActionUpdate),
			Check: resource.ComposeAggregateTestCheckFunc(
				w.isAt("contoso", "own-table", tenancy.Active),
				w.isAt("fabrikam", "pool", tenancy.Active),
				resource.TestCheckResourceAttr(contosoAddress, "isolation_model", "own-table"),
				resource.TestCheckResourceAttr(contosoAddress, "state", "active"),
				resource.TestCheckResourceAttr(contosoAddress, "tables.orders.table", "Orderscontoso"),
				does(func() {
					if n := w.entities("home", "Orderscontoso"); n != 250 {
						t.Errorf("%d entities at the new place, want 250", n)
					}
					if n := w.entities("home", "Orders"); n != 260 {
						t.Errorf("%d entities in the shared table, want 260: the old place keeps them until the purge", n)
					}
				}),
			),
		},
		resource.TestStep{
			Config:           orders + contoso(as("own_account")+`account = "premium"`) + tenantNamed("fabrikam", as("pool")),
			ConfigPlanChecks: plans(plancheck.ResourceActionUpdate),
			Check: resource.ComposeAggregateTestCheckFunc(w.isAt("contoso", "own-account", tenancy.Active), does(func() {
				if n := w.entities("premium", "Orderscontoso"); n != 250 {
					t.Errorf("%d entities at the new place, want 250", n)
				}
			})),
		},
	)
	// The destroy dropped the shared table, which is refused while it holds an entity: what the move left there is gone too.
	if err := w.tableStands("home", "Orders", false)(nil); err != nil {
		t.Error(err)
	}
}

func TestTenantsWhoseKeysWouldOverlapAreRefusedByPlan(t *testing.T) {
	w := newWorld(t)
	// The buckets of contoso are contoso|00 to contoso|03; those of a key contoso|01 would lie among them.
	fabrikam := tenantNamed("fabrikam", as("pool")+"key = \"contoso|01\"")
	other := strings.Replace(contoso(as("pool")), `"Contoso"`, `"contoso"`, 1)
	w.run(
		resource.TestStep{Config: orders + other + fabrikam, PlanOnly: true,
			ExpectError: says(`overlaps`)}, // neither is in the catalog yet
		resource.TestStep{Config: orders + other},
		resource.TestStep{Config: orders + other + fabrikam, PlanOnly: true,
			ExpectError: says(`of tenant "contoso" (declared as key "contoso")`)},
		resource.TestStep{Config: orders + other, PlanOnly: true},
	)
}

func TestTenantOfAModelThatIsNotThereIsRefusedByPlan(t *testing.T) {
	w := newWorld(t)
	w.run(resource.TestStep{Config: tenantNamed("contoso", `isolation_model = "nowhere"`), PlanOnly: true,
		ExpectError: says(`Isolation model "nowhere" does not exist`)})
}

func TestProtectedTenantIsNeitherDestroyedNorReplaced(t *testing.T) {
	w := newWorld(t)
	protected := strings.Replace(contoso(as("pool")), "= false", "= true", 1)
	w.run(
		resource.TestStep{Config: orders + protected},
		resource.TestStep{Config: orders, PlanOnly: true, ExpectError: says(`Tenant "contoso" is protected from deletion`)},
		resource.TestStep{Config: orders + strings.Replace(protected, `"Contoso"`, `"CONTOSO"`, 1), PlanOnly: true,
			ExpectError: says(`Tenant "contoso" is protected from deletion`)},
		resource.TestStep{Config: orders + contoso(as("pool"))},
	)
}

func TestTenantWithEntitiesIsDeletedOnlyIfTold(t *testing.T) {
	w := newWorld(t)
	kept := strings.Replace(contoso(as("pool")), `"delete"`, `"refuse_if_not_empty"`, 1)
	w.run(
		resource.TestStep{Config: orders + kept, Check: does(func() { w.fill("contoso", 3) })},
		resource.TestStep{Config: orders, PlanOnly: true, ExpectError: says(`Tenant "contoso" is not empty`)},
		resource.TestStep{Config: orders + contoso(as("pool"))},
	)
	if err := w.tableStands("home", "Orders", false)(nil); err != nil { // refused while it holds an entity
		t.Error(err)
	}
}

func TestTenantWithAnotherKeyIsMadeAnew(t *testing.T) {
	w := newWorld(t)
	w.run(
		resource.TestStep{Config: orders + contoso(as("pool"))},
		resource.TestStep{
			Config:           orders + strings.Replace(contoso(as("pool")), `"Contoso"`, `"CONTOSO"`, 1),
			ConfigPlanChecks: plans(plancheck.ResourceActionDestroyBeforeCreate),
			Check:            resource.TestCheckResourceAttr(contosoAddress, "tables.orders.partition_key_start", "CONTOSO|00"),
		},
	)
}

func TestTenantThatIsGoneIsPlannedAnew(t *testing.T) {
	w := newWorld(t)
	w.run(
		resource.TestStep{Config: orders + contoso(as("pool"))},
		resource.TestStep{
			PreConfig: func() {
				p := &catalog.Provisioner{Catalog: w.catalog, Accounts: w.accounts}
				if err := p.Delete(context.Background(), "contoso", true); err != nil {
					t.Fatal(err)
				}
			},
			Config:           orders + contoso(as("pool")),
			ConfigPlanChecks: plans(plancheck.ResourceActionCreate),
			Check:            w.isAt("contoso", "pool", tenancy.Active),
		},
	)
}

func TestTenantThatExistsIsTakenOverOnlyIfItIsAsDeclared(t *testing.T) {
	w := newWorld(t)
	w.run(
		resource.TestStep{Config: orders, Check: does(func() {
			w.provision(catalog.TenantSpec{ID: "contoso", Key: "Contoso", Model: "pool", Labels: map[string]string{"tier": "trial"}})
		})},
		resource.TestStep{Config: orders + contoso(as("pool")+`labels = { tier = "gold" }`), PlanOnly: true, ExpectError: says(`Tenant "contoso" exists already`)},
		resource.TestStep{Config: orders + contoso(as("own_table")+`labels = { tier = "trial" }`), PlanOnly: true, ExpectError: says(`Tenant "contoso" exists already`)},
		resource.TestStep{
			Config:           orders + contoso(as("pool")+`labels = { tier = "trial" }`),
			ConfigPlanChecks: plans(plancheck.ResourceActionCreate), // as after an apply that was killed before it could save
			Check:            resource.TestCheckResourceAttr(contosoAddress, "epoch", fmt.Sprint(2)),
		},
	)
}

func TestStateHoldsNoSecret(t *testing.T) {
	w := newWorld(t)
	w.run(resource.TestStep{
		Config: orders + contoso(as("own_account")+`account = "premium"`) + policy("readers", `permissions = ["read"]`),
		Check: func(s *tfstate.State) error {
			text := s.String()
			for _, r := range s.RootModule().Resources {
				text += fmt.Sprint(r.Primary.Attributes, r.Primary.Meta)
			}
			for _, key := range w.server.Accounts {
				if strings.Contains(text, key) || strings.Contains(text, "AccountKey") {
					return fmt.Errorf("the state holds an account key")
				}
			}
			return nil
		},
	})
}
