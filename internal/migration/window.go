package migration

import (
	"context"
	"errors"
	"fmt"

	"golang.org/x/sync/errgroup"

	"github.com/aztenancy/terraform-provider-aztenancy/internal/edm"
	"github.com/aztenancy/terraform-provider-aztenancy/internal/tablestorage"
)

// The limits of a window. Both bound the memory of a lane; the first also keeps the list of what is sent within a row.
const (
	windowRows  = 1000
	windowBytes = 8 << 20
)

// window is a stretch of a lane that is settled as a whole: no key is in two windows.
type window struct {
	pairs []pair
	bytes int
}

func (w *window) full() bool { return len(w.pairs) >= windowRows || w.bytes >= windowBytes }

// take adds a pair to the window, and settles the window before that if it is full.
func (w *writer) take(ctx context.Context, win *window, x pair) error {
	if n := len(win.pairs); n > 0 && win.pairs[n-1].at == x.at && win.pairs[n-1].source != nil && x.source != nil {
		return w.both(ctx, &win.pairs[n-1], x)
	}
	if win.full() {
		if err := w.settle(ctx, *win); err != nil {
			return err
		}
		*win = window{}
	}
	win.pairs = append(win.pairs, x)
	for _, e := range []*edm.Entity{x.source, x.target} {
		if e != nil {
			win.bytes += e.Size()
		}
	}
	return nil
}

// both decides about two entities of the source that have one key at the target. A scan is no snapshot: the tenant may have
// moved one entity from a partition that was read already to one that was not yet. Only if both are there now do they
// collide.
func (w *writer) both(ctx context.Context, held *pair, x pair) error {
	first, err := w.current(ctx, held.source.Key(), x.at)
	if err != nil {
		return err
	}
	second, err := w.current(ctx, x.source.Key(), x.at)
	if err != nil {
		return err
	}
	if first != nil && second != nil {
		return fmt.Errorf("entities %s and %s of %s would both have key %s at the target: give one of them another RowKey. %s",
			keyText(first.Key()), keyText(second.Key()), w.move.source, keyText(x.at), w.run.next(w.run.j.state()))
	}
	if first == nil {
		held.source, held.sourceKnown = second, false
	}
	w.pass.left.Add(1) // it moved while we looked
	return nil
}

// current reads an entity of the source again; nil if it is gone, or its key at the target is no longer the given one.
func (w *writer) current(ctx context.Context, key, at edm.Key) (*edm.Entity, error) {
	e, err := find(ctx, w.move.source.table, key)
	if err != nil {
		return nil, fmt.Errorf("look at the source again: %w", err)
	}
	if e == nil {
		return nil, nil
	}
	moved, err := w.move.mapping.Map(e)
	if err != nil {
		return nil, w.run.stray(w.move.tableMove, e, err)
	}
	if moved != at {
		return nil, nil
	}
	return e, nil
}

// find reads an entity; nil if there is none.
func find(ctx context.Context, t *tablestorage.Table, k edm.Key) (*edm.Entity, error) {
	e, err := t.Get(ctx, k)
	if errors.Is(err, tablestorage.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", keyText(k), err)
	}
	return e, nil
}

// settle makes the target what the source is, for one window.
func (w *writer) settle(ctx context.Context, win window) error {
	if len(win.pairs) == 0 {
		return nil
	}
	if err := w.fetch(ctx, win.pairs); err != nil {
		return err
	}
	w.from, w.to = win.pairs[0].at, win.pairs[len(win.pairs)-1].at
	var ops []tablestorage.Operation
	for _, x := range win.pairs {
		op, err := w.decide(ctx, x)
		if err != nil {
			return err
		}
		if op != nil {
			ops = append(ops, *op)
		}
	}
	if err := w.send(ctx, ops); err != nil {
		return err
	}
	w.run.progress.Advance(int64(len(win.pairs)))
	return nil
}

// fetch reads whole what a scan of keys found to be new on either side.
func (w *writer) fetch(ctx context.Context, pairs []pair) error {
	if w.pass.base == 0 {
		return nil
	}
	work, wctx := errgroup.WithContext(ctx)
	work.SetLimit(fetchers)
	for i := range pairs {
		x := &pairs[i]
		if x.proven() {
			continue
		}
		work.Go(func() error { return w.refresh(wctx, x) })
	}
	return work.Wait()
}

