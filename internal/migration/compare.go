package migration

import (
	"context"
	"fmt"
	"iter"

	"golang.org/x/sync/errgroup"

	"github.com/aztenancy/terraform-provider-aztenancy/internal/edm"
	"github.com/aztenancy/terraform-provider-aztenancy/internal/tablestorage"
	"github.com/aztenancy/terraform-provider-aztenancy/internal/tenancy"
)

// comparison reads both sides of a logical table in the order of the target's keys and pairs them up: every entity of
// either side is seen once, and memory holds a page or two of each stream, however large the tenant.
//
// Maps that keep the order are a merge join of two streams, span by span. Maps that do not keep it spread the entities of
// one partition over others, but never change a RowKey: all partitions of a side are merged by (RowKey,
// PartitionKey at the target), and those two streams are joined.
type comparison struct {
	move *tableMove
	// selects are the properties to read of the source, with the keys; nil means all.
	selects []string
	// onSource, if set, makes for each span of the source what sees each of its entities in key order, and then nil.
	onSource func(span) func(*edm.Entity) error
	// onPair sees each key once: source and target, one of which may be nil. It is called by several goroutines.
	onPair func(ctx context.Context, source, target *edm.Entity, at edm.Key) error
	// onStray sees an entity of the source that has no key at the target, with the reason.
	onStray func(source *edm.Entity, reason error)
}

// item is an entity with its key at the target.
type item struct {
	key    edm.Key
	entity *edm.Entity
}

type items = iter.Seq2[item, error]

// run compares, several spans at a time.
func (c *comparison) run(ctx context.Context, workers int) error {
	sources, targets := c.move.source.spans(), c.move.target.spans()
	if c.move.mapping.Class() == tenancy.MapRebucketing {
		size := pageSize(len(sources) + len(targets))
		return c.join(ctx, merge(sources, func(s span) items { return c.sourceItems(ctx, s, size) }),
			merge(targets, func(s span) items { return c.targetItems(ctx, s, size) }), byRow)
	}
	if len(sources) != len(targets) {
		return fmt.Errorf("compare %s with %s: %d key ranges against %d", c.move.source, c.move.target, len(sources), len(targets))
	}
	work, wctx := errgroup.WithContext(ctx)
	work.SetLimit(workers)
	for i := range sources {
		work.Go(func() error {
			return c.join(wctx, c.sourceItems(wctx, sources[i], 0), c.targetItems(wctx, targets[i], 0), edm.Key.Compare)
		})
	}
	return work.Wait()
}

// pageSize keeps what many streams hold together near what two streams hold.
func pageSize(streams int) int {
	return max(20, min(tablestorage.MaxPageSize, 4*tablestorage.MaxPageSize/streams))
}

// byRow is the order of keys in a merge of several partitions.
func byRow(a, b edm.Key) int {
	if c := edm.CompareText(a.RowKey, b.RowKey); c != 0 {
		return c
	}
	return edm.CompareText(a.PartitionKey, b.PartitionKey)
}

// sourceItems yields a span of the source. Entities without a key at the target go to onStray.
func (c *comparison) sourceItems(ctx context.Context, s span, size int) items {
	return func(yield func(item, error) bool) {
		see := func(*edm.Entity) error { return nil }
		if c.onSource != nil {
			see = c.onSource(s)
		}
		q := s.query(nil)
		q.PageSize, q.Select = size, c.selects
		for e, err := range c.move.source.table.Query(ctx, q) {
			if err == nil {
				err = see(e)
			}
			if err != nil {
				yield(item{}, fmt.Errorf("read the source %s: %w", c.move.source, err))
				return
			}
			key, err := c.move.mapping.Map(e)
			if err != nil {
				c.onStray(e, err)
				continue
			}
			if !yield(item{key, e}, nil) {
				return
			}
		}
		if err := see(nil); err != nil {
			yield(item{}, err)
		}
	}
}

// targetItems yields a span of the target, without guard rows.
func (c *comparison) targetItems(ctx context.Context, s span, size int) items {
	return func(yield func(item, error) bool) {
		merged := c.move.mapping.Class() == tenancy.MapRebucketing
		q := s.query(nil)
		q.PageSize = size
		for e, err := range c.move.target.table.Query(ctx, q) {
			if err != nil {
				yield(item{}, fmt.Errorf("read the target %s: %w", c.move.target, err))
				return
			}
			if isGuard(e.RowKey) {
				continue
			}
			if merged && e.PartitionKey != s.own {
				// It would break the order of the merge, and no source entity maps to it.
				if err := c.onPair(ctx, nil, e, e.Key()); err != nil {
					yield(item{}, err)
					return
				}
				continue
			}
			if !yield(item{e.Key(), e}, nil) {
				return
			}
		}
	}
}

// merge makes one stream, in the order byRow, of the spans of a side. Each span yields one partition and so is in
// that order itself.
func merge(spans []span, open func(span) items) items {
	return func(yield func(item, error) bool) {
		h := &heads{}
		defer h.stop()
		for _, s := range spans {
			next, stop := iter.Pull2(open(s))
			h.add(&head{next: next, stop: stop})
		}
		for len(h.list) > 0 {
			first := h.list[0]
			if !yield(first.item, first.err) || first.err != nil {
				return
			}
			h.advance()
		}
	}
}

// join pairs two streams that are in the same order. An order that is broken ends it: pairs would be missed.
func (c *comparison) join(ctx context.Context, source, target items, order func(a, b edm.Key) int) error {
	next, stop := iter.Pull2(inOrder(source, order, "source"))
	defer stop()
	nextT, stopT := iter.Pull2(inOrder(target, order, "target"))
	defer stopT()
	s, err, moreS := next()
	t, errT, moreT := nextT()
	for moreS || moreT {
		if err != nil || errT != nil {
			return firstError(err, errT)
		}
		at := 0
		switch {
		case !moreT:
			at = -1
		case !moreS:
			at = 1
		default:
			at = order(s.key, t.key)
		}
		pair := [2]*edm.Entity{}
		key := t.key
		if at <= 0 {
			pair[0], key = s.entity, s.key
		}
		if at >= 0 {
			pair[1] = t.entity
		}
		if err := c.onPair(ctx, pair[0], pair[1], key); err != nil {
			return err
		}
		if at <= 0 {
			s, err, moreS = next()
		}
		if at >= 0 {
			t, errT, moreT = nextT()
		}
	}
	return firstError(err, errT)
}

func firstError(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// inOrder passes a stream on and fails where its keys descend. Two source entities may have one key at the target: the
// second then finds no partner.
func inOrder(in items, order func(a, b edm.Key) int, side string) items {
	return func(yield func(item, error) bool) {
		var last *edm.Key
		for it, err := range in {
			if err == nil && last != nil && order(*last, it.key) > 0 {
				err = fmt.Errorf("the %s is not in the order that the comparison needs: %s came after %s", side, keyText(it.key), keyText(*last))
			}
			if !yield(it, err) || err != nil {
				return
			}
			last = &it.key
		}
	}
}
