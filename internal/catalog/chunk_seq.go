package catalog

import (
	"context"
	"errors"
	"fmt"
	"iter"
)

// errEnough ends a scan whose caller has seen enough.
var errEnough = errors.New("enough")

// ChunksOf yields those chunks of a migration that stand under one logical name, in order of their numbers, without
// holding them all: a migration of a large tenant has thousands.
func (c *Catalog) ChunksOf(ctx context.Context, migrationID, logical string) iter.Seq2[Chunk, error] {
	return func(yield func(Chunk, error) bool) {
		err := c.scan(ctx, rowsOf(migrationID, chunkPrefix+logical+"|"), "", func(r row) error {
			k, err := decodeChunk(r)
			if err != nil {
				return err
			}
			if k.Logical == logical && !yield(k, nil) {
				return errEnough
			}
			return nil
		})
		if err != nil && !errors.Is(err, errEnough) {
			yield(Chunk{}, err)
		}
	}
}

// DeleteChunks removes those chunks of a migration whose logical names begin with a prefix. None is no error. Nobody may write
// under such a name any more.
func (c *Catalog) DeleteChunks(ctx context.Context, migrationID, prefix string) error {
	if err := deleteRange(ctx, c.table, rowsOf(migrationID, chunkPrefix+prefix), func(context.Context) error { return nil }); err != nil {
		return fmt.Errorf("delete the chunks %s of migration %s: %w", prefix, migrationID, c.noCatalog(err))
	}
	return nil
}
