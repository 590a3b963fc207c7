package provider

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/providerserver"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	tfstate "github.com/hashicorp/terraform-plugin-testing/terraform"

	"github.com/aztenancy/terraform-provider-aztenancy/internal/acctest"
	"github.com/aztenancy/terraform-provider-aztenancy/internal/catalog"
	"github.com/aztenancy/terraform-provider-aztenancy/internal/edm"
	"github.com/aztenancy/terraform-provider-aztenancy/internal/migration"
	"github.com/aztenancy/terraform-provider-aztenancy/internal/tablestorage"
	"github.com/aztenancy/terraform-provider-aztenancy/internal/tenancy"
)

// The accounts of every test's server: the home account, and one that the provider block names "premium".
const (
	homeAccount    = "aztenancyhome"
	premiumAccount = "aztenancypremium"
)

// world is a table service with two accounts, Terraform, and clients that look at what Terraform did.
type world struct {
	t        *testing.T
	server   *acctest.Server
	accounts *tablestorage.Accounts
	catalog  *catalog.Catalog
}

func newWorld(t *testing.T) *world {
	t.Helper()
	useTerraform(t)
	return worldOn(t, acctest.StartServer(t, acctest.WithAccounts(homeAccount, premiumAccount)))
}

// worldWithoutTerraform is for tests of the code below Terraform.
func worldWithoutTerraform(t *testing.T) *world {
	t.Helper()
	return worldOn(t, acctest.StartServer(t, acctest.WithAccounts(homeAccount, premiumAccount)))
}

