package migration

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// job is one command that is killed and run again.
type job struct {
	name  string
	setup func(w *world)
	run   func(context.Context, *Engine) (*Report, error)
	check func(t *testing.T, w *world)
}

// jobs cover every step of the protocol: a move that re-buckets into a dedicated table of one partition, its purge, a
// move from a table that is then dropped, and an abort.
func jobs() []job {
	list := orders(bucketed(4), 230)
	want := image(list)
	start := func(w *world) {
		for _, id := range []string{"alph", "alpha", "alphaa"} {
			w.tenant(w.t, id, "pool")
			w.put(w.t, id, list[:7])
		}
		w.put(w.t, "alpha", list[7:])
	}
	move := func(model string) func(context.Context, *Engine) (*Report, error) {
		return func(ctx context.Context, e *Engine) (*Report, error) {
			return e.Run(ctx, "alpha", Target{Model: model}, Options{Workers: 2})
		}
	}
	moved := func(w *world, models ...string) {
		start(w)
		for _, m := range models {
			_, err := move(m)(w.t.Context(), w.engine("setup"))
			must(w.t, err)
		}
	}
	return []job{
		{"move", start, move("own"), func(t *testing.T, w *world) {
			w.wantAt(t, "alpha", "own", want)
			if got := w.claimed(t); !cmp.Equal(got, []string{"home/Ownalpha", "home/Pool"}) {
				t.Fatalf("claims: %v", got)
			}
		}},
		{"purge", func(w *world) { moved(w, "own", "far") },
			func(ctx context.Context, e *Engine) (*Report, error) { return e.Purge(ctx, "alpha", Options{}) },
			func(t *testing.T, w *world) {
				w.wantAt(t, "alpha", "far", want)
				if got := w.claimed(t); !cmp.Equal(got, []string{"premium/Faralpha"}) {
					t.Fatalf("claims: %v", got)
				}
				if n := len(w.rows(t, "home", "Ownalpha")); n != 0 {
					t.Fatalf("%d rows are left in the dedicated source", n)
				}
				if n := len(w.rows(t, "home", "Pool")); n != 14 {
					t.Fatalf("%d rows are left in the shared source, want the 14 of other tenants", n)
				}
			}},
		{"abort", func(w *world) {
			start(w)
			_, err := killAt("switch: before intent", 1, w.engine("setup"), move("own"))
			if !errors.Is(err, errKilled) {
				w.t.Fatalf("not killed before the switch: %v", err)
			}
			w.later()
		}, func(ctx context.Context, e *Engine) (*Report, error) { return e.Abort(ctx, "alpha", Options{}) },
			func(t *testing.T, w *world) {
				w.wantAt(t, "alpha", "pool", want)
				if got := w.claimed(t); !cmp.Equal(got, []string{"home/Pool"}) {
					t.Fatalf("claims: %v", got)
				}
				if n := len(w.rows(t, "home", "Ownalpha")); n != 0 {
					t.Fatalf("%d rows are left in the target", n)
				}
			}},
	}
}

// killAt runs a job and kills it when it comes to a fault point for the nth time. Nothing is tidied up.
func killAt(point string, nth int, e *Engine, run func(context.Context, *Engine) (*Report, error)) (*Report, error) {
	seen := 0
	hook := countingHook(func(p string) bool {
		if p == point {
			seen++
		}
		return p == point && seen == nth
	})
	e.fault = hook
	return run(context.Background(), e)
}

// TestJobKilledAnywhereIsFinishedByTheSameCommand kills each job once at every fault point, and at the points that it
// comes to many times early, in the middle and late.
func TestJobKilledAnywhereIsFinishedByTheSameCommand(t *testing.T) {
	for _, j := range jobs() {
		t.Run(j.name, func(t *testing.T) {
			counts := map[string]int{}
			w := newWorld(t)
			j.setup(w)
			e := w.engine("counter")
			e.fault = countingHook(func(p string) bool { counts[p]++; return false })
			_, err := j.run(t.Context(), e)
			must(t, err)
			j.check(t, w)
			if len(counts) < 8 {
				t.Fatalf("only %d fault points: %v", len(counts), counts)
			}
			type kill struct {
				point string
				nth   int
			}
			var kills []kill
			for point, n := range counts {
				for _, nth := range uniq(1, (n+1)/2, n) {
					kills = append(kills, kill{point, nth})
				}
			}
			worlds := newWorlds(t, len(kills))
			for i, k := range kills {
				t.Run(fmt.Sprintf("%s#%d", k.point, k.nth), func(t *testing.T) { killAndFinish(t, worlds[i], j, k.point, k.nth) })
			}
		})
	}
}

func killAndFinish(t *testing.T, w *world, j job, point string, nth int) {
	j.setup(w)
	before := w.rows(t, "home", "Pool")
	alpha := w.record(t, "alpha")
	_, err := killAt(point, nth, w.engine("first"), j.run)
	if !errors.Is(err, errKilled) {
		t.Fatalf("the first run was not killed: %v", err)
	}
	w.later()
	_, err = j.run(t.Context(), w.engine("second"))
	if err != nil && !errors.Is(err, ErrNothingToDo) {
		t.Fatalf("the second run: %v", err)
	}
	j.check(t, w)
	r := bucketed(4).Range(alpha.Key)
	if d := cmp.Diff(outside(before, r), outside(w.rows(t, "home", "Pool"), r)); d != "" {
		t.Fatalf("rows of other tenants (-before +after):\n%s", d)
	}
	all, err := w.catalog.Migrations(t.Context(), "alpha")
	must(t, err)
	for _, m := range all {
		if m.State != Switched && !ended(m.State) {
			t.Errorf("migration %s is left in state %s", m.ID, m.State)
		}
	}
}

// TestJobKilledAgainAndAgainIsFinishedInTheEnd kills every run a little later than the one before.
func TestJobKilledAgainAndAgainIsFinishedInTheEnd(t *testing.T) {
	for _, j := range jobs() {
		t.Run(j.name, func(t *testing.T) {
			w := newWorld(t)
			j.setup(w)
			for runs := 1; ; runs++ {
				left := runs
				e := w.engine(fmt.Sprintf("run %d", runs))
				e.fault = countingHook(func(string) bool { left--; return left == 0 })
				_, err := j.run(t.Context(), e)
				if err == nil || errors.Is(err, ErrNothingToDo) {
					break
				}
				if !errors.Is(err, errKilled) {
					t.Fatalf("run %d: %v", runs, err)
				}
				if runs > 300 {
					t.Fatalf("not finished after %d runs", runs)
				}
				w.later()
			}
			j.check(t, w)
		})
	}
}

func uniq(list ...int) []int {
	var out []int
	for _, x := range list {
		if len(out) == 0 || out[len(out)-1] != x {
			out = append(out, x)
		}
	}
	return out
}
