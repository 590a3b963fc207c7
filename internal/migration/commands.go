package migration

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/aztenancy/terraform-provider-aztenancy/internal/catalog"
	"github.com/aztenancy/terraform-provider-aztenancy/internal/tablestorage"
)

// Run moves the tenant, or resumes the move that an earlier run left behind. The report is not nil whenever a
// migration exists, also with an error. Errors: *RefusedError before anything is changed, ErrNothingToDo where the
// tenant is already there, *BusyError while another mover works, *DifferencesError where verification found
// differences, *CollisionError, *StragglersError after a switch past which somebody wrote to the source,
// *InterruptedError when ctx ended. After any of them Run may be called again.
func (e *Engine) Run(ctx context.Context, tenantID string, to Target, o Options) (*Report, error) {
	ctx = tablestorage.WithCorrelation(ctx, tenantID, "migrate")
	t, err := e.tenant(ctx, tenantID)
	if err != nil {
		return nil, err
	}
	if t, err = e.dismiss(ctx, t, o); err != nil {
		return nil, err
	}
	d, err := e.draft(ctx, t, to)
	if errors.Is(err, ErrNothingToDo) {
		return e.lastReport(ctx, t, err)
	}
	if err != nil {
		return nil, err
	}
	if t.Migration != "" {
		rec, err := e.Catalog.Migration(ctx, t.Migration)
		if err != nil {
			return nil, fmt.Errorf("read migration %s: %w", t.Migration, err)
		}
		if err := refuseOther(rec.Migration, d); err != nil {
			return nil, err
		}
		return e.hold(ctx, rec, o, (*run).migrate)
	}
	e.progress().Phase("plan")
	p, err := e.plan(ctx, t, d)
	if err != nil {
		return nil, err
	}
	rec, err := e.begin(ctx, t, d, p, o)
	if errors.Is(err, errBegun) {
		return e.Run(ctx, tenantID, to, o) // and find it bound
	}
	if err != nil {
		return nil, err
	}
	return e.with(ctx, rec, o, func(r *run, ctx context.Context) error {
		if err := r.bind(ctx, t); err != nil {
			if errors.Is(err, catalog.ErrChanged) { // another began first: this one never did
				err = errors.Join(err, r.j.enter(ctx, Aborted))
			}
			return err
		}
		return r.migrate(ctx)
	})
}

// dismiss lets a tenant go whose migration ended while the run that ended it was killed.
func (e *Engine) dismiss(ctx context.Context, t catalog.TenantRecord, o Options) (catalog.TenantRecord, error) {
	if t.Migration == "" {
		return t, nil
	}
	rec, err := e.Catalog.Migration(ctx, t.Migration)
	if err != nil {
		return t, fmt.Errorf("read migration %s of tenant %q: %w", t.Migration, t.ID, err)
	}
	if !ended(rec.State) {
		return t, nil
	}
	if _, err := e.hold(ctx, rec, o, (*run).letGo); err != nil {
		return t, err
	}
	return e.tenant(ctx, t.ID)
}

// errBegun says that another run has begun the migration while this one waited for its lease.
var errBegun = errors.New("begun by another run")

// begin records the migration, with its lease taken. Its id comes from the tenant's epoch, so that a run which was killed
// right after this finds its own row again instead of leaving it behind.
func (e *Engine) begin(ctx context.Context, t catalog.TenantRecord, d *draft, p *Plan, o Options) (catalog.MigrationRecord, error) {
	m := catalog.Migration{TenantID: t.ID, From: t.Model, To: d.model.Name, Source: t.Placement, Target: d.placement,
		State: Planned, Total: p.Entities, Lease: catalog.Lease{Owner: e.owner(), Epoch: 1, Expires: e.clock().Add(e.leaseTTL())}}
	for n := 1; ; n++ {
		m.ID = fmt.Sprintf("%s-%06d", t.ID, t.Epoch)
		if n > 1 {
			m.ID = fmt.Sprintf("%s-%06d.%d", t.ID, t.Epoch, n)
		}
		rec, err := e.Catalog.CreateMigration(ctx, m)
		if err == nil {
			return rec, nil
		}
		if !errors.Is(err, catalog.ErrExists) {
			return rec, fmt.Errorf("record migration %s: %w", m.ID, err)
		}
		there, err := e.Catalog.Migration(ctx, m.ID)
		if err != nil {
			return rec, fmt.Errorf("read migration %s: %w", m.ID, err)
		}
		if ended(there.State) {
			continue
		}
		if there.State != Planned {
			return rec, fmt.Errorf("migration %s of tenant %q is in state %s, but the tenant's row does not name it: the catalog was edited", m.ID, t.ID, there.State)
		}
		if there, err = e.acquire(ctx, there, o.DontWait); err != nil {
			return rec, err
		}
		if now, err := e.tenant(ctx, t.ID); err != nil || now.Migration == m.ID || there.State != Planned {
			there.Lease.Owner = ""
			_, rerr := e.Catalog.UpdateMigration(ctx, there)
			return rec, errors.Join(cmp.Or(err, errBegun), rerr)
		}
		lease := there.Lease
		there.Migration, m.Lease = m, lease
		there.Lease = lease
		if rec, err = e.Catalog.UpdateMigration(ctx, there); err != nil {
			return rec, fmt.Errorf("record migration %s: %w", m.ID, err)
		}
		return rec, nil
	}
}

