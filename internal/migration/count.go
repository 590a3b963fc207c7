package migration

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/aztenancy/terraform-provider-aztenancy/internal/catalog"
	"github.com/aztenancy/terraform-provider-aztenancy/internal/edm"
	"github.com/aztenancy/terraform-provider-aztenancy/internal/tablestorage"
)

// counter counts one logical table of the source and looks for what the target could not take.
type counter struct {
	move *tableMove

	mu      sync.Mutex
	out     TablePlan
	pages   int64
	refused map[string]*refusal // by reason
}

// refusal is a reason why entities cannot be moved, with examples.
type refusal struct {
	first string // what was wrong with the first
	keys  []string
}

// maxExamples is how many keys a refusal names.
const maxExamples = 5

// count reads the whole source and completes the plan.
func (e *Engine) count(ctx context.Context, t catalog.TenantRecord, d *draft, p *Plan) error {
	e.progress().Total(-1)
	for _, m := range d.moves {
		c := &counter{move: m, refused: map[string]*refusal{}}
		work, wctx := errgroup.WithContext(ctx)
		work.SetLimit(DefaultWorkers)
		for _, s := range m.source.spans() {
			work.Go(func() error { return c.span(wctx, s, e.progress()) })
		}
		if err := work.Wait(); err != nil {
			return fmt.Errorf("count tenant %q in %s: %w", t.ID, m.source, err)
		}
		if err := c.collisions(ctx); err != nil {
			return fmt.Errorf("look for keys that would collide in %s: %w", m.source, err)
		}
		for reason, x := range c.refused {
			return &RefusedError{TenantID: t.ID, Reason: fmt.Sprintf("entities of %s %s (the first: %s)", m.source, reason, x.first), Keys: x.keys,
				Way: "Correct or delete them at the source, or choose another model"}
		}
		c.complete(p)
	}
	return nil
}

// complete puts what was counted into the plan.
func (c *counter) complete(p *Plan) {
	for i := range p.Tables {
		x := &p.Tables[i]
		if x.Logical != c.move.logical {
			continue
		}
		x.Entities, x.Bytes, x.Partitions, x.Transactions = c.out.Entities, c.out.Bytes, c.out.Partitions, c.out.Transactions
		// The source is read for the count, the copy, two passes, the verification and the last look; the target for the passes and the
		// verification. The catalog takes a list and a checkpoint of the copy, and the seals of both sides, page by page.
		const reads, catalogWrites = 9, 7
		x.Requests = (reads+catalogWrites)*c.pages + x.Transactions
		p.Entities += x.Entities
		p.Bytes += x.Bytes
		p.Transactions += x.Transactions
		p.Requests += x.Requests
	}
}

// span counts one span.
func (c *counter) span(ctx context.Context, s span, progress Progress) error {
	last := ""
	first := true
	for page, err := range c.move.source.table.Pages(ctx, s.query(nil)) {
		if err != nil {
			return fmt.Errorf("read the source: %w", err)
		}
		batches := map[string]*[2]int64{} // target partition → entities, bytes
		var bytes, partitions int64
		for _, e := range page {
			if isLeft(e.RowKey) {
				continue
			}
			key, size := c.judge(e)
			b := batches[key.PartitionKey]
			if b == nil {
				b = new([2]int64)
				batches[key.PartitionKey] = b
			}
			b[0]++
			b[1] += size
			bytes += int64(e.Size())
			if first || e.PartitionKey != last {
				partitions, last, first = partitions+1, e.PartitionKey, false
			}
		}
		var transactions int64
		for _, b := range batches {
			most := int64(tablestorage.MaxOperations - guardOperations)
			transactions += max((b[0]+most-1)/most, (b[1]+tablestorage.MaxBodyBytes-1)/tablestorage.MaxBodyBytes)
		}
		c.mu.Lock()
		c.pages++
		c.out.Entities += int64(len(page))
		c.out.Bytes += bytes
		c.out.Partitions += partitions
		c.out.Transactions += transactions
		c.mu.Unlock()
		progress.Advance(int64(len(page)))
	}
	return nil
}

// judge returns an entity's key at the target and about how long it is in a request; what cannot be moved is noted.
func (c *counter) judge(e *edm.Entity) (edm.Key, int64) {
	key, err := c.move.mapping.Map(e)
	switch {
	case err != nil:
		c.refuse("have no key at the target", err.Error(), e)
		return edm.Key{}, 0
	case isGuard(e.RowKey):
		c.refuse("have row keys that are reserved for guard rows of migrations", "a killed mover may have left it; then it can be deleted", e)
		return edm.Key{}, 0
	}
	moved := edm.Entity{PartitionKey: key.PartitionKey, RowKey: key.RowKey, Properties: e.Properties}
	if err := edm.ValidateKeyPart("PartitionKey", key.PartitionKey); err != nil {
		c.refuse("would have a key that the service refuses", err.Error(), e)
	}
	size := moved.Size()
	if size > edm.MaxEntityBytes {
		c.refuse("would be larger than 1 MiB with their new keys", fmt.Sprintf("%d bytes", size), e)
	}
	const perOperation = 600 // headers of a part, about
	return key, int64(size) + perOperation
}

// refuse notes an entity that cannot be moved.
func (c *counter) refuse(reason, why string, e *edm.Entity) {
	c.mu.Lock()
	defer c.mu.Unlock()
	x := c.refused[reason]
	if x == nil {
		x = &refusal{first: why}
		c.refused[reason] = x
	}
	if len(x.keys) < maxExamples {
		x.keys = append(x.keys, keyText(e.Key()))
	}
}

// collisions looks for source entities that would have one key at the target, where the mapping cannot rule them out. All
// partitions are read as one stream in the order of keys at the target, so that such entities are neighbours.
func (c *counter) collisions(ctx context.Context) error {
	reason, may := c.move.mapping.MayCollide()
	if !may || len(c.refused) > 0 {
		return nil
	}
	spans := c.move.source.spans()
	reader := &comparison{move: c.move, selects: append(slices.Clone(keysOnly), c.move.mapping.Properties()...), onStray: func(*edm.Entity, error) {}}
	var last *item
	for it, err := range merge(spans, func(s span) items { return reader.sourceItems(ctx, s, pageSize(len(spans))) }) {
		if err != nil {
			return err
		}
		if last != nil && last.key == it.key {
			c.refuse("would have the key of another one at the target", reason, last.entity)
			c.refuse("would have the key of another one at the target", reason, it.entity)
		}
		last = &it
	}
	return nil
}
