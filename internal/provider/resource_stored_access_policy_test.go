package provider

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/plancheck"
	tfstate "github.com/hashicorp/terraform-plugin-testing/terraform"

	"github.com/aztenancy/terraform-provider-aztenancy/internal/tablestorage"
)

// policy is a policy of the table that table declares.
func policy(id, attributes string) string {
	return fmt.Sprintf(`
resource "aztenancy_stored_access_policy" %[1]q {
  table     = aztenancy_table.orders.name
  policy_id = %[1]q
  %[2]s
}
`, id, attributes)
}

func (w *world) policies() map[string]tablestorage.AccessPolicy {
	w.t.Helper()
	list, err := w.client("home").AccessPolicies(context.Background(), "Orders")
	if err != nil {
		w.t.Fatal(err)
	}
	all := make(map[string]tablestorage.AccessPolicy)
	for _, p := range list {
		all[p.ID] = p
	}
	return all
}

// setPolicies replaces all policies as another program does.
func (w *world) setPolicies(all ...tablestorage.AccessPolicy) {
	w.t.Helper()
	if err := w.client("home").SetAccessPolicies(context.Background(), "Orders", all); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) hasPolicies(ids ...string) resource.TestCheckFunc {
	return func(*tfstate.State) error {
		all := w.policies()
		for _, id := range ids {
			if _, ok := all[id]; !ok {
				return fmt.Errorf("policy %q is not among %v", id, all)
			}
		}
		if len(all) != len(ids) {
			return fmt.Errorf("%d policies, want %v", len(all), ids)
		}
		return nil
	}
}

func TestPolicyIsCreatedChangedImportedAndRemoved(t *testing.T) {
	w := newWorld(t)
	address := "aztenancy_stored_access_policy.readers"
	w.run(
		resource.TestStep{
			Config: table("Orders", "") + policy("readers", `
  permissions = ["read", "update"]
  start       = "2027-01-01T00:00:00Z"
  expiry      = "2027-06-30T00:00:00Z"`),
			Check: resource.ComposeAggregateTestCheckFunc(
				resource.TestCheckResourceAttr(address, "id", "Orders/readers"),
				does(func() {
					p := w.policies()["readers"]
					if p.Permission != "ru" || !p.Expiry.Equal(time.Date(2027, 6, 30, 0, 0, 0, 0, time.UTC)) || !p.Start.Equal(time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC)) {
						t.Errorf("the service has %+v", p)
					}
				}),
			),
		},
		resource.TestStep{ResourceName: address, ImportState: true, ImportStateVerify: true},
		resource.TestStep{ResourceName: address, ImportState: true, ImportStateVerify: true, ImportStateId: "home/Orders/readers"},
		resource.TestStep{
			Config: table("Orders", "") + policy("readers", `permissions = ["read"]`),
			ConfigPlanChecks: resource.ConfigPlanChecks{PreApply: []plancheck.PlanCheck{
				plancheck.ExpectResourceAction(address, plancheck.ResourceActionUpdate),
			}},
			Check: does(func() {
				if p := w.policies()["readers"]; p.Permission != "r" || p.Start != nil || p.Expiry != nil {
					t.Errorf("the service has %+v", p)
				}
			}),
		},
		resource.TestStep{Config: table("Orders", ""), Check: w.hasPolicies()},
	)
}

func TestPolicyLeavesTheOthersAlone(t *testing.T) {
	w := newWorld(t)
	expiry := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
	w.run(
		resource.TestStep{Config: table("Orders", ""), Check: does(func() {
			w.setPolicies(tablestorage.AccessPolicy{ID: "by-hand", Permission: "raud", Expiry: &expiry}, tablestorage.AccessPolicy{ID: "aztenancy-move", Permission: "r"})
		})},
		resource.TestStep{Config: table("Orders", "") + policy("readers", `permissions = ["read"]`), Check: w.hasPolicies("readers", "by-hand", "aztenancy-move")},
		resource.TestStep{Config: table("Orders", ""), Check: resource.ComposeAggregateTestCheckFunc(w.hasPolicies("by-hand", "aztenancy-move"), does(func() {
			if p := w.policies()["by-hand"]; p.Permission != "raud" || !p.Expiry.Equal(expiry) {
				t.Errorf("another's policy became %+v", p)
			}
		}))},
	)
}

func TestFivePoliciesOfOneTableApplyAtOnce(t *testing.T) {
	w := newWorld(t)
	config := table("Orders", "")
	ids := []string{"a", "b", "c", "d", "e"}
	for _, id := range ids {
		config += policy(id, `permissions = ["read"]`)
	}
	w.run(
		resource.TestStep{Config: config, Check: w.hasPolicies(ids...)},
		resource.TestStep{Config: config + policy("f", `permissions = ["read"]`), PlanOnly: true,
			ExpectError: says(`Table "Orders" would have 6 stored access policies`)},
		resource.TestStep{Config: config, PlanOnly: true},
	)
}

