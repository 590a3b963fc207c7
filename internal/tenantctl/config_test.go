package tenantctl

import (
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/aztenancy/terraform-provider-aztenancy/internal/tablestorage"
)

func TestTheConfigurationTakesTheProviderBlocksAttributes(t *testing.T) {
	want := tablestorage.Config{
		Home:         tablestorage.AccountConfig{Name: "home", Key: "a2V5", Endpoint: "http://127.0.0.1:10002/home", AllowHTTP: true},
		CatalogTable: "Catalog",
		Accounts: map[string]tablestorage.AccountConfig{
			"premium": {Name: "premium", Entra: &tablestorage.EntraConfig{TenantID: "t", UseCLI: true}},
			"sas":     {ConnectionString: "SharedAccessSignature=x"},
		},
	}
	hcl := `
# a comment
account_name  = "home"
account_key   = "a2V5"
sas_token     = null
endpoint      = "http://127.0.0.1:10002/home"
allow_http    = true
catalog_table = "Catalog"
accounts = {
  premium = { account_name = "premium", entra = { tenant_id = "t", use_cli = true } }
  sas     = { connection_string = "SharedAccessSignature=x" }
}
`
	json := `{"account_name": "home", "account_key": "a2V5", "endpoint": "http://127.0.0.1:10002/home", "allow_http": true,
  "catalog_table": "Catalog", "accounts": {"premium": {"account_name": "premium", "entra": {"tenant_id": "t", "use_cli": true}},
  "sas": {"connection_string": "SharedAccessSignature=x"}}}`
	for name, src := range map[string]string{"accounts.hcl": hcl, "accounts": hcl, "accounts.json": json} {
		got, err := parseConfig(name, []byte(src))
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

func TestAWrongConfigurationIsNamedWithoutItsSecrets(t *testing.T) {
	const secret = "c2VjcmV0"
	cases := []struct{ name, file, src, want string }{
		{"block", "a.hcl", "provider \"aztenancy\" {\n account_key = \"" + secret + "\"\n}", `a.hcl:1: the file holds a block "provider"; write only the attributes`},
		{"unknown attribute", "a.hcl", `acount_key = "` + secret + `"`, "acount_key is no attribute; there are account_key, account_name, "},
		{"unknown attribute names all that there are", "a.hcl", `tabel = "x"`, "there are account_key, account_name, accounts, allow_http, catalog_table, connection_string, endpoint, entra, max_concurrency, read_only, request_timeout, retry, sas_token"},
		{"unknown attribute of an account names no catalog", "a.hcl", `accounts = { x = { catalog_table = "y" } }`, "accounts.x.catalog_table is no attribute; there are account_key, account_name, allow_http, connection_string"},
		{"unknown attribute of an account", "a.hcl", `accounts = { x = { key = "` + secret + `" } }`, "accounts.x.key is no attribute"},
		{"number for a text", "a.hcl", `account_key = 5`, "account_key must be a text in quotes"},
		{"text for a count", "a.hcl", `max_concurrency = "many"`, "max_concurrency must be a whole number"},
		{"part of a count", "a.hcl", `retry = { max_attempts = 1.5 }`, "retry.max_attempts must be a whole number"},
		{"number for a duration", "a.hcl", `request_timeout = 30`, "request_timeout must be a duration in quotes"},
		{"text for a flag", "a.hcl", `allow_http = "` + secret + `"`, "allow_http must be true or false"},
		{"text for an object", "a.hcl", `accounts = "` + secret + `"`, "accounts must be an object"},
		{"text for an account", "a.hcl", `accounts = { x = "` + secret + `" }`, "accounts.x must be an object"},
		{"text for entra", "a.hcl", `entra = "` + secret + `"`, "entra must be an object"},
		{"variable", "a.hcl", "account_name = \"x\"\naccount_key = var.key", "a.hcl:2: "},
		{"syntax", "a.hcl", `account_key = "` + secret, "a.hcl:1: "},
		{"JSON syntax", "a.json", `{"account_key": "` + secret, "a.json:1: "},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			_, err := parseConfig(c.file, []byte(c.src))
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %s", err, c.want)
			}
			if err != nil && strings.Contains(err.Error(), secret) {
				t.Errorf("the error shows the secret: %v", err)
			}
		})
	}
}

func TestAFileOfCredentialsThatOthersCanReadIsWarnedOf(t *testing.T) {
	w := newWorld(t)
	if o := w.runBoth("tenants"); strings.Contains(o.stderr, "chmod") {
		t.Errorf("warned of a private file: %s", o.stderr)
	}
	must(t, os.Chmod("accounts.hcl", 0o644))
	wants(t, w.mustRun(exitDone, "tenants").stderr, "accounts.hcl holds a credential and other users of this machine can read it", "chmod 600 accounts.hcl")
	o := w.mustRun(exitDone, "tenants", "--json")
	eachLineIsJSON(t, o.stderr)
	wants(t, o.stderr, `"type":"warning"`)
}

func TestTheHomeAccountComesFromTheEnvironmentWhereTheFileNamesNone(t *testing.T) {
	w := newWorld(t)
	w.tenant("contoso", "")
	w.file("more.hcl", `accounts = {}`)
	o := w.run("tenants", "--config", "more.hcl")
	if o.code != exitDone {
		t.Fatal(o)
	}
	wants(t, o.stdout, "contoso")
	if o := w.runWith(t.Context(), nil, "", "tenants"); o.code != exitUsage {
		t.Errorf("without any account: %d, %s", o.code, o.stderr)
	}
	if o := w.run("tenants", "--config", "missing.hcl"); o.code != exitUsage || !strings.Contains(o.stderr, "missing.hcl") {
		t.Errorf("without the file: %d, %s", o.code, o.stderr)
	}
}

func FuzzTheConfigurationParserNeverPanics(f *testing.F) {
	f.Add("account_name = \"x\"\naccounts = { a = { entra = {} } }", false)
	f.Add(`{"account_name": "x", "accounts": {"a": {"entra": {}}}}`, true)
	f.Add(`accounts = { for k in ["a"] : k => {} }`, false)
	f.Add(`account_key = 1/0`, false)
	f.Fuzz(func(t *testing.T, src string, isJSON bool) {
		name := "f.hcl"
		if isJSON {
			name = "f.json"
		}
		cfg, err := parseConfig(name, []byte(src))
		if err == nil {
			_ = holdsSecret(cfg)
		}
	})
}
