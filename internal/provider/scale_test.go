package provider

import (
	"fmt"
	"net/http"
	"testing"
)

// Refreshing and planning asks once for all tenants and once for all tables, however many there are. A test of the number of
// requests, not of time.
func TestPlanningManyTenantsReadsTheCatalogOnce(t *testing.T) {
	w := newWorld(t)
	requests := w.count(func(r *http.Request) string {
		if r.URL.Query().Get("comp") == "acl" {
			return "policies"
		}
		return "tables and catalog"
	})
	const tenants, tables = 60, 5
	config := orders + fmt.Sprintf(`
resource "aztenancy_table" "more" {
  count               = %d
  name                = "More${count.index}"
  deletion_protection = false
}

resource "aztenancy_stored_access_policy" "readers" {
  count       = %d
  table       = aztenancy_table.more[count.index].name
  policy_id   = "readers"
  permissions = ["read"]
}

resource "aztenancy_stored_access_policy" "writers" {
  count       = %d
  table       = aztenancy_table.more[count.index].name
  policy_id   = "writers"
  permissions = ["read", "add"]
}

resource "aztenancy_tenant" "many" {
  count               = %d
  tenant_id           = "tenant-${count.index}"
  isolation_model     = aztenancy_isolation_model.pool.name
  deletion_protection = false
}
`, tables, tables, tables, tenants)
	c := w.cli(config)
	c.run(0, "apply", "-auto-approve")
	requests.reset()
	c.run(0, "plan", "-detailed-exitcode")
	// One list of tables, one scan of the catalog; the server's pages hold a thousand rows each.
	if n := requests.of("tables and catalog"); n > 4 {
		t.Errorf("%d requests for %d tenants and %d tables, want 4 at most", n, tenants, tables+1)
	}
	if n := requests.of("policies"); n != tables {
		t.Errorf("%d requests for policies, want one for each of %d tables", n, tables)
	}
	c.run(0, "destroy", "-auto-approve")
}
