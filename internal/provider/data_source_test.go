package provider

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/knownvalue"
	"github.com/hashicorp/terraform-plugin-testing/statecheck"
	"github.com/hashicorp/terraform-plugin-testing/tfjsonpath"

	"github.com/aztenancy/terraform-provider-aztenancy/internal/acctest"
	"github.com/aztenancy/terraform-provider-aztenancy/internal/catalog"
	"github.com/aztenancy/terraform-provider-aztenancy/internal/edm"
	"github.com/aztenancy/terraform-provider-aztenancy/internal/tenancy"
)

// example is the text of an example.
func example(t *testing.T, parts ...string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(append([]string{"..", "..", "examples"}, parts...)...))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// populate makes the tables, model, tenants and entities that the examples of data sources look at.
func (w *world) populate() {
	w.t.Helper()
	ctx := context.Background()
	for _, table := range []string{"Orders", "OrdersArchive", "Settings"} {
		if _, err := w.client("home").CreateTable(ctx, table); err != nil {
			w.t.Fatal(err)
		}
	}
	w.model(tenancy.Model{Name: "pool", Kind: tenancy.SharedTable, Account: "home", Tables: map[string]string{"orders": "Orders"},
		KeyScheme: tenancy.KeyScheme{Kind: tenancy.SchemeBucketed, Separator: "|", Buckets: 16}})
	w.provision(catalog.TenantSpec{ID: "contoso", Model: "pool", Labels: map[string]string{"tier": "trial"}})
	w.provision(catalog.TenantSpec{ID: "fabrikam", Model: "pool", Labels: map[string]string{"tier": "gold"}})
	w.fill("contoso", 30)
	e := &edm.Entity{PartitionKey: "orders", RowKey: "max"}
	e.Set("Limit", edm.Int64Value(1<<53+1)) // more than a Double holds exactly
	e.Set("Since", edm.StringValue("2026"))
	if _, err := w.client("home").Table("Settings").Insert(ctx, e); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) allDataSources() string {
	config := ""
	for _, name := range []string{"table", "tables", "tenant", "tenants", "isolation_model", "entities", "tenant_usage", "capabilities"} {
		config += example(w.t, "data-sources", "aztenancy_"+name, "data-source.tf")
	}
	return config
}

func TestExamplesOfDataSourcesReadWhatIsThere(t *testing.T) {
	w := newWorld(t)
	w.populate()
	usage := "data.aztenancy_tenant_usage.contoso"
	value := func(address, name string, want knownvalue.Check) statecheck.StateCheck {
		return statecheck.ExpectKnownValue(address, tfjsonpath.New(name), want)
	}
	w.run(resource.TestStep{
		Config: w.allDataSources(),
		ConfigStateChecks: []statecheck.StateCheck{
			statecheck.ExpectKnownOutputValue("orders_url", knownvalue.StringExact(w.server.TableEndpoint(homeAccount)+"/Orders")),
			value("data.aztenancy_tables.of_orders", "names", knownvalue.ListExact([]knownvalue.Check{knownvalue.StringExact("Orders"), knownvalue.StringExact("OrdersArchive")})),
			value("data.aztenancy_tenants.trial", "ids", knownvalue.ListExact([]knownvalue.Check{knownvalue.StringExact("contoso")})),
			value("data.aztenancy_isolation_model.pool", "tenant_ids", knownvalue.ListExact([]knownvalue.Check{knownvalue.StringExact("contoso"), knownvalue.StringExact("fabrikam")})),
			statecheck.ExpectKnownOutputValue("partition", knownvalue.StringExact("contoso|09")),
			value("data.aztenancy_entities.settings", "entities", knownvalue.ListExact([]knownvalue.Check{knownvalue.ObjectExact(map[string]knownvalue.Check{
				"partition_key": knownvalue.StringExact("orders"),
				"row_key":       knownvalue.StringExact("max"),
				"properties": knownvalue.MapExact(map[string]knownvalue.Check{
					"Limit": knownvalue.ObjectExact(map[string]knownvalue.Check{"type": knownvalue.StringExact("Int64"), "value": knownvalue.StringExact("9007199254740993")}),
					"Since": knownvalue.ObjectExact(map[string]knownvalue.Check{"type": knownvalue.StringExact("String"), "value": knownvalue.StringExact("2026")}),
				}),
			})})),
			value(usage, "entities", knownvalue.Int64Exact(30)),
			// An entity is billed 4 bytes, 2 for each character of its keys, and for each property 8, 2 for each character of its name, and
			// its value (data model, REST reference): contoso|NN 10, order-NNNN 10, Total and Count 5 each, values 8 each.
			value(usage, "bytes", knownvalue.Int64Exact(30*(4+2*(10+10)+2*(8+2*5+8)))),
			value(usage, "complete", knownvalue.Bool(true)),
			value("data.aztenancy_capabilities.home", "credential", knownvalue.StringExact("account_key")),
			value("data.aztenancy_capabilities.home", "enforces_sas_ranges", knownvalue.Bool(true)),
		},
	})
}

func TestAzuriteIsKnownToIgnoreKeyRanges(t *testing.T) {
	useTerraform(t)
	w := worldOn(t, acctest.StartAzurite(t, acctest.WithAccounts(homeAccount, premiumAccount)))
	w.populate()
	w.run(resource.TestStep{
		Config: w.allDataSources(),
		ConfigStateChecks: []statecheck.StateCheck{
			statecheck.ExpectKnownValue("data.aztenancy_capabilities.home", tfjsonpath.New("enforces_sas_ranges"), knownvalue.Bool(false)),
			statecheck.ExpectKnownValue("data.aztenancy_tenant_usage.contoso", tfjsonpath.New("entities"), knownvalue.Int64Exact(30)),
		},
	})
}

