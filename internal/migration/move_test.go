package migration

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/aztenancy/terraform-provider-aztenancy/internal/tenancy"
)

func TestMoveAndPurgeInEveryDirectionKeepsEveryEntityAndTouchesNobodyElse(t *testing.T) {
	routes := map[string][]string{
		"buckets":    {"pool", "own", "far", "own-7", "pool-tenant", "pool"},
		"partitions": {"pool-prefixed", "own-native", "pool-prefixed"},
	}
	for name, route := range routes {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			e := w.engine("mover")
			for _, id := range []string{"alph", "alpha", "alphaa", "beta"} {
				w.tenant(t, id, route[0])
			}
			scheme := w.record(t, "alpha").Placement["orders"].Scheme
			list := orders(scheme, 1234)
			want := image(list)
			w.put(t, "alpha", list)
			for _, id := range []string{"alph", "alphaa", "beta"} {
				w.put(t, id, orders(scheme, 5))
			}
			home := w.record(t, "alpha").Placement["orders"]
			others := outside(w.rows(t, home.Account, home.Table), home.Range)
			for i := 1; i < len(route); i++ {
				from := w.record(t, "alpha")
				report, err := e.Run(t.Context(), "alpha", Target{Model: route[i]}, Options{})
				must(t, err)
				if report.State != Switched || report.Entities != 1234 || report.Verify.Result != ResultEqual || report.Transactions < 1234/99 {
					t.Fatalf("report: %+v", report)
				}
				w.wantAt(t, "alpha", route[i], want)
				if now := w.record(t, "alpha"); now.Epoch != from.Epoch+2 {
					t.Errorf("epoch %d became %d, want two more: frozen, switched", from.Epoch, now.Epoch)
				}
				v, err := e.Verify(t.Context(), "alpha")
				must(t, err)
				if v.Result != ResultEqual || v.Equal != 1234 {
					t.Errorf("verify: %+v", v)
				}
				if n := len(w.claimed(t)); n != 2 {
					t.Errorf("%d claims after the switch, want source and target", n)
				}
				p := from.Placement["orders"]
				report, err = e.Purge(t.Context(), "alpha", Options{})
				must(t, err)
				if report.State != Done || report.Purged != 1234 {
					t.Errorf("purge: state %s, %d entities", report.State, report.Purged)
				}
				for k := range w.rows(t, p.Account, p.Table) {
					if p.Range.Contains(k) {
						t.Fatalf("%v is left in %s", k, p.Table)
					}
				}
				client, err := w.accounts.Client(p.Account)
				must(t, err)
				if _, there, err := client.TableExists(t.Context(), p.Table); err != nil || there == p.Dedicated {
					t.Errorf("table %s (dedicated: %v) exists after the purge: %v, %v", p.Table, p.Dedicated, there, err)
				}
				w.wantAt(t, "alpha", route[i], want)
				if n := len(w.claimed(t)); n != 1 {
					t.Errorf("%d claims after the purge, want the target's", n)
				}
				if d := cmp.Diff(others, outside(w.rows(t, home.Account, home.Table), home.Range)); d != "" {
					t.Fatalf("rows of other tenants (-before +after):\n%s", d)
				}
			}
		})
	}
}

func TestNothingToDoComesWithTheReportOfTheMoveThatDidIt(t *testing.T) {
	w := newWorld(t)
	w.tenant(t, "alpha", "pool")
	e := w.engine("mover")
	if report, err := e.Run(t.Context(), "alpha", Target{Model: "pool"}, Options{}); !errors.Is(err, ErrNothingToDo) || report != nil {
		t.Fatalf("never moved: %v, %v", report, err)
	}
	first, err := e.Run(t.Context(), "alpha", Target{Model: "own"}, Options{})
	must(t, err)
	again, err := e.Run(t.Context(), "alpha", Target{Model: "own"}, Options{})
	if !errors.Is(err, ErrNothingToDo) || again == nil || again.Migration != first.Migration {
		t.Fatalf("moved: %v, %v", again, err)
	}
}

func TestChainOfMovesIsPurgedAsAWhole(t *testing.T) {
	w := newWorld(t)
	w.tenant(t, "alpha", "pool")
	list := orders(bucketed(4), 50)
	w.put(t, "alpha", list)
	e := w.engine("mover")
	for _, model := range []string{"own", "far"} {
		_, err := e.Run(t.Context(), "alpha", Target{Model: model}, Options{})
		must(t, err)
	}
	var refused *RefusedError
	if _, err := e.Run(t.Context(), "alpha", Target{Model: "pool"}, Options{}); !errors.As(err, &refused) {
		t.Fatalf("moving back onto a source that is still there: %v", err)
	}
	_, err := e.Purge(t.Context(), "alpha", Options{})
	must(t, err)
	w.wantAt(t, "alpha", "far", image(list))
	if got := w.claimed(t); len(got) != 1 {
		t.Errorf("claims: %v", got)
	}
	if _, err := e.Purge(t.Context(), "alpha", Options{}); !errors.Is(err, ErrNothingToDo) {
		t.Errorf("second purge: %v", err)
	}
	if s := w.record(t, "alpha").State; s != tenancy.Active {
		t.Errorf("state %s", s)
	}
}