// refresh reads both entities of a pair whole, as they are now.
func (w *writer) refresh(ctx context.Context, x *pair) (err error) {
	if x.source != nil {
		if x.source, err = w.current(ctx, x.source.Key(), x.at); err != nil {
			return err
		}
		if x.source == nil {
			w.pass.left.Add(1) // gone, or at another key now, where the scan may have been already
		}
	}
	if x.target == nil {
		return nil
	}
	scanned := x.target.ETag
	if x.target, err = find(ctx, w.move.target.table, x.at); err != nil {
		return fmt.Errorf("read the target: %w", err)
	}
	x.targetKnown = x.targetKnown && x.target != nil && x.target.ETag == scanned
	return nil
}

// fetchers is how many entities are read one by one at the same time.
const fetchers = 8

// decide says what has to be done about a pair; nil is nothing.
func (w *writer) decide(ctx context.Context, x pair) (*tablestorage.Operation, error) {
	if x.source != nil && w.pass.base == 0 {
		w.pass.bytes.Add(int64(x.source.Size()))
	}
	switch {
	case x.proven():
		return nil, w.seal(x.target)
	case x.source == nil && x.target == nil: // both went while we looked
		return nil, nil
	case x.target == nil:
		moved, err := w.moved(x.source)
		if err != nil {
			return nil, err
		}
		w.grow(x.source, nil, x.source.Key())
		return &tablestorage.Operation{Kind: tablestorage.OpInsert, Entity: moved}, nil
	case x.source == nil:
		return w.decideDelete(ctx, x)
	case x.source.SameContent(x.target):
		return nil, w.seal(x.target)
	}
	if err := w.ours(ctx, x); err != nil {
		return nil, err
	}
	moved, err := w.moved(x.source)
	if err != nil {
		return nil, err
	}
	w.grow(x.source, x.target, x.source.Key())
	return &tablestorage.Operation{Kind: tablestorage.OpReplace, Entity: moved, ETag: x.target.ETag}, nil
}

// decideDelete deletes from the target what the source no longer has. It looks at the source once more: an entity that was
// inserted behind the scan, or moved to another partition, is still there.
func (w *writer) decideDelete(ctx context.Context, x pair) (*tablestorage.Operation, error) {
	if err := w.ours(ctx, x); err != nil {
		return nil, err
	}
	key, err := w.move.inverse.Map(x.target)
	if err != nil {
		return nil, w.collision(x.target, nil)
	}
	there, err := w.current(ctx, key, x.at)
	if err != nil {
		return nil, err
	}
	if there != nil {
		w.keep(x.target)
		return nil, nil
	}
	w.grow(nil, x.target, key)
	op := deletion(x.target.Key(), x.target.ETag)
	return &op, nil
}

// grow counts what the source has more than it had when the target was last equal to it: before is the target's entity,
// which at the source had the given key.
func (w *writer) grow(now, before *edm.Entity, key edm.Key) {
	if w.pass.base == 0 {
		return
	}
	var n int
	if now != nil {
		n = now.Size()
	}
	if before != nil {
		was := edm.Entity{PartitionKey: key.PartitionKey, RowKey: key.RowKey, Properties: before.Properties}
		n -= was.Size()
	}
	w.pass.bytes.Add(int64(n))
}

// moved is a source entity as it shall stand at the target.
func (w *writer) moved(e *edm.Entity) (*edm.Entity, error) {
	key, err := w.move.mapping.Map(e)
	if err != nil {
		return nil, w.run.stray(w.move.tableMove, e, err)
	}
	if isGuard(key.RowKey) {
		return nil, w.run.stray(w.move.tableMove, e, errors.New("its row key is reserved for guard rows"))
	}
	return &edm.Entity{PartitionKey: key.PartitionKey, RowKey: key.RowKey, Properties: e.Properties}, nil
}

// ours fails with a *CollisionError unless the target's entity is one of this migration's copies: see sent.go.
func (w *writer) ours(ctx context.Context, x pair) error {
	if x.targetKnown {
		return nil
	}
	sent, err := w.ledger.has(ctx, w.from, w.to, x.target)
	if err != nil {
		return err
	}
	if !sent {
		return w.collision(x.target, x.source)
	}
	return nil
}

// collision is the error about an entity of the target that this migration did not write.
func (w *writer) collision(there, want *edm.Entity) error {
	e := &CollisionError{TenantID: w.run.j.migration().TenantID, Table: w.move.target.String(), Key: keyText(there.Key()), Next: w.run.next(w.run.j.state())}
	if want != nil {
		e.Properties = want.Differences(there)
	}
	return e
}
