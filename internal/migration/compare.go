package migration

import (
	"cmp"
	"context"
	"fmt"
	"iter"

	"golang.org/x/sync/errgroup"

	"github.com/aztenancy/terraform-provider-aztenancy/internal/catalog"
	"github.com/aztenancy/terraform-provider-aztenancy/internal/edm"
	"github.com/aztenancy/terraform-provider-aztenancy/internal/tablestorage"
	"github.com/aztenancy/terraform-provider-aztenancy/internal/tenancy"
)

// comparison reads both sides of a logical table in the order of the target's keys and pairs them up: every entity of
// either side is seen once, and memory holds a page or two of each stream, however large the tenant.
type comparison struct {
	move *tableMove
	// selects are the properties to read of both sides, with the keys; nil means all.
	selects []string
	// from, if set, is the key of the source at which its spans begin, in each span by its RowKey alone where lanes are merged.
	from *edm.Key
	// base is the attempt whose seals say what is known of either side; 0 means that nothing is.
	base int
	// seals reads the chunks of a seal; it is needed with base.
	seals func(ctx context.Context, name string) iter.Seq2[catalog.Chunk, error]
	// onSource, if set, makes for each span of the source what sees each of its entities in key order, and then nil.
	onSource func(span) func(*edm.Entity) error
	// onTarget, if set, is the same for the target.
	onTarget func(span) func(*edm.Entity) error
	// onPair sees each key once. It is called by several goroutines.
	onPair func(ctx context.Context, p pair) error
	// onMisplaced sees an entity of the target's range that no source entity maps to, for it is in a partition that the scheme does
	// not have. Nil means onPair.
	onMisplaced func(ctx context.Context, target *edm.Entity) error
	// onStray sees an entity of the source that has no key at the target, with the reason.
	onStray func(source *edm.Entity, reason error)
}

// pair is one key at the target with the entities that have it; one of them may be nil. Known is an entity that stands,
// in its version, in the seal of the comparison's base. Two known ones were compared, and were equal, when they were sealed.
type pair struct {
	at                       edm.Key
	source, target           *edm.Entity
	sourceKnown, targetKnown bool
}

// proven says whether the pair was compared before and neither side was written since.
func (p pair) proven() bool { return p.sourceKnown && p.targetKnown }

// lane is a stretch of a logical table that is read on both sides as one ordered stream.
//
// Maps that keep the order have a lane for each span. Maps that do not keep it spread the entities of one partition over
// others, but never change a RowKey: all partitions of a side are merged by (RowKey, PartitionKey at the target) into a
// single lane.
type lane struct {
	number           int
	sources, targets []span
	merged           bool
	order            func(a, b edm.Key) int // of keys at the target
}

// lanes cuts a logical table into lanes.
func (m *tableMove) lanes() ([]lane, error) {
	sources, targets := m.source.spans(), m.target.spans()
	if m.mapping.Class() == tenancy.MapRebucketing {
		return []lane{{sources: sources, targets: targets, merged: true, order: byRow}}, nil
	}
	if len(sources) != len(targets) {
		return nil, fmt.Errorf("compare %s with %s: %d key ranges against %d", m.source, m.target, len(sources), len(targets))
	}
	out := make([]lane, len(sources))
	for i := range out {
		out[i] = lane{number: i, sources: sources[i : i+1], targets: targets[i : i+1], order: edm.Key.Compare}
	}
	return out, nil
}

// pageSize keeps what the streams of a lane hold together near what two streams hold; 0 is the service's own.
func (l lane) pageSize() int {
	if !l.merged {
		return 0
	}
	return pageSize(len(l.sources) + len(l.targets))
}

// item is an entity with its key at the target.
type item struct {
	key    edm.Key
	entity *edm.Entity
	known  bool
}

type items = iter.Seq2[item, error]

// run compares, several lanes at a time.
func (c *comparison) run(ctx context.Context, workers int) error {
	lanes, err := c.move.lanes()
	if err != nil {
		return err
	}
	work, wctx := errgroup.WithContext(ctx)
	work.SetLimit(workers)
	for _, l := range lanes {
		work.Go(func() error {
			for p, err := range c.pairs(wctx, l) {
				if err != nil {
					return err
				}
				if err := c.onPair(wctx, p); err != nil {
					return err
				}
			}
			return nil
		})
	}
	return work.Wait()
}

// pairs yields the pairs of a lane in its order. An order that is broken ends it: pairs would be missed.
func (c *comparison) pairs(ctx context.Context, l lane) iter.Seq2[pair, error] {
	return join(c.sourceLane(ctx, l), c.targetLane(ctx, l), l.order)
}

