package migration

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/aztenancy/terraform-provider-aztenancy/internal/catalog"
	"github.com/aztenancy/terraform-provider-aztenancy/internal/tablestorage"
	"github.com/aztenancy/terraform-provider-aztenancy/internal/tenancy"
)

// couldWrite is who the freeze by catalog state does not stop.
const couldWrite = "applications that do not honour the tenant's state in the catalog or have not read it again yet, and everybody who holds the " +
	"account key, a SAS or an Entra role for the source"

// notMoved is what no move takes along.
var notMoved = []string{
	"Timestamps and ETags: the service sets new ones, so a client that holds an ETag gets a failed condition once",
	"stored access policies and SAS: they belong to the source's table and account",
	"whatever the tenant has outside of the model's tables: blobs, queues, index tables",
}

// Plan says what a move would do, and refuses what cannot be done. It writes nothing. Its counts are exact, because it
// reads the whole source. Errors: *RefusedError for a move that must not start, ErrNothingToDo where the tenant is
// already there.
func (e *Engine) Plan(ctx context.Context, tenantID string, to Target) (*Plan, error) {
	ctx = tablestorage.WithCorrelation(ctx, tenantID, "plan")
	e.progress().Phase("plan")
	t, err := e.tenant(ctx, tenantID)
	if err != nil {
		return nil, err
	}
	d, err := e.draft(ctx, t, to)
	if err != nil {
		return nil, err
	}
	if t.Migration != "" {
		return e.planResume(ctx, t, d)
	}
	return e.plan(ctx, t, d)
}

// draft is a target that was looked up.
type draft struct {
	model     tenancy.Model
	placement tenancy.Placement
	moves     []*tableMove
}

// tenant reads a tenant's row.
func (e *Engine) tenant(ctx context.Context, id string) (catalog.TenantRecord, error) {
	t, err := e.Catalog.Tenant(ctx, id)
	if errors.Is(err, catalog.ErrNotFound) {
		return t, &RefusedError{Op: "find", TenantID: id, Reason: "there is no such tenant in the catalog", Way: "tenantctl tenants lists those that there are", Err: err}
	}
	if err != nil {
		return t, fmt.Errorf("read tenant %q: %w", id, err)
	}
	return t, nil
}

// draft looks the target up and pairs the tables.
func (e *Engine) draft(ctx context.Context, t catalog.TenantRecord, to Target) (*draft, error) {
	if t.Migration == "" && t.Model == to.Model && to.Account == "" {
		return nil, fmt.Errorf("tenant %q is placed by model %q already: %w", t.ID, to.Model, ErrNothingToDo)
	}
	rec, err := e.Catalog.Model(ctx, to.Model)
	if errors.Is(err, catalog.ErrNotFound) {
		return nil, &RefusedError{TenantID: t.ID, Reason: fmt.Sprintf("there is no isolation model %q in the catalog", to.Model),
			Way: "Declare it first, or look at its spelling", Err: err}
	}
	if err != nil {
		return nil, fmt.Errorf("read model %q: %w", to.Model, err)
	}
	d := &draft{model: rec.Model}
	if d.placement, err = rec.Place(t.Tenant, to.Account, e.Accounts.Locate); err != nil {
		return nil, &RefusedError{TenantID: t.ID, Reason: fmt.Sprintf("model %q has no place for it: %v", to.Model, err), Err: err}
	}
	if t.Migration == "" && t.Model == to.Model && t.Placement.Equal(d.placement) {
		return nil, fmt.Errorf("tenant %q is there already: %w", t.ID, ErrNothingToDo)
	}
	if d.moves, err = e.tableMoves(t.Placement, d.placement); err != nil {
		var m *tenancy.MappingError
		if errors.As(err, &m) {
			return nil, &RefusedError{TenantID: t.ID, Reason: fmt.Sprintf("its keys cannot be mapped: %s", m.Reason), Way: m.Way, Err: err}
		}
		return nil, &RefusedError{TenantID: t.ID, Reason: err.Error(), Err: err}
	}
	return d, nil
}

// planResume plans for a tenant that has a migration under way.
func (e *Engine) planResume(ctx context.Context, t catalog.TenantRecord, d *draft) (*Plan, error) {
	rec, err := e.Catalog.Migration(ctx, t.Migration)
	if err != nil {
		return nil, fmt.Errorf("read migration %s: %w", t.Migration, err)
	}
	if err := refuseOther(rec.Migration, d); err != nil {
		return nil, err
	}
	p := newPlan(t, d)
	p.Resumes, p.ResumesInState = rec.ID, rec.State
	return p, e.count(ctx, t, d, p)
}

