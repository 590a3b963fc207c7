package migration

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/aztenancy/terraform-provider-aztenancy/internal/acctest"
	"github.com/aztenancy/terraform-provider-aztenancy/internal/catalog"
	"github.com/aztenancy/terraform-provider-aztenancy/internal/edm"
	"github.com/aztenancy/terraform-provider-aztenancy/internal/tablestorage"
	"github.com/aztenancy/terraform-provider-aztenancy/internal/tenancy"
)

// fataler is what helpers need of *testing.T and *rapid.T.
type fataler interface {
	Helper()
	Fatalf(format string, args ...any)
}

// world is a table service with two accounts, a catalog and models of every kind.
type world struct {
	t        testing.TB
	server   *acctest.Server
	home     string // storage account names
	premium  string
	accounts *tablestorage.Accounts
	catalog  *catalog.Catalog
	skew     time.Duration // of the clocks of engines made from now on
}

var (
	bySlash  = tenancy.KeyScheme{Kind: tenancy.SchemePrefixed, Separator: "|"}
	byTenant = tenancy.KeyScheme{Kind: tenancy.SchemeTenant}
	native   = tenancy.KeyScheme{Kind: tenancy.SchemeNative}
	bucketed = func(n int) tenancy.KeyScheme {
		return tenancy.KeyScheme{Kind: tenancy.SchemeBucketed, Separator: "|", Buckets: n}
	}
	worldModels = []tenancy.Model{
		{Name: "pool", Kind: tenancy.SharedTable, Account: "home", Tables: map[string]string{"orders": "Pool"}, KeyScheme: bucketed(4)},
		{Name: "pool-tenant", Kind: tenancy.SharedTable, Account: "home", Tables: map[string]string{"orders": "PoolTenant"}, KeyScheme: byTenant},
		{Name: "pool-prefixed", Kind: tenancy.SharedTable, Account: "home", Tables: map[string]string{"orders": "PoolPrefixed"}, KeyScheme: bySlash},
		{Name: "own", Kind: tenancy.DedicatedTable, Account: "home", Tables: map[string]string{"orders": "Own{tenant}"}, KeyScheme: byTenant},
		{Name: "own-7", Kind: tenancy.DedicatedTable, Account: "home", Tables: map[string]string{"orders": "Seven{tenant}"}, KeyScheme: bucketed(7)},
		{Name: "own-native", Kind: tenancy.DedicatedTable, Account: "home", Tables: map[string]string{"orders": "Native{tenant}"}, KeyScheme: native},
		{Name: "far", Kind: tenancy.DedicatedAccount, Account: "premium", Tables: map[string]string{"orders": "Far{tenant}"}, KeyScheme: bucketed(4)},
	}
)

func newWorld(t testing.TB) *world {
	t.Helper()
	return newWorlds(t, 1)[0]
}

// newWorlds makes several on one server, which is faster than a server for each.
func newWorlds(t testing.TB, n int) []*world {
	t.Helper()
	var names []string
	for i := range n {
		names = append(names, fmt.Sprintf("home%d", i), fmt.Sprintf("premium%d", i))
	}
	server := acctest.StartServer(t, acctest.WithAccounts(names...))
	out := make([]*world, n)
	for i := range out {
		out[i] = worldOn(t, server, names[2*i], names[2*i+1])
	}
	return out
}

// worldOn makes a world of two accounts of a server.
func worldOn(t testing.TB, server *acctest.Server, home, premium string) *world {
	t.Helper()
	accounts, err := tablestorage.NewAccounts(tablestorage.Config{
		Home:     tablestorage.AccountConfig{ConnectionString: server.ConnectionString(home)},
		Accounts: map[string]tablestorage.AccountConfig{"premium": {ConnectionString: server.ConnectionString(premium)}},
	}, nil)
	must(t, err)
	w := &world{t: t, server: server, home: home, premium: premium, accounts: accounts, catalog: catalog.Open(accounts.Home(), accounts.CatalogTable())}
	must(t, w.catalog.Ensure(t.Context()))
	for _, m := range worldModels {
		if m.Kind == tenancy.SharedTable {
			_, err := accounts.Home().CreateTable(t.Context(), m.Tables["orders"])
			must(t, err)
		}
		_, err := w.catalog.CreateModel(t.Context(), m)
		must(t, err)
	}
	return w
}

