package migration

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"golang.org/x/sync/errgroup"

	"github.com/aztenancy/terraform-provider-aztenancy/internal/edm"
	"github.com/aztenancy/terraform-provider-aztenancy/internal/tablestorage"
)

// writer settles the windows of one lane in one pass. Each of its transactions holds the guard of this mover's lease, and each
// write has a condition of its own: an Insert, that there is nothing; a Replace and a Delete, the version that was judged.
// So no write of it can destroy what it did not see.
type writer struct {
	run    *run
	pass   *pass
	move   movePass
	lane   lane
	ledger *ledger
	seals  map[string]*sealer // of the target's spans, by PartitionKey; "" is the one span of a lane that is not merged
	sent   int                // rows of the list of what was sent

	from, to edm.Key // of the window under way
	mu       gate
	kept     []byte // marks of entities of the target that are ours and that the window leaves as they are
}

func (p *pass) newWriter(m movePass, l lane) *writer {
	w := &writer{run: p.run, pass: p, mu: newGate(), move: m, lane: l, seals: map[string]*sealer{},
		ledger: newLedger(p.run, m.logical, l, p.run.j.details().Proven, p.attempt-1)}
	return w
}

// openSeals makes the seals of the target's spans.
func (w *writer) openSeals(ctx context.Context) {
	for _, s := range w.lane.targets {
		name := ""
		if w.lane.merged {
			name = s.own
		}
		w.seals[name] = w.run.newSealer(ctx, targetSealName(w.move.logical, w.pass.attempt, s.number), s.rng)
	}
}

// seal notes an entity of the target that was found equal to its source.
func (w *writer) seal(e *edm.Entity) error {
	name := ""
	if w.lane.merged {
		name = e.PartitionKey
	}
	s, ok := w.seals[name]
	if !ok {
		return fmt.Errorf("entity %s of %s is in no span of the target", keyText(e.Key()), w.move.target)
	}
	return s.see(e)
}

// closeSeals writes what remains of the seals.
func (w *writer) closeSeals() error {
	for _, s := range w.seals {
		if err := s.see(nil); err != nil {
			return err
		}
	}
	return nil
}

// at is a fault point of the pass.
func (w *writer) at(point string) error { return w.run.at(w.pass.name + ": " + point) }

// keep notes that an entity of the target was proven to be ours and is left for the next pass, which has to be able to prove
// it again: this pass, when it is complete, takes the place of those that proved it now.
func (w *writer) keep(e *edm.Entity) {
	w.mu.Lock()
	defer w.mu.Unlock()
	m := contentMark(w.run.j.migration().ID, e)
	w.kept = append(w.kept, m[:]...)
	w.pass.left.Add(1)
}

// list writes marks to the list of what was sent in this window.
func (w *writer) list(ctx context.Context, marks []byte) error {
	if len(marks) == 0 {
		return nil
	}
	if err := w.at("before list"); err != nil {
		return err
	}
	if err := w.run.putSent(ctx, sentName(w.move.logical, w.pass.attempt, w.lane.number), w.sent, w.lane.targets[0], w.from, w.to, marks); err != nil {
		return err
	}
	w.sent++
	return w.at("after list")
}

// send carries a window's operations out. What is written is noted in the catalog before.
func (w *writer) send(ctx context.Context, ops []tablestorage.Operation) error {
	var marks []byte
	id := w.run.j.migration().ID
	for _, op := range ops {
		if op.Kind != tablestorage.OpDelete {
			m := contentMark(id, op.Entity)
			marks = append(marks, m[:]...)
		}
	}
	if err := w.list(ctx, marks); err != nil {
		return err
	}
	if err := w.sendGroups(ctx, ops); err != nil {
		return err
	}
	kept := w.kept
	w.kept = nil
	return w.list(ctx, kept)
}

// sendGroups sends operations partition by partition.
func (w *writer) sendGroups(ctx context.Context, ops []tablestorage.Operation) error {
	if len(ops) == 0 {
		return nil
	}
	groups, partitions := byPartition(ops)
	if err := w.move.guards.ready(ctx, partitions); err != nil {
		return err
	}
	work, wctx := errgroup.WithContext(ctx)
	work.SetLimit(max(1, w.run.workers()/len(w.move.lanes)))
	for _, group := range groups {
		work.Go(func() error { return w.sendGroup(wctx, group) })
	}
	return work.Wait()
}

