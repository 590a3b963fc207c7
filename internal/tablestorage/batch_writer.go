package tablestorage

import (
	"cmp"
	"context"
	"errors"
	"fmt"
)

// maxOpenBytes is how much a BatchWriter holds back over all partitions before it sends the oldest.
const maxOpenBytes = 2 * MaxBodyBytes

// BatchWriter groups operations into entity group transactions: those of one PartitionKey in the order in which they
// came, at most MaxOperations and MaxBodyBytes each, headers of parts included. Partitions may be interleaved; a key
// that comes again starts a new transaction. It is not safe for concurrent use.
type BatchWriter struct {
	// Acknowledged, if set, is called after each transaction that the service committed, with its operations and
	// their ETags.
	Acknowledged func(ops []Operation, etags []string)
	// Resolve, if set, is called with the operations of a transaction that the service refused. It returns the
	// operations to run in their stead (none: they are dropped), or the error that Add or Flush shall return.
	Resolve func(ctx context.Context, ops []Operation, refused *Error) ([]Operation, error)
	// Guard, if set, gives an operation that goes first in every transaction of a partition: typically a merge on
	// condition that a row exists, without which nothing of the transaction is carried out. If it fails as not
	// found, or its condition is not met, the error is ErrGuardGone. Acknowledged and Resolve do not see it.
	Guard func(partition string) Operation
	// BeforeSend, if set, is called before each transaction; its error is returned instead of sending.
	BeforeSend func(ctx context.Context) error

	table *Table
	open  map[string]*pending
	order []*pending // the same, oldest first
	bytes int        // held back in all
}

// pending is the open transaction of one partition.
type pending struct {
	partition string
	rows      map[string]bool
	x         *transaction
}

// NewBatchWriter returns a writer to the table.
func NewBatchWriter(t *Table) *BatchWriter {
	return &BatchWriter{table: t, open: map[string]*pending{}}
}

// BatchError is a transaction that the service did not commit, or of which it is unknown whether it did: see
// Error.Retried.
type BatchError struct {
	Operations []Operation
	Err        error
}

// Error returns the cause's text.
func (e *BatchError) Error() string { return e.Err.Error() }

// Unwrap returns the cause.
func (e *BatchError) Unwrap() error { return e.Err }

// Add takes one operation, and sends transactions that are full. An error may be about operations that were added
// before: it is a *BatchError with them, and they are no longer held; all others still are.
func (w *BatchWriter) Add(ctx context.Context, op Operation) error {
	if op.Entity == nil || op.Kind == 0 || op.Kind > OpDelete {
		return fmt.Errorf("batch for table %s: an operation without entity or kind", w.table.name)
	}
	p := w.partition(op.Entity.PartitionKey)
	if p.rows[op.Entity.RowKey] {
		if err := w.send(ctx, p); err != nil {
			return err
		}
		p = w.partition(op.Entity.PartitionKey)
	}
	added, err := w.put(p, op)
	if err == nil && !added && len(p.x.payload()) > 0 {
		if err := w.send(ctx, p); err != nil {
			return err
		}
		p = w.partition(op.Entity.PartitionKey)
		added, err = w.put(p, op)
	}
	if err == nil && !added {
		err = ErrTooLarge
	}
	if err != nil {
		w.discardEmpty(p)
		key := op.Entity.Key()
		return &BatchError{[]Operation{op}, fmt.Errorf("%s %q/%q in table %s: %w", op.Kind, key.PartitionKey, key.RowKey, w.table.name, err)}
	}
	for w.bytes > maxOpenBytes {
		if err := w.send(ctx, w.order[0]); err != nil {
			return err
		}
	}
	return nil
}

// Flush sends everything that was added, oldest first. It stops at the first error, as Add does.
func (w *BatchWriter) Flush(ctx context.Context) error {
	for len(w.order) > 0 {
		if err := w.send(ctx, w.order[0]); err != nil {
			return err
		}
	}
	return nil
}

// partition returns the open transaction of a partition, or opens one.
func (w *BatchWriter) partition(key string) *pending {
	if p, ok := w.open[key]; ok {
		return p
	}
	p := &pending{partition: key, rows: map[string]bool{}, x: w.begin(key)}
	w.open[key], w.order = p, append(w.order, p)
	w.bytes += p.x.size()
	return p
}

