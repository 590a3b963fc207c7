package catalog_test

import (
	"errors"
	"net/http"
	"sync"
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"

	"github.com/aztenancy/terraform-provider-aztenancy/internal/acctest"
	"github.com/aztenancy/terraform-provider-aztenancy/internal/catalog"
	"github.com/aztenancy/terraform-provider-aztenancy/internal/edm"
	"github.com/aztenancy/terraform-provider-aztenancy/internal/tablestorage"
	"github.com/aztenancy/terraform-provider-aztenancy/internal/tenancy"
)

// world is a table service with a home and a premium account, and one operator's view of it.
type world struct {
	t        testing.TB
	server   *acctest.Server
	catalog  *catalog.Catalog
	accounts *tablestorage.Accounts
	p        *catalog.Provisioner
	wire     *wire
}

func newWorld(t testing.TB) *world {
	t.Helper()
	return newWorldOn(t, acctest.StartServer(t, acctest.WithAccounts("home1", "premium1")))
}

func newWorldOn(t testing.TB, s *acctest.Server) *world { return (&world{server: s}).operator(t) }

// operator returns another operator's view, with nothing remembered and a wire of its own.
func (w *world) operator(t testing.TB) *world {
	t.Helper()
	o := &world{t: t, server: w.server, wire: &wire{}}
	cfg := tablestorage.Config{
		Home:     tablestorage.AccountConfig{ConnectionString: w.server.ConnectionString("home1")},
		Accounts: map[string]tablestorage.AccountConfig{"premium": {ConnectionString: w.server.ConnectionString("premium1")}},
	}
	var err error
	o.accounts, err = tablestorage.NewAccounts(cfg, &tablestorage.ClientOptions{Transport: o.wire, Retry: policy.RetryOptions{MaxRetries: -1}})
	if err != nil {
		t.Fatal(err)
	}
	o.catalog = catalog.Open(o.accounts.Home(), "")
	o.p = &catalog.Provisioner{Catalog: o.catalog, Accounts: o.accounts}
	return o
}

var errCut = errors.New("connection reset by the test")

// wire passes requests to the service until it is told otherwise.
type wire struct {
	mu       sync.Mutex
	requests int
	// before is asked with each request's number from 1; its error is returned instead of sending.
	before func(n int, r *http.Request) error
	// after is asked once the service has answered; its error is returned instead of the answer.
	after func(n int, r *http.Request) error
}

func (w *wire) Do(r *http.Request) (*http.Response, error) {
	w.mu.Lock()
	w.requests++
	n, before, after := w.requests, w.before, w.after
	w.mu.Unlock()
	if before != nil {
		if err := before(n, r); err != nil {
			return nil, err
		}
	}
	resp, err := http.DefaultClient.Do(r)
	if err == nil && after != nil {
		if cut := after(n, r); cut != nil {
			return nil, errors.Join(cut, resp.Body.Close())
		}
	}
	return resp, err
}

// set replaces the hooks and starts counting anew.
func (w *wire) set(before, after func(int, *http.Request) error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.requests, w.before, w.after = 0, before, after
}

func (w *wire) count() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.requests
}

func pool() tenancy.Model {
	return tenancy.Model{Name: "pool", Kind: tenancy.SharedTable, Account: "home", Tables: map[string]string{"orders": "Orders"},
		KeyScheme: tenancy.KeyScheme{Kind: tenancy.SchemeBucketed, Separator: "|", Buckets: 16}}
}

func ownTable() tenancy.Model {
	return tenancy.Model{Name: "own-table", Kind: tenancy.DedicatedTable, Account: "home", Tables: map[string]string{"orders": "Orders{tenant}"},
		KeyScheme: tenancy.KeyScheme{Kind: tenancy.SchemeTenant}}
}

// declare creates the shared table Orders and the models.
func (w *world) declare(models ...tenancy.Model) *world {
	w.t.Helper()
	w.createTable("Orders")
	for _, m := range models {
		if _, err := w.catalog.CreateModel(w.t.Context(), m); err != nil {
			w.t.Fatal(err)
		}
	}
	return w
}

func (w *world) createTable(name string) {
	w.t.Helper()
	if _, err := w.accounts.Home().CreateTable(w.t.Context(), name); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) create(s catalog.TenantSpec) catalog.TenantRecord {
	w.t.Helper()
	rec, err := w.p.Create(w.t.Context(), s)
	if err != nil {
		w.t.Fatal(err)
	}
	return rec
}

// put writes an entity into a table of the home account.
func (w *world) put(table, pk, rk string) {
	w.t.Helper()
	if _, err := w.accounts.Home().Table(table).UpsertReplace(w.t.Context(), &edm.Entity{PartitionKey: pk, RowKey: rk}); err != nil {
		w.t.Fatal(err)
	}
}

// keys returns the keys of a table of the home account, as PartitionKey/RowKey.
func (w *world) keys(table string) []string {
	w.t.Helper()
	var all []string
	for e, err := range w.accounts.Home().Table(table).Query(w.t.Context(), tablestorage.Query{}) {
		if err != nil {
			w.t.Fatal(err)
		}
		all = append(all, e.PartitionKey+"/"+e.RowKey)
	}
	return all
}

func (w *world) snapshot() *catalog.Snapshot {
	w.t.Helper()
	s, err := w.catalog.Snapshot(w.t.Context())
	if err != nil {
		w.t.Fatal(err)
	}
	return s
}

func (w *world) tableExists(name string) bool {
	w.t.Helper()
	_, ok, err := w.accounts.Home().TableExists(w.t.Context(), name)
	if err != nil {
		w.t.Fatal(err)
	}
	return ok
}
