package migration

import (
	"context"
	"errors"
	"testing"

	"github.com/aztenancy/terraform-provider-aztenancy/internal/acctest"
)

// Azurite is somebody else's reading of the protocol: guard rows, conditional transactions and $select have to work
// there too.
func TestMovesAndPurgesOnAzurite(t *testing.T) {
	w := worldOn(t, acctest.StartAzurite(t, acctest.WithAccounts("home0", "premium0")), "home0", "premium0")
	for _, id := range []string{"alph", "alpha", "alphaa"} {
		w.tenant(t, id, "pool")
		w.put(t, id, orders(bucketed(4), 5))
	}
	list := orders(bucketed(4), 230)
	w.put(t, "alpha", list[5:])
	e := w.engine("mover")
	for _, model := range []string{"own", "far", "own-7"} {
		_, err := e.Run(t.Context(), "alpha", Target{Model: model}, Options{})
		must(t, err)
		w.wantAt(t, "alpha", model, image(list))
		_, err = e.Purge(t.Context(), "alpha", Options{})
		must(t, err)
	}
	if n := len(w.rows(t, "home", "Pool")); n != 10 {
		t.Errorf("%d rows are left in the pool, want the 10 of other tenants", n)
	}
	_, err := killAt("copy: before checkpoint", 2, w.engine("killed"), func(ctx context.Context, e *Engine) (*Report, error) {
		return e.Run(ctx, "alpha", Target{Model: "pool-tenant"}, Options{Workers: 1})
	})
	if !errors.Is(err, errKilled) {
		t.Fatalf("not killed: %v", err)
	}
	w.later()
	_, err = w.engine("second").Run(t.Context(), "alpha", Target{Model: "pool-tenant"}, Options{})
	must(t, err)
	w.wantAt(t, "alpha", "pool-tenant", image(list))
}

// Azurite must not let a transaction through whose guard is gone: then its tests of the move would prove less.
func TestSleeperCannotWriteOnAzurite(t *testing.T) {
	w := worldOn(t, acctest.StartAzurite(t, acctest.WithAccounts("home0", "premium0")), "home0", "premium0")
	w.start(150)
	sleeper := w.pauseAt("copy: before transaction", 2, "pool-tenant")
	w.later()
	w.skew *= 24
	_, err := w.engine("other").Abort(t.Context(), "alpha", Options{})
	must(t, err)
	if err := sleeper.awake(); !errors.Is(err, ErrLeaseLost) {
		t.Errorf("the sleeper ended with %v, want ErrLeaseLost", err)
	}
	if rows := w.rows(t, "home", "PoolTenant"); len(rows) != 0 {
		t.Errorf("the sleeper wrote %d rows", len(rows))
	}
}
