package migration

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/aztenancy/terraform-provider-aztenancy/internal/edm"
	"github.com/aztenancy/terraform-provider-aztenancy/internal/tablestorage"
)

// A guard row keeps a mover that lost its lease out of the target. Each partition that the copy writes to holds
//
//	RowKey: ~~aztenancy-guard-MIGRATION-EPOCH.PASS    EPOCH: of the lease, PASS: the attempt's number, decimal
//	RowKey: ~~aztenancy-guard-MIGRATION-0             the gate
//
// and each transaction of the copy merges into the guard, on condition that it exists. Tables have no "check only"
// operation, but a merge with If-Match: * fails where the entity is absent (Merge Entity, REST reference), and with it
// the whole transaction. Whoever takes the lease over removes the guards of all earlier epochs, a pass removes those of the pass
// before, and the last one its own before the switch: what an older mover or pass still has in flight can no longer be
// carried out, however long it was delayed.
//
// Nor can a guard come back that was removed: it is inserted in one transaction with a merge into the gate, on condition of
// the gate's ETag, which that merge changes. Of all tries of one insertion at most one is carried out. The gate is
// inserted on its own and opens nothing. The lease is confirmed from the catalog between the guard and the first transaction, so
// that a mover that lost its lease meanwhile finds out before it writes.
const guardPrefix = "~~aztenancy-guard-"

// guardEnd is the first text after all that begin with guardPrefix: '.' follows '-'.
const guardEnd = "~~aztenancy-guard."

// isGuard says whether a RowKey is a guard's.
func isGuard(rowKey string) bool { return strings.HasPrefix(rowKey, guardPrefix) }

// guardOperations is how many of a transaction's operations the guard takes.
const guardOperations = 1

// gateEpoch stands in the RowKey of gates; leases begin with 1.
const gateEpoch = 0

// made is the form of the guard rows that migrations make. Such a row can stay behind or come back where a mover was killed or its
// insertion was carried out late. It opens nothing then and is nobody's data: who meets it later may remove it.
var made = regexp.MustCompile("^" + guardPrefix + `.+-[0-9]{6,}(\.[0-9]+)?-[0-9]+(\.[0-9]+)?$`)

// isLeft says whether a row is no entity of a tenant but a guard that a migration made.
func isLeft(rowKey string) bool { return isGuard(rowKey) && made.MatchString(rowKey) }

// guards makes the guard rows of one pass for one logical table. It is safe for concurrent use.
type guards struct {
	run    *run
	table  *tablestorage.Table
	rowKey string
	gate   string

	mu   gate
	open map[string]bool // partitions that hold a guard
	more bool            // others hold one, too, that were forgotten
}

// maxOpen bounds the memory of guards: beyond it, partitions are forgotten and their guards made again, which does no harm.
const maxOpen = 10_000

func (r *run) newGuards(m *tableMove, attempt int) *guards {
	epoch := strconv.FormatInt(r.j.migration().Lease.Epoch, 10)
	return &guards{mu: newGate(), run: r, table: m.target.table, rowKey: r.guardKey(epoch + "." + strconv.Itoa(attempt)), gate: r.guardKey(strconv.Itoa(gateEpoch)),
		open: map[string]bool{}}
}

func (r *run) guardKey(number string) string { return guardPrefix + r.j.migration().ID + "-" + number }

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
			if err := g.insert(gctx, pk); err != nil {
				return fmt.Errorf("put a guard into partition %q: %w", pk, err)
			}
			return nil
		})
	}
	err := all.Wait()
	if err == nil {
		err = g.run.j.confirm(ctx)
	}
	if err != nil {
		g.retract(ctx, missing)
		return err
	}
	if len(g.open) > maxOpen {
		clear(g.open)
		g.more = true
	}
	for _, pk := range missing {
		g.open[pk] = true
	}
	return g.run.at("guards: after insert")
}

// maxInsertions is how often a guard is inserted again because the gate was changed by another try or another mover.
const maxInsertions = 10

// insert puts the guard into a partition, through the gate.
func (g *guards) insert(ctx context.Context, pk string) error {
	for try := 1; ; try++ {
		etag, err := g.passGate(ctx, pk)
		if err != nil {
			return err
		}
		_, err = g.table.Submit(ctx, []tablestorage.Operation{
			{Kind: tablestorage.OpMerge, Entity: guardRow(pk, g.gate), ETag: etag},
			{Kind: tablestorage.OpInsert, Entity: guardRow(pk, g.rowKey)},
		})
		if err == nil || errors.Is(err, tablestorage.ErrExists) {
			return nil
		}
		changed := errors.Is(err, tablestorage.ErrConditionNotMet) || errors.Is(err, tablestorage.ErrNotFound)
		if !changed || errors.Is(err, tablestorage.ErrTableNotFound) || try == maxInsertions {
			return err
		}
	}
}

