package migration

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/aztenancy/terraform-provider-aztenancy/internal/catalog"
	"github.com/aztenancy/terraform-provider-aztenancy/internal/edm"
)

// A pass makes the target equal to the source once, while the tenant may go on writing: it never applies a change, it makes the
// target what the source is when it looks. What changes behind its back is left for the next pass; the last one runs while writes are
// held. It works window by window, lane beside lane; memory holds a window and the pages of each lane's streams.
//
// The first copy is a pass, too, that does not look at the target: its range was empty, and an Insert finds out where it is
// not. All other passes join both sides.
//
// Every attempt at a pass has a number of its own, under which its seals and the list of what it sent stand in the catalog.
type pass struct {
	run     *run
	name    string // of the step
	attempt int
	base    int // the attempt whose seals say what is known; 0: both sides are read whole
	moves   []movePass

	inserted, replaced, deleted atomic.Int64
	left                        atomic.Int64 // for the next pass: changed while this one worked on it
	bytes                       atomic.Int64 // of the source: all of them if base is 0, otherwise how many it has more than at base
}

// movePass is what a pass has of one logical table.
type movePass struct {
	*tableMove
	guards *guards
	lanes  []lane
}

// changes is how much the pass had to do.
func (p *pass) changes() int64 {
	return p.inserted.Load() + p.replaced.Load() + p.deleted.Load() + p.left.Load()
}

// newPass begins an attempt at a pass.
func (r *run) newPass(ctx context.Context, name string) (*pass, error) {
	p := &pass{run: r, name: name, base: r.j.details().Proven}
	var err error
	if p.attempt, err = r.newAttempt(ctx); err != nil {
		return nil, err
	}
	if err := r.shut(ctx, r.guards); err != nil {
		return nil, err
	}
	r.guards = nil
	for _, m := range r.moves {
		lanes, err := m.lanes()
		if err != nil {
			return nil, err
		}
		g := r.newGuards(m, p.attempt)
		r.guards = append(r.guards, g)
		p.moves = append(p.moves, movePass{m, g, lanes})
	}
	return p, nil
}

// newAttempt takes the next number of passes and verifications.
func (r *run) newAttempt(ctx context.Context) (attempt int, err error) {
	err = r.j.update(ctx, func(_ *catalog.Migration, d *detail) {
		d.Attempt++
		attempt = d.Attempt
	})
	return attempt, err
}

// eachLane works on all lanes, several at a time.
func (p *pass) eachLane(ctx context.Context, do func(context.Context, movePass, lane) error) error {
	work, wctx := errgroup.WithContext(ctx)
	work.SetLimit(p.run.workers())
	for _, m := range p.moves {
		for _, l := range m.lanes {
			work.Go(func() error {
				if err := do(wctx, m, l); err != nil {
					return fmt.Errorf("%s to %s: %w", m.source, m.target, err)
				}
				return nil
			})
		}
	}
	return work.Wait()
}

// reconcile runs a pass that joins both sides, and makes its seals the proven ones.
func (r *run) reconcile(ctx context.Context, name string) (*pass, error) {
	p, err := r.newPass(ctx, name)
	if err != nil {
		return nil, err
	}
	start := time.Now()
	r.progress.Total(r.j.migration().Total)
	if err := p.eachLane(ctx, p.join); err != nil {
		return nil, err
	}
	if err := r.at(name + ": before seals hold"); err != nil {
		return nil, err
	}
	err = r.j.update(ctx, func(_ *catalog.Migration, d *detail) {
		d.Proven, d.Passes = p.attempt, d.Passes+1
		d.LastPass = passResult{Seconds: time.Since(start).Seconds(), Whole: p.base == 0, Changes: p.changes()}
		d.Inserted, d.Replaced, d.Deleted = d.Inserted+p.inserted.Load(), d.Replaced+p.replaced.Load(), d.Deleted+p.deleted.Load()
		if p.base == 0 {
			d.Bytes = 0
		}
		d.Bytes += p.bytes.Load()
	})
	if err != nil {
		return nil, err
	}
	return p, r.forget(ctx, p.attempt)
}

// forget deletes the seals and lists of the attempts before a proven one: see sent.go. A mover that was shut out meanwhile
// deletes nothing that a later one needs, for that has the proven attempt too, or one after it.
func (r *run) forget(ctx context.Context, proven int) error {
	for a := r.j.details().Forgotten + 1; a < proven; a++ {
		for _, name := range []string{sealName("", a, 0), targetSealName("", a, 0), sentName("", a, 0)} {
			prefix, _, _ := strings.Cut(name, "|")
			if err := r.catalog.DeleteChunks(ctx, r.j.migration().ID, prefix+"|"); err != nil {
				return fmt.Errorf("forget attempt %d: %w", a, err)
			}
		}
		r.j.note(func(d *detail) { d.Forgotten = a })
	}
	return nil
}

// join reconciles one lane.
func (p *pass) join(ctx context.Context, m movePass, l lane) error {
	w := p.newWriter(m, l)
	defer w.ledger.close()
	w.openSeals(ctx)
	c := p.run.comparison(m.tableMove)
	c.base = p.base
	if p.base != 0 {
		c.selects = keysAnd(m.tableMove)
	}
	c.onSource = func(s span) func(*edm.Entity) error {
		return p.run.newSealer(ctx, sealName(m.logical, p.attempt, s.number), s.rng).see
	}
	c.onMisplaced = func(_ context.Context, e *edm.Entity) error { return w.collision(e, nil) }
	var stray error
	c.onStray = func(e *edm.Entity, reason error) { stray = p.run.stray(m.tableMove, e, reason) }
	win := window{}
	for x, err := range c.pairs(ctx, l) {
		if err == nil {
			err = stray
		}
		if err != nil {
			return err
		}
		if err := w.take(ctx, &win, x); err != nil {
			return err
		}
	}
	if stray != nil {
		return stray
	}
	if err := w.settle(ctx, win); err != nil {
		return err
	}
	return w.closeSeals()
}

// comparison returns a comparison that knows where seals are.
func (r *run) comparison(m *tableMove) *comparison {
	return &comparison{move: m, seals: r.chunks, onStray: func(*edm.Entity, error) {}}
}

// stray is the error about an entity that has no key at the target. The plan found none, so it was written since.
func (r *run) stray(m *tableMove, e *edm.Entity, reason error) error {
	return fmt.Errorf("entity %s of %s was written since the move began and cannot be moved: %w. Correct or delete it there. %s",
		keyText(e.Key()), m.source, reason, r.next(r.j.state()))
}

// keysAnd is the $select of a scan that needs keys, and what the map of keys needs.
func keysAnd(m *tableMove) []string {
	return append([]string{"PartitionKey", "RowKey", "Timestamp"}, m.mapping.Properties()...)
}
