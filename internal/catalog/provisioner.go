package catalog

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"sync"

	"github.com/aztenancy/terraform-provider-aztenancy/internal/tablestorage"
	"github.com/aztenancy/terraform-provider-aztenancy/internal/tenancy"
)

// Provisioner creates and deletes tenants with all that belongs to them: the tenant's row, its claims, its dedicated
// tables and its data. Everything that can be refused is refused before anything is changed; a call that was
// killed anywhere is finished by the same call. It is safe for concurrent use.
//
//	create   row provisioning → claims → dedicated tables → row active
//	delete   row deleting → data, dedicated tables → claims → migrations → row gone
type Provisioner struct {
	Catalog  *Catalog
	Accounts *tablestorage.Accounts

	shared sync.Map // storage account and name of shared tables that were seen
}

// TenantSpec is what a tenant shall be.
type TenantSpec struct {
	ID          string
	Key         string // "": the ID
	Model       string
	Account     string // for models that leave the account to the tenant; "": the model's
	Labels      map[string]string
	AdoptTables bool // take over dedicated tables that are there and hold entities
}

// tenantPlan is what Create is about to do.
type tenantPlan struct {
	tenant tenancy.Tenant
	model  ModelRecord
	adopt  bool
}

// maxCreations is how often Create begins anew because someone else changed the same tenant.
const maxCreations = 3

// Create makes the tenant, or finishes making it. A tenant that is there and is what the spec says is no error. Errors:
// ErrNotFound for the model, *ClaimConflictError, *NotEmptyError for a dedicated table, *TenantExistsError.
func (p *Provisioner) Create(ctx context.Context, s TenantSpec) (TenantRecord, error) {
	ctx = tablestorage.WithCorrelation(ctx, s.ID, "create")
	for try := 1; ; try++ {
		rec, err := p.create(ctx, s)
		if !errors.Is(err, ErrChanged) || try == maxCreations {
			return rec, err
		}
	}
}

func (p *Provisioner) create(ctx context.Context, s TenantSpec) (TenantRecord, error) {
	plan, err := p.plan(ctx, s)
	if err != nil {
		return TenantRecord{}, err
	}
	rec, found, err := p.existing(ctx, plan)
	if err != nil || found && rec.State != tenancy.Provisioning {
		return rec, err
	}
	claims := plan.tenant.Placement.Claims(plan.tenant)
	if err := p.Catalog.CheckClaims(ctx, s.ID, claims); err != nil {
		if found && errors.Is(err, ErrConflict) && plan.differs(rec) == "" { // killed after it lost
			err = errors.Join(err, p.undo(ctx, rec))
		}
		return TenantRecord{}, err
	}
	if err := p.checkTables(ctx, plan); err != nil {
		return TenantRecord{}, err
	}
	if found && plan.differs(rec) != "" { // half made for another spec, and without data
		if err := p.Delete(ctx, s.ID, false); err != nil {
			return TenantRecord{}, fmt.Errorf("undo the half-made %s with %s: %w", tenantName(s.ID), plan.differs(rec), err)
		}
		found = false
	}
	if !found {
		rec, err = p.Catalog.CreateTenant(ctx, plan.tenant)
		if errors.Is(err, ErrExists) {
			err = fmt.Errorf("%w: %w", ErrChanged, err)
		}
		if err != nil {
			return TenantRecord{}, err
		}
	}
	return p.finish(ctx, plan, rec, claims)
}

// plan validates a spec and places the tenant. It only reads.
func (p *Provisioner) plan(ctx context.Context, s TenantSpec) (tenantPlan, error) {
	if err := tenancy.ValidateID(s.ID); err != nil {
		return tenantPlan{}, err
	}
	m, err := p.Catalog.Model(ctx, s.Model)
	if errors.Is(err, ErrNotFound) {
		err = fmt.Errorf("%s: %w; %s", tenantName(s.ID), err, p.knownModels(ctx))
	}
	if err != nil {
		return tenantPlan{}, err
	}
	return p.place(s, m)
}

// place places the tenant of a spec by its model.
func (p *Provisioner) place(s TenantSpec, m ModelRecord) (_ tenantPlan, err error) {
	if m.Locked {
		return tenantPlan{}, fmt.Errorf("%s: %s is being changed or removed: wait for that, or, if it was interrupted, run it again", tenantName(s.ID), modelName(s.Model))
	}
	t := tenancy.Tenant{ID: s.ID, Key: s.Key, Model: s.Model, State: tenancy.Provisioning, Epoch: 1, Labels: s.Labels}
	if t.Key == "" {
		t.Key = t.ID
	}
	if t.Placement, err = m.Place(t, s.Account, p.Accounts.Locate); err != nil {
		return tenantPlan{}, err
	}
	for _, logical := range t.Placement.LogicalTables() {
		if tp := t.Placement[logical]; p.Catalog.isOwnTable(tp.Storage, tp.Table) {
			return tenantPlan{}, fmt.Errorf("%s: %s maps logical table %q to table %s, which is the catalog: choose another table", tenantName(s.ID), modelName(s.Model), logical, tp.Table)
		}
	}
	return tenantPlan{t, m, s.AdoptTables}, nil
}

