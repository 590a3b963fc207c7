package migration

import (
	"context"
	"fmt"

	"github.com/aztenancy/terraform-provider-aztenancy/internal/catalog"
	"github.com/aztenancy/terraform-provider-aztenancy/internal/edm"
)

// copy inserts every entity of the source at the target, several lanes at a time, while the tenant is written as ever. A
// window of the source is wholly acknowledged by the target before the lane's checkpoint says so.
func (r *run) copy(ctx context.Context) error {
	done, err := r.checkpoints(ctx)
	if err != nil {
		return err
	}
	p, err := r.newPass(ctx, "copy")
	if err != nil {
		return err
	}
	r.progress.Total(r.j.migration().Total)
	var copied int64
	for _, c := range done {
		copied += c.Count
	}
	r.progress.Advance(copied)
	r.copied.Store(copied)
	return p.eachLane(ctx, func(ctx context.Context, m movePass, l lane) error {
		c, ok := done[checkpointKey{m.logical, l.number}]
		if !ok {
			c = catalog.Chunk{MigrationID: r.j.migration().ID, Logical: m.logical, Number: l.number, Range: l.sources[0].rng}
		}
		if c.Done {
			return nil
		}
		return p.copyLane(ctx, m, l, c)
	})
}

// copyLane copies a lane from its checkpoint on. Where an entity is there already, an earlier attempt was killed before its
// checkpoint, or a stranger was there: see writer.remains.
func (p *pass) copyLane(ctx context.Context, m movePass, l lane, chunk catalog.Chunk) error {
	w := p.newWriter(m, l)
	defer w.ledger.close()
	c := p.run.comparison(m.tableMove)
	if chunk.Started {
		c.from = &chunk.After
	}
	var stray error
	c.onStray = func(e *edm.Entity, reason error) { stray = p.run.stray(m.tableMove, e, reason) }
	var win window
	var last edm.Key // of the window, as the checkpoint has it
	for it, err := range inOrder(c.sourceLane(ctx, l), l.order, "source") {
		if err == nil {
			err = stray
		}
		if err != nil {
			return err
		}
		key := it.entity.Key()
		if l.merged {
			key = it.key
		}
		if chunk.Started && l.order(key, chunk.After) <= 0 {
			continue
		}
		x := pair{at: it.key, source: it.entity}
		if win.full() && win.pairs[len(win.pairs)-1].at != x.at {
			if err := w.copyWindow(ctx, win, last, &chunk); err != nil {
				return err
			}
			win = window{}
		}
		if err := w.take(ctx, &win, x); err != nil {
			return err
		}
		last = key
	}
	if stray != nil {
		return stray
	}
	if err := w.copyWindow(ctx, win, last, &chunk); err != nil {
		return err
	}
	chunk.Done = true
	return w.checkpoint(ctx, chunk)
}

// copyWindow sends a window and then moves the lane's checkpoint to its last key: the source's, or the target's where the
// lane's order is that of keys at the target.
func (w *writer) copyWindow(ctx context.Context, win window, last edm.Key, chunk *catalog.Chunk) error {
	n := len(win.pairs)
	if n == 0 {
		return nil
	}
	if err := w.settle(ctx, win); err != nil {
		return err
	}
	chunk.Started, chunk.After = true, last
	chunk.Count += int64(n)
	w.run.copied.Add(int64(n))
	return w.checkpoint(ctx, *chunk)
}

func (w *writer) checkpoint(ctx context.Context, chunk catalog.Chunk) error {
	if err := w.at("before checkpoint"); err != nil {
		return err
	}
	if err := w.run.catalog.PutChunks(ctx, chunk); err != nil {
		return fmt.Errorf("write the checkpoint of range %d: %w", chunk.Number, err)
	}
	return w.at("after checkpoint")
}