// bind makes the migration the tenant's: from here on no other can begin.
func (r *run) bind(ctx context.Context, t catalog.TenantRecord) error {
	if err := r.at("bind: before tenant row"); err != nil {
		return err
	}
	m := r.j.migration()
	t.Migration = m.ID
	_, err := r.catalog.UpdateTenant(ctx, t)
	if err != nil {
		now, rerr := r.catalog.Tenant(ctx, t.ID)
		if rerr != nil || now.Migration != m.ID {
			return fmt.Errorf("bind tenant %q to migration %s: %w", t.ID, m.ID, errors.Join(err, rerr))
		}
	}
	return r.at("bind: after tenant row")
}

// migrate runs the steps up to the switch and the look behind it.
func (r *run) migrate(ctx context.Context) error {
	if err := r.setHold(ctx); err != nil {
		return err
	}
	if err := r.reviewFreeze(ctx); err != nil {
		return err
	}
	if err := r.walk(ctx, migrate); err != nil {
		return err
	}
	if err := r.letGo(ctx); err != nil {
		return err
	}
	if d := r.j.details(); d.Stragglings > 0 {
		m := r.j.migration()
		return &StragglersError{TenantID: m.TenantID, Migration: m.ID, Count: d.Stragglings, Examples: d.Stragglers,
			Next: "The switch is done and these were not merged: look at them at the source, and write to the target what the tenant needs. Purge will refuse until they are gone"}
	}
	return nil
}

// letGo unbinds the tenant from the migration, so that another can begin.
func (r *run) letGo(ctx context.Context) error {
	id := r.j.migration().ID
	return r.changeTenant(ctx,
		func(t catalog.TenantRecord) bool { return t.Migration != id },
		func(t *catalog.TenantRecord) error {
			t.Migration = ""
			return nil
		})
}

// Purge deletes the source that the tenant's finished migrations left in place. It refuses, with a *StragglersError and before
// anything is deleted, when the source is no longer what was verified. Other errors as for Run;
// *RefusedError where all that are left are within their reverse windows, ErrNothingToDo where no source is left. The report is of the last migration that was purged.
func (e *Engine) Purge(ctx context.Context, tenantID string, o Options) (*Report, error) {
	ctx = tablestorage.WithCorrelation(ctx, tenantID, "purge")
	t, err := e.tenant(ctx, tenantID)
	if err != nil {
		return nil, err
	}
	if t, err = e.dismiss(ctx, t, o); err != nil {
		return nil, err
	}
	all, err := e.migrations(ctx, tenantID)
	if err != nil {
		return nil, err
	}
	var due []catalog.MigrationRecord
	var kept *RefusedError
	for _, rec := range slices.Backward(all) { // oldest first
		if rec.State != Switched && rec.State != Purging {
			continue
		}
		d, err := decodeDetail(rec.Migration)
		switch {
		case err != nil:
			return nil, err
		case t.Migration == rec.ID && !d.Settled:
			return nil, &RefusedError{TenantID: tenantID, Reason: fmt.Sprintf("migration %s has switched but not looked for stragglers yet", rec.ID),
				Way: "Finish it first: " + commands(rec.Migration)}
		case rec.State == Switched && !o.Now && d.ReverseUntil.After(e.clock()):
			kept = &RefusedError{TenantID: tenantID, Reason: fmt.Sprintf("the source of migration %s is kept until %s", rec.ID, d.ReverseUntil.Format(time.RFC3339)),
				Way: fmt.Sprintf("Wait until then, or delete it now, after which there is no way back: tenantctl purge %s --now %s, with --archive or --no-archive", tenantID, tenantID)}
		default:
			due = append(due, rec)
		}
	}
	if len(due) == 0 && kept != nil {
		return nil, kept
	}
	var report *Report
	for _, rec := range due {
		if report, err = e.hold(ctx, rec, o, (*run).purge); err != nil {
			return report, err
		}
	}
	if kept != nil {
		e.progress().Note(kept.Reason + ".")
	}
	if report == nil {
		return nil, fmt.Errorf("purge tenant %q: no migration has left a source: %w", tenantID, ErrNothingToDo)
	}
	return report, nil
}