func must(t fataler, err error) {
	t.Helper()
	if err != nil {
		t.Fatalf("unexpected error: %v", err)
	}
}

// engine returns a mover. Each has a name of its own.
func (w *world) engine(name string) *Engine {
	skew := w.skew
	return &Engine{Catalog: w.catalog, Accounts: w.accounts, Owner: name, now: func() time.Time { return time.Now().Add(skew) }}
}

// later makes the leases of all engines so far run out.
func (w *world) later() { w.skew += time.Hour }

// tenant declares a tenant.
func (w *world) tenant(t fataler, id, model string) catalog.TenantRecord {
	t.Helper()
	p := catalog.Provisioner{Catalog: w.catalog, Accounts: w.accounts}
	rec, err := p.Create(context.Background(), catalog.TenantSpec{ID: id, Model: model})
	must(t, err)
	return rec
}

// record reads a tenant's row.
func (w *world) record(t fataler, id string) catalog.TenantRecord {
	t.Helper()
	rec, err := w.catalog.Tenant(context.Background(), id)
	must(t, err)
	return rec
}

// table returns the table of a tenant's orders.
func (w *world) table(t fataler, p tenancy.TablePlacement) *tablestorage.Table {
	t.Helper()
	c, err := w.accounts.Client(p.Account)
	must(t, err)
	return c.Table(p.Table)
}

// order is an entity of a tenant as its application sees it: its own partition value (empty for schemes that have none)
// and a row key.
func order(partition, row string, n int) *edm.Entity {
	return &edm.Entity{PartitionKey: partition, RowKey: row, Properties: []edm.Property{
		{Name: "Int64", Value: edm.Int64Value(int64(n) << 33)},
		{Name: "Int32", Value: edm.Int32Value(int32(-n))},
		{Name: "Double", Value: edm.DoubleValue(float64(n))},
		{Name: "Infinite", Value: edm.DoubleValue(math.Inf(1))},
		{Name: "Text", Value: edm.StringValue(fmt.Sprintf("it's ☃ no. %d \U0001F600", n))},
		{Name: "Empty", Value: edm.StringValue("")},
		{Name: "Bool", Value: edm.BooleanValue(n%2 == 0)},
		{Name: "When", Value: edm.TicksValue(637500000000000000 + int64(n))},
		{Name: "Guid", Value: edm.GUIDValue([16]byte{byte(n), 2, 3})},
		{Name: "Bytes", Value: edm.BinaryValue([]byte{0, byte(n), 255})},
	}}
}

// orders makes n of them. Partition values are given where the scheme keeps them.
func orders(s tenancy.KeyScheme, n int) []*edm.Entity {
	out := make([]*edm.Entity, n)
	for i := range out {
		partition := ""
		if s.Kind == tenancy.SchemePrefixed || s.Kind == tenancy.SchemeNative {
			partition = fmt.Sprintf("eu's %d", i%3)
		}
		out[i] = order(partition, fmt.Sprintf("row-%04d", i), i)
	}
	return out
}

// put writes a tenant's orders where its placement says.
func (w *world) put(t fataler, id string, list []*edm.Entity) {
	t.Helper()
	p := w.record(t, id).Placement["orders"]
	b := tablestorage.NewBatchWriter(w.table(t, p))
	for _, e := range list {
		pk, err := p.Scheme.PartitionKey(p.Key, e)
		must(t, err)
		stored := e.Clone()
		stored.PartitionKey = pk
		must(t, b.Add(context.Background(), tablestorage.Operation{Kind: tablestorage.OpInsert, Entity: stored}))
	}
	must(t, b.Flush(context.Background()))
}