// data reads a data source.
func (p *plugin) data(name string, config map[string]any) (*tfprotov6.ReadDataSourceResponse, tftypes.Value) {
	p.t.Helper()
	typ := p.schemas.DataSourceSchemas[name].ValueType()
	r, err := p.server.ReadDataSource(context.Background(), &tfprotov6.ReadDataSourceRequest{TypeName: name, Config: p.dynamic(p.value(typ, config))})
	if err != nil {
		p.t.Fatal(err)
	}
	if r.State == nil {
		return r, tftypes.Value{}
	}
	v, err := r.State.Unmarshal(typ)
	if err != nil {
		p.t.Fatal(err)
	}
	return r, v
}

func TestDataSourcesSayWhatIsNotThere(t *testing.T) {
	w := worldWithoutTerraform(t)
	w.populate()
	p := configuredPlugin(w)
	for _, c := range []struct {
		name   string
		config map[string]any
		says   string
	}{
		{"aztenancy_table", map[string]any{"name": "Invoices"}, `name: Table "Invoices" does not exist: Account "home" (aztenancyhome) has no table`},
		{"aztenancy_table", map[string]any{"name": "Orders", "account": "nowhere"}, `account: Account "nowhere" is not configured`},
		{"aztenancy_tables", map[string]any{"account": "nowhere"}, `account: Account "nowhere" is not configured`},
		{"aztenancy_tenant", map[string]any{"tenant_id": "nobody"}, `tenant_id: Tenant "nobody" does not exist`},
		{"aztenancy_tenant_usage", map[string]any{"tenant_id": "nobody"}, `tenant_id: Tenant "nobody" does not exist`},
		{"aztenancy_isolation_model", map[string]any{"name": "swimming"}, `name: Isolation model "swimming" does not exist: The catalog, table TenantCatalog of account "home" (aztenancyhome), has no model of this name. It has "pool"`},
		{"aztenancy_entities", map[string]any{"table": "Invoices"}, `"Invoices" could not be read`},
		{"aztenancy_entities", map[string]any{"table": "Orders", "filter": "PartitionKey equals 'a'"}, `could not be read`},
		{"aztenancy_entities", map[string]any{"table": "Orders", "max_entities": 29}, `max_entities: The filter selects more than 29 entities`},
		{"aztenancy_capabilities", map[string]any{"account": "nowhere"}, `account: Account "nowhere" is not configured`},
	} {
		r, _ := p.data(c.name, c.config)
		mustSay(t, texts(r.Diagnostics, tfprotov6.DiagnosticSeverityError), c.says)
	}
	if r, _ := p.data("aztenancy_entities", map[string]any{"table": "Orders", "max_entities": 30}); len(r.Diagnostics) > 0 {
		t.Errorf("exactly as many as may be: %v", texts(r.Diagnostics, tfprotov6.DiagnosticSeverityError))
	}
	r, v := p.data("aztenancy_tenant_usage", map[string]any{"tenant_id": "contoso", "max_entities": 10})
	if len(r.Diagnostics) > 0 || !attribute(t, v, "complete").Equal(tftypes.NewValue(tftypes.Bool, false)) || !attribute(t, v, "entities").Equal(tftypes.NewValue(tftypes.Number, 10)) {
		t.Errorf("a bounded count is %v", v)
	}
	// A tenant that has nothing has no largest partition.
	if r, v := p.data("aztenancy_tenant_usage", map[string]any{"tenant_id": "fabrikam"}); len(r.Diagnostics) > 0 || !attribute(t, v, "largest_partition").IsNull() {
		t.Errorf("an empty tenant is %v", v)
	}
}

func TestTenantsAreFilteredByAllThatIsGiven(t *testing.T) {
	w := worldWithoutTerraform(t)
	w.populate()
	p := configuredPlugin(w)
	for _, c := range []struct {
		filter map[string]any
		want   []string
	}{
		{nil, []string{"contoso", "fabrikam"}},
		{map[string]any{"labels": map[string]any{"tier": "gold"}}, []string{"fabrikam"}},
		{map[string]any{"labels": map[string]any{"tier": "gold", "region": "eu"}}, []string{}},
		{map[string]any{"state": "frozen"}, []string{}},
		{map[string]any{"isolation_model": "pool", "state": "active"}, []string{"contoso", "fabrikam"}},
		{map[string]any{"isolation_model": "own-table"}, []string{}},
	} {
		if c.filter == nil {
			c.filter = map[string]any{}
		}
		r, v := p.data("aztenancy_tenants", c.filter)
		if errs := texts(r.Diagnostics, tfprotov6.DiagnosticSeverityError); len(errs) > 0 {
			t.Errorf("%v: %q", c.filter, errs)
			continue
		}
		var ids []tftypes.Value
		if err := attribute(t, v, "ids").As(&ids); err != nil || len(ids) != len(c.want) {
			t.Errorf("%v: %v, want %v", c.filter, ids, c.want)
			continue
		}
		for i, id := range ids {
			if !id.Equal(tftypes.NewValue(tftypes.String, c.want[i])) {
				t.Errorf("%v: %v, want %v", c.filter, ids, c.want)
			}
		}
	}
}
