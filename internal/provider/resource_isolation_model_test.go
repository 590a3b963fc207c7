package provider

import (
	"context"
	"fmt"
	"maps"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/plancheck"

	"github.com/aztenancy/terraform-provider-aztenancy/internal/tenancy"
)

func model(attributes string) string {
	return fmt.Sprintf(`
resource "aztenancy_isolation_model" "m" {
  name = "m"
  %s
}
`, attributes)
}

func TestModelsAreCreatedImportedAndRemoved(t *testing.T) {
	w := newWorld(t)
	w.run(
		resource.TestStep{
			Config: orders,
			Check: resource.ComposeAggregateTestCheckFunc(
				resource.TestCheckResourceAttr("aztenancy_isolation_model.pool", "id", "pool"),
				resource.TestCheckResourceAttr("aztenancy_isolation_model.pool", "account", "home"),
				resource.TestCheckNoResourceAttr("aztenancy_isolation_model.own_account", "account"),
				resource.TestCheckResourceAttr("aztenancy_isolation_model.pool", "tables.orders", "Orders"),
			),
		},
		resource.TestStep{ResourceName: "aztenancy_isolation_model.pool", ImportState: true, ImportStateVerify: true},
		resource.TestStep{ResourceName: "aztenancy_isolation_model.own_account", ImportState: true, ImportStateVerify: true},
		resource.TestStep{ // gone outside: made anew
			PreConfig: func() {
				rec, err := w.catalog.Model(context.Background(), "own-table")
				if err == nil {
					err = w.catalog.DeleteModel(context.Background(), rec)
				}
				if err != nil {
					t.Fatal(err)
				}
			},
			Config: orders,
			ConfigPlanChecks: resource.ConfigPlanChecks{PreApply: []plancheck.PlanCheck{
				plancheck.ExpectResourceAction("aztenancy_isolation_model.own_table", plancheck.ResourceActionCreate),
				plancheck.ExpectResourceAction("aztenancy_isolation_model.pool", plancheck.ResourceActionNoop),
			}},
		},
	)
	models, err := w.catalog.Models(context.Background())
	if err != nil || len(models) > 0 {
		t.Errorf("after the destroy there are %v, %v", models, err)
	}
}

func TestModelChangesOnlyWhileNobodyUsesIt(t *testing.T) {
	w := newWorld(t)
	changed := strings.Replace(orders, "buckets = 4", "buckets = 8", 1)
	tenant := contoso(as("pool"))
	w.run(
		resource.TestStep{Config: orders},
		resource.TestStep{
			Config: changed,
			ConfigPlanChecks: resource.ConfigPlanChecks{PreApply: []plancheck.PlanCheck{
				plancheck.ExpectResourceAction("aztenancy_isolation_model.pool", plancheck.ResourceActionUpdate),
			}},
			Check: does(func() {
				m, err := w.catalog.Model(context.Background(), "pool")
				if err != nil || m.KeyScheme.Buckets != 8 {
					t.Errorf("the catalog has %+v, %v", m, err)
				}
			}),
		},
		resource.TestStep{Config: changed + tenant},
		resource.TestStep{Config: orders + tenant, PlanOnly: true,
			ExpectError: says(`Isolation model "pool" cannot change while tenants use it`)},
		resource.TestStep{Config: changed, PlanOnly: true, ExpectNonEmptyPlan: true},
		resource.TestStep{Config: changed + tenant, Check: w.isAt("contoso", "pool", tenancy.Active)},
	)
}

func TestModelsThatCannotBeAreFoundByValidate(t *testing.T) {
	p := configuredPlugin(worldWithoutTerraform(t))
	tables := func(name string) map[string]any { return map[string]any{"orders": name} }
	scheme := func(kind, separator string, buckets any) map[string]any {
		s := map[string]any{"kind": kind, "buckets": buckets}
		if separator != "" {
			s["separator"] = separator
		}
		return s
	}
	for _, c := range []struct {
		config map[string]any
		says   string
	}{
		{map[string]any{"kind": "shared_table", "tables": tables("Orders{tenant}"), "key_scheme": scheme("tenant", "", nil)}, "cannot hold {tenant}"},
		{map[string]any{"kind": "dedicated_table", "tables": tables("Orders"), "key_scheme": scheme("tenant", "", nil)}, "{tenant}"},
		{map[string]any{"kind": "shared_table", "tables": tables("Orders"), "key_scheme": scheme("native", "", nil)}, "cannot tell tenants of a shared table apart"},
		{map[string]any{"kind": "shared_table", "tables": tables("Orders"), "key_scheme": scheme("bucketed", "|", nil)}, "with 0 buckets"},
		{map[string]any{"kind": "shared_table", "tables": tables("Orders"), "key_scheme": scheme("bucketed", "", 4)}, "needs a separator"},
		{map[string]any{"kind": "shared_table", "tables": tables("Orders"), "key_scheme": scheme("tenant", "|", nil)}, "takes no separator"},
		{map[string]any{"kind": "shared_table", "tables": tables("tables"), "key_scheme": scheme("tenant", "", nil)}, "tables"},
		{map[string]any{"kind": "shared_table", "tables": map[string]any{}, "key_scheme": scheme("tenant", "", nil)}, "at least 1"},
		{map[string]any{"kind": "own_cluster", "tables": tables("Orders"), "key_scheme": scheme("tenant", "", nil)}, `"shared_table"`},
	} {
		c.config["name"] = "m"
		mustSay(t, p.validate("aztenancy_isolation_model", c.config), c.says)
	}
	good := map[string]any{"name": "m", "kind": "shared_table", "tables": tables("Orders"), "key_scheme": scheme("tenant", "", nil)}
	for _, attribute := range []string{"name", "kind", "account"} {
		config := maps.Clone(good)
		config[attribute] = unknown
		if errs := p.validate("aztenancy_isolation_model", config); len(errs) > 0 {
			t.Errorf("a model whose %s is not known yet: %q", attribute, errs)
		}
	}
	good["account"] = "nowhere"
	r, _ := p.plan("aztenancy_isolation_model", good)
	mustSay(t, texts(r.Diagnostics, tfprotov6.DiagnosticSeverityError), `account: Account "nowhere" is not configured`)
}

func TestSharedModelNeedsItsTable(t *testing.T) {
	w := newWorld(t)
	w.run(resource.TestStep{
		Config: model(`kind = "shared_table"
		  tables = { orders = "Nowhere" }
		  key_scheme = { kind = "tenant" }`),
		ExpectError: says(`Table "Nowhere" does not exist in account "home"`),
	})
}
