package provider

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/plancheck"
	tfstate "github.com/hashicorp/terraform-plugin-testing/terraform"

	"github.com/aztenancy/terraform-provider-aztenancy/internal/edm"
)

func table(name, attributes string) string {
	return fmt.Sprintf(`
resource "aztenancy_table" "orders" {
  name                = %q
  deletion_protection = false
  %s
}
`, name, attributes)
}

func (w *world) tableStands(account, name string, want bool) resource.TestCheckFunc {
	return func(*tfstate.State) error {
		_, ok, err := w.client(account).TableExists(context.Background(), name)
		if err == nil && ok != want {
			err = fmt.Errorf("table %s/%s exists: %v, want %v", account, name, ok, want)
		}
		return err
	}
}

func TestTableIsCreatedImportedAndDropped(t *testing.T) {
	w := newWorld(t)
	config := table("Orders", "") + `
resource "aztenancy_table" "premium" {
  name                = "Orders"
  account             = "premium"
  deletion_protection = false
}
`
	w.run(
		resource.TestStep{
			Config: config,
			Check: resource.ComposeAggregateTestCheckFunc(
				resource.TestCheckResourceAttr("aztenancy_table.orders", "id", "Orders"),
				resource.TestCheckResourceAttr("aztenancy_table.orders", "account", "home"),
				resource.TestCheckResourceAttr("aztenancy_table.orders", "destroy_policy", "refuse_if_not_empty"),
				resource.TestCheckResourceAttr("aztenancy_table.orders", "url", w.server.TableEndpoint(homeAccount)+"/Orders"),
				resource.TestCheckResourceAttr("aztenancy_table.premium", "id", "premium/Orders"),
				w.tableStands("home", "Orders", true),
				w.tableStands("premium", "Orders", true),
			),
		},
		resource.TestStep{
			ResourceName: "aztenancy_table.orders", ImportState: true, ImportStateVerify: true,
			ImportStateId: w.server.TableEndpoint(homeAccount) + "/Tables('Orders')", ImportStateVerifyIgnore: []string{"deletion_protection"},
		},
		resource.TestStep{
			ResourceName: "aztenancy_table.premium", ImportState: true, ImportStateVerify: true, ImportStateVerifyIgnore: []string{"deletion_protection"},
		},
		resource.TestStep{
			Config: table("Orders", ""),
			Check:  w.tableStands("premium", "Orders", false),
		},
	)
	if err := w.tableStands("home", "Orders", false)(nil); err != nil {
		t.Error(err)
	}
}

func TestTableThatExistsIsRefusedUnlessItIsAdopted(t *testing.T) {
	w := newWorld(t)
	if _, err := w.client("home").CreateTable(context.Background(), "Orders"); err != nil {
		t.Fatal(err)
	}
	w.run(
		resource.TestStep{Config: table("Orders", ""), ExpectError: says(`Table "Orders" exists already`)},
		resource.TestStep{Config: table("ORDERS", "adopt_existing = true"), ExpectError: says(`Table "ORDERS" exists as "Orders"`)},
		resource.TestStep{Config: table("Orders", "adopt_existing = true"), Check: w.tableStands("home", "Orders", true)},
	)
}

func TestTableNameInOtherLettersIsExplained(t *testing.T) {
	w := newWorld(t)
	w.run(
		resource.TestStep{Config: table("Orders", "")},
		resource.TestStep{Config: table("orders", ""), PlanOnly: true, ExpectError: says(`Table "Orders" cannot become "orders"`)},
		resource.TestStep{Config: table("Orders", "")},
	)
}

func TestTableThatIsGoneIsPlannedAnew(t *testing.T) {
	w := newWorld(t)
	w.run(
		resource.TestStep{Config: table("Orders", "")},
		resource.TestStep{
			PreConfig: func() {
				if err := w.client("home").DeleteTable(context.Background(), "Orders"); err != nil {
					t.Fatal(err)
				}
			},
			Config: table("Orders", ""),
			ConfigPlanChecks: resource.ConfigPlanChecks{PreApply: []plancheck.PlanCheck{
				plancheck.ExpectResourceAction("aztenancy_table.orders", plancheck.ResourceActionCreate),
			}},
			Check: w.tableStands("home", "Orders", true),
		},
	)
}

func TestProtectedTableIsNeitherDestroyedNorReplaced(t *testing.T) {
	w := newWorld(t)
	protected := strings.ReplaceAll(table("Orders", ""), "false", "true")
	w.run(
		resource.TestStep{Config: protected},
		resource.TestStep{Config: protected, Destroy: true, ExpectError: says(`Table "Orders" is protected from deletion`)},
		resource.TestStep{Config: strings.ReplaceAll(protected, "Orders", "Sales"), ExpectError: says(`Table "Orders" is protected from deletion`)},
		// Switching protection off and replacing in one go is refused as well: the state still says true.
		resource.TestStep{Config: table("Sales", ""), ExpectError: says(`Table "Orders" is protected from deletion`)},
		resource.TestStep{Config: table("Orders", "")},
	)
}

