package catalog

import (
	"context"
	"encoding/json"
	"time"

	"github.com/aztenancy/terraform-provider-aztenancy/internal/edm"
	"github.com/aztenancy/terraform-provider-aztenancy/internal/tablestorage"
	"github.com/aztenancy/terraform-provider-aztenancy/internal/tenancy"
)

// Catalog is the tenant directory.
type Catalog struct{}

// DefaultTable is the table's name unless another is configured.
const DefaultTable = "TenantCatalog"

// Open returns a handle on the catalog in a table of the home account. It sends nothing.
func Open(c *tablestorage.Client, table string) *Catalog { panic("under construction") }

// Ensure creates the catalog's table unless it exists.
func (c *Catalog) Ensure(ctx context.Context) error { panic("under construction") }

// ModelRecord is a model as it stands in the catalog.
type ModelRecord struct {
	tenancy.Model
	ETag string
}

// CreateModel adds a model. The same model there already is no error; another of that name is ErrExists.
func (c *Catalog) CreateModel(ctx context.Context, m tenancy.Model) (ModelRecord, error) {
	panic("under construction")
}

// Model reads a model; ErrNotFound.
func (c *Catalog) Model(ctx context.Context, name string) (ModelRecord, error) {
	panic("under construction")
}

// Models reads all models in order of name.
func (c *Catalog) Models(ctx context.Context) ([]ModelRecord, error) { panic("under construction") }

// UpdateModel replaces a model. While tenants use it only harmless changes are allowed, else ErrInUse.
func (c *Catalog) UpdateModel(ctx context.Context, rec ModelRecord) (ModelRecord, error) {
	panic("under construction")
}

// DeleteModel removes a model; ErrInUse while a tenant or an unfinished migration uses it.
func (c *Catalog) DeleteModel(ctx context.Context, rec ModelRecord) error {
	panic("under construction")
}

// TenantRecord is a tenant as it stands in the catalog. Migration is the id of the migration that has not ended, or "".
type TenantRecord struct {
	tenancy.Tenant
	ETag      string
	Migration string
	Created   time.Time
	Updated   time.Time
}

// CreateTenant adds a tenant with the state and epoch as given (0 becomes 1); ErrExists.
func (c *Catalog) CreateTenant(ctx context.Context, t tenancy.Tenant) (TenantRecord, error) {
	panic("under construction")
}

// Tenant reads a tenant; ErrNotFound.
func (c *Catalog) Tenant(ctx context.Context, id string) (TenantRecord, error) {
	panic("under construction")
}

// Tenants reads all tenants in order of id.
func (c *Catalog) Tenants(ctx context.Context) ([]TenantRecord, error) { panic("under construction") }

// UpdateTenant replaces a record that was read; ErrChanged if it is no longer what was read. The epoch is set here: one
// more than was read if Placement or State differ, else as it was.
func (c *Catalog) UpdateTenant(ctx context.Context, rec TenantRecord) (TenantRecord, error) {
	panic("under construction")
}

// DeleteTenant removes a record that was read; ErrChanged. It does not touch claims or data: see Provisioner.Delete.
func (c *Catalog) DeleteTenant(ctx context.Context, rec TenantRecord) error {
	panic("under construction")
}

// Claim takes all claims of a tenant, table by table; a conflict is a *ClaimConflictError. Claims that the tenant
// has already are left as they are. On an error those of some tables may have been taken.
func (c *Catalog) Claim(ctx context.Context, tenantID string, claims []tenancy.Claim) error {
	panic("under construction")
}

// CheckClaims says, without changing anything, whether Claim would conflict now.
func (c *Catalog) CheckClaims(ctx context.Context, tenantID string, claims []tenancy.Claim) error {
	panic("under construction")
}

// Release gives claims of a tenant back. Claims that it does not have are ignored.
func (c *Catalog) Release(ctx context.Context, tenantID string, claims []tenancy.Claim) error {
	panic("under construction")
}

// Claims reads the claims on a physical table in key order.
func (c *Catalog) Claims(ctx context.Context, storage, table string) ([]tenancy.Claim, error) {
	panic("under construction")
}