// refuseOther refuses a target other than that of the migration under way.
func refuseOther(m catalog.Migration, d *draft) error {
	if m.State == Aborting {
		return &RefusedError{TenantID: m.TenantID, Reason: fmt.Sprintf("migration %s is being aborted", m.ID),
			Way: fmt.Sprintf("Finish that first: tenantctl abort %s", m.TenantID)}
	}
	if m.To == d.model.Name && m.Target.Equal(d.placement) {
		return nil
	}
	return &RefusedError{TenantID: m.TenantID, Reason: fmt.Sprintf("migration %s to model %q is under way (state %s)", m.ID, m.To, m.State),
		Way: "Finish it, or abort it, first: " + commands(m)}
}

// plan checks and counts everything for a tenant that has no migration.
func (e *Engine) plan(ctx context.Context, t catalog.TenantRecord, d *draft) (*Plan, error) {
	if t.State != tenancy.Active {
		return nil, &RefusedError{TenantID: t.ID, Reason: fmt.Sprintf("its state is %s, and only an active tenant can move", t.State),
			Way: "Finish first what put it into that state"}
	}
	p := newPlan(t, d)
	fresh := func(logical string) bool {
		from, had := t.Placement[logical]
		return !had || !samePlace(from, d.placement[logical])
	}
	if err := e.Catalog.CheckClaims(ctx, t.ID, claims(d.placement, t.Tenant, fresh)); err != nil {
		return nil, &RefusedError{TenantID: t.ID, Reason: "the target cannot be claimed: " + err.Error(), Err: err}
	}
	for _, logical := range slices.Sorted(maps.Keys(d.placement)) {
		if !fresh(logical) {
			continue
		}
		if err := e.checkTarget(ctx, t, d, logical, p); err != nil {
			return nil, err
		}
	}
	return p, e.count(ctx, t, d, p)
}

// checkTarget looks at the target's table: is it there, or can it be made, and is the tenant's range in it empty.
func (e *Engine) checkTarget(ctx context.Context, t catalog.TenantRecord, d *draft, logical string, p *Plan) error {
	s, err := e.newSide(d.placement[logical])
	if err != nil {
		return err
	}
	_, exists, err := s.table.Client().TableExists(ctx, s.place.Table)
	if err != nil {
		return fmt.Errorf("look for table %s: %w", s, err)
	}
	if exists {
		return e.refuseRows(ctx, t.ID, s)
	}
	if !s.place.Dedicated {
		return refuseMissingTable(t.ID, s)
	}
	for i := range p.Tables {
		if p.Tables[i].Logical == logical {
			p.Tables[i].CreatesTable = true
		}
	}
	return nil
}

func refuseMissingTable(tenantID string, s side) error {
	return &RefusedError{TenantID: tenantID, Reason: fmt.Sprintf("the shared table %s does not exist", s),
		Way: "Create it first, for example as an aztenancy_table"}
}

// refuseRows refuses a target whose range holds entities.
func (e *Engine) refuseRows(ctx context.Context, tenantID string, s side) error {
	const examples = 3
	var keys []string
	for x, err := range s.table.Query(ctx, tablestorage.Query{Range: &s.within, Select: keysOnly, PageSize: examples}) {
		if err != nil {
			return fmt.Errorf("look whether the target %s is empty: %w", s, err)
		}
		if isLeft(x.RowKey) {
			continue
		}
		if keys = append(keys, keyText(x.Key())); len(keys) == examples {
			break
		}
	}
	if len(keys) == 0 {
		return nil
	}
	return &RefusedError{TenantID: tenantID, Reason: fmt.Sprintf("the target %s already holds entities in the tenant's range", s), Keys: keys,
		Way: "Purge the source of an earlier migration if they are its, otherwise look at them and delete them, or choose another target"}
}

func newPlan(t catalog.TenantRecord, d *draft) *Plan {
	p := &Plan{TenantID: t.ID, From: Place{t.Model, t.Placement}, To: Place{d.model.Name, d.placement},
		Freeze: FreezeCatalogState, CouldWrite: couldWrite, NotMoved: notMoved}
	for _, logical := range t.Placement.LogicalTables() {
		from, to := t.Placement[logical], d.placement[logical]
		x := TablePlan{Logical: logical, Source: from.Storage + "/" + from.Table, Target: to.Storage + "/" + to.Table,
			MapClass: tenancy.MapIdentity, Stays: true}
		for _, m := range d.moves {
			if m.logical == logical {
				x.MapClass, x.Stays = m.mapping.Class(), false
			}
		}
		p.Tables = append(p.Tables, x)
	}
	return p
}
