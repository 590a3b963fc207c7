package catalog_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/aztenancy/terraform-provider-aztenancy/internal/acctest"
	"github.com/aztenancy/terraform-provider-aztenancy/internal/catalog"
	"github.com/aztenancy/terraform-provider-aztenancy/internal/tenancy"
)

// twoTables is a model that puts tenants into the tables Orders and Invoices with the same kind of key.
func twoTables(name, separator string) tenancy.Model {
	m := pool()
	m.Name, m.Tables, m.KeyScheme.Separator = name, map[string]string{"orders": "Orders", "invoices": "Invoices"}, separator
	return m
}

// sameCatalog compares what two snapshots say, not when and by which write it was said.
func sameCatalog(a, b *catalog.Snapshot) string {
	return cmp.Diff(a, b, cmpopts.IgnoreUnexported(catalog.TenantRecord{}), cmpopts.IgnoreFields(catalog.TenantRecord{}, "ETag", "Created", "Updated"),
		cmpopts.IgnoreFields(catalog.ModelRecord{}, "ETag"), cmpopts.IgnoreFields(catalog.MigrationRecord{}, "ETag"), cmpopts.EquateEmpty())
}

func TestTenantGetsRowClaimsAndTables(t *testing.T) {
	w := newWorld(t).declare(pool(), ownTable())
	shared := w.create(catalog.TenantSpec{ID: "contoso", Key: "Contoso", Model: "pool", Labels: map[string]string{"tier": "trial"}})
	own := w.create(catalog.TenantSpec{ID: "us-airways", Model: "own-table"})
	if shared.State != tenancy.Active || shared.Epoch != 2 || shared.Key != "Contoso" || own.Key != "us-airways" {
		t.Errorf("created %+v and %+v", shared, own)
	}
	if !w.tableExists("Ordersusz0airways") {
		t.Error("the dedicated table was not created")
	}
	s := w.snapshot()
	var claims []string
	for _, c := range s.Claims {
		claims = append(claims, fmt.Sprint(c.Storage, " ", c.Table, " ", c.TenantID, " ", c.Logical, " ", c.Range))
	}
	want := []string{"home1 Orders contoso orders `Contoso|00` … `Contoso|15`", "home1 Ordersusz0airways us-airways orders the whole table"}
	if !slices.Equal(claims, want) || len(s.Models) != 2 || len(s.Tenants) != 2 {
		t.Errorf("catalog %+v, claims %q, want %q", s, claims, want)
	}
}

func TestCreatingTheSameTenantAgainChangesNothing(t *testing.T) {
	w := newWorld(t).declare(pool())
	spec := catalog.TenantSpec{ID: "contoso", Model: "pool"}
	first := w.create(spec)
	if again := w.create(spec); again.ETag != first.ETag {
		t.Errorf("first %+v, again %+v", first, again)
	}
	for name, other := range map[string]catalog.TenantSpec{
		"key":    {ID: "contoso", Key: "Contoso", Model: "pool"},
		"labels": {ID: "contoso", Model: "pool", Labels: map[string]string{"a": "b"}},
	} {
		_, err := w.p.Create(t.Context(), other)
		if !errors.Is(err, catalog.ErrExists) || !strings.Contains(err.Error(), name) {
			t.Errorf("another %s: %v", name, err)
		}
	}
}

func TestOverlappingTenantIsRefusedBeforeAnythingChanges(t *testing.T) {
	w := newWorld(t).declare(pool())
	w.create(catalog.TenantSpec{ID: "contoso0", Key: "contoso|0", Model: "pool"})
	before := w.snapshot()
	var conflict *catalog.ClaimConflictError
	_, err := w.operator(t).p.Create(t.Context(), catalog.TenantSpec{ID: "contoso", Model: "pool"})
	if !errors.As(err, &conflict) {
		t.Fatalf("got %v", err)
	}
	for _, part := range []string{`tenant "contoso"`, "`contoso|00` … `contoso|15`", "table Orders", "`contoso|0|00` … `contoso|0|15`", `tenant "contoso0"`, `key "contoso|0"`, "another key"} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("%q lacks %q", err, part)
		}
	}
	if d := sameCatalog(before, w.snapshot()); d != "" {
		t.Errorf("changed by a refusal:\n%s", d)
	}
}

