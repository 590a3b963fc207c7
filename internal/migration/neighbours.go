package migration

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/aztenancy/terraform-provider-aztenancy/internal/edm"
	"github.com/aztenancy/terraform-provider-aztenancy/internal/tablestorage"
)

// How the neighbours are looked at: canaries of so many of them, in turn, so often. The p99 is that of the last
// neighbourWindow reads, and is judged every neighbourEvery of them.
const (
	maxCanaries       = 8
	neighbourInterval = 50 * time.Millisecond
	neighbourWindow   = 100
	neighbourEvery    = 20
	neighbourTimeout  = 5 * time.Second // slower than that is as slow as that
)

// watchNeighbours reads entities of other tenants in the shared tables of the move, one at a time, and tells the pacer how long
// that takes, until ctx ends. What it reads it forgets.
func (r *run) watchNeighbours(ctx context.Context) {
	p, limit := r.engine.Pacer, r.engine.MaxNeighbourP99
	if p == nil || limit <= 0 {
		return
	}
	var watches []*neighbourWatch
	for _, s := range r.sharedSides() {
		w, err := r.newNeighbourWatch(ctx, s)
		switch {
		case ctx.Err() != nil:
			return
		case err != nil:
			r.progress.Note(fmt.Sprintf("The neighbours in %s are not watched: %v.", s, err))
		case len(w.canaries) == 0:
			r.progress.Note(fmt.Sprintf("The neighbours in %s are not watched: no other tenant has an entity there.", s))
		default:
			watches = append(watches, w)
		}
	}
	if len(watches) == 0 {
		return
	}
	ticker := time.NewTicker(neighbourInterval)
	defer ticker.Stop()
	for i := 0; ; i++ {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		w := watches[i%len(watches)]
		if w.read(ctx) {
			p99 := w.p99()
			p.Neighbours(w.side.place.Storage, w.side.place.Table, p99, limit)
			if p99 > limit {
				w.times = w.times[:0] // the pace changes, and they say nothing of what comes
			}
		}
	}
}

// sharedSides are the shared tables of the move, each once.
func (r *run) sharedSides() []side {
	var shared []side
	for _, m := range r.moves {
		for _, s := range []side{m.source, m.target} {
			known := slices.ContainsFunc(shared, func(o side) bool { return sameTable(o.place, s.place) })
			if !s.place.Dedicated && !known {
				shared = append(shared, s)
			}
		}
	}
	return shared
}

// neighbourWatch times point reads of canaries in one table.
type neighbourWatch struct {
	side     side
	table    *tablestorage.Table // not paced: the neighbours are not either
	canaries []edm.Key
	next     int
	times    []time.Duration // the last neighbourWindow, oldest first
	reads    int
}

// newNeighbourWatch picks the first entity of some of the other tenants with a claim in the table.
func (r *run) newNeighbourWatch(ctx context.Context, s side) (*neighbourWatch, error) {
	client, err := r.engine.Accounts.Client(s.place.Account)
	if err != nil {
		return nil, err
	}
	claims, err := r.catalog.ClaimsIn(ctx, s.place.Storage, s.place.Table)
	if err != nil {
		return nil, err
	}
	w := &neighbourWatch{side: s, table: client.Table(s.place.Table)}
	tenant := r.j.migration().TenantID
	for _, c := range claims {
		if c.TenantID == tenant {
			continue
		}
		for e, err := range w.table.Query(ctx, tablestorage.Query{Range: &c.Range, Select: keysOnly, PageSize: 1}) {
			if err != nil {
				return nil, err
			}
			if !isGuard(e.RowKey) {
				w.canaries = append(w.canaries, e.Key())
			}
			break
		}
		if len(w.canaries) == maxCanaries {
			break
		}
	}
	return w, nil
}

// read reads one canary and says whether it is time to judge. An error counts like an answer: a neighbour waits for it as
// long.
func (w *neighbourWatch) read(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, neighbourTimeout)
	defer cancel()
	start := time.Now()
	_, _ = w.table.Get(ctx, w.canaries[w.next])
	w.next = (w.next + 1) % len(w.canaries)
	if len(w.times) == neighbourWindow {
		w.times = append(w.times[:0], w.times[1:]...)
	}
	w.times = append(w.times, time.Since(start))
	w.reads++
	return w.reads%neighbourEvery == 0
}

// p99 is the time within which 99 of 100 reads were answered.
func (w *neighbourWatch) p99() time.Duration {
	sorted := slices.Sorted(slices.Values(w.times))
	return sorted[min(len(sorted)-1, len(sorted)*99/100)]
}