// sourceLane yields the source of a lane in its order.
func (c *comparison) sourceLane(ctx context.Context, l lane) items {
	return merge(l.sources, func(s span) items { return c.sourceItems(ctx, s, l.pageSize()) })
}

// targetLane yields the target of a lane in its order.
func (c *comparison) targetLane(ctx context.Context, l lane) items {
	return merge(l.targets, func(s span) items { return c.targetItems(ctx, s, l.pageSize()) })
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

// sourceItems yields a span of the source, without what an earlier migration left there. Entities without a key at the target go to onStray.
func (c *comparison) sourceItems(ctx context.Context, s span, size int) items {
	return func(yield func(item, error) bool) {
		see := seeing(c.onSource, s)
		known := c.recall(ctx, sealName(c.move.logical, c.base, s.number))
		defer known.stop()
		q := s.query(c.start(s))
		q.PageSize, q.Select = size, c.selects
		for e, err := range c.move.source.table.Query(ctx, q) {
			if err == nil && isLeft(e.RowKey) {
				continue
			}
			if err == nil {
				err = see(e)
			}
			var sealed bool
			if err == nil {
				sealed, err = known.has(e)
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
			if !yield(item{key, e, sealed}, nil) {
				return
			}
		}
		if err := see(nil); err != nil {
			yield(item{}, err)
		}
	}
}

// seeing is what sees a span's entities.
func seeing(on func(span) func(*edm.Entity) error, s span) func(*edm.Entity) error {
	if on == nil {
		return func(*edm.Entity) error { return nil }
	}
	return on(s)
}

// start is the key at which a span of the source is read from; nil means its beginning.
func (c *comparison) start(s span) *edm.Key {
	if c.from == nil || !s.single {
		return c.from
	}
	return &edm.Key{PartitionKey: s.own, RowKey: c.from.RowKey}
}

// targetItems yields a span of the target, without guard rows.
func (c *comparison) targetItems(ctx context.Context, s span, size int) items {
	return func(yield func(item, error) bool) {
		merged := c.move.mapping.Class() == tenancy.MapRebucketing
		see := seeing(c.onTarget, s)
		known := c.recall(ctx, targetSealName(c.move.logical, c.base, s.number))
		defer known.stop()
		q := s.query(nil)
		q.PageSize, q.Select = size, c.selects
		for e, err := range c.move.target.table.Query(ctx, q) {
			if err != nil {
				yield(item{}, fmt.Errorf("read the target %s: %w", c.move.target, err))
				return
			}
			if isGuard(e.RowKey) {
				continue
			}
			if merged && e.PartitionKey != s.own {
				// It would break the order of the merge.
				if err := c.misplaced(ctx, e); err != nil {
					yield(item{}, err)
					return
				}
				continue
			}
			sealed, err := known.has(e)
			if err == nil {
				err = see(e)
			}
			if !yield(item{e.Key(), e, sealed}, err) || err != nil {
				return
			}
		}
		if err := see(nil); err != nil {
			yield(item{}, err)
		}
	}
}

func (c *comparison) misplaced(ctx context.Context, e *edm.Entity) error {
	if c.onMisplaced != nil {
		return c.onMisplaced(ctx, e)
	}
	return c.onPair(ctx, pair{at: e.Key(), target: e})
}

// merge makes one stream, in the order byRow, of the spans of a side. Each span yields one partition and so is in
// that order itself. A single span keeps its own order.
func merge(spans []span, open func(span) items) items {
	if len(spans) == 1 {
		return open(spans[0])
	}
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

// join pairs two streams that are in the same order.
func join(source, target items, order func(a, b edm.Key) int) iter.Seq2[pair, error] {
	return func(yield func(pair, error) bool) {
		next, stop := iter.Pull2(inOrder(source, order, "source"))
		defer stop()
		nextT, stopT := iter.Pull2(inOrder(target, order, "target"))
		defer stopT()
		s, err, moreS := next()
		t, errT, moreT := nextT()
		for (moreS || moreT) && err == nil && errT == nil {
			at := 0
			switch {
			case !moreT:
				at = -1
			case !moreS:
				at = 1
			default:
				at = order(s.key, t.key)
			}
			p := pair{at: t.key}
			if at <= 0 {
				p.at, p.source, p.sourceKnown = s.key, s.entity, s.known
			}
			if at >= 0 {
				p.target, p.targetKnown = t.entity, t.known
			}
			if !yield(p, nil) {
				return
			}
			if at <= 0 {
				s, err, moreS = next()
			}
			if at >= 0 {
				t, errT, moreT = nextT()
			}
		}
		if err := cmp.Or(err, errT); err != nil {
			yield(pair{}, err)
		}
	}
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