// passGate makes sure that the partition has a gate, and returns its ETag.
func (g *guards) passGate(ctx context.Context, pk string) (etag string, err error) {
	etag, err = g.table.Insert(ctx, guardRow(pk, g.gate))
	if err == nil && etag != "" || err != nil && !errors.Is(err, tablestorage.ErrExists) {
		return etag, err
	}
	there, err := g.table.Get(ctx, edm.Key{PartitionKey: pk, RowKey: g.gate})
	if err != nil {
		return "", err
	}
	return there.ETag, nil
}

// shut removes the guards of the pass before, so that nothing which it still has on its way can be carried out: what lies at the
// target when the next pass looks is all that it will have written.
func (r *run) shut(ctx context.Context, before []*guards) error {
	for _, g := range before {
		if g.more {
			return r.removeGuards(ctx, func(epoch int64) bool { return epoch != gateEpoch })
		}
	}
	all, gctx := errgroup.WithContext(ctx)
	all.SetLimit(2 * DefaultWorkers)
	for _, g := range before {
		for pk := range g.open {
			all.Go(func() error {
				key := edm.Key{PartitionKey: pk, RowKey: g.rowKey}
				if err := g.table.Delete(gctx, key, tablestorage.AnyETag); err != nil && !errors.Is(err, tablestorage.ErrNotFound) {
					return fmt.Errorf("remove guard %s from table %s: %w", keyText(key), g.table.Name(), err)
				}
				return nil
			})
		}
	}
	return all.Wait()
}

// retract takes guards back that are not to be used: without the gate, an insertion that is still on its way cannot be
// carried out. A mover that works there makes the gate anew. If retract fails, rows stay behind that open nothing, because their mover
// has stopped.
func (g *guards) retract(ctx context.Context, partitions []string) {
	tidy, cancel := context.WithTimeout(context.WithoutCancel(ctx), tidyTime)
	defer cancel()
	for _, pk := range partitions {
		for _, rowKey := range []string{g.gate, g.rowKey} {
			key := edm.Key{PartitionKey: pk, RowKey: rowKey}
			err := g.table.Delete(tidy, key, tablestorage.AnyETag)
			if err != nil && !errors.Is(err, tablestorage.ErrNotFound) && !errors.Is(err, tablestorage.ErrTableNotFound) {
				g.run.progress.Note(fmt.Sprintf("Guard row %s of table %s was left behind: %v.", keyText(key), g.table.Name(), err))
			}
		}
	}
}

func guardRow(pk, rowKey string) *edm.Entity {
	return &edm.Entity{PartitionKey: pk, RowKey: rowKey, Properties: []edm.Property{
		{Name: "Owner", Value: edm.StringValue("aztenancy")},
	}}
}

// operation is the guard's part of a transaction.
func (g *guards) operation(pk string) tablestorage.Operation {
	return tablestorage.Operation{Kind: tablestorage.OpMerge, Entity: guardRow(pk, g.rowKey), ETag: tablestorage.AnyETag}
}

// removeGuards removes the guard rows of this migration from all targets, those whose epoch is selected; gates have gateEpoch. It finds
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
			number, _, _ := strings.Cut(text, ".")
			epoch, perr := strconv.ParseInt(number, 10, 64)
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

// sweep removes guard rows that earlier migrations have left at one end of the tenant's move.
func (r *run) sweep(ctx context.Context, s side) error {
	mine := guardPrefix + r.j.migration().ID + "-"
	for key, err := range s.guardRows(ctx) {
		if errors.Is(err, tablestorage.ErrTableNotFound) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("look for guards in %s: %w", s, err)
		}
		if !isLeft(key.RowKey) || strings.HasPrefix(key.RowKey, mine) {
			continue
		}
		if err := s.table.Delete(ctx, key, tablestorage.AnyETag); err != nil && !errors.Is(err, tablestorage.ErrNotFound) {
			return fmt.Errorf("remove guard %s from %s: %w", keyText(key), s, err)
		}
	}
	return nil
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