func TestRefusalsChangeNothing(t *testing.T) {
	w := newWorld(t)
	lost, ownCatalog, premium := pool(), pool(), ownTable()
	lost.Name, lost.Tables = "lost", map[string]string{"orders": "Nowhere"}
	ownCatalog.Name, ownCatalog.Tables = "self", map[string]string{"orders": "tenantcatalog"}
	premium.Name, premium.Kind, premium.Account = "own-account", tenancy.DedicatedAccount, ""
	w.declare(pool(), ownTable(), lost, ownCatalog, premium)
	w.create(catalog.TenantSpec{ID: "taken", Model: "own-table"})
	w.createTable("OrdersHeld")
	w.put("OrdersHeld", "p", "r")
	before := w.snapshot()
	for name, c := range map[string]struct {
		spec catalog.TenantSpec
		part string
	}{
		"bad id":              {catalog.TenantSpec{ID: "Contoso", Model: "pool"}, "a-z"},
		"bad key":             {catalog.TenantSpec{ID: "a", Key: "a/b", Model: "pool"}, "not allowed"},
		"unknown model":       {catalog.TenantSpec{ID: "a", Model: "pol"}, `"pool"`},
		"absent shared table": {catalog.TenantSpec{ID: "a", Model: "lost"}, "Nowhere"},
		"the catalog itself":  {catalog.TenantSpec{ID: "a", Model: "self"}, "is the catalog"},
		"no account":          {catalog.TenantSpec{ID: "a", Model: "own-account"}, "name one"},
		"unknown account":     {catalog.TenantSpec{ID: "a", Model: "own-account", Account: "gold"}, "premium"},
		"account of no use":   {catalog.TenantSpec{ID: "a", Model: "pool", Account: "premium"}, "leave the account out"},
		"table not empty":     {catalog.TenantSpec{ID: "held", Model: "own-table"}, "Adopt it explicitly"},
	} {
		if _, err := w.p.Create(t.Context(), c.spec); err == nil || !strings.Contains(err.Error(), c.part) {
			t.Errorf("%s: %v, want an error with %q", name, err, c.part)
		}
	}
	if d := sameCatalog(before, w.snapshot()); d != "" {
		t.Errorf("changed by refusals:\n%s", d)
	}
	w.create(catalog.TenantSpec{ID: "held", Model: "own-table", AdoptTables: true})
	if got := w.keys("OrdersHeld"); len(got) != 1 {
		t.Errorf("adopted table holds %q", got)
	}
}

func TestDedicatedNamesThatDifferInCaseOnlyConflict(t *testing.T) {
	w := newWorld(t)
	upper := ownTable()
	upper.Name, upper.Tables = "upper", map[string]string{"orders": "ORDERS{tenant}"}
	shared := pool()
	shared.Name, shared.Tables = "into", map[string]string{"orders": "OrdersA"}
	w.declare(ownTable(), upper, shared)
	w.create(catalog.TenantSpec{ID: "ab", Model: "own-table"})
	clash := ownTable()
	clash.Name, clash.Tables = "clash", map[string]string{"orders": "ordersA{tenant}"}
	if _, err := w.catalog.CreateModel(t.Context(), clash); err != nil {
		t.Fatal(err)
	}
	_, err := w.p.Create(t.Context(), catalog.TenantSpec{ID: "b", Model: "clash"}) // ordersAb against Ordersab
	if !errors.Is(err, catalog.ErrConflict) || !strings.Contains(err.Error(), `"ab"`) || !strings.Contains(err.Error(), "ordersAb") {
		t.Errorf("got %v", err)
	}
	w.create(catalog.TenantSpec{ID: "a", Model: "own-table"})
	if _, err := w.p.Create(t.Context(), catalog.TenantSpec{ID: "c", Model: "into"}); !errors.Is(err, catalog.ErrConflict) || !strings.Contains(err.Error(), "to itself") {
		t.Errorf("shared model into a dedicated table: %v", err)
	}
}

