package tenantctl

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/aztenancy/terraform-provider-aztenancy/internal/acctest"
	"github.com/aztenancy/terraform-provider-aztenancy/internal/catalog"
	"github.com/aztenancy/terraform-provider-aztenancy/internal/tablestorage"
	"github.com/aztenancy/terraform-provider-aztenancy/internal/tenancy"
)

// world is a table server with two accounts, a catalog with three models, and a working folder that holds accounts.hcl.
type world struct {
	t        testing.TB
	server   *acctest.Server
	accounts *tablestorage.Accounts
	catalog  *catalog.Catalog
	outputs  strings.Builder // everything that any command wrote
}

func newWorld(t testing.TB, opts ...acctest.Option) *world {
	t.Helper()
	t.Chdir(t.TempDir())
	server := acctest.StartServer(t, append(opts, acctest.WithAccounts("homeacct", "premiumacct"))...)
	accounts, err := tablestorage.NewAccounts(tablestorage.Config{
		Home:     tablestorage.AccountConfig{ConnectionString: server.ConnectionString("homeacct")},
		Accounts: map[string]tablestorage.AccountConfig{"premium": {ConnectionString: server.ConnectionString("premiumacct")}},
	}, nil)
	must(t, err)
	w := &world{t: t, server: server, accounts: accounts, catalog: catalog.Open(accounts.Home(), accounts.CatalogTable())}
	must(t, w.catalog.Ensure(t.Context()))
	_, err = accounts.Home().CreateTable(t.Context(), "Strikes")
	must(t, err)
	bucketed := tenancy.KeyScheme{Kind: tenancy.SchemeBucketed, Separator: "|", Buckets: 4}
	for _, m := range []tenancy.Model{
		{Name: "pool", Kind: tenancy.SharedTable, Account: "home", Tables: map[string]string{"strikes": "Strikes"}, KeyScheme: bucketed},
		{Name: "own-table", Kind: tenancy.DedicatedTable, Account: "home", Tables: map[string]string{"strikes": "Strikes{tenant}"},
			KeyScheme: tenancy.KeyScheme{Kind: tenancy.SchemeTenant}},
		{Name: "own-account", Kind: tenancy.DedicatedAccount, Tables: map[string]string{"strikes": "Strikes{tenant}"}, KeyScheme: bucketed},
	} {
		_, err := w.catalog.CreateModel(t.Context(), m)
		must(t, err)
	}
	w.file("accounts.hcl", fmt.Sprintf("connection_string = %q\naccounts = { premium = { connection_string = %q } }\n",
		server.ConnectionString("homeacct"), server.ConnectionString("premiumacct")))
	return w
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func (w *world) tenant(id, key string) {
	w.t.Helper()
	p := &catalog.Provisioner{Catalog: w.catalog, Accounts: w.accounts}
	_, err := p.Create(w.t.Context(), catalog.TenantSpec{ID: id, Key: key, Model: "pool"})
	must(w.t, err)
}

// file writes a file into the working folder.
func (w *world) file(name, content string) {
	w.t.Helper()
	must(w.t, os.WriteFile(filepath.Base(name), []byte(content), 0o600))
}

// outcome is what a command left.
type outcome struct {
	code           int
	stdout, stderr string
}

// run runs a command with the home account in the environment.
func (w *world) run(args ...string) outcome {
	w.t.Helper()
	return w.runWith(w.t.Context(), map[string]string{"AZTENANCY_CONNECTION_STRING": w.server.ConnectionString("homeacct")}, "", args...)
}

// runBoth runs a command with both accounts, from accounts.hcl.
func (w *world) runBoth(args ...string) outcome {
	w.t.Helper()
	return w.runWith(w.t.Context(), nil, "", append(args, "--config", "accounts.hcl")...)
}

func (w *world) runWith(ctx context.Context, environ map[string]string, stdin string, args ...string) outcome {
	w.t.Helper()
	var stdout, stderr bytes.Buffer
	code := Run(ctx, Process{
		Stdin:   strings.NewReader(stdin),
		Stdout:  &stdout,
		Stderr:  &stderr,
		Getenv:  func(name string) string { return environ[name] },
		Version: "0.0.0-test",
	}, args)
	w.outputs.WriteString(stdout.String() + stderr.String())
	return outcome{code, stdout.String(), stderr.String()}
}

// mustRun runs a command that must end with the given status.
func (w *world) mustRun(code int, args ...string) outcome {
	w.t.Helper()
	o := w.runBoth(args...)
	if o.code != code {
		w.t.Fatalf("%q ended with %d, want %d\n%s%s", args, o.code, code, o.stdout, o.stderr)
	}
	return o
}

// wants fails unless the text holds all parts.
func wants(t testing.TB, text string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(text, part) {
			t.Errorf("%q is missing in\n%s", part, text)
		}
	}
}

const strikes = `Airport Name,Aircraft Airline Operator,Flight Date,Cost Total $,Speed IAS in knots
BARKSDALE,Contoso Air*,1990-01-08,0,300
NEW ORLEANS,Contoso Air*,1990-01-11,144634,
DALLAS,Fabrikam Air,1990-01-11,0,140
DALLAS,Fabrikam Air,1990-01-11,0,140
`

// remove removes a file of the working folder.
func (w *world) remove(name string) {
	w.t.Helper()
	must(w.t, os.Remove(name))
}