// Abort undoes a migration that has not switched yet: it removes what the migration wrote, releases the target's claim
// and lets the tenant be written again. Errors: ErrNothingToDo where no migration is under way, *RefusedError
// after the switch, and as for Run.
func (e *Engine) Abort(ctx context.Context, tenantID string, o Options) (*Report, error) {
	ctx = tablestorage.WithCorrelation(ctx, tenantID, "abort")
	t, err := e.tenant(ctx, tenantID)
	if err != nil {
		return nil, err
	}
	if t.Migration == "" {
		return nil, fmt.Errorf("abort the move of tenant %q: no migration is under way: %w", tenantID, ErrNothingToDo)
	}
	rec, err := e.Catalog.Migration(ctx, t.Migration)
	if err != nil {
		return nil, fmt.Errorf("read migration %s: %w", t.Migration, err)
	}
	return e.hold(ctx, rec, o, func(r *run, ctx context.Context) error {
		if !ended(r.j.state()) {
			if err := r.beginAbort(ctx); err != nil {
				return err
			}
		}
		if err := r.walk(ctx, abort); err != nil {
			return err
		}
		return r.letGo(ctx)
	})
}

// migrations returns the tenant's migrations, the latest first.
func (e *Engine) migrations(ctx context.Context, tenantID string) ([]catalog.MigrationRecord, error) {
	all, err := e.Catalog.Migrations(ctx, tenantID)
	if err != nil {
		return nil, fmt.Errorf("read the migrations of tenant %q: %w", tenantID, err)
	}
	slices.SortStableFunc(all, func(a, b catalog.MigrationRecord) int { return b.Created.Compare(a.Created) })
	return all, nil
}

// lastReport gives the report of the migration that brought the tenant where it is, with the error that nothing is left
// to do. The report is nil if the tenant never moved.
func (e *Engine) lastReport(ctx context.Context, t catalog.TenantRecord, err error) (*Report, error) {
	all, merr := e.migrations(ctx, t.ID)
	if merr != nil {
		return nil, merr
	}
	for _, m := range all {
		if m.State != Aborted && m.To == t.Model && m.Target.Equal(t.Placement) {
			d, derr := decodeDetail(m.Migration)
			if derr != nil {
				return nil, derr
			}
			return reportOf(m.Migration, d), err
		}
	}
	return nil, err
}

// Release lets a migration that holds go on to the freeze. A run that waits notices within a second; where none runs, the next
// one does. Errors: ErrNothingToDo where the tenant has no migration that holds, or it was released before.
func (e *Engine) Release(ctx context.Context, tenantID string) (*Status, error) {
	ctx = tablestorage.WithCorrelation(ctx, tenantID, "release")
	t, err := e.tenant(ctx, tenantID)
	if err != nil {
		return nil, err
	}
	if t.Migration == "" {
		return nil, fmt.Errorf("release tenant %q: no migration is under way: %w", tenantID, ErrNothingToDo)
	}
	rec, err := e.Catalog.Migration(ctx, t.Migration)
	if err != nil {
		return nil, fmt.Errorf("read migration %s: %w", t.Migration, err)
	}
	d, err := decodeDetail(rec.Migration)
	if err != nil {
		return nil, err
	}
	if !d.Hold || !CanAbort(rec.State) || rec.State == Aborting || holdsWrites(rec.State) {
		return nil, fmt.Errorf("release tenant %q: migration %s does not hold (state %s): %w", tenantID, rec.ID, rec.State, ErrNothingToDo)
	}
	if err := e.Catalog.PutControl(ctx, rec.ID, releaseSignal, e.owner()); err != nil {
		return nil, fmt.Errorf("release migration %s: %w", rec.ID, err)
	}
	return e.Status(ctx, tenantID)
}