// Migration is one move of one tenant. What the states mean and which follows which is package migration's.
type Migration struct {
	ID       string // sorts by time of creation within a tenant
	TenantID string
	From     string // model
	To       string // model
	Source   tenancy.Placement
	Target   tenancy.Placement
	State    string
	Lease    Lease
	Copied   int64           // entities acknowledged by the target
	Total    int64           // entities of the source when they were last counted
	Detail   json.RawMessage // data of package migration; at most MaxJSON bytes
	Created  time.Time
	Updated  time.Time
	Ended    time.Time // zero while it has not ended
}

// Ended says nothing yet.

// Lease is a mover's right to run a migration.
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

// CreateMigration adds a migration; ErrExists.
func (c *Catalog) CreateMigration(ctx context.Context, m Migration) (MigrationRecord, error) {
	panic("under construction")
}

// Migration reads a migration; ErrNotFound.
func (c *Catalog) Migration(ctx context.Context, id string) (MigrationRecord, error) {
	panic("under construction")
}

// Migrations reads all migrations, or those of one tenant, in order of id.
func (c *Catalog) Migrations(ctx context.Context, tenantID string) ([]MigrationRecord, error) {
	panic("under construction")
}

// UpdateMigration replaces a record that was read; ErrChanged.
func (c *Catalog) UpdateMigration(ctx context.Context, rec MigrationRecord) (MigrationRecord, error) {
	panic("under construction")
}

// DeleteMigration removes a migration that has ended, with its steps and chunks.
func (c *Catalog) DeleteMigration(ctx context.Context, rec MigrationRecord) error {
	panic("under construction")
}

// StepKind is what a step row tells.
type StepKind string

// The kinds of step.
const (
	StepIntent  StepKind = "intent"
	StepOutcome StepKind = "outcome"
)

// Step is one row of a migration's log.
type Step struct {
	MigrationID string
	Seq         int64 // from 1, without gaps; 0: AppendStep takes no 0
	Kind        StepKind
	Name        string
	Detail      string
	Time        time.Time
}

// AppendStep adds a step. Another step under its Seq is ErrExists: another mover writes this log.
func (c *Catalog) AppendStep(ctx context.Context, s Step) error { panic("under construction") }

// Steps reads a migration's log in order.
func (c *Catalog) Steps(ctx context.Context, migrationID string) ([]Step, error) {
	panic("under construction")
}

// Chunk is the checkpoint of one key range of a migration's source.
type Chunk struct {
	MigrationID string
	Logical     string
	Number      int // from 0
	Range       tenancy.KeyRange
	After       edm.Key // last source key that the target has acknowledged; meaningful if Started
	Started     bool
	Done        bool
	Count       int64           // entities up to After
	Keys        []byte          // digest of keys and ETags, once sealed
	Content     []byte          // digest of content, once verified on both sides
	Detail      json.RawMessage // data of package migration
	Updated     time.Time
}

// PutChunks writes chunks of one migration, new or not; at most 100 become one transaction.
func (c *Catalog) PutChunks(ctx context.Context, chunks ...Chunk) error { panic("under construction") }

// Chunks reads a migration's chunks in order of logical table and number.
func (c *Catalog) Chunks(ctx context.Context, migrationID string) ([]Chunk, error) {
	panic("under construction")
}

// MaxJSON is the most that a JSON column can hold, in UTF-16 code units.
const MaxJSON = 32 << 10

// Snapshot is the whole catalog without steps and chunks.
type Snapshot struct {
	Models     []ModelRecord
	Tenants    []TenantRecord
	Claims     []tenancy.Claim
	Migrations []MigrationRecord
}

// Snapshot reads it in one scan.
func (c *Catalog) Snapshot(ctx context.Context) (*Snapshot, error) { panic("under construction") }

// Provisioner creates and deletes tenants with all that belongs to them.
type Provisioner struct {
	Catalog  *Catalog
	Accounts *tablestorage.Accounts
}

// TenantSpec is what a new tenant shall be.
type TenantSpec struct {
	ID          string
	Key         string // "": the ID
	Model       string
	Account     string // for models that leave the account to the tenant; "": the model's
	Labels      map[string]string
	AdoptTables bool // take over dedicated tables that hold entities already
}

// Create makes the tenant, or finishes making it.
func (p *Provisioner) Create(ctx context.Context, s TenantSpec) (TenantRecord, error) {
	panic("under construction")
}

// Delete removes the tenant, or finishes removing it. One that has entities is ErrNotEmpty unless purgeData.
func (p *Provisioner) Delete(ctx context.Context, id string, purgeData bool) error {
	panic("under construction")
}
