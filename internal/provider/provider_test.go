package provider

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	tfjson "github.com/hashicorp/terraform-json"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"github.com/aztenancy/terraform-provider-aztenancy/internal/catalog"
	"github.com/aztenancy/terraform-provider-aztenancy/internal/tablestorage"
	"github.com/aztenancy/terraform-provider-aztenancy/internal/tenancy"
)

func TestEverythingIsDescribedAndSecretsAreSensitive(t *testing.T) {
	p := newPlugin(t)
	schemas := map[string]*tfprotov6.Schema{"provider": p.schemas.Provider}
	for name, s := range p.schemas.ResourceSchemas {
		schemas[name] = s
	}
	for name, s := range p.schemas.DataSourceSchemas {
		schemas["data."+name] = s
	}
	for name, s := range p.schemas.ListResourceSchemas {
		schemas["list."+name] = s
	}
	for name, a := range p.schemas.ActionSchemas {
		schemas["action."+name] = a.Schema
	}
	for name, s := range p.schemas.EphemeralResourceSchemas {
		schemas["ephemeral."+name] = s
	}
	secrets := map[string]int{}
	for name, s := range schemas {
		if s.Block.Description == "" {
			t.Errorf("%s has no description", name)
		}
		walkAttributes(name, s.Block.Attributes, func(path string, a *tfprotov6.SchemaAttribute) {
			if a.Description == "" {
				t.Errorf("%s has no description", path)
			}
			isSecret := a.Name == "connection_string" || strings.HasSuffix(a.Name, "_key") && a.Name != "partition_key" && a.Name != "row_key" ||
				strings.HasSuffix(a.Name, "_token") || strings.HasSuffix(a.Name, "_secret") || strings.HasSuffix(a.Name, "_password")
			if isSecret != a.Sensitive {
				t.Errorf("%s: sensitive is %v, want %v", path, a.Sensitive, isSecret)
			}
			if isSecret {
				kind, _, _ := strings.Cut(path, ".")
				secrets[kind]++
				if kind != "provider" && kind != "ephemeral" {
					t.Errorf("%s: a secret outside of the provider block and of ephemeral resources comes to stand in the state", path)
				}
			}
		})
	}
	if secrets["provider"] != 12 || secrets["ephemeral"] != 2 { // six of the home account, six of the others; a token and its connection string
		t.Errorf("secrets: %v", secrets)
	}
}

