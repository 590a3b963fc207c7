package catalog

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/aztenancy/terraform-provider-aztenancy/internal/edm"
	"github.com/aztenancy/terraform-provider-aztenancy/internal/tenancy"
)

// Migration is one move of one tenant. Which states there are and which follows which is package migration's. It has
// ended when nothing is left of it but the tenant's placement: no kept source, no half-written target.
type Migration struct {
	ID       string // valid key text; those of a tenant sort by time of creation
	TenantID string
	From     string // model
	To       string // model
	Source   tenancy.Placement
	Target   tenancy.Placement
	State    string
	Lease    Lease
	Copied   int64           // entities that the target acknowledged
	Total    int64           // entities of the source when they were last counted
	Detail   json.RawMessage // package migration's own; at most MaxJSON UTF-16 code units
	Created  time.Time
	Updated  time.Time
	Ended    time.Time // zero: it has not ended
}

// Lease is a mover's right to run a migration until Expires. Epoch grows with each mover.
type Lease struct {
	Owner   string
	Epoch   int64
	Expires time.Time
}

// MigrationRecord is a migration as it stands in the catalog.
type MigrationRecord struct {
	Migration
	ETag string
}

func migrationName(id string) string { return "migration " + id }

func encodeMigration(m Migration) (*edm.Entity, error) {
	w := newRow(migrationPartition, m.ID)
	w.text("TenantId", m.TenantID)
	w.text("FromModel", m.From)
	w.text("ToModel", m.To)
	w.json("Source", m.Source)
	w.json("Target", m.Target)
	w.text("State", m.State)
	w.optionalText("LeaseOwner", m.Lease.Owner)
	w.int64("LeaseEpoch", m.Lease.Epoch)
	w.time("LeaseExpires", m.Lease.Expires)
	w.int64("Copied", m.Copied)
	w.int64("Total", m.Total)
	if len(m.Detail) > 0 {
		w.json("Detail", m.Detail)
	}
	w.time("Created", m.Created)
	w.time("Ended", m.Ended)
	return w.finish(migrationName(m.ID))
}

func decodeMigration(r row) (MigrationRecord, error) {
	m := Migration{
		ID: r.e.RowKey, TenantID: r.text("TenantId"), From: r.text("FromModel"), To: r.text("ToModel"), State: r.text("State"),
		Lease:  Lease{Owner: r.optionalText("LeaseOwner"), Epoch: r.int("LeaseEpoch", edm.Int64), Expires: r.time("LeaseExpires")},
		Copied: r.int("Copied", edm.Int64), Total: r.int("Total", edm.Int64),
		Created: r.time("Created"), Updated: r.time(colUpdated), Ended: r.time("Ended"),
	}
	r.json("Source", &m.Source)
	r.json("Target", &m.Target)
	if d := r.optionalText("Detail"); d != "" {
		m.Detail = json.RawMessage(d)
	}
	return MigrationRecord{m, r.e.ETag}, r.failure()
}

// CreateMigration adds a migration; ErrExists. Created is set if it is zero.
func (c *Catalog) CreateMigration(ctx context.Context, m Migration) (MigrationRecord, error) {
	if m.ID == "" || m.TenantID == "" {
		return MigrationRecord{}, fmt.Errorf("write migration %q of tenant %q: both need an id", m.ID, m.TenantID)
	}
	if m.Created.IsZero() {
		m.Created = c.now().UTC()
	}
	e, err := encodeMigration(m)
	if err != nil {
		return MigrationRecord{}, err
	}
	etag, err := c.insert(ctx, migrationName(m.ID), e)
	if err != nil {
		return MigrationRecord{}, err
	}
	return written(e, etag, decodeMigration)
}

// Migration reads a migration; ErrNotFound.
func (c *Catalog) Migration(ctx context.Context, id string) (MigrationRecord, error) {
	r, err := c.get(ctx, edm.Key{PartitionKey: migrationPartition, RowKey: id}, migrationName(id))
	if err != nil {
		return MigrationRecord{}, err
	}
	return decodeMigration(r)
}

// Migrations reads all migrations, or with a tenant id that tenant's, in order of id.
func (c *Catalog) Migrations(ctx context.Context, tenantID string) ([]MigrationRecord, error) {
	var filter string
	if tenantID != "" {
		if err := tenancy.ValidateID(tenantID); err != nil { // and so it needs no quoting
			return nil, err
		}
		filter = "TenantId eq '" + tenantID + "'"
	}
	return list(ctx, c, partition(migrationPartition), filter, decodeMigration)
}

// UpdateMigration replaces a record that was read; ErrChanged.
func (c *Catalog) UpdateMigration(ctx context.Context, rec MigrationRecord) (MigrationRecord, error) {
	e, err := encodeMigration(rec.Migration)
	if err != nil {
		return MigrationRecord{}, err
	}
	etag, err := c.replace(ctx, migrationName(rec.ID), e, rec.ETag)
	if err != nil {
		return MigrationRecord{}, err
	}
	return written(e, etag, decodeMigration)
}

// DeleteMigration removes a record that was read, after its log and its chunks; ErrChanged.
func (c *Catalog) DeleteMigration(ctx context.Context, rec MigrationRecord) error {
	if err := c.deleteWork(ctx, rec); err != nil {
		return err
	}
	return c.remove(ctx, migrationName(rec.ID), edm.Key{PartitionKey: migrationPartition, RowKey: rec.ID}, rec.ETag)
}