// begin opens a transaction, with its guard if there is one.
func (w *BatchWriter) begin(partition string) *transaction {
	x := newTransaction(w.table)
	if w.Guard == nil {
		return x
	}
	if ok, err := x.add(w.Guard(partition)); err != nil || !ok {
		x.err = fmt.Errorf("guard of partition %q in table %s: %w", partition, w.table.name, cmp.Or(err, ErrTooLarge))
	}
	x.guards = len(x.ops)
	return x
}

// put adds an operation to an open transaction, if it has room.
func (w *BatchWriter) put(p *pending, op Operation) (bool, error) {
	before := p.x.size()
	ok, err := p.x.add(op)
	if ok {
		p.rows[op.Entity.RowKey] = true
		w.bytes += p.x.size() - before
	}
	return ok, err
}

// close takes a transaction off the open ones.
func (w *BatchWriter) close(p *pending) {
	delete(w.open, p.partition)
	for i, o := range w.order {
		if o == p {
			w.order = append(w.order[:i], w.order[i+1:]...)
			break
		}
	}
	w.bytes -= p.x.size()
}

// discardEmpty closes a transaction that got no operation.
func (w *BatchWriter) discardEmpty(p *pending) {
	if len(p.x.payload()) == 0 {
		w.close(p)
	}
}

// send closes a transaction and runs it.
func (w *BatchWriter) send(ctx context.Context, p *pending) error {
	w.close(p)
	return w.run(ctx, p.x)
}

// run runs a transaction. One that is too large for the service after all is halved, and so on: the halves are
// transactions of their own.
func (w *BatchWriter) run(ctx context.Context, x *transaction) error {
	ops := x.payload()
	if len(ops) == 0 {
		return nil
	}
	if x.err != nil {
		return &BatchError{ops, x.err}
	}
	if w.BeforeSend != nil {
		if err := w.BeforeSend(ctx); err != nil {
			return &BatchError{ops, err}
		}
	}
	etags, err := x.send(ctx)
	if err == nil {
		if w.Acknowledged != nil {
			w.Acknowledged(ops, etags[x.guards:])
		}
		return nil
	}
	if errors.Is(err, ErrTooLarge) && len(ops) > 1 {
		return w.halve(ctx, ops)
	}
	var refused *Error
	if !errors.As(err, &refused) {
		return &BatchError{ops, err}
	}
	if x.guards > 0 && refused.Index == 0 && (errors.Is(err, ErrNotFound) || errors.Is(err, ErrConditionNotMet)) {
		return &BatchError{ops, fmt.Errorf("%w: %w", ErrGuardGone, err)}
	}
	if w.Resolve == nil {
		return &BatchError{ops, err}
	}
	if refused.Index >= 0 {
		refused.Index -= x.guards
	}
	instead, err := w.Resolve(ctx, ops, refused)
	if err != nil {
		return &BatchError{ops, err}
	}
	return w.rerun(ctx, instead)
}

// halve runs the operations of a transaction that was too large as two.
func (w *BatchWriter) halve(ctx context.Context, ops []Operation) error {
	half := len(ops) / 2
	if err := w.rerun(ctx, ops[:half]); err != nil {
		var b *BatchError
		if errors.As(err, &b) { // the second half was not tried
			b.Operations = append(b.Operations[:len(b.Operations):len(b.Operations)], ops[half:]...)
		}
		return err
	}
	return w.rerun(ctx, ops[half:])
}

// rerun runs operations of one partition in as many transactions as it takes.
func (w *BatchWriter) rerun(ctx context.Context, ops []Operation) error {
	if len(ops) == 0 {
		return nil
	}
	partition := ops[0].Entity.PartitionKey
	x := w.begin(partition)
	for _, op := range ops {
		ok, err := x.add(op)
		if err == nil && !ok {
			if err := w.run(ctx, x); err != nil {
				return err
			}
			x = w.begin(partition)
			ok, err = x.add(op)
		}
		if err == nil && !ok {
			err = ErrTooLarge
		}
		if err != nil {
			return &BatchError{[]Operation{op}, err}
		}
	}
	return w.run(ctx, x)
}