func TestSixthPolicyIsRefusedByName(t *testing.T) {
	w := newWorld(t)
	w.run(
		resource.TestStep{Config: table("Orders", ""), Check: does(func() {
			var all []tablestorage.AccessPolicy
			for _, id := range []string{"one", "two", "three", "four", "five"} {
				all = append(all, tablestorage.AccessPolicy{ID: id, Permission: "r"})
			}
			w.setPolicies(all...)
		})},
		resource.TestStep{Config: table("Orders", "") + policy("six", `permissions = ["read"]`),
			ExpectError: says(`"one", "two", "three", "four", "five"`)},
	)
}

func TestPolicyThatIsChangedOrGoneIsRestored(t *testing.T) {
	w := newWorld(t)
	address := "aztenancy_stored_access_policy.readers"
	config := table("Orders", "") + policy("readers", `permissions = ["read"]`)
	w.run(
		resource.TestStep{Config: config},
		resource.TestStep{
			PreConfig: func() { w.setPolicies(tablestorage.AccessPolicy{ID: "readers", Permission: "raud"}) },
			Config:    config,
			ConfigPlanChecks: resource.ConfigPlanChecks{PreApply: []plancheck.PlanCheck{
				plancheck.ExpectResourceAction(address, plancheck.ResourceActionUpdate),
			}},
			Check: does(func() {
				if p := w.policies()["readers"]; p.Permission != "r" {
					t.Errorf("the service has %+v", p)
				}
			}),
		},
		resource.TestStep{
			PreConfig: func() { w.setPolicies() },
			Config:    config,
			ConfigPlanChecks: resource.ConfigPlanChecks{PreApply: []plancheck.PlanCheck{
				plancheck.ExpectResourceAction(address, plancheck.ResourceActionCreate),
			}},
			Check: w.hasPolicies("readers"),
		},
	)
}

func TestSameMomentWrittenAnotherWayIsNoChange(t *testing.T) {
	w := newWorld(t)
	config := table("Orders", "")
	var checks []resource.TestCheckFunc
	for i, expiry := range []string{"2027-06-30T00:00:00Z", "2027-06-30T00:00:00+00:00", "2027-06-30T02:00:00+02:00", "2027-06-30T00:00:00.0000000Z"} {
		id := fmt.Sprintf("p%d", i)
		config += policy(id, `permissions = ["read"]`+"\n expiry = "+quote(expiry))
		checks = append(checks, resource.TestCheckResourceAttr("aztenancy_stored_access_policy."+id, "expiry", expiry))
	}
	// The step plans once more, and fails if there is something to change.
	w.run(resource.TestStep{Config: config, Check: resource.ComposeAggregateTestCheckFunc(checks...)})
}

func TestPoliciesThatCannotBeAreFoundByValidate(t *testing.T) {
	p := newPlugin(t)
	for _, c := range []struct {
		config map[string]any
		says   string
	}{
		{map[string]any{"policy_id": "aztenancy-move"}, "belong to the mover"},
		{map[string]any{"policy_id": strings.Repeat("x", 65)}, "A policy id has 1 to 64 characters, this one has 65"},
		{map[string]any{"policy_id": ""}, "A policy id has 1 to 64 characters, this one has 0"},
		{map[string]any{"policy_id": "p", "permissions": []string{"write"}}, `value must be one of: ["read" "add" "update" "delete"]`},
		{map[string]any{"policy_id": "p", "permissions": []string{}}, "at least 1"},
		{map[string]any{"policy_id": "p", "start": "2027-01-02T00:00:00Z", "expiry": "2027-01-01T00:00:00Z"}, "expiry: Expiry is not after start"},
		{map[string]any{"policy_id": "p", "start": "2027-01-01T02:00:00+02:00", "expiry": "2027-01-01T00:00:00Z"}, "expiry: Expiry is not after start"},
		{map[string]any{"policy_id": "p", "expiry": "2027-01-01"}, "expiry: Invalid RFC3339 String Value"},
	} {
		c.config["table"] = "Orders"
		mustSay(t, p.validate("aztenancy_stored_access_policy", c.config), c.says)
	}
	good := map[string]any{"table": "Orders", "policy_id": "p", "permissions": []string{"read"}, "start": unknown, "expiry": "2027-01-01T00:00:00Z"}
	if errs := p.validate("aztenancy_stored_access_policy", good); len(errs) > 0 {
		t.Errorf("a policy whose start is not known yet: %q", errs)
	}
}

// The service refuses policies to every SAS (Get Table ACL, REST reference).
func TestPolicyWithoutTheAccountKeyIsRefusedByPlan(t *testing.T) {
	p := newPlugin(t)
	if errs := p.configure(map[string]any{"account_name": "contoso", "sas_token": "sv=2019-02-02&sig=c2VjcmV0"}); len(errs) > 0 {
		t.Fatal(errs)
	}
	r, _ := p.plan("aztenancy_stored_access_policy", map[string]any{"account": "home", "table": "Orders", "policy_id": "p"})
	mustSay(t, texts(r.Diagnostics, tfprotov6.DiagnosticSeverityError), "needs the account key")
}

func TestPolicyOfATableThatIsNotThereSaysSo(t *testing.T) {
	w := newWorld(t)
	w.run(resource.TestStep{
		Config:      strings.Replace(policy("p", `permissions = ["read"]`), "aztenancy_table.orders.name", `"Nowhere"`, 1),
		ExpectError: says(`Table "Nowhere" does not exist`),
	})
}
