package migration

import (
	"context"
	"errors"
	"fmt"

	"golang.org/x/sync/errgroup"

	"github.com/aztenancy/terraform-provider-aztenancy/internal/catalog"
	"github.com/aztenancy/terraform-provider-aztenancy/internal/edm"
	"github.com/aztenancy/terraform-provider-aztenancy/internal/tablestorage"
)

// copy inserts every entity of the source at the target, several key ranges at a time.
func (r *run) copy(ctx context.Context) error {
	done, err := r.checkpoints(ctx)
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
	work, wctx := errgroup.WithContext(ctx)
	work.SetLimit(r.workers())
	for _, m := range r.moves {
		g := r.newGuards(m)
		for _, sp := range m.source.spans() {
			c, ok := done[checkpointKey{m.logical, sp.number}]
			if !ok {
				c = catalog.Chunk{MigrationID: r.j.migration().ID, Logical: m.logical, Number: sp.number, Range: sp.rng}
			}
			if c.Done {
				continue
			}
			work.Go(func() error {
				if err := r.newCopier(m, g).copySpan(wctx, sp, c); err != nil {
					return fmt.Errorf("%s to %s: %w", m.source, m.target, err)
				}
				return nil
			})
		}
	}
	return work.Wait()
}

// copier copies one span at a time.
type copier struct {
	run    *run
	move   *tableMove
	guards *guards
	writer *tablestorage.BatchWriter
}

func (r *run) newCopier(m *tableMove, g *guards) *copier {
	c := &copier{run: r, move: m, guards: g, writer: tablestorage.NewBatchWriter(m.target.table)}
	c.writer.Guard = g.operation
	c.writer.BeforeSend = c.beforeSend
	c.writer.Resolve = c.resolve
	c.writer.Acknowledged = func([]tablestorage.Operation, []string) { r.transactions.Add(1) }
	return c
}

// copySpan copies from the checkpoint on. A page of the source is wholly acknowledged by the target before the
// checkpoint says so; memory holds two pages.
func (c *copier) copySpan(ctx context.Context, sp span, chunk catalog.Chunk) error {
	var from *edm.Key
	if chunk.Started {
		from = &chunk.After
	}
	for page, err := range c.move.source.table.Pages(ctx, sp.query(from)) {
		if err != nil {
			return fmt.Errorf("read the source: %w", err)
		}
		if chunk.Started && page[0].Key() == chunk.After {
			page = page[1:]
		}
		if len(page) == 0 {
			continue
		}
		if err := c.copyPage(ctx, page); err != nil {
			return err
		}
		chunk.Started, chunk.After = true, page[len(page)-1].Key()
		chunk.Count += int64(len(page))
		c.run.copied.Add(int64(len(page)))
		c.run.progress.Advance(int64(len(page)))
		if err := c.checkpoint(ctx, chunk); err != nil {
			return err
		}
	}
	chunk.Done = true
	return c.checkpoint(ctx, chunk)
}

func (c *copier) copyPage(ctx context.Context, page []*edm.Entity) error {
	moved := make([]*edm.Entity, len(page))
	seen := map[string]bool{}
	var partitions []string
	for i, e := range page {
		key, err := c.move.mapping.Map(e)
		if err != nil {
			return err
		}
		if isGuard(key.RowKey) {
			return fmt.Errorf("entity %s has a row key that is reserved for guard rows", keyText(e.Key()))
		}
		moved[i] = &edm.Entity{PartitionKey: key.PartitionKey, RowKey: key.RowKey, Properties: e.Properties}
		if !seen[key.PartitionKey] {
			seen[key.PartitionKey] = true
			partitions = append(partitions, key.PartitionKey)
		}
	}
	if err := c.guards.ready(ctx, partitions); err != nil {
		return err
	}
	for _, e := range moved {
		if err := c.writer.Add(ctx, tablestorage.Operation{Kind: tablestorage.OpInsert, Entity: e}); err != nil {
			return c.explain(ctx, err)
		}
	}
	return c.explain(ctx, c.writer.Flush(ctx))
}

// beforeSend is called before each transaction.
func (c *copier) beforeSend(context.Context) error {
	if err := c.run.j.check(); err != nil {
		return err
	}
	return c.run.at("copy: before transaction")
}

func (c *copier) checkpoint(ctx context.Context, chunk catalog.Chunk) error {
	if err := c.run.at("copy: before checkpoint"); err != nil {
		return err
	}
	if err := c.run.catalog.PutChunks(ctx, chunk); err != nil {
		return fmt.Errorf("write the checkpoint of range %d: %w", chunk.Number, err)
	}
	return c.run.at("copy: after checkpoint")
}

// resolve decides about a transaction that the target refused. Inserts that meet an entity are read back: what is
// identical was written by an earlier attempt, and anything else is a collision.
func (c *copier) resolve(ctx context.Context, ops []tablestorage.Operation, refused *tablestorage.Error) ([]tablestorage.Operation, error) {
	if !errors.Is(refused, tablestorage.ErrExists) {
		return nil, refused
	}
	rest, err := c.readBack(ctx, ops)
	if err != nil {
		return nil, err
	}
	if len(rest) == len(ops) {
		return nil, fmt.Errorf("the target refused an entity as existing and then did not have it: %w", refused)
	}
	c.run.retries.Add(1)
	return rest, nil
}

// readBack returns those inserts whose keys the target does not hold. It holds the others with the same content, or the
// result is a *CollisionError.
func (c *copier) readBack(ctx context.Context, ops []tablestorage.Operation) ([]tablestorage.Operation, error) {
	wanted := make(map[string]*edm.Entity, len(ops))
	first, last := ops[0].Entity.RowKey, ops[0].Entity.RowKey
	for _, op := range ops {
		wanted[op.Entity.RowKey] = op.Entity
		if edm.CompareText(op.Entity.RowKey, first) < 0 {
			first = op.Entity.RowKey
		}
		if edm.CompareText(op.Entity.RowKey, last) > 0 {
			last = op.Entity.RowKey
		}
	}
	filter := "PartitionKey eq " + quote(ops[0].Entity.PartitionKey) + " and RowKey ge " + quote(first) + " and RowKey le " + quote(last)
	for there, err := range c.move.target.table.Query(ctx, tablestorage.Query{Filter: filter}) {
		if err != nil {
			return nil, fmt.Errorf("read back: %w", err)
		}
		want, ok := wanted[there.RowKey]
		if !ok {
			continue
		}
		if !want.SameContent(there) {
			return nil, &CollisionError{TenantID: c.run.j.migration().TenantID, Table: c.move.target.String(),
				Key: keyText(there.Key()), Properties: want.Differences(there), Next: c.run.next(Copying)}
		}
		delete(wanted, there.RowKey)
	}
	var rest []tablestorage.Operation
	for _, op := range ops {
		if wanted[op.Entity.RowKey] != nil {
			rest = append(rest, op)
		}
	}
	return rest, nil
}

// explain strips the operations from a writer's error, for they hold the tenant's data. A mover that lost its lease
// meets guards and tables that are gone: then that is the reason to tell.
func (c *copier) explain(ctx context.Context, err error) error {
	var b *tablestorage.BatchError
	if errors.As(err, &b) {
		err = b.Err
	}
	gone := errors.Is(err, tablestorage.ErrGuardGone)
	if !gone && !errors.Is(err, tablestorage.ErrTableNotFound) {
		return err
	}
	if lost := c.run.j.confirm(ctx); lost != nil {
		return lost
	}
	if gone {
		return fmt.Errorf("a guard row was removed although the lease is ours; somebody deletes entities at the target: %w", err)
	}
	return err
}
