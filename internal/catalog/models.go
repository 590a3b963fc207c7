package catalog

import (
	"context"
	"errors"
	"fmt"
	"maps"

	"github.com/aztenancy/terraform-provider-aztenancy/internal/edm"
	"github.com/aztenancy/terraform-provider-aztenancy/internal/tenancy"
)

// ModelRecord is a model as it stands in the catalog. Locked says that an update or a deletion has begun: no tenant is
// created by it until that is finished, or found to be refused, by asking for it again.
type ModelRecord struct {
	tenancy.Model
	ETag   string
	Locked bool
}

// lockedForChange is the value of a model's column Lock.
const lockedForChange = "changing"

func modelName(name string) string { return fmt.Sprintf("model %q", name) }

func encodeModel(m tenancy.Model, locked bool) (*edm.Entity, error) {
	w := newRow(modelPartition, m.Name)
	w.text("Kind", string(m.Kind))
	w.optionalText("Account", m.Account)
	w.json("Tables", m.Tables)
	w.json("KeyScheme", m.KeyScheme)
	w.optional("Lock", locked, edm.StringValue(lockedForChange))
	return w.finish(modelName(m.Name))
}

func decodeModel(r row) (ModelRecord, error) {
	rec := ModelRecord{ETag: r.e.ETag, Locked: r.optionalText("Lock") != ""}
	rec.Name = r.e.RowKey
	rec.Kind = tenancy.Kind(r.text("Kind"))
	rec.Account = r.optionalText("Account")
	r.json("Tables", &rec.Tables)
	r.json("KeyScheme", &rec.KeyScheme)
	return rec, r.failure()
}

// CreateModel adds a model. That the same model is there already is no error; another one of the name is ErrExists.
func (c *Catalog) CreateModel(ctx context.Context, m tenancy.Model) (ModelRecord, error) {
	if err := m.Validate(); err != nil {
		return ModelRecord{}, err
	}
	e, err := encodeModel(m, false)
	if err != nil {
		return ModelRecord{}, err
	}
	etag, err := c.insert(ctx, modelName(m.Name), e)
	if !errors.Is(err, ErrExists) {
		return ModelRecord{Model: m, ETag: etag}, err
	}
	there, rerr := c.Model(ctx, m.Name)
	if rerr == nil && !there.Locked && sameModel(there.Model, m) {
		return there, nil
	}
	return ModelRecord{}, errors.Join(err, rerr)
}

// Model reads a model; ErrNotFound.
func (c *Catalog) Model(ctx context.Context, name string) (ModelRecord, error) {
	r, err := c.get(ctx, edm.Key{PartitionKey: modelPartition, RowKey: name}, modelName(name))
	if err != nil {
		return ModelRecord{}, err
	}
	return decodeModel(r)
}

// Models reads all models in order of name.
func (c *Catalog) Models(ctx context.Context) ([]ModelRecord, error) {
	return list(ctx, c, partition(modelPartition), "", decodeModel)
}

func list[T any](ctx context.Context, c *Catalog, r tenancy.KeyRange, filter string, decode func(row) (T, error)) ([]T, error) {
	var all []T
	err := c.scan(ctx, r, filter, func(r row) (err error) {
		all, err = appendDecoded(all, r, decode)
		return err
	})
	if err != nil {
		return nil, err
	}
	return all, nil
}

// UpdateModel replaces a model that was read; ErrChanged. While tenants or unfinished migrations use it, only a change
// that leaves every placement as it is is allowed: another default account of a dedicated_account model. Others are
// a *ModelInUseError.
func (c *Catalog) UpdateModel(ctx context.Context, rec ModelRecord) (ModelRecord, error) {
	if err := rec.Validate(); err != nil {
		return ModelRecord{}, err
	}
	now, err := c.current(ctx, rec)
	if err != nil {
		return ModelRecord{}, err
	}
	if !harmless(now.Model, rec.Model) {
		if now, err = c.lockUnused(ctx, now); err != nil {
			return ModelRecord{}, err
		}
	}
	return c.putModel(ctx, ModelRecord{Model: rec.Model, ETag: now.ETag})
}

// DeleteModel removes a model that was read; ErrChanged. While tenants or unfinished migrations use it, it is a
// *ModelInUseError.
func (c *Catalog) DeleteModel(ctx context.Context, rec ModelRecord) error {
	now, err := c.current(ctx, rec)
	if errors.Is(err, ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	if now, err = c.lockUnused(ctx, now); err != nil {
		return err
	}
	return c.remove(ctx, modelName(rec.Name), edm.Key{PartitionKey: modelPartition, RowKey: rec.Name}, now.ETag)
}

// current reads a record again and checks that it is still what was read.
func (c *Catalog) current(ctx context.Context, rec ModelRecord) (ModelRecord, error) {
	now, err := c.Model(ctx, rec.Name)
	if err == nil && now.ETag != rec.ETag {
		err = fmt.Errorf("%s: %w", modelName(rec.Name), ErrChanged)
	}
	return now, err
}

// lockUnused locks a model that nobody uses. A tenant that is being created meanwhile is seen by the second look, or
// sees the lock itself: its row is written before it looks at the model again. What begins by the first look is refused
// without a change.
func (c *Catalog) lockUnused(ctx context.Context, rec ModelRecord) (ModelRecord, error) {
	err := c.checkUnused(ctx, rec.Name)
	if err == nil && !rec.Locked {
		rec.Locked = true
		if rec, err = c.putModel(ctx, rec); err == nil {
			err = c.checkUnused(ctx, rec.Name)
		}
	}
	if err != nil && rec.Locked {
		rec.Locked = false
		_, uerr := c.putModel(ctx, rec)
		err = errors.Join(err, uerr)
	}
	return rec, err
}

func (c *Catalog) putModel(ctx context.Context, rec ModelRecord) (ModelRecord, error) {
	e, err := encodeModel(rec.Model, rec.Locked)
	if err != nil {
		return rec, err
	}
	etag, err := c.replace(ctx, modelName(rec.Name), e, rec.ETag)
	if err != nil {
		return rec, err
	}
	rec.ETag = etag
	return rec, nil
}

// checkUnused returns a *ModelInUseError if a tenant or an unfinished migration uses the model.
func (c *Catalog) checkUnused(ctx context.Context, name string) error {
	inUse := &ModelInUseError{Model: name}
	tenants, err := c.Tenants(ctx)
	if err != nil {
		return err
	}
	for _, t := range tenants {
		if t.Model == name {
			inUse.Tenants = append(inUse.Tenants, t.ID)
		}
	}
	migrations, err := c.Migrations(ctx, "")
	if err != nil {
		return err
	}
	for _, m := range migrations {
		if m.Ended.IsZero() && (m.From == name || m.To == name) {
			inUse.Migrations = append(inUse.Migrations, m.ID)
		}
	}
	if len(inUse.Tenants)+len(inUse.Migrations) > 0 {
		return inUse
	}
	return nil
}

func sameModel(a, b tenancy.Model) bool { return harmless(a, b) && a.Account == b.Account }

// harmless says whether a change of a model leaves the placement of its tenants as it is. Where a dedicated_account
// model names an account, that is only the default for tenants to come.
func harmless(from, to tenancy.Model) bool {
	return from.Kind == to.Kind && from.KeyScheme == to.KeyScheme && maps.Equal(from.Tables, to.Tables) &&
		(from.Account == to.Account || from.Kind == tenancy.DedicatedAccount)
}
