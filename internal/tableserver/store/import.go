package store

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/cockroachdb/pebble/v2"

	"github.com/aztenancy/terraform-provider-aztenancy/internal/edm"
)

// maxAhead is how far a Timestamp that is brought along may lie in the future: the clock must run above it from then on.
const maxAhead = 24 * time.Hour

// importBatchBytes is when what was put so far is handed to Pebble.
const importBatchBytes = 4 << 20

// Import collects tables of an account under numbers that no record names, so that nobody sees them until Add or
// Replace puts all of them in place in one write. One of Add, Replace and Discard ends it. It is for one goroutine. What a
// killed process had collected stays in the folder, unseen.
type Import struct {
	s       *Store
	account uint32
	tables  []Table
	batch   *pebble.Batch // of entities; it can be read
	latest  int64         // the largest Timestamp, in ticks
}

// NewImport begins an import into an account.
func (s *Store) NewImport(_ context.Context, account string) (*Import, error) {
	n, err := s.account(account)
	if err != nil {
		return nil, err
	}
	return &Import{s: s, account: n, batch: s.db.NewIndexedBatch()}, nil
}

// CreateTable begins a table, into which Put goes from now on; ErrTableExists if the import has one of that name.
func (im *Import) CreateTable(name string, policies []Policy) error {
	if slices.ContainsFunc(im.tables, func(t Table) bool { return strings.EqualFold(t.Name, name) }) {
		return fmt.Errorf("table %s: %w", name, ErrTableExists)
	}
	created, err := im.s.clock.next(1)
	if err != nil {
		return err
	}
	im.s.numbers.Lock()
	number, err := im.s.nextNumber()
	im.s.numbers.Unlock()
	if err != nil {
		return err
	}
	im.tables = append(im.tables, Table{Name: name, Created: created, Policies: policies, account: im.account, number: number})
	return nil
}

// Put adds a valid entity to the table of the last CreateTable; ErrExists if the table has its key. A zero Timestamp
// becomes the time of now; another one is kept, with the ETag that follows from it.
func (im *Import) Put(e *edm.Entity) error {
	if len(im.tables) == 0 {
		return errors.New("an entity comes before the first table")
	}
	key := appendEntityKey(nil, im.tables[len(im.tables)-1], e.Key())
	_, closer, err := im.batch.Get(key)
	if err == nil {
		return errors.Join(ErrExists, closer.Close())
	}
	if !errors.Is(err, pebble.ErrNotFound) {
		return fmt.Errorf("look for an entity twice: %w", err)
	}
	ticks := edm.Ticks(e.Timestamp)
	switch {
	case e.Timestamp.IsZero():
		if ticks, err = im.s.clock.next(1); err != nil {
			return err
		}
	case e.Timestamp.After(im.s.clock.now().Add(maxAhead)):
		return fmt.Errorf("its Timestamp %s lies more than %v in the future", edm.FormatTime(e.Timestamp), maxAhead)
	}
	im.latest = max(im.latest, ticks)
	if err := im.batch.Set(key, encodeEntityValue(e, ticks), nil); err != nil {
		return err
	}
	if im.batch.Len() < importBatchBytes {
		return nil
	}
	return im.flush()
}

// flush hands the entities to Pebble. They come before the record of their table in the log, so they need no sync.
func (im *Import) flush() error {
	err := im.s.disk.room()
	if err == nil {
		err = im.s.db.Apply(im.batch, pebble.NoSync)
	}
	err = errors.Join(err, im.batch.Close())
	im.batch = im.s.db.NewIndexedBatch()
	if err != nil {
		return fmt.Errorf("write imported entities: %w", err)
	}
	return nil
}

// Add puts the tables in place beside those that the account has; ErrTableExists, and nothing is changed, if it has one
// of the names. When it returns without error they are on disk.
func (im *Import) Add() error {
	return im.publish(func(*pebble.Batch) error {
		for _, t := range im.tables {
			if _, err := im.s.table(im.s.db, im.account, t.Name); !errors.Is(err, ErrTableNotFound) {
				return errors.Join(fmt.Errorf("table %s: %w", t.Name, ErrTableExists), err)
			}
		}
		return nil
	})
}

// Replace puts the tables in the place of all that the account has, and sets its service properties, nil for none. When
// it returns without error that is on disk. A write that began before is made before, or fails with ErrTableNotFound.
func (im *Import) Replace(properties []byte) error {
	return im.publish(func(b *pebble.Batch) error {
		it, err := im.s.db.NewIter(&pebble.IterOptions{LowerBound: tableKeyPrefix(im.account), UpperBound: tableKeyPrefix(im.account + 1)})
		if err != nil {
			return err
		}
		for ok := it.First(); ok && err == nil; ok = it.Next() {
			var t Table
			if t, err = decodeTable(im.account, it.Value()); err == nil {
				im.s.current.Delete(recordKey{im.account, t.Name}) // nobody looks one up while the tables are locked
				err = errors.Join(b.Delete(slices.Clone(it.Key()), nil), b.DeleteRange(appendTablePrefix(nil, t), tableEnd(t), nil))
			}
		}
		if err := errors.Join(err, it.Error(), it.Close()); err != nil {
			return err
		}
		if properties == nil {
			return b.Delete(propertiesKey(im.account), nil)
		}
		return b.Set(propertiesKey(im.account), properties, nil)
	})
}

// publish makes the tables visible, with what prepare adds to the same write. Meanwhile no table changes and nobody
// writes.
func (im *Import) publish(prepare func(*pebble.Batch) error) error {
	if err := im.flush(); err != nil {
		return errors.Join(err, im.Discard())
	}
	if err := im.s.clock.pass(im.latest); err != nil {
		return errors.Join(err, im.Discard())
	}
	for i := range im.s.tables {
		im.s.tables[i].Lock()
		defer im.s.tables[i].Unlock()
	}
	b := im.s.db.NewBatch()
	defer b.Close() //nolint:errcheck // a batch's Close has nothing to report
	err := prepare(b)
	for _, t := range im.tables {
		err = errors.Join(err, b.Set(tableKey(t.account, t.Name), t.record(), nil))
	}
	if err != nil {
		return errors.Join(err, im.Discard())
	}
	return errors.Join(im.s.write(fmt.Sprintf("%d imported tables", len(im.tables)),
		func() error { return im.s.db.Apply(b, pebble.NoSync) }), im.batch.Close())
}

// Discard removes what was collected.
func (im *Import) Discard() error {
	err := im.batch.Close()
	for _, t := range im.tables {
		err = errors.Join(err, im.s.db.DeleteRange(appendTablePrefix(nil, t), tableEnd(t), pebble.NoSync))
	}
	if err != nil {
		return fmt.Errorf("remove what was imported: %w", err)
	}
	return nil
}

// pass lets the clock run above a tick that somebody else gave out.
func (c *clock) pass(ticks int64) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if ticks <= c.last {
		return nil
	}
	if ticks >= c.mark {
		mark := ticks + clockLead
		if err := c.save(mark); err != nil {
			return fmt.Errorf("save the clock's mark: %w", err)
		}
		c.mark = mark
	}
	c.last = ticks
	return nil
}
