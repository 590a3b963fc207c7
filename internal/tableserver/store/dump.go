package store

import (
	"context"
	"errors"
	"fmt"

	"github.com/cockroachdb/pebble/v2"

	"github.com/aztenancy/terraform-provider-aztenancy/internal/edm"
)

// Dump shows everything that an account holds at one moment: each table in the order of names in lower case, and after
// it its entities in the order of their keys. It ends with the first error of what it calls.
func (s *Store) Dump(ctx context.Context, account string, table func(Table) error, entity func(*edm.Entity) error) (properties []byte, err error) {
	n, err := s.knownAccount(account)
	if err != nil {
		return nil, err
	}
	at := s.durability.view()
	defer at.release()
	if properties, err = shownProperties(at, n); err != nil {
		return nil, fmt.Errorf("read service properties: %w", err)
	}
	it, err := at.NewIterWithContext(ctx, &pebble.IterOptions{LowerBound: tableKeyPrefix(n), UpperBound: tableKeyPrefix(n + 1)})
	if err != nil {
		return nil, fmt.Errorf("list tables: %w", err)
	}
	for ok := it.First(); ok && err == nil; ok = it.Next() {
		var t Table
		if t, err = decodeTable(n, it.Value()); err == nil {
			if err = table(t); err == nil {
				err = dumpTable(ctx, at, t, entity)
			}
		}
	}
	return properties, errors.Join(err, it.Error(), it.Close())
}

func dumpTable(ctx context.Context, at pebble.Reader, t Table, entity func(*edm.Entity) error) error {
	it, err := at.NewIterWithContext(ctx, &pebble.IterOptions{LowerBound: appendTablePrefix(nil, t), UpperBound: tableEnd(t)})
	if err != nil {
		return fmt.Errorf("read table %s: %w", t.Name, err)
	}
	var keys keyDecoder
	for ok := it.First(); ok && err == nil; ok = it.Next() {
		var e *edm.Entity
		if e, err = decodeRow(&keys, it); err == nil {
			err = entity(e)
		}
	}
	if err := errors.Join(err, it.Error(), it.Close()); err != nil {
		return fmt.Errorf("read table %s: %w", t.Name, err)
	}
	return nil
}