// isOwnTable says whether a table is the catalog's.
func (c *Catalog) isOwnTable(storage, table string) bool {
	return storage == c.client.AccountName() && strings.EqualFold(table, c.table.Name())
}

// knownModels tells which models there are, for an error.
func (p *Provisioner) knownModels(ctx context.Context) string {
	models, err := p.Catalog.Models(ctx)
	if err != nil || len(models) == 0 {
		return "declare the model first"
	}
	names := make([]string, len(models))
	for i, m := range models {
		names[i] = m.Name
	}
	return "declare it first, or use one of the known models: " + enumerate(names)
}

// existing looks for the tenant. One that is there for good and differs from the plan is an error. The rest of a creation
// that was being undone is removed.
func (p *Provisioner) existing(ctx context.Context, plan tenantPlan) (rec TenantRecord, found bool, err error) {
	rec, err = p.Catalog.Tenant(ctx, plan.tenant.ID)
	switch {
	case errors.Is(err, ErrNotFound):
		return TenantRecord{}, false, nil
	case err != nil:
		return TenantRecord{}, false, err
	case neverActive(rec): // a creation was being undone
		err := p.Delete(ctx, rec.ID, false)
		if errors.Is(err, ErrNotFound) {
			err = nil
		}
		return TenantRecord{}, false, err
	case rec.State == tenancy.Deleting:
		return rec, true, fmt.Errorf("%s is being deleted: finish that first, by deleting it again", tenantName(rec.ID))
	case rec.State == tenancy.Provisioning:
		return rec, true, nil
	}
	if d := plan.differs(rec); d != "" {
		return rec, true, &TenantExistsError{Existing: rec, Differs: d}
	}
	return rec, true, nil
}

// differs says what of a record is not as planned, "" if all is.
func (plan tenantPlan) differs(rec TenantRecord) string {
	switch t := plan.tenant; {
	case rec.Model != t.Model:
		return fmt.Sprintf("model %q", rec.Model)
	case rec.Key != t.Key:
		return fmt.Sprintf("key %q", rec.Key)
	case !rec.Placement.Equal(t.Placement):
		return "another placement"
	case !maps.Equal(rec.Labels, t.Labels):
		return fmt.Sprintf("labels %v", rec.Labels)
	}
	return ""
}

// finish takes a tenant's row from provisioning to active.
func (p *Provisioner) finish(ctx context.Context, plan tenantPlan, rec TenantRecord, claims []tenancy.Claim) (TenantRecord, error) {
	// The row is written, so whoever changes the model sees it; a change that came before is seen here.
	m, err := p.Catalog.Model(ctx, plan.model.Name)
	if err == nil && m.ETag != plan.model.ETag || errors.Is(err, ErrNotFound) {
		err = fmt.Errorf("%s: %s: %w", tenantName(rec.ID), modelName(plan.model.Name), ErrChanged)
		return TenantRecord{}, errors.Join(err, p.undo(ctx, rec))
	}
	if err != nil {
		return TenantRecord{}, err
	}
	if err := p.Catalog.Claim(ctx, rec.ID, claims); err != nil {
		if errors.Is(err, ErrConflict) {
			err = errors.Join(err, p.undo(ctx, rec))
		}
		return TenantRecord{}, err
	}
	if err := p.createTables(ctx, rec); err != nil {
		return TenantRecord{}, err
	}
	rec.State = tenancy.Active
	return p.Catalog.UpdateTenant(ctx, rec)
}

// undo removes a row that could not become a tenant. It first takes the row away from anybody else who is finishing the
// same tenant; whoever was faster, or undoes it too, may have it.
func (p *Provisioner) undo(ctx context.Context, rec TenantRecord) error {
	rec.State = tenancy.Deleting
	rec, err := p.Catalog.UpdateTenant(ctx, rec)
	if err == nil {
		err = p.Catalog.releaseOf(ctx, rec, rec.Placement.Claims(rec.Tenant))
	}
	if err == nil {
		err = p.Catalog.DeleteTenant(ctx, rec)
	}
	if err != nil && !errors.Is(err, ErrChanged) && !errors.Is(err, ErrNotFound) {
		return fmt.Errorf("undo the creation: %w", err)
	}
	return nil
}

// neverActive says whether a tenant that is being deleted had not got beyond provisioning, the epoch's first state.
func neverActive(rec TenantRecord) bool { return rec.State == tenancy.Deleting && rec.Epoch <= 2 }