// get reads a tenant's orders as its application sees them, from the place that the catalog names.
func (w *world) get(t fataler, id string) map[edm.Key]string {
	t.Helper()
	p := w.record(t, id).Placement["orders"]
	out := map[edm.Key]string{}
	for e, err := range w.table(t, p).Query(context.Background(), tablestorage.Query{Range: &p.Range}) {
		must(t, err)
		value, err := p.Scheme.Partition(p.Key, e)
		must(t, err)
		k := nameOf(value, e)
		if _, twice := out[k]; twice {
			t.Fatalf("tenant %s has order %v twice", id, k)
		}
		out[k] = string(edm.AppendCanonical(nil, k, e))
	}
	return out
}

// image is what orders look like to get.
func image(list []*edm.Entity) map[edm.Key]string {
	out := map[edm.Key]string{}
	for _, e := range list {
		k := nameOf(e.PartitionKey, e)
		out[k] = string(edm.AppendCanonical(nil, k, e))
	}
	return out
}

// nameOf is how get and image name an order: the application's own partition value, and the region, which tells two
// orders of one row key apart where it is hashed.
func nameOf(value string, e *edm.Entity) edm.Key {
	region, _ := e.Get("Region")
	return edm.Key{PartitionKey: value + region.Str(), RowKey: e.RowKey}
}

// rows reads a whole table with ETags. An absent table has no rows.
func (w *world) rows(t fataler, account, table string) map[edm.Key]string {
	t.Helper()
	out := map[edm.Key]string{}
	for e, err := range w.table(t, tenancy.TablePlacement{Account: account, Table: table}).Query(context.Background(), tablestorage.Query{}) {
		if errors.Is(err, tablestorage.ErrTableNotFound) {
			return out
		}
		must(t, err)
		out[e.Key()] = e.ETag + string(edm.AppendCanonical(nil, e.Key(), e))
	}
	return out
}

// of filters rows by a tenant's range.
func outside(rows map[edm.Key]string, r tenancy.KeyRange) map[edm.Key]string {
	out := maps.Clone(rows)
	maps.DeleteFunc(out, func(k edm.Key, _ string) bool { return r.Contains(k) })
	return out
}

// claimed returns the tables on which tenant alpha has claims.
func (w *world) claimed(t fataler) []string {
	t.Helper()
	s, err := w.catalog.Snapshot(context.Background())
	must(t, err)
	var out []string
	for _, c := range s.Claims {
		if c.TenantID == "alpha" {
			name := map[string]string{w.home: "home", w.premium: "premium"}[c.Storage]
			out = append(out, name+"/"+c.Table)
		}
	}
	slices.Sort(out)
	return out
}

// wantAt checks that a tenant is active at a model with exactly these orders.
func (w *world) wantAt(t fataler, id, model string, want map[edm.Key]string) {
	t.Helper()
	rec := w.record(t, id)
	if rec.Model != model || rec.State != tenancy.Active || rec.Migration != "" {
		t.Fatalf("tenant %s: model %s, state %s, migration %q; want %s, active, none", id, rec.Model, rec.State, rec.Migration, model)
	}
	if d := cmp.Diff(want, w.get(t, id)); d != "" {
		t.Fatalf("orders of tenant %s (-want +got):\n%s", id, d)
	}
	p := rec.Placement["orders"]
	for k := range w.rows(t, p.Account, p.Table) {
		if isGuard(k.RowKey) {
			t.Fatalf("guard row %v was left in %s", k, p.Table)
		}
	}
}

// countingHook makes a fault hook of a function that is not safe for concurrent use. After it has killed, it kills
// wherever else the run still comes by.
func countingHook(f func(point string) bool) func(string) bool {
	var mu sync.Mutex
	dead := false
	return func(point string) bool {
		mu.Lock()
		defer mu.Unlock()
		dead = dead || f(point)
		return dead
	}
}
