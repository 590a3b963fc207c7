package migration

import (
	"context"
	"encoding/json"
	"errors"
	"testing"

	"github.com/aztenancy/terraform-provider-aztenancy/internal/catalog"
	"github.com/aztenancy/terraform-provider-aztenancy/internal/tenancy"
)

// setState changes the state in a tenant's row by hand.
func (w *world) setState(t fataler, s tenancy.State) {
	t.Helper()
	rec := w.record(t, "alpha")
	rec.State = s
	_, err := w.catalog.UpdateTenant(context.Background(), rec)
	must(t, err)
}

// What was compared under one freeze proves nothing under another: where somebody lifts it, lets the tenant be written and holds it
// again, nothing is switched.
func TestProofOfOneFreezeDoesNotCountUnderAnother(t *testing.T) {
	points := []string{"sync: after intent", "verify: before intent", "switch: before intent", "tenant row: before swap"}
	worlds := newWorlds(t, len(points))
	for i, point := range points {
		t.Run(point, func(t *testing.T) {
			w := worlds[i]
			list := w.start(30)
			late := order("", "late", 1)
			e := w.engine("mover")
			passed := 0
			e.fault = countingHook(func(at string) bool {
				if at != point {
					return false
				}
				// The first swap of the tenant's row is the freeze, the second the switch.
				if passed++; point == "tenant row: before swap" && passed != 2 || passed > 2 {
					return false
				}
				w.setState(t, tenancy.Active)
				if passed == 1 || point == "tenant row: before swap" {
					w.put(t, "alpha", append(list[:0:0], late))
				}
				w.setState(t, tenancy.Frozen)
				return false
			})
			_, err := e.Run(t.Context(), "alpha", Target{Model: "own"}, Options{})
			if rec := w.record(t, "alpha"); err == nil || rec.Model != "pool" {
				t.Fatalf("switched to %s: %v", rec.Model, err)
			}
			_, err = w.engine("second").Run(t.Context(), "alpha", Target{Model: "own"}, Options{})
			must(t, err)
			w.wantAt(t, "alpha", "own", image(append(list, late)))
		})
	}
}

// An earlier version froze the tenant and copied then. Whatever it left behind is finished by this one, under that freeze.
func TestMoveThatAnEarlierVersionFrozeIsFinished(t *testing.T) {
	for _, state := range []string{"freezing", "copying", "verifying", "switching"} {
		t.Run(state, func(t *testing.T) {
			w := newWorld(t)
			list := w.start(250)
			point := map[string]string{"freezing": "copy: before intent", "copying": "copy: before checkpoint", "verifying": "copy: after outcome",
				"switching": "switch: before intent"}[state]
			_, err := killAt(point, 1, w.engine("first"), func(ctx context.Context, e *Engine) (*Report, error) {
				return e.Run(ctx, "alpha", Target{Model: "own"}, Options{Workers: 1})
			})
			if !errors.Is(err, errKilled) {
				t.Fatalf("not killed: %v", err)
			}
			if state != "switching" {
				w.setState(t, tenancy.Frozen)
			}
			rec, err := w.catalog.Migration(t.Context(), w.record(t, "alpha").Migration)
			must(t, err)
			d, err := decodeDetail(rec.Migration)
			must(t, err)
			rec.State = state
			rec.Detail, err = json.Marshal(map[string]any{"v": 1, "created": d.Created, "verification": 1, "sealed": d.Sealed, "frozen_at": rec.Created})
			must(t, err)
			_, err = w.catalog.UpdateMigration(t.Context(), rec)
			must(t, err)
			w.later()
			_, err = w.engine("second").Run(t.Context(), "alpha", Target{Model: "own"}, Options{})
			must(t, err)
			w.wantAt(t, "alpha", "own", image(list))
		})
	}
}

func TestDetailOfANewerVersionIsRefused(t *testing.T) {
	_, err := decodeDetail(catalog.Migration{ID: "m", Detail: json.RawMessage(`{"v":3}`)})
	if !errors.Is(err, catalog.ErrNewerSchema) {
		t.Errorf("got %v", err)
	}
}