func worldOn(t *testing.T, server *acctest.Server) *world {
	t.Helper()
	accounts, err := tablestorage.NewAccounts(tablestorage.Config{
		Home:     tablestorage.AccountConfig{ConnectionString: server.ConnectionString(homeAccount)},
		Accounts: map[string]tablestorage.AccountConfig{"premium": {ConnectionString: server.ConnectionString(premiumAccount)}},
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return &world{t: t, server: server, accounts: accounts, catalog: catalog.Open(accounts.Home(), accounts.CatalogTable())}
}

// useTerraform makes the test framework use the binary that acctest finds. Tests that call it run in parallel: what
// they need of the environment is the same for all, and set once.
func useTerraform(t *testing.T) {
	t.Helper()
	t.Parallel()
	terraform.once.Lock()
	defer terraform.once.Unlock()
	if terraform.found.Path != "" {
		return
	}
	terraform.found = acctest.Terraform(t)
	if err := terraform.setenv(); err != nil {
		t.Fatal(err)
	}
}

// terraform is the binary that all tests share.
var terraform terraformCLI

type terraformCLI struct {
	once  sync.Mutex
	found acctest.CLI
}

func (c *terraformCLI) setenv() error {
	env := map[string]string{"TF_ACC_TERRAFORM_PATH": c.found.Path}
	if c.found.OpenTofu {
		env["TF_ACC_PROVIDER_HOST"] = "registry.opentofu.org"
		env["TF_ACC_PROVIDER_NAMESPACE"] = "hashicorp"
	}
	for name, value := range env {
		if err := os.Setenv(name, value); err != nil {
			return err
		}
	}
	return nil
}

// TestMain takes from the environment what would change how Terraform works: an inherited TF_CLI_CONFIG_FILE can name
// a file that is missing, or mirrors.
func TestMain(m *testing.M) { os.Exit(testMain(m)) }

func testMain(m *testing.M) int {
	dir, err := os.MkdirTemp("", "aztenancy-provider-test")
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "cli.tfrc"), nil, 0o600)
	}
	for _, pair := range os.Environ() {
		name, _, _ := strings.Cut(pair, "=")
		if err == nil && (strings.HasPrefix(name, "TF_") && !strings.HasPrefix(name, "TF_ACC") && name != "TF_BIN" ||
			strings.HasPrefix(name, "AZURE_STORAGE_") || strings.HasPrefix(name, "AZTENANCY_")) {
			err = os.Unsetenv(name)
		}
	}
	for name, value := range map[string]string{"TF_CLI_CONFIG_FILE": filepath.Join(dir, "cli.tfrc"), "CHECKPOINT_DISABLE": "1"} {
		if err == nil {
			err = os.Setenv(name, value)
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer func() { _ = os.RemoveAll(dir) }()
	return m.Run()
}

// provider is the provider block of both accounts.
func (w *world) provider() string {
	return fmt.Sprintf(`
provider "aztenancy" {
  connection_string = %q
  accounts          = { premium = { connection_string = %q } }
}
`, w.server.ConnectionString(homeAccount), w.server.ConnectionString(premiumAccount))
}

// run applies step after step, and destroys what the last one left.
func (w *world) run(steps ...resource.TestStep) {
	w.t.Helper()
	for i := range steps {
		if steps[i].Config != "" {
			steps[i].Config = w.provider() + steps[i].Config
		}
	}
	resource.UnitTest(w.t, resource.TestCase{
		ProtoV6ProviderFactories: factories(),
		Steps:                    steps,
	})
}

func factories() map[string]func() (tfprotov6.ProviderServer, error) {
	return map[string]func() (tfprotov6.ProviderServer, error){
		"aztenancy": providerserver.NewProtocol6WithError(New("test")()),
	}
}

// orders has a shared table, and a model for each kind.
const orders = `
resource "aztenancy_table" "orders" {
  name                = "Orders"
  deletion_protection = false
}

resource "aztenancy_isolation_model" "pool" {
  name       = "pool"
  kind       = "shared_table"
  tables     = { orders = aztenancy_table.orders.name }
  key_scheme = { kind = "bucketed", separator = "|", buckets = 4 }
}

resource "aztenancy_isolation_model" "own_table" {
  name       = "own-table"
  kind       = "dedicated_table"
  tables     = { orders = "Orders{tenant}" }
  key_scheme = { kind = "tenant" }
}

resource "aztenancy_isolation_model" "own_account" {
  name       = "own-account"
  kind       = "dedicated_account"
  tables     = { orders = "Orders{tenant}" }
  key_scheme = { kind = "tenant" }
}
`

// contoso is the tenant contoso, which may be destroyed, with further attributes.
func contoso(attributes string) string {
	return fmt.Sprintf(`
resource "aztenancy_tenant" "contoso" {
  tenant_id           = "contoso"
  key                 = "Contoso"
  deletion_protection = false
  destroy_policy      = "delete"
  %s
}
`, attributes)
}

// as refers to a model of orders.
func as(model string) string {
	return fmt.Sprintf("isolation_model = aztenancy_isolation_model.%s.name\n", model)
}

// fill writes entities of a tenant to where the catalog says it is.
func (w *world) fill(tenantID string, n int) {
	w.t.Helper()
	ctx := context.Background()
	rec := w.tenant(tenantID)
	place := rec.Placement["orders"]
	for i := range n {
		e := &edm.Entity{RowKey: fmt.Sprintf("order-%04d", i)}
		e.Set("Total", edm.DoubleValue(float64(i)+0.5))
		e.Set("Count", edm.Int64Value(int64(i)<<40))
		pk, err := place.Scheme.PartitionKey(place.Key, e)
		if err != nil {
			w.t.Fatal(err)
		}
		e.PartitionKey = pk
		if _, err := w.client(place.Account).Table(place.Table).UpsertReplace(ctx, e); err != nil {
			w.t.Fatal(err)
		}
	}
}

// foreign makes a table with an entity of somebody else.
func (w *world) foreign(account, table string) {
	w.t.Helper()
	ctx := context.Background()
	if _, err := w.client(account).CreateTable(ctx, table); err != nil {
		w.t.Fatal(err)
	}
	if _, err := w.client(account).Table(table).Insert(ctx, &edm.Entity{PartitionKey: "foreign", RowKey: "1"}); err != nil {
		w.t.Fatal(err)
	}
}

// entities counts what is in a table.
func (w *world) entities(account, table string) int {
	w.t.Helper()
	n := 0
	for _, err := range w.client(account).Table(table).Query(context.Background(), tablestorage.Query{}) {
		if err != nil {
			w.t.Fatal(err)
		}
		n++
	}
	return n
}

func (w *world) client(account string) *tablestorage.Client {
	w.t.Helper()
	c, err := w.accounts.Client(account)
	if err != nil {
		w.t.Fatal(err)
	}
	return c
}

func (w *world) tenant(id string) catalog.TenantRecord {
	w.t.Helper()
	rec, err := w.catalog.Tenant(context.Background(), id)
	if err != nil {
		w.t.Fatal(err)
	}
	return rec
}

// moveOutside moves a tenant as tenantctl does.
func (w *world) moveOutside(id, model, account string) {
	w.t.Helper()
	engine := &migration.Engine{Catalog: w.catalog, Accounts: w.accounts}
	if _, err := engine.Run(context.Background(), id, migration.Target{Model: model, Account: account}, migration.Options{}); err != nil {
		w.t.Fatal(err)
	}
}

// purge removes what a tenant's moves left behind, as tenantctl does.
func (w *world) purge(id string) {
	w.t.Helper()
	engine := &migration.Engine{Catalog: w.catalog, Accounts: w.accounts}
	if _, err := engine.Purge(context.Background(), id, migration.Options{}); err != nil {
		w.t.Fatal(err)
	}
}

// model declares an isolation model as another program does.
func (w *world) model(m tenancy.Model) {
	w.t.Helper()
	ctx := context.Background()
	err := w.catalog.Ensure(ctx)
	if err == nil {
		_, err = w.catalog.CreateModel(ctx, m)
	}
	if err != nil {
		w.t.Fatal(err)
	}
}

// provision makes a tenant as another program does.
func (w *world) provision(spec catalog.TenantSpec) {
	w.t.Helper()
	p := &catalog.Provisioner{Catalog: w.catalog, Accounts: w.accounts}
	if _, err := p.Create(context.Background(), spec); err != nil {
		w.t.Fatal(err)
	}
}

// does is a check that calls f.
func does(f func()) resource.TestCheckFunc {
	return func(*tfstate.State) error {
		f()
		return nil
	}
}

// isAt is a check of where the catalog has a tenant.
func (w *world) isAt(id, model string, state tenancy.State) resource.TestCheckFunc {
	return func(*tfstate.State) error {
		rec, err := w.catalog.Tenant(context.Background(), id)
		if err != nil {
			return err
		}
		if rec.Model != model || rec.State != state {
			return fmt.Errorf("tenant %q is at model %q in state %q, want %q, %q", id, rec.Model, rec.State, model, state)
		}
		return nil
	}
}

// says matches words in this order, however Terraform wraps its lines.
func says(words string) *regexp.Regexp {
	var parts []string
	for _, word := range strings.Fields(words) {
		parts = append(parts, regexp.QuoteMeta(word))
	}
	return regexp.MustCompile(`(?s)` + strings.Join(parts, `[\s│]+`))
}

// counter counts requests by kind while it is on.
type counter struct {
	mu     sync.Mutex
	counts map[string]int
	match  func(*http.Request) string // the kind of a request, "" for none
}

func (w *world) count(match func(*http.Request) string) *counter {
	c := &counter{counts: make(map[string]int), match: match}
	w.server.Wrap(func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
			if kind := c.match(r); kind != "" {
				c.mu.Lock()
				c.counts[kind]++
				c.mu.Unlock()
			}
			next.ServeHTTP(rw, r)
		})
	})
	return c
}

func (c *counter) of(kind string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.counts[kind]
}