func TestEachFunctionIsDescribedAndHasAnExample(t *testing.T) {
	p := newPlugin(t)
	for name, f := range p.schemas.Functions {
		if f.Summary == "" || f.Description == "" {
			t.Errorf("%s has no summary or no description", name)
		}
		for _, parameter := range f.Parameters {
			if parameter.Description == "" {
				t.Errorf("%s: parameter %s has no description", name, parameter.Name)
			}
		}
		for _, file := range []string{"examples/functions/" + name + "/function.tf", "docs/functions/" + name + ".md"} {
			if _, err := os.Stat(filepath.Join("..", "..", filepath.FromSlash(file))); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
}

func walkAttributes(path string, attributes []*tfprotov6.SchemaAttribute, visit func(string, *tfprotov6.SchemaAttribute)) {
	for _, a := range attributes {
		visit(path+"."+a.Name, a)
		if a.NestedType != nil {
			walkAttributes(path+"."+a.Name, a.NestedType.Attributes, visit)
		}
	}
}

func TestEachResourceHasImportIdentityTimeoutsAndExamples(t *testing.T) {
	p := newPlugin(t)
	identities, err := p.server.GetResourceIdentitySchemas(context.Background(), &tfprotov6.GetResourceIdentitySchemasRequest{})
	if err != nil {
		t.Fatal(err)
	}
	for _, construct := range (&aztenancyProvider{}).Resources(context.Background()) {
		r := construct()
		var m resource.MetadataResponse
		r.Metadata(context.Background(), resource.MetadataRequest{ProviderTypeName: "aztenancy"}, &m)
		name := m.TypeName
		if _, ok := r.(resource.ResourceWithImportState); !ok {
			t.Errorf("%s cannot be imported", name)
		}
		identity, ok := identities.IdentitySchemas[name]
		if !ok || len(identity.IdentityAttributes) == 0 {
			t.Errorf("%s has no identity", name)
		} else {
			for _, a := range identity.IdentityAttributes {
				if a.Description == "" {
					t.Errorf("%s: identity attribute %s has no description", name, a.Name)
				}
			}
		}
		timeouts := 0
		walkAttributes("", p.schemas.ResourceSchemas[name].Block.Attributes, func(path string, _ *tfprotov6.SchemaAttribute) {
			if strings.HasPrefix(path, ".timeouts.") {
				timeouts++
			}
		})
		if timeouts != 4 {
			t.Errorf("%s has %d timeouts, want 4", name, timeouts)
		}
		for _, file := range []string{"resource.tf", "import.sh"} {
			mustExist(t, "examples", "resources", name, file)
		}
		mustExist(t, "docs", "resources", strings.TrimPrefix(name, "aztenancy_")+".md")
	}
	for name := range p.schemas.DataSourceSchemas {
		mustExist(t, "examples", "data-sources", name, "data-source.tf")
		mustExist(t, "docs", "data-sources", strings.TrimPrefix(name, "aztenancy_")+".md")
	}
	for name := range p.schemas.ActionSchemas {
		mustExist(t, "examples", "actions", name, "action.tf")
		mustExist(t, "docs", "actions", strings.TrimPrefix(name, "aztenancy_")+".md")
	}
	for name := range p.schemas.ListResourceSchemas {
		mustExist(t, "examples", "list-resources", name, "list-resource.tfquery.hcl")
		mustExist(t, "docs", "list-resources", strings.TrimPrefix(name, "aztenancy_")+".md")
	}
}

func mustExist(t *testing.T, parts ...string) {
	t.Helper()
	if _, err := os.Stat(filepath.Join(append([]string{"..", ".."}, parts...)...)); err != nil {
		t.Error(err)
	}
}

func TestSchemaDumpIsWhatTerraformPrints(t *testing.T) {
	var b bytes.Buffer
	if err := WriteSchemaJSON(context.Background(), &b); err != nil {
		t.Fatal(err)
	}
	var dump tfjson.ProviderSchemas
	if err := json.Unmarshal(b.Bytes(), &dump); err != nil {
		t.Fatal(err)
	}
	s := dump.Schemas["registry.terraform.io/hashicorp/aztenancy"]
	if s == nil || len(s.ResourceSchemas) != 5 || len(s.DataSourceSchemas) != 8 || len(s.ResourceIdentitySchemas) != 5 {
		t.Fatalf("the dump is %s", b.String())
	}
	tenant := s.ResourceSchemas["aztenancy_tenant"].Block.Attributes
	if got := tenant["labels"].AttributeType.FriendlyName(); got != "map of string" {
		t.Errorf("labels is %s", got)
	}
	tables := tenant["tables"].AttributeNestedType
	if tables == nil || tables.NestingMode != tfjson.SchemaNestingModeMap || tables.Attributes["url"] == nil {
		t.Errorf("tables is %+v", tenant["tables"])
	}
	if !s.ConfigSchema.Block.Attributes["account_key"].Sensitive {
		t.Error("account_key is not sensitive")
	}
	var again bytes.Buffer
	if err := WriteSchemaJSON(context.Background(), &again); err != nil || !bytes.Equal(b.Bytes(), again.Bytes()) {
		t.Errorf("a second dump differs: %v", err)
	}
}

func TestProviderBlocksThatCannotBeNameWhatIsWrongAndShowNoSecret(t *testing.T) {
	const key = "c2VjcmV0c2VjcmV0c2VjcmV0c2VjcmV0"
	connection := "DefaultEndpointsProtocol=https;AccountName=contoso;AccountKey=" + key + ";EndpointSuffix=core.windows.net"
	t.Setenv("AZTENANCY_CONNECTION_STRING", "")
	t.Setenv("AZURE_STORAGE_CONNECTION_STRING", "")
	t.Setenv("AZURE_STORAGE_ACCOUNT", "")
	for name, c := range map[string]struct {
		block map[string]any
		says  string
	}{
		"two credentials":       {map[string]any{"account_name": "contoso", "account_key": key, "sas_token": "sig=" + key}, "more than one credential"},
		"string and key":        {map[string]any{"connection_string": connection, "account_key": key}, "give it alone"},
		"no credential":         {map[string]any{"account_name": "contoso"}, "contoso"},
		"no account":            {map[string]any{"account_key": key}, "o account name is given"},
		"key is not base64":     {map[string]any{"account_name": "contoso", "account_key": key + "!"}, "base64"},
		"nothing at all":        {map[string]any{}, "AZURE_STORAGE_CONNECTION_STRING"},
		"http to elsewhere":     {map[string]any{"account_name": "contoso", "account_key": key, "endpoint": "http://contoso.example"}, "http"},
		"account called home":   {map[string]any{"connection_string": connection, "accounts": map[string]any{"home": map[string]any{"connection_string": connection}}}, `Account name "home" is taken`},
		"bad further account":   {map[string]any{"connection_string": connection, "accounts": map[string]any{"premium": map[string]any{"account_name": "p"}}}, `accounts["premium"]`},
		"bad catalog table":     {map[string]any{"connection_string": connection, "catalog_table": "tables"}, "catalog_table: Table name"},
		"bad connection string": {map[string]any{"connection_string": "AccountKey=" + key}, "o account name is given"},
	} {
		errs := newPlugin(t).configure(c.block)
		if len(errs) == 0 {
			t.Errorf("%s: no error", name)
			continue
		}
		mustSay(t, errs, c.says)
		if strings.Contains(strings.Join(errs, "\n"), key) {
			t.Errorf("%s: a secret is shown: %q", name, errs)
		}
	}
}

func TestEnvironmentCountsOnlyWhereTheBlockSaysNothing(t *testing.T) {
	environment := map[string]string{"AZURE_STORAGE_CONNECTION_STRING": "UseDevelopmentStorage=true"}
	for name, c := range map[string]struct {
		model providerModel
		want  string
	}{
		"an empty block": {providerModel{}, "devstoreaccount1"},
		"a block with an account": {providerModel{accountModel: accountModel{
			AccountName: optional("contoso"), AccountKey: optional("c2VjcmV0"),
		}}, "contoso"},
	} {
		config := c.model.config(func(name string) string { return environment[name] })
		accounts, err := tablestorage.NewAccounts(config, nil)
		if err != nil {
			t.Fatal(err)
		}
		if got := accounts.Home().AccountName(); got != c.want {
			t.Errorf("%s: the home account is %s, want %s", name, got, c.want)
		}
	}
}

// A provider block whose values are not known yet must not become a provider of another account.
func TestUnknownProviderValuesAreNamedAndNothingElseIsUsedInstead(t *testing.T) {
	t.Setenv("AZTENANCY_CONNECTION_STRING", "UseDevelopmentStorage=true")
	for _, c := range []struct {
		block map[string]any
		says  string
	}{
		{map[string]any{"connection_string": unknown}, "connection_string"},
		{map[string]any{"account_name": "contoso", "account_key": unknown}, "account_key"},
		{map[string]any{"connection_string": "UseDevelopmentStorage=true", "accounts": map[string]any{"premium": map[string]any{"sas_token": unknown}}},
			`accounts["premium"].sas_token`},
	} {
		p := newPlugin(t)
		if errs := p.configure(c.block); len(errs) > 0 {
			t.Errorf("%v: %q, want the plan to go on", c.block, errs)
		}
		typ := p.schemas.DataSourceSchemas["aztenancy_tenant"].ValueType()
		r, err := p.server.ReadDataSource(context.Background(), &tfprotov6.ReadDataSourceRequest{
			TypeName: "aztenancy_tenant", Config: p.dynamic(p.value(typ, map[string]any{"tenant_id": "contoso"})),
		})
		if err != nil {
			t.Fatal(err)
		}
		mustSay(t, texts(r.Diagnostics, tfprotov6.DiagnosticSeverityError), "not exist yet: "+c.says)
		plan, planned := p.plan("aztenancy_tenant", map[string]any{"tenant_id": "contoso", "isolation_model": "nowhere"})
		if len(plan.Diagnostics) > 0 {
			t.Errorf("the plan of a tenant says %q", texts(plan.Diagnostics, tfprotov6.DiagnosticSeverityError))
		}
		if got := attribute(t, planned, "key"); !got.Equal(tftypes.NewValue(tftypes.String, "contoso")) {
			t.Errorf("the plan's key is %v", got)
		}
	}
}

func attribute(t *testing.T, object tftypes.Value, name string) tftypes.Value {
	t.Helper()
	var attributes map[string]tftypes.Value
	if err := object.As(&attributes); err != nil {
		t.Fatal(err)
	}
	return attributes[name]
}

// Terraform before 1.12 keeps no identity, and refuses an answer without one: it must be set although the thing is gone.
func TestReadOfWhatIsGoneSetsTheIdentityAndWarns(t *testing.T) {
	w := worldWithoutTerraform(t)
	p := configuredPlugin(w)
	for name, state := range map[string]map[string]any{
		"aztenancy_table":                {"account": "home", "name": "Gone"},
		"aztenancy_stored_access_policy": {"account": "home", "table": "Gone", "policy_id": "gone"},
		"aztenancy_isolation_model":      {"name": "gone"},
		"aztenancy_tenant":               {"tenant_id": "gone"},
	} {
		typ := p.resourceType(name)
		r, err := p.server.ReadResource(context.Background(), &tfprotov6.ReadResourceRequest{
			TypeName: name, CurrentState: p.dynamic(p.value(typ, state)),
		})
		if err != nil {
			t.Fatal(err)
		}
		if errs := texts(r.Diagnostics, tfprotov6.DiagnosticSeverityError); len(errs) > 0 {
			t.Errorf("%s: %q", name, errs)
		}
		mustSay(t, texts(r.Diagnostics, tfprotov6.DiagnosticSeverityWarning), "is gone")
		now, err := r.NewState.Unmarshal(typ)
		if err != nil || !now.IsNull() {
			t.Errorf("%s: the state is %v, %v; want none", name, now, err)
		}
		if r.NewIdentity == nil || r.NewIdentity.IdentityData == nil {
			t.Errorf("%s: no identity", name)
		}
	}
}

func TestResourcesAreImportedByIdentity(t *testing.T) {
	w := worldWithoutTerraform(t)
	p := configuredPlugin(w)
	identities, err := p.server.GetResourceIdentitySchemas(context.Background(), &tfprotov6.GetResourceIdentitySchemasRequest{})
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct{ identity, want map[string]any }{
		"aztenancy_table":                {map[string]any{"name": "Orders"}, map[string]any{"account": "home", "name": "Orders"}},
		"aztenancy_stored_access_policy": {map[string]any{"account": "premium", "table": "Orders", "policy_id": "p"}, map[string]any{"account": "premium", "policy_id": "p"}},
		"aztenancy_isolation_model":      {map[string]any{"name": "pool"}, map[string]any{"name": "pool"}},
		"aztenancy_tenant":               {map[string]any{"tenant_id": "contoso"}, map[string]any{"tenant_id": "contoso"}},
	} {
		typ := identities.IdentitySchemas[name].ValueType()
		r, err := p.server.ImportResourceState(context.Background(), &tfprotov6.ImportResourceStateRequest{
			TypeName: name, Identity: &tfprotov6.ResourceIdentityData{IdentityData: p.dynamic(p.value(typ, c.identity))},
		})
		if err != nil {
			t.Fatal(err)
		}
		if errs := texts(r.Diagnostics, tfprotov6.DiagnosticSeverityError); len(errs) > 0 || len(r.ImportedResources) != 1 {
			t.Errorf("%s: %q", name, errs)
			continue
		}
		state, err := r.ImportedResources[0].State.Unmarshal(p.resourceType(name))
		if err != nil {
			t.Fatal(err)
		}
		for attr, want := range c.want {
			if got := attribute(t, state, attr); !got.Equal(tftypes.NewValue(tftypes.String, want)) {
				t.Errorf("%s: %s is %v, want %v", name, attr, got, want)
			}
		}
		if r.ImportedResources[0].Identity == nil {
			t.Errorf("%s: no identity", name)
		}
	}
}

func TestTenantsThatCannotBeAreFoundByValidate(t *testing.T) {
	p := newPlugin(t)
	for _, c := range []struct {
		config map[string]any
		says   string
	}{
		{map[string]any{"tenant_id": "Contoso"}, `tenant_id: Tenant id "Contoso" is not usable`},
		{map[string]any{"tenant_id": "contoso/eu"}, `tenant_id: Tenant id "contoso/eu" is not usable`},
		{map[string]any{"key": "contoso/eu"}, `key: Tenant key "contoso/eu" is not usable`},
		{map[string]any{"key": ""}, `key: Tenant key "" is not usable`},
		{map[string]any{"isolation_model": ""}, "isolation_model: "},
		{map[string]any{"destroy_policy": "drop"}, "destroy_policy: "},
		{map[string]any{"migration": map[string]any{"verify": "count"}}, "migration.verify: "},
		{map[string]any{"migration": map[string]any{"max_freeze": "30"}}, "migration.max_freeze: "},
		{map[string]any{"migration": map[string]any{"max_freeze": "-30s"}}, "migration.max_freeze: "},
		{map[string]any{"migration": map[string]any{"drain": "1 minute"}}, "migration.drain: "},
		{map[string]any{"migration": map[string]any{"drain": "0s"}}, "migration.drain: "},
		{map[string]any{"migration": map[string]any{"drain": "30s", "max_freeze": "30s"}}, "migration.drain: The move's times are not usable: Drain (30s) is part of"},
		{map[string]any{"migration": map[string]any{"reverse_window": "a day"}}, "migration.reverse_window: "},
		{map[string]any{"timeouts": map[string]any{"update": "2 hours"}}, "timeouts.update: "},
	} {
		config := map[string]any{"tenant_id": "contoso", "isolation_model": "pool"}
		for k, v := range c.config {
			config[k] = v
		}
		mustSay(t, p.validate("aztenancy_tenant", config), c.says)
	}
	good := map[string]any{"tenant_id": unknown, "key": "Contoso Ltd. *", "isolation_model": unknown,
		"migration": map[string]any{"verify": "full", "drain": "10s", "max_freeze": "30s", "reverse_window": "24h"}}
	if errs := p.validate("aztenancy_tenant", good); len(errs) > 0 {
		t.Error(fmt.Sprint(errs))
	}
}

// A tenant that the configuration would look for in another storage account than the catalog names is neither read nor gone.
func TestTenantWhoseAccountNamesAnotherStorageAccountIsNotRead(t *testing.T) {
	w := worldWithoutTerraform(t)
	w.model(tenancy.Model{Name: "own-account", Kind: tenancy.DedicatedAccount, Tables: map[string]string{"orders": "Orders{tenant}"},
		KeyScheme: tenancy.KeyScheme{Kind: tenancy.SchemeTenant}})
	w.provision(catalog.TenantSpec{ID: "contoso", Model: "own-account", Account: "premium"})
	state := map[string]any{"tenant_id": "contoso", "key": "contoso", "isolation_model": "own-account", "account": "premium", "epoch": 2}
	p := configuredPlugin(w)
	r, now := p.read("aztenancy_tenant", state)
	if errs := texts(r.Diagnostics, tfprotov6.DiagnosticSeverityError); len(errs) > 0 || now.IsNull() {
		t.Fatalf("with the right account: %q", errs)
	}
	p = newPlugin(t)
	if errs := p.configure(map[string]any{
		"connection_string": w.server.ConnectionString(homeAccount),
		"accounts":          map[string]any{"premium": map[string]any{"connection_string": w.server.ConnectionString(homeAccount)}},
	}); len(errs) > 0 {
		t.Fatal(errs)
	}
	r, now = p.read("aztenancy_tenant", state)
	mustSay(t, texts(r.Diagnostics, tfprotov6.DiagnosticSeverityError),
		`Tenant "contoso" is not in the account that is configured: Account "premium" is configured as storage account aztenancyhome, but the catalog has table Orderscontoso in aztenancypremium`)
	if now.IsNull() {
		t.Error("the tenant was dropped from the state")
	}
}

func TestReadOnlyProviderRefusesEveryWrite(t *testing.T) {
	w := worldWithoutTerraform(t)
	w.populate()
	block := w.block()
	block["read_only"] = true
	block["max_concurrency"] = 4
	block["request_timeout"] = "30s"
	block["retry"] = map[string]any{"max_attempts": 2, "min_delay": "10ms", "max_delay": "1s"}
	p := newPlugin(t)
	if errs := p.configure(block); len(errs) > 0 {
		t.Fatal(errs)
	}
	if _, v := p.data("aztenancy_tenant", map[string]any{"tenant_id": "contoso"}); v.IsNull() {
		t.Error("a tenant cannot be read")
	}
	for resource, config := range map[string]map[string]any{
		"aztenancy_table":  {"name": "Invoices"},
		"aztenancy_tenant": {"tenant_id": "adatum", "isolation_model": "pool"},
		"aztenancy_entity": {"table": "Settings", "partition_key": "a", "row_key": "b", "properties": map[string]any{}},
	} {
		planned, _ := p.plan(resource, config)
		typ := p.resourceType(resource)
		r, err := p.server.ApplyResourceChange(context.Background(), &tfprotov6.ApplyResourceChangeRequest{TypeName: resource,
			PriorState: p.dynamic(tftypes.NewValue(typ, nil)), PlannedState: planned.PlannedState, Config: p.dynamic(p.value(typ, config))})
		if err != nil {
			t.Fatal(err)
		}
		mustSay(t, texts(r.Diagnostics, tfprotov6.DiagnosticSeverityError), "read-only (`read_only`)")
	}
}

func TestLimitsOfAccountsThatCannotBeAreFoundByValidate(t *testing.T) {
	p := newPlugin(t)
	for _, c := range []struct {
		limits map[string]any
		says   string
	}{
		{map[string]any{"max_concurrency": 0}, "max_concurrency: "},
		{map[string]any{"request_timeout": "30"}, "request_timeout: "},
		{map[string]any{"retry": map[string]any{"max_attempts": 0}}, "retry.max_attempts: "},
		{map[string]any{"retry": map[string]any{"min_delay": "1m", "max_delay": "1s"}}, "retry.min_delay (1m0s) is longer than retry.max_delay (1s)"},
	} {
		block := map[string]any{"connection_string": "UseDevelopmentStorage=true"}
		for k, v := range c.limits {
			block[k] = v
		}
		mustSay(t, p.configure(block), c.says)
		mustSay(t, p.configure(map[string]any{"connection_string": "UseDevelopmentStorage=true", "accounts": map[string]any{"premium": block}}), c.says[:6])
	}
}
