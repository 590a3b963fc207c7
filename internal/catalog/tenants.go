package catalog

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/aztenancy/terraform-provider-aztenancy/internal/edm"
	"github.com/aztenancy/terraform-provider-aztenancy/internal/tenancy"
)

// TenantRecord is a tenant as it stands in the catalog. Migration is the id of the migration that has not ended, or "".
type TenantRecord struct {
	tenancy.Tenant
	ETag      string
	Migration string
	Created   time.Time
	Updated   time.Time

	read *routed // what the epoch counts the changes of, as it was read
}

// routed is what applications route by. A tenant's epoch grows when it changes.
type routed struct {
	epoch     int64
	state     tenancy.State
	placement string // JSON
}

func routedOf(t tenancy.Tenant) (*routed, error) {
	b, err := json.Marshal(t.Placement)
	if err != nil {
		return nil, fmt.Errorf("%s: placement: %w", tenantName(t.ID), err)
	}
	return &routed{t.Epoch, t.State, string(b)}, nil
}

func tenantName(id string) string { return fmt.Sprintf("tenant %q", id) }

func tenantKey(id string) edm.Key { return edm.Key{PartitionKey: tenantPartition, RowKey: id} }

func encodeTenant(rec TenantRecord) (*edm.Entity, error) {
	w := newRow(tenantPartition, rec.ID)
	w.text("State", string(rec.State))
	w.int64("Epoch", rec.Epoch)
	w.text("Model", rec.Model)
	w.text("Key", rec.Key)
	w.json("Placement", rec.Placement)
	if len(rec.Labels) > 0 {
		w.json("Labels", rec.Labels)
	}
	w.optionalText("Migration", rec.Migration)
	w.time("Created", rec.Created)
	return w.finish(tenantName(rec.ID))
}

func decodeTenant(r row) (TenantRecord, error) {
	rec := TenantRecord{ETag: r.e.ETag, Migration: r.optionalText("Migration"), Created: r.time("Created"), Updated: r.time(colUpdated)}
	rec.ID = r.e.RowKey
	rec.State = tenancy.State(r.text("State"))
	rec.Epoch = r.int("Epoch", edm.Int64)
	rec.Model = r.text("Model")
	rec.Key = r.text("Key")
	r.json("Placement", &rec.Placement)
	if _, ok := r.e.Get("Labels"); ok {
		r.json("Labels", &rec.Labels)
	}
	if err := r.failure(); err != nil {
		return TenantRecord{}, err
	}
	var err error
	rec.read, err = routedOf(rec.Tenant)
	return rec, err
}

// CreateTenant adds a tenant, with epoch 1 if none is given and state provisioning if none is given; ErrExists. It claims
// nothing: see Provisioner.Create.
func (c *Catalog) CreateTenant(ctx context.Context, t tenancy.Tenant) (TenantRecord, error) {
	if err := tenancy.ValidateID(t.ID); err != nil {
		return TenantRecord{}, err
	}
	if err := tenancy.ValidateKey(t.Key); err != nil {
		return TenantRecord{}, err
	}
	if t.Epoch == 0 {
		t.Epoch = 1
	}
	if t.State == "" {
		t.State = tenancy.Provisioning
	}
	rec := TenantRecord{Tenant: t, Created: c.now().UTC()}
	e, err := encodeTenant(rec)
	if err != nil {
		return TenantRecord{}, err
	}
	etag, err := c.insert(ctx, tenantName(t.ID), e)
	if err != nil {
		return TenantRecord{}, err
	}
	return written(e, etag, decodeTenant)
}

// Tenant reads a tenant; ErrNotFound.
func (c *Catalog) Tenant(ctx context.Context, id string) (TenantRecord, error) {
	r, err := c.get(ctx, tenantKey(id), tenantName(id))
	if err != nil {
		return TenantRecord{}, err
	}
	return decodeTenant(r)
}

// still says whether a tenant's row is the one that was read: ErrChanged or ErrNotFound if not.
func (c *Catalog) still(ctx context.Context, rec TenantRecord) error {
	now, err := c.Tenant(ctx, rec.ID)
	if err == nil && now.ETag != rec.ETag {
		err = fmt.Errorf("%s: %w", tenantName(rec.ID), ErrChanged)
	}
	return err
}

// Tenants reads all tenants in order of id.
func (c *Catalog) Tenants(ctx context.Context) ([]TenantRecord, error) {
	return list(ctx, c, partition(tenantPartition), "", decodeTenant)
}

// UpdateTenant replaces a record that was read, in one compare-and-swap; ErrChanged. The epoch is set here: one more than
// was read if the state or the placement differ from what was read, else as it was.
func (c *Catalog) UpdateTenant(ctx context.Context, rec TenantRecord) (TenantRecord, error) {
	if rec.read == nil || rec.ETag == "" {
		return TenantRecord{}, fmt.Errorf("write %s: the record was not read from the catalog", tenantName(rec.ID))
	}
	now, err := routedOf(rec.Tenant)
	if err != nil {
		return TenantRecord{}, err
	}
	rec.Epoch = rec.read.epoch
	if now.state != rec.read.state || now.placement != rec.read.placement {
		rec.Epoch++
	}
	e, err := encodeTenant(rec)
	if err != nil {
		return TenantRecord{}, err
	}
	etag, err := c.replace(ctx, tenantName(rec.ID), e, rec.ETag)
	if err != nil {
		return TenantRecord{}, err
	}
	return written(e, etag, decodeTenant)
}

// DeleteTenant removes a record that was read; ErrChanged. It touches neither claims nor data: see Provisioner.Delete.
func (c *Catalog) DeleteTenant(ctx context.Context, rec TenantRecord) error {
	return c.remove(ctx, tenantName(rec.ID), tenantKey(rec.ID), rec.ETag)
}

// written returns the record of a row that was just written.
func written[T any](e *edm.Entity, etag string, decode func(row) (T, error)) (T, error) {
	e.ETag = etag
	r, err := openRow(e)
	if err != nil {
		var none T
		return none, err
	}
	return decode(r)
}