func TestOneOfTwoOverlappingCreatorsWins(t *testing.T) {
	w := newWorld(t)
	w.createTable("Invoices")
	w.declare(twoTables("two", "|"))
	operators := []*world{w.operator(t), w.operator(t)}
	for round := range 20 {
		specs := []catalog.TenantSpec{
			{ID: fmt.Sprintf("a%d", round), Key: fmt.Sprintf("k%d", round), Model: "two"},
			{ID: fmt.Sprintf("b%d", round), Key: fmt.Sprintf("k%d|0", round), Model: "two"},
		}
		errs := make([]error, 2)
		var all sync.WaitGroup
		for i, o := range operators {
			all.Go(func() { _, errs[i] = o.p.Create(t.Context(), specs[i]) })
		}
		all.Wait()
		slices.SortFunc(errs, func(a, _ error) int {
			if a == nil {
				return -1
			}
			return 1
		})
		if errs[0] != nil || !errors.Is(errs[1], catalog.ErrConflict) {
			t.Fatalf("round %d: %v", round, errs)
		}
	}
	s := w.snapshot()
	if len(s.Tenants) != 20 || len(s.Claims) != 40 {
		t.Errorf("%d tenants with %d claims, want 20 with 40", len(s.Tenants), len(s.Claims))
	}
	for _, tenant := range s.Tenants {
		if tenant.State != tenancy.Active {
			t.Errorf("%s is %s", tenant.ID, tenant.State)
		}
	}
}

func TestTwoCreatorsOfTheSameTenantBothFindItMade(t *testing.T) {
	w := newWorld(t).declare(pool(), ownTable())
	operators := []*world{w.operator(t), w.operator(t), w.operator(t)}
	for round := range 10 {
		for _, model := range []string{"pool", "own-table"} {
			spec := catalog.TenantSpec{ID: fmt.Sprintf("t%d-%s", round, model), Model: model}
			var all sync.WaitGroup
			for _, o := range operators {
				all.Go(func() {
					if rec, err := o.p.Create(t.Context(), spec); err != nil || rec.State != tenancy.Active {
						t.Errorf("%s: %+v, %v", spec.ID, rec, err)
					}
				})
			}
			all.Wait()
		}
	}
	if s := w.snapshot(); len(s.Tenants) != 20 || len(s.Claims) != 20 {
		t.Errorf("%d tenants with %d claims", len(s.Tenants), len(s.Claims))
	}
}

// killAt makes every request from the nth on fail; the nth one is carried out all the same if done.
func (w *world) killAt(n int, done bool) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(w.t.Context())
	w.wire.set(func(i int, _ *http.Request) error {
		if i > n || i == n && !done {
			cancel()
			return errCut
		}
		return nil
	}, func(i int, _ *http.Request) error {
		if i == n {
			cancel()
			return errCut
		}
		return nil
	})
	return ctx, cancel
}

