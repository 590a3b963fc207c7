package provider

import (
	"fmt"
	"net/http"
	"sync"
	"testing"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"

	"github.com/aztenancy/terraform-provider-aztenancy/internal/catalog"
	"github.com/aztenancy/terraform-provider-aztenancy/internal/tablestorage"
)

// requests counts the requests for policies, and all others.
func (w *world) requests() *counter {
	return w.count(func(r *http.Request) string {
		if r.URL.Query().Get("comp") == "acl" {
			return "policies"
		}
		return "tables and catalog"
	})
}

// A plan of 1,000 tenants, 20 tables and 100 policies, refreshed and planned as Terraform asks for it, side by side: a test of
// the number of requests, not of time. It talks to the provider without Terraform, whose own work on so many takes a minute.
func TestPlanningAThousandTenantsReadsTheCatalogOnce(t *testing.T) {
	const tenants, tables, policies = 1000, 20, 5 // policies of each table
	w := worldWithoutTerraform(t)
	w.populate()
	p := &catalog.Provisioner{Catalog: w.catalog, Accounts: w.accounts}
	specs := make([]catalog.TenantSpec, tenants)
	for i := range specs {
		specs[i] = catalog.TenantSpec{ID: fmt.Sprintf("tenant-%04d", i), Model: "pool"}
	}
	for _, c := range p.CreateMany(t.Context(), specs) {
		if c.Err != nil {
			t.Fatal(c.Err)
		}
	}
	for i := range tables {
		w.tableWithPolicies(fmt.Sprintf("Table%02d", i), policies)
	}
	requests := w.requests()
	plugin := configuredPlugin(w)
	var wg sync.WaitGroup
	slots := make(chan struct{}, 10) // Terraform's parallelism
	refresh := func(resource string, state, config map[string]any) {
		slots <- struct{}{}
		wg.Go(func() {
			defer func() { <-slots }()
			if err := plugin.refreshAndPlan(resource, state, config); err != nil {
				t.Error(err)
			}
		})
	}
	for i := range tables {
		table := fmt.Sprintf("Table%02d", i)
		refresh("aztenancy_table", map[string]any{"name": table, "account": "home"}, map[string]any{"name": table})
		for n := range policies {
			config := map[string]any{"table": table, "policy_id": fmt.Sprintf("policy%d", n), "permissions": []string{"read"}}
			state := map[string]any{"table": table, "policy_id": fmt.Sprintf("policy%d", n), "permissions": []string{"read"}, "account": "home"}
			refresh("aztenancy_stored_access_policy", state, config)
		}
	}
	for _, s := range specs {
		refresh("aztenancy_tenant", map[string]any{"tenant_id": s.ID, "key": s.ID, "isolation_model": "pool", "epoch": 2},
			map[string]any{"tenant_id": s.ID, "isolation_model": "pool"})
	}
	wg.Wait()
	if n := requests.of("tables and catalog"); n > 20 {
		t.Errorf("%d requests for %d tenants and %d tables, want 20 at most", n, tenants, tables)
	}
	if n := requests.of("policies"); n != tables {
		t.Errorf("%d requests for policies, want one for each of %d tables", n, tables)
	}
	t.Logf("%d requests for tenants and tables, %d for policies", requests.of("tables and catalog"), requests.of("policies"))
}

func (w *world) tableWithPolicies(table string, n int) {
	w.t.Helper()
	if _, err := w.client("home").CreateTable(w.t.Context(), table); err != nil {
		w.t.Fatal(err)
	}
	var all []tablestorage.AccessPolicy
	for i := range n {
		all = append(all, tablestorage.AccessPolicy{ID: fmt.Sprintf("policy%d", i), Permission: "r"})
	}
	if err := w.client("home").SetAccessPolicies(w.t.Context(), table, all); err != nil {
		w.t.Fatal(err)
	}
}

// refreshAndPlan does with one resource what a plan does, and returns the first error.
func (p *plugin) refreshAndPlan(resource string, state, config map[string]any) error {
	read, now := p.read(resource, state)
	if errs := texts(read.Diagnostics, tfprotov6.DiagnosticSeverityError); len(errs) > 0 || now.IsNull() {
		return fmt.Errorf("%s %v: %q", resource, state, errs)
	}
	typ := p.resourceType(resource)
	r, err := p.server.PlanResourceChange(p.t.Context(), &tfprotov6.PlanResourceChangeRequest{
		TypeName: resource, PriorState: read.NewState, ProposedNewState: read.NewState, Config: p.dynamic(p.value(typ, config)), PriorPrivate: read.Private,
	})
	if err != nil {
		return err
	}
	if errs := texts(r.Diagnostics, tfprotov6.DiagnosticSeverityError); len(errs) > 0 {
		return fmt.Errorf("%s %v: %q", resource, config, errs)
	}
	return nil
}
