package migration

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/aztenancy/terraform-provider-aztenancy/internal/edm"
	"github.com/aztenancy/terraform-provider-aztenancy/internal/tablestorage"
	"github.com/aztenancy/terraform-provider-aztenancy/internal/tenancy"
)

// pausedRun is a mover that stopped at a fault point and can be woken.
type pausedRun struct {
	wake   chan struct{}
	result chan error
}

// pauseAt starts a move to model and returns when it stands at the fault point for the nth time. Its lease is so long
// that it does not notice by itself when it is taken away.
func (w *world) pauseAt(point string, nth int, model string) *pausedRun {
	w.t.Helper()
	return w.pauseRunAt(point, nth, func(ctx context.Context, e *Engine) (*Report, error) {
		return e.Run(ctx, "alpha", Target{Model: model}, Options{Workers: 1})
	})
}

// awake lets the run go on and returns how it ends.
func (p *pausedRun) awake() error {
	close(p.wake)
	return <-p.result
}

// A mover that slept through the loss of its lease, past the switch, cannot bring a deleted entity back.
func TestSleeperCannotWriteToTheTargetAfterTheSwitch(t *testing.T) {
	worlds := newWorlds(t, 6)
	for _, model := range []string{"own", "own-7", "own-native"} {
		for _, point := range []string{"copy: before transaction", "guards: before insert"} {
			w := worlds[0]
			worlds = worlds[1:]
			t.Run(model+"/"+point, func(t *testing.T) {
				from := map[string]string{"own": "pool", "own-7": "pool", "own-native": "pool-prefixed"}[model]
				scheme := w.tenant(t, "alpha", from).Placement["orders"].Scheme
				w.put(t, "alpha", orders(scheme, 300))
				nth := 1
				if point == "copy: before transaction" {
					nth = 2
				}
				sleeper := w.pauseAt(point, nth, model)
				w.skew += 24 * time.Hour
				_, err := w.engine("other").Run(t.Context(), "alpha", Target{Model: model}, Options{})
				must(t, err)
				p := w.record(t, "alpha").Placement["orders"]
				for e, err := range w.table(t, p).Query(t.Context(), tablestorage.Query{}) { // the application deletes everything
					must(t, err)
					must(t, w.table(t, p).Delete(t.Context(), e.Key(), tablestorage.AnyETag))
				}
				if err := sleeper.awake(); !errors.Is(err, ErrLeaseLost) {
					t.Errorf("the sleeper ended with %v, want ErrLeaseLost", err)
				}
				if rows := w.rows(t, p.Account, p.Table); len(rows) != 0 {
					t.Errorf("the sleeper wrote %d rows: %v", len(rows), rows)
				}
			})
		}
	}
}

// A mover that slept just before it would switch cannot switch to a target that another mover has taken away.
func TestSleeperCannotSwitchAfterAnAbort(t *testing.T) {
	w := newWorld(t)
	w.tenant(t, "alpha", "pool")
	list := orders(bucketed(4), 20)
	w.put(t, "alpha", list)
	sleeper := w.pauseAt("tenant row: before swap", 2, "own") // the first is the freeze
	w.skew += 24 * time.Hour
	_, err := w.engine("other").Abort(t.Context(), "alpha", Options{})
	must(t, err)
	if err := sleeper.awake(); err == nil {
		t.Error("the sleeper switched")
	}
	w.wantAt(t, "alpha", "pool", image(list))
}

func TestSecondMoverIsToldWhoWorksAndUntilWhen(t *testing.T) {
	w := newWorld(t)
	w.tenant(t, "alpha", "pool")
	w.put(t, "alpha", orders(bucketed(4), 20))
	first := w.pauseAt("copy: before transaction", 1, "own")
	var busy *BusyError
	_, err := w.engine("second").Run(t.Context(), "alpha", Target{Model: "own"}, Options{DontWait: true})
	if !errors.As(err, &busy) || busy.Owner != "sleeper" || time.Until(busy.Expires) < time.Hour {
		t.Errorf("second mover: %v", err)
	}
	_, err = w.engine("second").Abort(t.Context(), "alpha", Options{DontWait: true})
	if !errors.As(err, &busy) {
		t.Errorf("abort: %v", err)
	}
	must(t, first.awake())
}

