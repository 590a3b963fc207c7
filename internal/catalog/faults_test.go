package catalog_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"pgregory.net/rapid"

	"github.com/aztenancy/terraform-provider-aztenancy/internal/catalog"
	"github.com/aztenancy/terraform-provider-aztenancy/internal/tablestorage"
	"github.com/aztenancy/terraform-provider-aztenancy/internal/tenancy"
)

// tenantKeys overlap in part: k|0|00 lies between k|00 and k|15.
var tenantKeys = []string{"k", "k|0", "k|07", "ka", "K", "j"}

// directory is the twenty-line model: who is there, and that ranges of one table never overlap.
type directory map[string]tenancy.KeyRange

func (d directory) conflicts(id string, r tenancy.KeyRange) bool {
	for other, held := range d {
		if other != id && held.Overlaps(r) {
			return true
		}
	}
	return false
}

// Random creations and deletions, whose requests get lost on the way there or back or whose process is killed, leave
// what the model says once the call that failed was made again.
func TestCatalogAgreesWithItsModelWhateverGetsLost(t *testing.T) {
	w := newWorld(t)
	w.createTable("Orders")
	number := 0
	rapid.Check(t, func(t *rapid.T) {
		number++
		table := fmt.Sprintf("Catalog%d", number)
		var operators []*world
		for range 2 {
			o := w.operator(w.t)
			o.catalog = catalog.Open(o.accounts.Home(), table)
			o.p.Catalog = o.catalog
			operators = append(operators, o)
		}
		calm := operators[1]
		if _, err := calm.catalog.CreateModel(w.t.Context(), pool()); err != nil {
			t.Fatal(err)
		}
		want := directory{}
		for range rapid.IntRange(1, 12).Draw(t, "operations") {
			key := rapid.SampledFrom(tenantKeys).Draw(t, "key")
			id := fmt.Sprintf("t%d", slices.Index(tenantKeys, key))
			r := pool().KeyScheme.Range(key)
			create := rapid.Bool().Draw(t, "create")
			do := func(ctx context.Context, o *world) error {
				if create {
					_, err := o.p.Create(ctx, catalog.TenantSpec{ID: id, Key: key, Model: "pool"})
					return err
				}
				return o.p.Delete(ctx, id, true)
			}
			storm := operators[0]
			ctx, cancel := storm.storm(t)
			if err := do(ctx, storm); err != nil {
				err = do(w.t.Context(), calm)
				switch {
				case create && want.conflicts(id, r) != errors.Is(err, catalog.ErrConflict):
					t.Fatalf("create %q: %v", key, err)
				case create && err != nil && !errors.Is(err, catalog.ErrConflict):
					t.Fatalf("create %q: %v", key, err)
				case !create && err != nil && !errors.Is(err, catalog.ErrNotFound):
					t.Fatalf("delete %q: %v", key, err)
				}
			} else if create && want.conflicts(id, r) {
				t.Fatalf("create %q went through beside %v", key, want)
			}
			cancel()
			if !create {
				delete(want, id)
			} else if !want.conflicts(id, r) {
				want[id] = r
			}
			compare(t, calm, want)
		}
	})
}

// storm makes some requests get lost, and may end in death.
func (w *world) storm(t *rapid.T) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithTimeout(w.t.Context(), time.Minute)
	lose := rapid.SliceOfN(rapid.IntRange(0, 9), 40, 40).Draw(t, "losses") // 0: on the way there, 1: on the way back
	death := rapid.IntRange(1, 60).Draw(t, "death")
	w.wire.set(func(n int, _ *http.Request) error {
		if n >= death {
			cancel()
			return errCut
		}
		if n < len(lose) && lose[n] == 0 {
			return errCut
		}
		return nil
	}, func(n int, _ *http.Request) error {
		if n < len(lose) && lose[n] == 1 {
			return errCut
		}
		return nil
	})
	return ctx, cancel
}

