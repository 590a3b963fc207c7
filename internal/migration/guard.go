package migration

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/aztenancy/terraform-provider-aztenancy/internal/edm"
	"github.com/aztenancy/terraform-provider-aztenancy/internal/tablestorage"
)

// A guard row keeps a mover that lost its lease out of the target. Each partition that the copy writes to holds
//
//	RowKey: ~~aztenancy-guard-MIGRATION-EPOCH    EPOCH: of the lease, decimal
//
// and each transaction of the copy merges into it, on condition that it exists. Tables have no "check only"
// operation, but a merge with If-Match: * fails where the entity is absent (Merge Entity, REST reference), and with it
// the whole transaction. Whoever takes the lease over removes the guards of all earlier epochs, and the verification
// removes its own before the switch: what an older mover still has in flight can no longer be carried out, however long it
// was delayed. A guard is made in a request of its own, and the lease is confirmed from the catalog between that and
// the first transaction, so that a mover that lost its lease meanwhile finds out before it writes.
const guardPrefix = "~~aztenancy-guard-"

// guardEnd is the first text after all that begin with guardPrefix: '.' follows '-'.
const guardEnd = "~~aztenancy-guard."

// isGuard says whether a RowKey is a guard's.
func isGuard(rowKey string) bool { return strings.HasPrefix(rowKey, guardPrefix) }

// guardOperations is how many of a transaction's operations the guard takes.
const guardOperations = 1

// guards makes guard rows for one logical table. It is safe for concurrent use.
type guards struct {
	run    *run
	table  *tablestorage.Table
	rowKey string

	mu   gate
	open map[string]bool // partitions that hold a guard
}

// maxOpen bounds the memory of guards: beyond it, partitions are forgotten and their guards made again, which does no harm.
const maxOpen = 10_000

func (r *run) newGuards(m *tableMove) *guards {
	return &guards{mu: newGate(), run: r, table: m.target.table, rowKey: r.guardKey(), open: map[string]bool{}}
}

func (r *run) guardKey() string {
	m := r.j.migration()
	return guardPrefix + m.ID + "-" + strconv.FormatInt(m.Lease.Epoch, 10)
}

// ready makes sure that the partitions hold a guard of this lease.
func (g *guards) ready(ctx context.Context, partitions []string) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	var missing []string
	for _, pk := range partitions {
		if !g.open[pk] {
			missing = append(missing, pk)
		}
	}
	if len(missing) == 0 {
		return nil
	}
	if err := g.run.at("guards: before insert"); err != nil {
		return err
	}
	all, gctx := errgroup.WithContext(ctx)
	all.SetLimit(DefaultWorkers)
	for _, pk := range missing {
		all.Go(func() error {
			_, err := g.table.Insert(gctx, g.row(pk))
			if err != nil && !errors.Is(err, tablestorage.ErrExists) {
				return fmt.Errorf("put a guard into partition %q: %w", pk, err)
			}
			return nil
		})
	}
	if err := all.Wait(); err != nil {
		return err
	}
	if err := g.run.j.confirm(ctx); err != nil {
		g.retract(ctx, missing)
		return err
	}
	if len(g.open) > maxOpen {
		clear(g.open)
	}
	for _, pk := range missing {
		g.open[pk] = true
	}
	return g.run.at("guards: after insert")
}

// retract takes guards back that were made by a mover which no longer has the lease. If it fails, a guard row stays
// behind that opens nothing: its mover has stopped.
func (g *guards) retract(ctx context.Context, partitions []string) {
	tidy, cancel := context.WithTimeout(context.WithoutCancel(ctx), tidyTime)
	defer cancel()
	for _, pk := range partitions {
		err := g.table.Delete(tidy, edm.Key{PartitionKey: pk, RowKey: g.rowKey}, tablestorage.AnyETag)
		if err != nil && !errors.Is(err, tablestorage.ErrNotFound) {
			g.run.progress.Note(fmt.Sprintf("Guard row %s of table %s was left behind: %v.",
				keyText(edm.Key{PartitionKey: pk, RowKey: g.rowKey}), g.table.Name(), err))
		}
	}
}

func (g *guards) row(pk string) *edm.Entity {
	return &edm.Entity{PartitionKey: pk, RowKey: g.rowKey, Properties: []edm.Property{
		{Name: "Owner", Value: edm.StringValue("aztenancy")},
	}}
}

// operation is the guard's part of a transaction.
func (g *guards) operation(pk string) tablestorage.Operation {
	return tablestorage.Operation{Kind: tablestorage.OpMerge, Entity: g.row(pk), ETag: tablestorage.AnyETag}
}

// removeGuards removes the guard rows of this migration from all targets, those whose epoch is selected. It finds
// them by reading, not from memory: an earlier mover may have made them.
func (r *run) removeGuards(ctx context.Context, selected func(epoch int64) bool) error {
	if err := r.at("guards: before removal"); err != nil {
		return err
	}
	prefix := guardPrefix + r.j.migration().ID + "-"
	for _, m := range r.moves {
		del, dctx := errgroup.WithContext(ctx)
		del.SetLimit(DefaultWorkers)
		for key, err := range m.target.guardRows(dctx) {
			if errors.Is(err, tablestorage.ErrTableNotFound) {
				break
			}
			if err != nil {
				return errors.Join(fmt.Errorf("look for guards in %s: %w", m.target, err), del.Wait())
			}
			text, ours := strings.CutPrefix(key.RowKey, prefix)
			epoch, perr := strconv.ParseInt(text, 10, 64)
			if !ours || perr != nil || !selected(epoch) {
				continue
			}
			del.Go(func() error {
				err := m.target.table.Delete(dctx, key, tablestorage.AnyETag)
				if err != nil && !errors.Is(err, tablestorage.ErrNotFound) {
					return fmt.Errorf("remove guard %s from %s: %w", keyText(key), m.target, err)
				}
				return nil
			})
		}
		if err := del.Wait(); err != nil {
			return err
		}
	}
	return r.at("guards: after removal")
}

// guardRows yields the keys of all guard rows in the side's range. Where partitions can be enumerated it asks each for
// its stretch of reserved row keys; otherwise the service has to look through the range.
func (s side) guardRows(ctx context.Context) func(yield func(edm.Key, error) bool) {
	reserved := "RowKey ge " + quote(guardPrefix) + " and RowKey lt " + quote(guardEnd)
	queries := []tablestorage.Query{{Range: &s.within, Filter: reserved}}
	if len(s.partitions) > 0 {
		queries = queries[:0]
		for _, pk := range s.partitions {
			queries = append(queries, tablestorage.Query{Filter: "PartitionKey eq " + quote(pk) + " and " + reserved})
		}
	}
	return func(yield func(edm.Key, error) bool) {
		for _, q := range queries {
			q.Select = keysOnly
			for e, err := range s.table.Query(ctx, q) {
				if err != nil {
					yield(edm.Key{}, err)
					return
				}
				if !yield(e.Key(), nil) {
					return
				}
			}
		}
	}
}

// keysOnly is the $select of scans that need keys and ETags.
var keysOnly = []string{"PartitionKey", "RowKey"}