// byPartition cuts operations into groups that fit a transaction each, and names the partitions.
func byPartition(ops []tablestorage.Operation) (groups [][]tablestorage.Operation, partitions []string) {
	const most = tablestorage.MaxOperations - guardOperations
	open := map[string]int{} // the group that takes more
	for _, op := range ops {
		pk := op.Entity.PartitionKey
		i, ok := open[pk]
		if !ok {
			partitions = append(partitions, pk)
		}
		if !ok || len(groups[i]) == most {
			i = len(groups)
			open[pk], groups = i, append(groups, nil)
		}
		groups[i] = append(groups[i], op)
	}
	return groups, partitions
}

// sendGroup writes operations of one partition: one transaction, or more if they are large.
func (w *writer) sendGroup(ctx context.Context, ops []tablestorage.Operation) error {
	b := tablestorage.NewBatchWriter(w.move.target.table)
	b.Guard = w.move.guards.operation
	b.BeforeSend = func(context.Context) error {
		if err := w.run.j.check(); err != nil {
			return err
		}
		return w.at("before transaction")
	}
	b.Resolve = w.resolve
	b.Acknowledged = w.acknowledged
	for _, op := range ops {
		if err := b.Add(ctx, op); err != nil {
			return w.explain(ctx, err)
		}
	}
	return w.explain(ctx, b.Flush(ctx))
}

// acknowledged counts what a transaction did.
func (w *writer) acknowledged(ops []tablestorage.Operation, _ []string) {
	w.run.transactions.Add(1)
	for _, op := range ops {
		w.counter(op.Kind).Add(1)
	}
}

func (w *writer) counter(k tablestorage.OpKind) *atomic.Int64 {
	switch k {
	case tablestorage.OpInsert:
		return &w.pass.inserted
	case tablestorage.OpDelete:
		return &w.pass.deleted
	default:
		return &w.pass.replaced
	}
}

// resolve decides about a transaction that the target refused because an entity is not as it was judged: all of them are
// read back, and what remains to be done is returned.
func (w *writer) resolve(ctx context.Context, ops []tablestorage.Operation, refused *tablestorage.Error) ([]tablestorage.Operation, error) {
	if !errors.Is(refused, tablestorage.ErrExists) && !errors.Is(refused, tablestorage.ErrConditionNotMet) && !errors.Is(refused, tablestorage.ErrNotFound) {
		return nil, refused
	}
	there := make([]*edm.Entity, len(ops))
	work, wctx := errgroup.WithContext(ctx)
	work.SetLimit(fetchers)
	for i, op := range ops {
		work.Go(func() (err error) {
			there[i], err = find(wctx, w.move.target.table, op.Entity.Key())
			return err
		})
	}
	if err := work.Wait(); err != nil {
		return nil, fmt.Errorf("read back: %w", err)
	}
	var rest []tablestorage.Operation
	for i, op := range ops {
		again, err := w.remains(ctx, op, there[i])
		if err != nil {
			return nil, err
		}
		if again {
			rest = append(rest, op)
		}
	}
	if len(rest) == len(ops) {
		return nil, fmt.Errorf("the target refused a change for a reason that was not there when it was looked for: %w", refused)
	}
	w.run.retries.Add(1)
	return rest, nil
}

// remains says whether an operation of a refused transaction still has to be carried out, given what lies at its key now.
// What is as it was wanted was written by an earlier try whose answer was lost. What is neither that nor as it was judged is one
// of our own older copies, which is left for the next pass, or a stranger's.
func (w *writer) remains(ctx context.Context, op tablestorage.Operation, there *edm.Entity) (bool, error) {
	switch {
	case there == nil && op.Kind == tablestorage.OpInsert:
		return true, nil
	case there == nil:
		if op.Kind != tablestorage.OpDelete {
			w.pass.left.Add(1)
		}
		return false, nil
	case op.Kind != tablestorage.OpInsert && there.ETag == op.ETag:
		return true, nil
	case op.Kind != tablestorage.OpDelete && op.Entity.SameContent(there):
		w.counter(op.Kind).Add(1)
		return false, nil
	}
	sent, err := w.ledger.has(ctx, w.from, w.to, there)
	if err != nil {
		return false, err
	}
	if !sent {
		return false, w.collision(there, op.Entity)
	}
	w.keep(there)
	return false, nil
}

// explain strips the operations from a writer's error, for they hold the tenant's data. A mover that lost its lease
// meets guards and tables that are gone: then that is the reason to tell.
func (w *writer) explain(ctx context.Context, err error) error {
	err = plain(err)
	gone := errors.Is(err, tablestorage.ErrGuardGone)
	if !gone && !errors.Is(err, tablestorage.ErrTableNotFound) {
		return err
	}
	if lost := w.run.j.confirm(ctx); lost != nil {
		return lost
	}
	if gone {
		return fmt.Errorf("a guard row was removed although the lease is ours; somebody deletes entities at the target: %w", err)
	}
	return err
}