func compare(t *rapid.T, w *world, want directory) {
	s, err := w.catalog.Snapshot(w.t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if len(s.Tenants) != len(want) || len(s.Claims) != len(want) {
		t.Fatalf("%d tenants with %d claims, want %v", len(s.Tenants), len(s.Claims), want)
	}
	for _, rec := range s.Tenants {
		if r, ok := want[rec.ID]; !ok || rec.State != tenancy.Active || rec.Placement["orders"].Range != r {
			t.Fatalf("tenant %+v, want %v", rec, r)
		}
	}
	for _, c := range s.Claims {
		if want[c.TenantID] != c.Range {
			t.Fatalf("claim %+v, want %v", c, want[c.TenantID])
		}
	}
}

// A client that sends a request again by itself turns its own success into a conflict.
func TestOwnSuccessThatComesBackAsAConflictIsRecognised(t *testing.T) {
	w := newWorld(t).declare(pool(), ownTable())
	cfg := tablestorage.Config{Home: tablestorage.AccountConfig{ConnectionString: w.server.ConnectionString("home1")}}
	writes := map[string]bool{}
	wire := &wire{after: func(_ int, r *http.Request) error {
		// Every write's first answer is lost.
		if id := r.Header.Get("x-ms-client-request-id"); r.Method != http.MethodGet && !writes[id] {
			writes[id] = true
			return errCut
		}
		return nil
	}}
	accounts, err := tablestorage.NewAccounts(cfg, &tablestorage.ClientOptions{Transport: wire, Retry: policy.RetryOptions{MaxRetries: 3, RetryDelay: time.Millisecond, MaxRetryDelay: time.Millisecond}})
	if err != nil {
		t.Fatal(err)
	}
	p := &catalog.Provisioner{Catalog: catalog.Open(accounts.Home(), ""), Accounts: accounts}
	for _, model := range []string{"pool", "own-table"} {
		rec, err := p.Create(t.Context(), catalog.TenantSpec{ID: "contoso", Model: model})
		if err != nil || rec.State != tenancy.Active || rec.Epoch != 2 {
			t.Fatalf("create by %s: %+v, %v", model, rec, err)
		}
		if err := p.Delete(t.Context(), "contoso", false); err != nil {
			t.Fatalf("delete from %s: %v", model, err)
		}
	}
	if s := w.snapshot(); len(s.Tenants)+len(s.Claims) != 0 {
		t.Errorf("left over: %+v", s)
	}
	if len(writes) < 8 {
		t.Errorf("only %d writes lost their answer", len(writes))
	}
}

// isTenantInsert says whether a request adds a row of its own; during a creation only the tenant's row is added so.
func isTenantInsert(r *http.Request) bool {
	return r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, catalog.DefaultTable)
}

// The loser of a race has written its row when it learns that it lost. Wherever it is killed while it undoes that, the
// same call says who won and leaves nothing behind.
func TestKilledUndoIsFinishedByTheSameCall(t *testing.T) {
	w := newWorld(t).declare(pool())
	loser, winner := catalog.TenantSpec{ID: "loser", Key: "k", Model: "pool"}, catalog.TenantSpec{ID: "winner", Key: "k|0", Model: "pool"}
	for n := 1; ; n++ {
		victim := w.operator(t)
		ctx, cancel := context.WithCancel(t.Context())
		since := 0 // requests since the row was sent
		victim.wire.set(func(_ int, r *http.Request) error {
			if isTenantInsert(r) {
				w.create(winner)
				since = 1
			}
			if since > 0 {
				since++
			}
			if since > n+1 {
				cancel()
				return errCut
			}
			return nil
		}, nil)
		_, err := victim.p.Create(ctx, loser)
		killed := ctx.Err() != nil
		cancel()
		if !killed && !errors.Is(err, catalog.ErrConflict) {
			t.Fatalf("not killed: %v", err)
		}
		if _, err := w.operator(t).p.Create(t.Context(), loser); !errors.Is(err, catalog.ErrConflict) {
			t.Fatalf("killed %d requests after its row: %v", n, err)
		}
		if s := w.snapshot(); len(s.Tenants) != 1 || len(s.Claims) != 1 || s.Claims[0].TenantID != "winner" {
			t.Fatalf("killed %d requests after its row: %+v", n, s)
		}
		if err := w.p.Delete(t.Context(), "winner", false); err != nil {
			t.Fatal(err)
		}
		if !killed {
			if n < 5 {
				t.Errorf("the undo took only %d requests", n)
			}
			return
		}
	}
}

func TestTenantIsPlacedByTheModelAsItIsNotAsItWas(t *testing.T) {
	w := newWorld(t).declare(pool())
	creator, changed := w.operator(t), false
	creator.wire.set(func(_ int, r *http.Request) error {
		if !isTenantInsert(r) || changed {
			return nil
		}
		changed = true
		m, err := w.catalog.Model(w.t.Context(), "pool")
		if err != nil {
			return err
		}
		m.KeyScheme.Buckets = 32
		_, err = w.catalog.UpdateModel(w.t.Context(), m)
		return err
	}, nil)
	rec, err := creator.p.Create(t.Context(), catalog.TenantSpec{ID: "contoso", Model: "pool"})
	if err != nil || rec.Placement["orders"].Scheme.Buckets != 32 {
		t.Errorf("placed by the old model: %+v, %v", rec.Placement, err)
	}
	if s := w.snapshot(); len(s.Tenants) != 1 || len(s.Claims) != 1 || s.Claims[0].Range != rec.Placement["orders"].Range {
		t.Errorf("catalog %+v", s)
	}
}