func TestKilledCreationIsFinishedByTheSameCall(t *testing.T) {
	w := newWorld(t)
	w.createTable("Invoices")
	own := ownTable()
	own.Tables = map[string]string{"orders": "Orders{tenant}", "invoices": "Invoices{tenant}"}
	w.declare(twoTables("two", "|"), own)
	for _, model := range []string{"two", "own-table"} {
		spec := catalog.TenantSpec{ID: "victim", Model: model}
		w.create(spec)
		want := w.snapshot()
		if err := w.p.Delete(t.Context(), "victim", false); err != nil {
			t.Fatal(err)
		}
		for n, killed := 1, true; killed; n++ {
			for _, done := range []bool{false, true} {
				victim := w.operator(t)
				ctx, cancel := victim.killAt(n, done)
				_, err := victim.p.Create(ctx, spec)
				killed = err != nil
				cancel()
				if _, err := w.operator(t).p.Create(t.Context(), spec); err != nil {
					t.Fatalf("%s, killed at request %d (carried out: %v): %v", model, n, done, err)
				}
				if d := sameCatalog(want, w.snapshot()); d != "" {
					t.Fatalf("%s, killed at request %d (carried out: %v):\n%s", model, n, done, d)
				}
				if err := w.p.Delete(t.Context(), "victim", false); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
}

func TestKilledCreationGivesWayToAnotherSpec(t *testing.T) {
	w := newWorld(t).declare(pool(), ownTable())
	for n, killed := 1, true; killed; n++ {
		victim := w.operator(t)
		ctx, cancel := victim.killAt(n, true)
		_, err := victim.p.Create(ctx, catalog.TenantSpec{ID: "victim", Model: "own-table"})
		killed = err != nil
		cancel()
		if !killed {
			break
		}
		rec, err := w.operator(t).p.Create(t.Context(), catalog.TenantSpec{ID: "victim", Key: "Other", Model: "pool"})
		active := err != nil && strings.Contains(err.Error(), "exists already") // the last request had made it active
		if err != nil && !active || err == nil && rec.Model != "pool" {
			t.Fatalf("killed at request %d: %+v, %v", n, rec, err)
		}
		if s := w.snapshot(); len(s.Claims) != 1 || len(s.Tenants) != 1 {
			t.Fatalf("killed at request %d: %+v", n, s)
		}
		if w.tableExists("Ordersvictim") != active {
			t.Fatalf("killed at request %d: the dedicated table exists: %v", n, !active)
		}
		if err := w.p.Delete(t.Context(), "victim", false); err != nil {
			t.Fatal(err)
		}
	}
}

func TestCreatingManyTenantsDoesNotReadTheirClaimsAgain(t *testing.T) {
	w := newWorld(t).declare(pool())
	scans := 0
	w.wire.set(func(_ int, r *http.Request) error {
		if r.Method == http.MethodGet && strings.Contains(r.URL.RawQuery, "claim%7C") {
			scans++
		}
		return nil
	}, nil)
	for i := range 60 {
		w.create(catalog.TenantSpec{ID: fmt.Sprintf("tenant-%d", i), Model: "pool"})
	}
	if scans != 1 {
		t.Errorf("60 creations read the claims %d times, want once", scans)
	}
	// Another operator's claim makes what was remembered untrue: it is found out, not overwritten.
	w.operator(t).create(catalog.TenantSpec{ID: "other", Model: "pool"})
	w.create(catalog.TenantSpec{ID: "mine", Model: "pool"})
	if _, err := w.p.Create(t.Context(), catalog.TenantSpec{ID: "clash", Key: "other", Model: "pool"}); !errors.Is(err, catalog.ErrConflict) {
		t.Errorf("claim of another operator: %v", err)
	}
	if s := w.snapshot(); len(s.Claims) != 62 {
		t.Errorf("%d claims", len(s.Claims))
	}
}

func TestTenantsLiveOnAzuriteToo(t *testing.T) {
	w := newWorldOn(t, acctest.StartAzurite(t, acctest.WithAccounts("home1", "premium1"))).declare(pool(), ownTable())
	w.create(catalog.TenantSpec{ID: "contoso", Model: "pool"})
	w.create(catalog.TenantSpec{ID: "fabrikam", Model: "pool"})
	w.create(catalog.TenantSpec{ID: "own", Model: "own-table"})
	other := w.operator(t)
	if _, err := other.p.Create(t.Context(), catalog.TenantSpec{ID: "contoso0", Key: "contoso|0", Model: "pool"}); !errors.Is(err, catalog.ErrConflict) {
		t.Errorf("overlapping tenant: %v", err)
	}
	other.create(catalog.TenantSpec{ID: "other", Model: "pool"})
	w.create(catalog.TenantSpec{ID: "late", Model: "pool"}) // with what was remembered before other came
	w.put("Orders", "contoso|00", "1")
	w.put("Orders", "fabrikam|00", "1")
	if err := w.p.Delete(t.Context(), "contoso", false); !errors.Is(err, catalog.ErrNotEmpty) {
		t.Errorf("deletion of a tenant with entities: %v", err)
	}
	for _, id := range []string{"contoso", "own"} {
		if err := w.p.Delete(t.Context(), id, true); err != nil {
			t.Error(err)
		}
	}
	if s := w.snapshot(); len(s.Tenants) != 3 || len(s.Claims) != 3 || w.tableExists("OrdersOwn") || !slices.Equal(w.keys("Orders"), []string{"fabrikam|00/1"}) {
		t.Errorf("left over: %+v, %q", s, w.keys("Orders"))
	}
}
