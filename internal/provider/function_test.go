package provider

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/knownvalue"
	"github.com/hashicorp/terraform-plugin-testing/statecheck"

	"github.com/aztenancy/terraform-provider-aztenancy/internal/tablestorage"
)

// The examples of all functions, in one configuration, with real Terraform.
func TestExamplesOfFunctionsGiveWhatTheDocumentationSays(t *testing.T) {
	useTerraform(t)
	files, err := filepath.Glob(filepath.Join("..", "..", "examples", "functions", "*", "function.tf"))
	if err != nil {
		t.Fatal(err)
	}
	functions := (&aztenancyProvider{}).Functions(context.Background())
	if len(files) != len(functions) {
		t.Errorf("%d examples for %d functions", len(files), len(functions))
	}
	var config strings.Builder
	for _, file := range files {
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		config.Write(b)
	}
	wants := map[string]knownvalue.Check{
		"bucket":             knownvalue.Int64Exact(9), // python3 -c 'import zlib; print(zlib.crc32(b"order-0007") % 16)'
		"decoded_key":        knownvalue.StringExact("A/B"),
		"encoded_key":        knownvalue.StringExact("A~2FB"),
		"filter_by_name":     knownvalue.StringExact("Name eq 'O''Hara'"),
		"own_table":          knownvalue.StringExact("Orderscontosoz0eu"),
		"bucketed_partition": knownvalue.StringExact("contoso|09"),
		"prefixed_partition": knownvalue.StringExact("contoso|2026-06"),
		"table_endpoint":     knownvalue.StringExact("http://127.0.0.1:10002/devstoreaccount1"),
		"storage_account":    knownvalue.StringExact("contoso"),
		"range": knownvalue.ObjectExact(map[string]knownvalue.Check{
			"partition_key_start": knownvalue.StringExact("contoso|"),
			"row_key_start":       knownvalue.Null(),
			"partition_key_end":   knownvalue.StringExact("contoso}"),
			"row_key_end":         knownvalue.StringExact(""),
			"filter":              knownvalue.StringExact("PartitionKey ge 'contoso|' and PartitionKey le 'contoso}' and (PartitionKey lt 'contoso}' or RowKey eq '')"),
		}),
	}
	var checks []statecheck.StateCheck
	for name, want := range wants {
		checks = append(checks, statecheck.ExpectKnownOutputValue(name, want))
	}
	resource.UnitTest(t, resource.TestCase{
		ProtoV6ProviderFactories: factories(),
		Steps:                    []resource.TestStep{{Config: config.String(), ConfigStateChecks: checks}},
	})
}

// call calls a function; arguments are texts, numbers, or values of any type.
func (p *plugin) call(name string, arguments ...any) (tftypes.Value, *tfprotov6.FunctionError) {
	p.t.Helper()
	definition := p.schemas.Functions[name]
	var values []*tfprotov6.DynamicValue
	for i, a := range arguments {
		v, ok := a.(tftypes.Value)
		if !ok {
			v = tftypes.NewValue(definition.Parameters[i].Type, a)
		}
		d, err := tfprotov6.NewDynamicValue(definition.Parameters[i].Type, v)
		if err != nil {
			p.t.Fatal(err)
		}
		values = append(values, &d)
	}
	r, err := p.server.CallFunction(context.Background(), &tfprotov6.CallFunctionRequest{Name: name, Arguments: values})
	if err != nil {
		p.t.Fatal(err)
	}
	if r.Error != nil {
		return tftypes.Value{}, r.Error
	}
	v, err := r.Result.Unmarshal(definition.Return.Type)
	if err != nil {
		p.t.Fatal(err)
	}
	return v, nil
}

func object(attributes map[string]any) tftypes.Value {
	types, values := map[string]tftypes.Type{}, map[string]tftypes.Value{}
	for name, a := range attributes {
		var t tftypes.Type = tftypes.String
		if _, ok := a.(string); !ok {
			t = tftypes.Number
		}
		types[name], values[name] = t, tftypes.NewValue(t, a)
	}
	return tftypes.NewValue(tftypes.Object{AttributeTypes: types}, values)
}

