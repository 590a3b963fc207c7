package catalog

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/google/uuid"

	"github.com/aztenancy/terraform-provider-aztenancy/internal/edm"
	"github.com/aztenancy/terraform-provider-aztenancy/internal/tablestorage"
)

// maxTries is how often one change is sent when its answers stay unclear.
const maxTries = 3

// A change carries an id of its own in the column Write. When its answer is a conflict or none at all, the row is read
// back: the id there tells whether the change was made, whoever asks how often. Where it was not, the same change with
// the same condition may be sent again: were the first one still on its way, only one of the two could meet the
// condition, and both write the same.

// stamp gives an entity the columns that tell one change from another.
func (c *Catalog) stamp(e *edm.Entity) {
	e.Set(colWrite, edm.GUIDValue(uuid.New()))
	e.Set(colUpdated, edm.DateTimeValue(c.now()))
}

// insert adds a row; ErrExists. The catalog's table is created if it is absent.
func (c *Catalog) insert(ctx context.Context, what string, e *edm.Entity) (etag string, err error) {
	c.stamp(e)
	return c.settle(ctx, what, e, "", ErrExists, func() (string, error) {
		etag, err := c.table.Insert(ctx, e)
		if errors.Is(err, tablestorage.ErrTableNotFound) {
			if err := c.Ensure(ctx); err != nil {
				return "", err
			}
			return c.table.Insert(ctx, e)
		}
		return etag, err
	})
}

// replace overwrites the row that has the given ETag; ErrChanged.
func (c *Catalog) replace(ctx context.Context, what string, e *edm.Entity, etag string) (newETag string, err error) {
	c.stamp(e)
	return c.settle(ctx, what, e, etag, ErrChanged, func() (string, error) { return c.table.Replace(ctx, e, etag) })
}

// remove deletes the row that has the given ETag; ErrChanged. A row that is gone is no error.
func (c *Catalog) remove(ctx context.Context, what string, key edm.Key, etag string) error {
	for try := 1; ; try++ {
		err := c.table.Delete(ctx, key, etag)
		switch {
		case err == nil, errors.Is(err, tablestorage.ErrNotFound), errors.Is(err, tablestorage.ErrTableNotFound):
			return nil
		case refused(err):
			return fmt.Errorf("delete %s: %w", what, err)
		}
		now, rerr := c.table.Get(ctx, key)
		switch {
		case errors.Is(rerr, tablestorage.ErrNotFound), errors.Is(rerr, tablestorage.ErrTableNotFound):
			return nil
		case rerr == nil && now.ETag != etag:
			return fmt.Errorf("delete %s: %w", what, ErrChanged)
		case rerr != nil || try == maxTries:
			return fmt.Errorf("delete %s: %w: %w", what, ErrUnclear, errors.Join(err, rerr))
		}
	}
}

// settle sends a write until it is known whether it was made. etag is the version that it replaces, "" for none; lost is
// the error where another write came first.
func (c *Catalog) settle(ctx context.Context, what string, e *edm.Entity, etag string, lost error, send func() (string, error)) (string, error) {
	for try := 1; ; try++ {
		newETag, err := send()
		switch {
		case err == nil:
			return newETag, nil
		case errors.Is(err, tablestorage.ErrTableNotFound):
			return "", fmt.Errorf("write %s: %w", what, c.noCatalog(err))
		case refused(err):
			return "", fmt.Errorf("write %s: %w", what, err)
		}
		now, rerr := c.table.Get(ctx, e.Key())
		switch {
		case rerr == nil && sameWrite(now, e):
			return now.ETag, nil
		case rerr == nil && now.ETag != etag:
			return "", fmt.Errorf("write %s: %w", what, lost)
		case errors.Is(rerr, tablestorage.ErrNotFound) && etag != "":
			return "", fmt.Errorf("write %s: it was deleted: %w", what, lost)
		case rerr != nil && !errors.Is(rerr, tablestorage.ErrNotFound), try == maxTries:
			return "", fmt.Errorf("write %s: %w: %w", what, ErrUnclear, errors.Join(err, rerr))
		}
	}
}

// sameWrite says whether both entities come from one change.
func sameWrite(a, b *edm.Entity) bool {
	va, ok := a.Get(colWrite)
	vb, _ := b.Get(colWrite)
	return ok && va == vb
}

// refused says whether the service definitely did not make a change and would not make it if asked again. Conflicts are
// not among it: whoever sends a request twice can meet its own success.
func refused(err error) bool {
	var e *tablestorage.Error
	if !errors.As(err, &e) {
		return true // it never left this process
	}
	if e.Retried {
		return false
	}
	switch e.Status {
	case 0:
		return errors.Is(err, tablestorage.ErrUnreachable)
	case http.StatusNotFound, http.StatusRequestTimeout, http.StatusConflict, http.StatusPreconditionFailed, http.StatusTooManyRequests:
		return false
	}
	return e.Status < http.StatusInternalServerError
}
