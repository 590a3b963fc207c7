package fleet

import (
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/aztenancy/terraform-provider-aztenancy/internal/catalog"
)

// fleetModel is an evacuation, workers that take turns as the generator says, and an engine that does nothing but remember. Each
// event is one compare-and-swap, and so the list itself is the catalog.
type fleetModel struct {
	l        list
	now      time.Time
	parallel int
	workers  []map[int]int64 // by worker: the moves it runs, with the epoch of its lease

	switched []int  // by move: how often the engine switched it
	frozen   []bool // by move: its writes are held
	begun    []int  // moves that were begun, in order, takeovers included
	failures int
}

const modelTTL = 30 * time.Second

func newFleetModel(t *rapid.T) *fleetModel {
	m := &fleetModel{now: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), parallel: rapid.IntRange(1, 3).Draw(t, "parallel")}
	n := rapid.IntRange(1, 9).Draw(t, "tenants")
	m.l.head = catalog.EvacuationRecord{Evacuation: catalog.Evacuation{Name: "e", State: Running}}
	m.l.d.Limits = Limits{PerTable: rapid.IntRange(0, 3).Draw(t, "per table"), PerAccount: rapid.IntRange(0, 3).Draw(t, "per account"),
		Frozen: rapid.IntRange(1, 2).Draw(t, "frozen"), Failures: rapid.IntRange(1, 3).Draw(t, "failures")}
	for i := range n {
		x := move{EvacuationMoveRecord: catalog.EvacuationMoveRecord{EvacuationMove: catalog.EvacuationMove{TenantID: fmt.Sprint("t", i), Number: i, State: Waiting}}}
		x.Sources = rapid.SampledFrom([][]string{{"a/X"}, {"a/Y"}, {"a/X", "a/Y"}}).Draw(t, "sources")
		x.Targets = rapid.SampledFrom([][]string{{"b"}, {"c"}, {"b", "c"}}).Draw(t, "targets")
		x.Released = rapid.IntRange(0, 5).Draw(t, "begun by hand") == 0
		m.l.moves = append(m.l.moves, x)
	}
	if rapid.Bool().Draw(t, "has canary") {
		m.l.d.Limits.Canary = m.l.moves[rapid.IntRange(0, n-1).Draw(t, "canary")].TenantID
	}
	m.switched, m.frozen = make([]int, n), make([]bool, n)
	for range rapid.IntRange(1, 3).Draw(t, "workers") {
		m.workers = append(m.workers, map[int]int64{})
	}
	return m
}

// begin lets a worker begin or take over what the list gives it.
func (m *fleetModel) begin(t *rapid.T, w int) bool {
	i := m.l.stranded(m.now)
	rescue := i >= 0
	if len(m.workers[w]) < m.parallel {
		i, _ = m.l.next(m.now)
	}
	if i < 0 {
		return false
	}
	before := m.l.moves[i]
	fresh := before.State == Waiting && !before.Held
	if fresh && m.l.head.State != Running {
		t.Fatalf("tenant %d was begun after the stop", i)
	}
	if !rescue && before.State == Moving && before.Lease.Expires.After(m.now) {
		t.Fatalf("tenant %d was taken from a living worker", i)
	}
	if canary := m.l.index(m.l.d.Limits.Canary); fresh && canary >= 0 && canary != i && !settled(m.l.moves[canary].State) {
		t.Fatalf("tenant %d was begun before the canary was moved", i)
	}
	m.l.begin(i, fmt.Sprint("w", w), m.now, modelTTL)
	m.workers[w][i] = m.l.moves[i].Lease.Epoch
	m.begun = append(m.begun, i)
	if m.l.moves[i].Released { // the engine goes through the hold without waiting
		m.frozen[i] = true
	}
	return true
}

// mine says whether a worker still has a move.
func (m *fleetModel) mine(w, i int) bool {
	epoch, ok := m.workers[w][i]
	return ok && m.l.moves[i].State == Moving && m.l.moves[i].Lease.Epoch == epoch
}

// some draws one of the runs that there are, zombies included.
func (m *fleetModel) some(t *rapid.T) (w, i int) {
	var runs [][2]int
	for w := range m.workers {
		for i := range m.l.moves {
			if _, ok := m.workers[w][i]; ok {
				runs = append(runs, [2]int{w, i})
			}
		}
	}
	if len(runs) == 0 {
		t.Skip("nobody works")
	}
	r := rapid.SampledFrom(runs).Draw(t, "run")
	return r[0], r[1]
}

func (m *fleetModel) release(t *rapid.T, w, i int) {
	if m.mine(w, i) && m.l.mayFreeze(i) == "" {
		if !m.l.moves[i].Released && m.l.head.State != Running {
			t.Fatalf("tenant %d was let go to its freeze after the stop", i)
		}
		m.l.moves[i].Released, m.frozen[i] = true, true
	}
}

// finish ends a run; the engine switches only what was released.
func (m *fleetModel) finish(w, i int, how outcome, held bool) {
	if !m.mine(w, i) {
		delete(m.workers[w], i)
		return
	}
	switched := how == wasMoved || how == wasViolated
	if switched && !m.l.moves[i].Released {
		return
	}
	if switched {
		m.switched[i]++
	}
	m.frozen[i] = m.frozen[i] && held && !switched
	delete(m.workers[w], i)
	m.l.end(i, how, result{Held: m.frozen[i]}, m.now)
	if s := m.l.moves[i].State; s == Failed || s == Violated {
		m.failures++
	}
}

