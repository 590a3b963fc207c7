package store

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"github.com/cockroachdb/pebble/v2"

	"github.com/aztenancy/terraform-provider-aztenancy/internal/edm"
	"github.com/aztenancy/terraform-provider-aztenancy/internal/tableserver/keyspan"
)

// Get returns one entity; ErrNotFound if the table has none with that key. Like every read it sees what is on disk.
func (s *Store) Get(_ context.Context, t Table, key edm.Key) (*edm.Entity, error) {
	now := s.durability.view()
	defer now.release()
	s.read.Add(1)
	v, closer, err := now.Get(appendEntityKey(nil, t, key))
	if errors.Is(err, pebble.ErrNotFound) {
		return nil, ErrNotFound
	}
	if err != nil {
		return nil, fmt.Errorf("read entity of table %s: %w", t.Name, err)
	}
	e, err := decodeEntityValue(v)
	if err := errors.Join(err, closer.Close()); err != nil {
		return nil, fmt.Errorf("read entity of table %s: %w", t.Name, err)
	}
	e.PartitionKey, e.RowKey = key.PartitionKey, key.RowKey
	return e, nil
}

// KeysRead returns how many keys reads have looked at so far, deleted ones and older versions included.
func (s *Store) KeysRead() int64 { return s.read.Load() }

// Scan yields the entities of a span in ascending order, as they are when it starts: writes during the scan do not
// show. It reads only what it yields.
func (s *Store) Scan(ctx context.Context, t Table, span keyspan.Span) iter.Seq2[*edm.Entity, error] {
	return func(yield func(*edm.Entity, error) bool) {
		lower, upper := boundKey(t, span.From, down), boundKey(t, span.To, up)
		if string(lower) >= string(upper) {
			return
		}
		now := s.durability.view()
		defer now.release()
		it, err := now.NewIterWithContext(ctx, &pebble.IterOptions{LowerBound: lower, UpperBound: upper})
		if err != nil {
			yield(nil, fmt.Errorf("scan table %s: %w", t.Name, err))
			return
		}
		stopped := false
		var keys keyDecoder
		for ok := it.First(); ok && !stopped; ok = it.Next() {
			e, err := decodeRow(&keys, it)
			if err != nil {
				yield(nil, fmt.Errorf("scan table %s: %w", t.Name, err))
				stopped = true
				break
			}
			if span.Contains(e.Key()) {
				stopped = !yield(e, nil)
			}
		}
		stats := it.Stats()
		s.read.Add(int64(stats.ForwardStepCount[pebble.InternalIterCall] + stats.ForwardSeekCount[pebble.InternalIterCall]))
		if err := errors.Join(it.Error(), it.Close()); err != nil && !stopped {
			yield(nil, fmt.Errorf("scan table %s: %w", t.Name, err))
		}
	}
}

func decodeRow(keys *keyDecoder, it *pebble.Iterator) (*edm.Entity, error) {
	key, err := keys.decode(it.Key())
	if err != nil {
		return nil, err
	}
	v, err := it.ValueAndErr()
	if err != nil {
		return nil, err
	}
	e, err := decodeEntityValue(v)
	if err != nil {
		return nil, err
	}
	e.PartitionKey, e.RowKey = key.PartitionKey, key.RowKey
	return e, nil
}
