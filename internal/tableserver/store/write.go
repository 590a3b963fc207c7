package store

import (
	"context"
	"errors"
	"fmt"

	"github.com/cockroachdb/pebble/v2"

	"github.com/aztenancy/terraform-provider-aztenancy/internal/edm"
)

// Kind is what an Operation does.
type Kind uint8

// The kinds. Replace and Merge need the entity to exist; the upserts do not ask.
const (
	Insert Kind = iota + 1
	Replace
	Merge
	UpsertReplace
	UpsertMerge
	Delete
)

// Operation is one change of one entity.
type Operation struct {
	Kind   Kind
	Entity *edm.Entity // for Delete only its key counts
	// IfMatch is the ETag that the stored entity must have, or "*" for any. Replace, Merge and Delete read it.
	IfMatch string
}

// OperationError says which operation of an Apply was refused, counted from 0. Nothing was changed then. Err is
// ErrExists, ErrNotFound, ErrConditionNotMet, or an *edm.Error for an entity that a merge made invalid.
type OperationError struct {
	Index int
	Err   error
}

func (e *OperationError) Error() string { return fmt.Sprintf("operation %d: %v", e.Index, e.Err) }

// Unwrap returns Err.
func (e *OperationError) Unwrap() error { return e.Err }

// Apply makes all changes in their order, or none: *OperationError, or ErrTableNotFound when the table was deleted
// since t was looked up; ErrFull and ErrFailed when the disk takes no writes. When it returns without error they are
// on disk; with an ErrFailed nobody knows until the next start. Each entity may appear once; the caller sees to that.
// It returns the entities as they are stored now, with Timestamp and ETag, nil for a Delete.
func (s *Store) Apply(_ context.Context, t Table, ops []Operation) ([]*edm.Entity, error) {
	if err := s.disk.room(); err != nil {
		return nil, err
	}
	b := s.db.NewBatch()
	defer b.Close() //nolint:errcheck // a batch's Close has nothing to report
	stored, err := s.decide(b, t, ops)
	if err != nil {
		return nil, s.refuse(err)
	}
	if err := s.durability.wait(); err != nil {
		return nil, fmt.Errorf("write to table %s: %w", t.Name, err)
	}
	return stored, nil
}

// refuse returns a refusal once what it rests on is on disk.
func (s *Store) refuse(err error) error {
	if fault := s.durability.settle(); fault != nil {
		return fault
	}
	return err
}

// decide checks the operations and hands them to Pebble under the partition's lock, without waiting for the disk: the
// next writer of a busy partition need not wait for it either, and both share one sync. Without error the caller waits.
func (s *Store) decide(b *pebble.Batch, t Table, ops []Operation) ([]*edm.Entity, error) {
	l := s.tables.of(t.account, t.Name)
	l.RLock()
	defer l.RUnlock()
	if now, err := s.currentTable(t.account, t.Name); err != nil || now.number != t.number {
		return nil, errors.Join(ErrTableNotFound, err)
	}
	keys := make([]edm.Key, len(ops))
	for i := range ops {
		keys[i] = ops[i].Entity.Key()
	}
	defer s.partitions.lock(t, keys)()

	ticks, err := s.clock.next(len(ops))
	if err != nil {
		return nil, err
	}
	stored := make([]*edm.Entity, len(ops))
	for i := range ops {
		stored[i], err = s.prepare(b, t, &ops[i], ticks+int64(i))
		if err != nil {
			return nil, &OperationError{Index: i, Err: err}
		}
	}
	if err := s.durability.applied(func() error { return s.db.Apply(b, pebble.NoSync) }); err != nil {
		return nil, fmt.Errorf("write to table %s: %w", t.Name, err)
	}
	return stored, nil
}

// prepare checks one operation against the stored entity and adds its effect to the batch.
func (s *Store) prepare(b *pebble.Batch, t Table, op *Operation, ticks int64) (*edm.Entity, error) {
	key := appendEntityKey(nil, t, op.Entity.Key())
	var old []byte
	if op.Kind != UpsertReplace {
		var err error
		if old, err = get(s.db, key); err != nil {
			return nil, fmt.Errorf("read entity of table %s: %w", t.Name, err)
		}
		if err := op.check(old); err != nil {
			return nil, err
		}
	}
	if op.Kind == Delete {
		return nil, b.Delete(key, nil)
	}
	stamped := *op.Entity // shares the properties, which nobody changes
	e := &stamped
	if old != nil && (op.Kind == Merge || op.Kind == UpsertMerge) {
		merged, err := decodeEntityValue(old)
		if err != nil {
			return nil, fmt.Errorf("read entity of table %s: %w", t.Name, err)
		}
		merged.PartitionKey, merged.RowKey = e.PartitionKey, e.RowKey
		for _, p := range e.Properties {
			merged.Set(p.Name, p.Value)
		}
		if err := merged.Validate(); err != nil {
			return nil, err
		}
		e = merged
	}
	e.Timestamp = edm.TimeOfTicks(ticks)
	e.ETag = edm.ETagOf(e.Timestamp)
	return e, b.Set(key, encodeEntityValue(e, ticks), nil)
}

// check compares what the operation asks for with the stored value, nil for none.
func (op *Operation) check(old []byte) error {
	switch op.Kind {
	case Insert:
		if old != nil {
			return ErrExists
		}
	case Replace, Merge, Delete:
		if old == nil {
			return ErrNotFound
		}
		if op.IfMatch == "*" {
			return nil
		}
		if len(old) < 9 {
			return errTruncated
		}
		if op.IfMatch != edm.ETagOf(edm.TimeOfTicks(ticksOf(old))) {
			return ErrConditionNotMet
		}
	}
	return nil
}