// pass lets time pass; the living renew.
func (m *fleetModel) pass(d time.Duration) {
	m.now = m.now.Add(d)
	for w := range m.workers {
		for i := range m.workers[w] {
			if m.mine(w, i) {
				m.l.moves[i].Lease.Expires = m.now.Add(modelTTL)
			}
		}
	}
}

func (m *fleetModel) check(t *rapid.T) {
	tables, accounts, frozen := map[string]int{}, map[string]int{}, 0
	for i, x := range m.l.moves {
		if m.switched[i] > 1 || m.switched[i] == 1 != settled(x.State) {
			t.Fatalf("tenant %d is %s and was switched %d times", i, x.State, m.switched[i])
		}
		if m.frozen[i] {
			frozen++
		}
		if x.State != Moving && !m.frozen[i] {
			continue
		}
		for _, s := range x.Sources {
			tables[s]++
		}
		for _, s := range x.Targets {
			accounts[s]++
		}
	}
	over := func(counts map[string]int, limit int) bool {
		for _, n := range counts {
			if limit > 0 && n > limit {
				return true
			}
		}
		return false
	}
	limits := m.l.d.Limits
	if frozen > limits.Frozen {
		t.Fatalf("%d tenants are frozen, of at most %d", frozen, limits.Frozen)
	}
	if over(tables, limits.PerTable) || over(accounts, limits.PerAccount) {
		t.Fatalf("under way: %v %v, limits %+v", tables, accounts, limits)
	}
	if m.failures >= limits.Failures && m.l.head.State == Running {
		t.Fatalf("it runs on after %d failures of %d", m.failures, limits.Failures)
	}
}

func TestLimitsHoldAndEachTenantIsMovedOnceWhateverWorkersDo(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := newFleetModel(t)
		worker := func(t *rapid.T) int { return rapid.IntRange(0, len(m.workers)-1).Draw(t, "worker") }
		outcomes := []outcome{wasMoved, wasMoved, wasMoved, wasViolated, hasFailed, wasHindered, wasBusy, wasStopped}
		t.Repeat(map[string]func(*rapid.T){
			"begin": func(t *rapid.T) { m.begin(t, worker(t)) },
			"release": func(t *rapid.T) {
				w, i := m.some(t)
				m.release(t, w, i)
			},
			"finish": func(t *rapid.T) {
				w, i := m.some(t)
				m.finish(w, i, rapid.SampledFrom(outcomes).Draw(t, "outcome"), rapid.Bool().Draw(t, "held"))
			},
			"kill": func(t *rapid.T) { m.workers[worker(t)] = map[int]int64{} },
			"time": func(t *rapid.T) { m.pass(time.Duration(rapid.IntRange(1, 40).Draw(t, "seconds")) * time.Second) },
			"":     m.check,
		})
		m.drive(t)
	})
}

// drive lets living workers do what is left, without further failures: it must come to an end.
func (m *fleetModel) drive(t *rapid.T) {
	for round := 0; !m.l.over(); round++ {
		if round > 50*len(m.l.moves) {
			t.Fatalf("no end: %s, %+v", m.l.head.State, m.l.moves)
		}
		for w := range m.workers {
			for len(m.workers[w]) <= m.parallel && m.begin(t, w) {
			}
			for i := range m.l.moves {
				if m.mine(w, i) {
					m.release(t, w, i)
					m.check(t)
					m.finish(w, i, wasMoved, false)
				}
			}
			m.check(t)
		}
		m.pass(modelTTL)
	}
	for i := range m.l.moves {
		if m.l.head.State == Done && m.switched[i] != 1 {
			t.Fatalf("done, and tenant %d was switched %d times", i, m.switched[i])
		}
	}
}

// A run that ends with the tenant's writes held, because of something that goes away by itself, keeps its place: nobody else is
// frozen meanwhile, and it is the first to be begun again.
func TestATenantThatIsHeldWithoutAWorkerKeepsItsPlaceAndComesFirst(t *testing.T) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	l := list{d: detail{Limits: Limits{PerTable: 2, Frozen: 1, Failures: 3}}}
	l.head.State = Running
	for i := range 3 {
		m := move{}
		m.TenantID, m.Number, m.State, m.Sources = fmt.Sprint("t", i), i, Waiting, []string{"a/X"}
		l.moves = append(l.moves, m)
	}
	l.begin(0, "w", now, modelTTL)
	l.begin(1, "w", now, modelTTL)
	l.moves[0].Released = true
	l.end(0, wasHindered, result{Held: true, Error: "busy"}, now)
	if why := l.mayFreeze(1); why == "" {
		t.Error("a second tenant may be frozen while the first is held")
	}
	if i, why := l.next(now); i >= 0 || why == "" {
		t.Errorf("tenant %d is begun (%q) while two are under way out of the table", i, why)
	}
	now = now.Add(retryAfter)
	l.head.State = Stopped
	if i, _ := l.next(now); i != 0 {
		t.Errorf("tenant %d is begun, not the one that is held", i)
	}
	l.begin(0, "w", now, modelTTL)
	l.end(0, wasMoved, result{}, now)
	if l.head.State = Running; l.mayFreeze(1) != "" {
		t.Errorf("the place is not given back: %s", l.mayFreeze(1))
	}
}