func TestTableWithEntitiesIsDroppedOnlyIfTold(t *testing.T) {
	w := newWorld(t)
	w.run(
		resource.TestStep{Config: table("Orders", ""), Check: does(func() {
			e := &edm.Entity{PartitionKey: "p", RowKey: "r"}
			if _, err := w.client("home").Table("Orders").Insert(context.Background(), e); err != nil {
				t.Fatal(err)
			}
		})},
		resource.TestStep{Config: table("Orders", ""), Destroy: true, ExpectError: says(`Table "Orders" is not empty`)},
		resource.TestStep{Config: table("Orders", `destroy_policy = "delete"`), Check: w.tableStands("home", "Orders", true)},
	)
	if err := w.tableStands("home", "Orders", false)(nil); err != nil {
		t.Error(err)
	}
}

// The service frees the name of a deleted table only after a while (Delete Table, REST reference).
func TestTableIsCreatedOnceItsNameIsFree(t *testing.T) {
	w := newWorld(t)
	var refusals, refused atomic.Int32
	refusals.Store(1 << 30)
	w.server.Wrap(func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, "/Tables") && refused.Add(1) <= refusals.Load() {
				rw.Header().Set("Content-Type", "application/json;odata=minimalmetadata")
				rw.WriteHeader(http.StatusConflict)
				_, _ = rw.Write([]byte(`{"odata.error":{"code":"TableBeingDeleted","message":{"lang":"en-US","value":"The specified table is being deleted."}}}`))
				return
			}
			next.ServeHTTP(rw, r)
		})
	})
	w.run(
		resource.TestStep{Config: table("Orders", `timeouts = { create = "4s" }`), ExpectError: says(`is still being deleted`)},
		resource.TestStep{
			PreConfig: func() { refusals.Store(refused.Load() + 2) },
			Config:    table("Orders", ""), Check: w.tableStands("home", "Orders", true),
		},
	)
	if refused.Load() != refusals.Load()+1 {
		t.Errorf("the table was asked for %d times after %d refusals, want once", refused.Load()-refusals.Load(), refusals.Load())
	}
}

func TestTablesNeverTouchStoredAccessPolicies(t *testing.T) {
	w := newWorld(t)
	acl := w.count(func(r *http.Request) string { return r.URL.Query().Get("comp") })
	w.run(
		resource.TestStep{Config: table("Orders", "")},
		resource.TestStep{RefreshState: true},
	)
	if n := acl.of("acl"); n != 0 {
		t.Errorf("%d requests for access policies, want none: the service refuses them to Entra", n)
	}
}

func TestTableNamesThatTheServiceRefusesAreFoundByValidate(t *testing.T) {
	p := newPlugin(t)
	for _, name := range []string{"tables", "Tables", "ab", "1orders", "or-ders", strings.Repeat("a", 64), ""} {
		mustSay(t, p.validate("aztenancy_table", map[string]any{"name": name}), "A table name has 3 to 63 letters and digits")
	}
	if errs := p.validate("aztenancy_table", map[string]any{"name": unknown}); len(errs) > 0 {
		t.Errorf("a name that is not known yet: %q", errs)
	}
}

func TestTablesThatCannotBeAreFoundByPlan(t *testing.T) {
	p := configuredPlugin(worldWithoutTerraform(t))
	for says, config := range map[string]map[string]any{
		`Account "nowhere" is not configured`:  {"name": "Orders", "account": "nowhere"},
		`Table "TenantCatalog" is the catalog`: {"name": "TenantCatalog", "account": "home"},
		`Table "tenantcatalog" is the catalog`: {"name": "tenantcatalog", "account": "home"},
	} {
		r, _ := p.plan("aztenancy_table", config)
		mustSay(t, texts(r.Diagnostics, tfprotov6.DiagnosticSeverityError), says)
	}
	r, _ := p.plan("aztenancy_table", map[string]any{"name": "TenantCatalog", "account": "premium"})
	if errs := texts(r.Diagnostics, tfprotov6.DiagnosticSeverityError); len(errs) > 0 {
		t.Errorf("a table of that name in another account: %q", errs)
	}
}

func TestImportIdsOfTablesAreWhatPeopleHave(t *testing.T) {
	w := worldWithoutTerraform(t)
	home := w.server.TableEndpoint(homeAccount)
	for _, c := range []struct{ id, account, name string }{
		{"Orders", "home", "Orders"},
		{"home/Orders", "home", "Orders"},
		{"premium/Orders", "premium", "Orders"},
		{home + "/Orders", "home", "Orders"},
		{home + "/Tables('Orders')", "home", "Orders"},
		{w.server.TableEndpoint(premiumAccount) + "/Orders", "premium", "Orders"},
		{"/subscriptions/0/resourceGroups/g/providers/Microsoft.Storage/storageAccounts/" + premiumAccount + "/tableServices/default/tables/Orders", "premium", "Orders"},
	} {
		account, name, err := parseTableID(w.accounts, c.id)
		if err != nil || account != c.account || name != c.name {
			t.Errorf("%s: %s, %s, %v; want %s, %s", c.id, account, name, err, c.account, c.name)
		}
	}
	for _, id := range []string{
		"", "nowhere/Orders", "home/a/b", "tables", "https://other.table.core.windows.net/Orders", home + "/a/b", "/subscriptions/0", home,
		"/subscriptions/0/resourceGroups/g/providers/Microsoft.Storage/storageAccounts/other/tableServices/default/tables/Orders",
	} {
		if account, name, err := parseTableID(w.accounts, id); err == nil {
			t.Errorf("%q: taken as %s, %s; want an error", id, account, name)
		}
	}
}