func TestFunctionsRefuseWhatTheyCannotCompute(t *testing.T) {
	p := newPlugin(t)
	tenant := object(map[string]any{"kind": "tenant"})
	bucketed := object(map[string]any{"kind": "bucketed", "separator": "|", "buckets": 4})
	for _, c := range []struct {
		name      string
		arguments []any
		position  int64
		says      string
	}{
		{"bucket", []any{"x", 1}, 1, "1 buckets: choose 2 to 1000"},
		{"decode_key", []any{"a~2"}, 0, "ends within an escape"},
		{"decode_key", []any{"~!FF"}, 0, "not UTF-8"},
		{"table_name", []any{"Orders", "contoso"}, 0, "exactly once"},
		{"table_name", []any{"Orders{tenant}", "Contoso"}, 1, "a-z"},
		{"partition_key", []any{tenant, "contoso", "value"}, 2, "has no place for the partition value"},
		{"partition_key", []any{tenant, "con/toso", ""}, 1, "cannot stand in a PartitionKey"},
		{"partition_key", []any{object(map[string]any{"kind": "hashed"}), "contoso", ""}, 0, `"hashed" is unknown`},
		{"partition_key", []any{object(map[string]any{"kind": "tenant", "bucket": 4}), "contoso", ""}, 0, "has no bucket"},
		{"partition_key", []any{object(map[string]any{"kind": "bucketed", "separator": "|", "buckets": "four"}), "contoso", ""}, 0, "wrong type"},
		{"partition_key", []any{object(map[string]any{"kind": "bucketed", "separator": "|", "buckets": 1.5}), "contoso", ""}, 0, "wrong type"},
		{"key_range", []any{tftypes.NewValue(tftypes.String, "tenant"), "contoso"}, 0, "is an object"},
		{"key_range", []any{bucketed, ""}, 1, "empty"},
		{"parse_connection_string", []any{"AccountKey=c2VjcmV0"}, 0, "no account name"},
		{"parse_connection_string", []any{"nonsense"}, 0, "Name=Value"},
		{"parse_table_id", []any{"premium/tables"}, 0, "not \"tables\""},
		{"parse_table_id", []any{"/Orders"}, 0, "ARM id"},
		{"parse_table_id", []any{"https://contoso.table.core.windows.net/"}, 0, "neither NAME nor"},
	} {
		_, err := p.call(c.name, c.arguments...)
		if err == nil || err.FunctionArgument == nil || *err.FunctionArgument != c.position || !strings.Contains(err.Text, c.says) {
			t.Errorf("%s: %+v, want %q at argument %d", c.name, err, c.says, c.position)
		}
		if err != nil && strings.Contains(err.Text, "c2VjcmV0") {
			t.Errorf("%s shows a secret: %s", c.name, err.Text)
		}
	}
}

func TestConnectionStringsOfEveryShapeAreRead(t *testing.T) {
	p := newPlugin(t)
	for text, want := range map[string][3]string{
		"UseDevelopmentStorage=true": {"devstoreaccount1", "http://127.0.0.1:10002/devstoreaccount1", "account_key"},
		"DefaultEndpointsProtocol=https;AccountName=contoso;AccountKey=a2V5;EndpointSuffix=core.chinacloudapi.cn": {"contoso", "https://contoso.table.core.chinacloudapi.cn", "account_key"},
		"TableEndpoint=https://contoso.table.core.windows.net/;SharedAccessSignature=sv=2020&sig=abc":             {"contoso", "https://contoso.table.core.windows.net", "sas_token"},
		"TableEndpoint=https://contoso.table.core.windows.net":                                                    {"contoso", "https://contoso.table.core.windows.net", "none"},
		"DefaultEndpointsProtocol=http;AccountName=contoso;AccountKey=a2V5;TableEndpoint=http://azurite:10002":    {"contoso", "http://azurite:10002/contoso", "account_key"},
	} {
		v, ferr := p.call("parse_connection_string", text)
		if ferr != nil {
			t.Errorf("%s: %s", text, ferr.Text)
			continue
		}
		for i, name := range []string{"account_name", "table_endpoint", "credential"} {
			if got := attribute(t, v, name); !got.Equal(tftypes.NewValue(tftypes.String, want[i])) {
				t.Errorf("%s: %s is %v, want %s", text, name, got, want[i])
			}
		}
	}
}

// The pure function and the import of aztenancy_table read the same forms in the same way.
func TestTableIDsAreReadAsImportReadsThem(t *testing.T) {
	accounts, err := tablestorage.NewAccounts(tablestorage.Config{Home: tablestorage.AccountConfig{ConnectionString: "AccountName=contoso;AccountKey=a2V5"},
		Accounts: map[string]tablestorage.AccountConfig{"local": {ConnectionString: "UseDevelopmentStorage=true"}}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{
		"Orders", "local/Orders", "https://contoso.table.core.windows.net/Orders", "https://contoso.table.core.windows.net/Tables('Orders')",
		"http://127.0.0.1:10002/devstoreaccount1/Orders",
		"/subscriptions/0/resourceGroups/saas/providers/Microsoft.Storage/storageAccounts/contoso/tableServices/default/tables/Orders",
	} {
		account, name, err := parseTableID(accounts, id)
		m, derr := describeTableID(id)
		if err != nil || derr != nil {
			t.Errorf("%s: %v, %v", id, err, derr)
			continue
		}
		if m.Name.ValueString() != name || !m.Account.IsNull() && m.Account.ValueString() != account {
			t.Errorf("%s: %+v, want %s of %s", id, m, name, account)
		}
		client, err := accounts.Client(account)
		if err != nil {
			t.Fatal(err)
		}
		if s := m.StorageAccount; !s.IsNull() && s.ValueString() != client.AccountName() {
			t.Errorf("%s: storage account %v, want %s", id, s, client.AccountName())
		}
	}
}