func TestSecondMoverThatWaitsGivesUpAtARenewalAndTakesOverFromADeadOne(t *testing.T) {
	w := newWorld(t)
	w.tenant(t, "alpha", "pool")
	list := orders(bucketed(4), 20)
	w.put(t, "alpha", list)
	e := w.engine("first")
	e.LeaseTTL = 2 * time.Second
	paused, wake := make(chan struct{}), make(chan struct{})
	e.fault = countingHook(func(at string) bool {
		if at != "copy: before checkpoint" {
			return false
		}
		close(paused)
		<-wake
		return true
	})
	result := make(chan error, 1)
	go func() {
		_, err := e.Run(context.Background(), "alpha", Target{Model: "own"}, Options{Workers: 1})
		result <- err
	}()
	<-paused
	var busy *BusyError
	if _, err := w.engine("second").Run(t.Context(), "alpha", Target{Model: "own"}, Options{}); !errors.As(err, &busy) {
		t.Errorf("while the first lives: %v", err)
	}
	close(wake)
	if err := <-result; !errors.Is(err, errKilled) {
		t.Fatalf("the first mover: %v", err)
	}
	_, err := w.engine("second").Run(t.Context(), "alpha", Target{Model: "own"}, Options{})
	must(t, err)
	w.wantAt(t, "alpha", "own", image(list))
}

func TestLeaseThatIsTakenAwayEndsTheRun(t *testing.T) {
	w := newWorld(t)
	w.tenant(t, "alpha", "pool")
	list := orders(bucketed(4), 20)
	w.put(t, "alpha", list)
	e := w.engine("first")
	e.LeaseTTL = time.Second
	e.fault = func(at string) bool {
		if at == "copy: before checkpoint" {
			rec, err := w.catalog.Migration(context.Background(), w.record(t, "alpha").Migration)
			must(t, err)
			if rec.Lease.Owner == "first" {
				rec.Lease.Owner, rec.Lease.Epoch = "thief", rec.Lease.Epoch+1
				_, err = w.catalog.UpdateMigration(context.Background(), rec)
				if err != nil { // the run renewed meanwhile; its next checkpoint is another chance
					return false
				}
			}
			for range 100 { // the renewal, not this run's own next write, shall find out
				if now, err := w.catalog.Migration(context.Background(), rec.ID); err != nil || now.Lease.Owner != "thief" {
					t.Errorf("lease: %v, %v", now.Lease, err)
				}
			}
		}
		return false
	}
	_, err := e.Run(t.Context(), "alpha", Target{Model: "own"}, Options{Workers: 1})
	if !errors.Is(err, ErrLeaseLost) {
		t.Fatalf("got %v, want ErrLeaseLost", err)
	}
	if rec := w.record(t, "alpha"); rec.Model != "pool" || rec.State != tenancy.Active {
		t.Errorf("model %s, state %s", rec.Model, rec.State)
	}
	w.later()
	_, err = w.engine("second").Run(t.Context(), "alpha", Target{Model: "own"}, Options{})
	must(t, err)
	w.wantAt(t, "alpha", "own", image(list))
}

func TestGuardKeysAreTheirOwnAndSortIntoTheirReservedStretch(t *testing.T) {
	for _, k := range []string{guardPrefix, guardPrefix + "alpha-000001-1", guardPrefix + "\U0001F600"} {
		if !isGuard(k) || edm.CompareText(k, guardPrefix) < 0 || edm.CompareText(k, guardEnd) >= 0 {
			t.Errorf("%q is not in the stretch", k)
		}
	}
	if d := cmp.Diff([]bool{false, false}, []bool{isGuard(guardEnd), isGuard("~~aztenancy")}); d != "" {
		t.Error(d)
	}
}

// A mover that slept before it looked at the tenant's row, or between that and its swap, cannot switch while another one is
// undoing its work.
func TestSleeperCannotSwitchDuringAnAbort(t *testing.T) {
	points := map[string]int{"switch: after intent": 1, "tenant row: before swap": 2} // the first swap is the freeze
	worlds := newWorlds(t, len(points))
	for point, nth := range points {
		w := worlds[0]
		worlds = worlds[1:]
		t.Run(point, func(t *testing.T) {
			w.tenant(t, "alpha", "pool")
			list := orders(bucketed(4), 20)
			w.put(t, "alpha", list)
			sleeper := w.pauseAt(point, nth, "own")
			w.skew += 24 * time.Hour
			var ended error
			other := meddle(w.engine("other"), "undo: before intent", func() { ended = sleeper.awake() })
			_, err := other.Abort(t.Context(), "alpha", Options{})
			must(t, err)
			if ended == nil {
				t.Error("the sleeper switched")
			}
			w.wantAt(t, "alpha", "pool", image(list))
		})
	}
}
