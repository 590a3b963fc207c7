package provider

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"

	"github.com/aztenancy/terraform-provider-aztenancy/internal/catalog"
	"github.com/aztenancy/terraform-provider-aztenancy/internal/migration"
	"github.com/aztenancy/terraform-provider-aztenancy/internal/tablestorage"
)

// undoTime is how long an undoing may go on after the time of the move itself is over.
const undoTime = 30 * time.Minute

// underWay returns the migration to which a tenant is bound, if it has begun and not switched.
func (d *directory) underWay(t catalog.TenantRecord) (catalog.MigrationRecord, bool) {
	m, ok := d.migrations[t.Migration]
	return m, ok && migration.CanAbort(m.State)
}

// settle brings the tenant to where the plan says: by a move, by the rest of one that was interrupted, or by undoing
// it. It says whether the tenant is there.
func (r *tenantResource) settle(ctx context.Context, plan, state tenantModel, diags *diag.Diagnostics) bool {
	r.session.directory.forget() // what was planned on may be minutes old
	d, err := r.session.lookup(ctx)
	if err != nil {
		addServiceError(diags, plan.what()+" could not be looked up", err)
		return false
	}
	id, to := plan.TenantID.ValueString(), plan.IsolationModel.ValueString()
	rec, ok := d.tenants[id]
	if !ok {
		diags.AddError(plan.what()+" is gone from the catalog", "It was deleted since the plan was made. Plan again.")
		return false
	}
	m, underWay := d.underWay(rec)
	switch {
	case underWay && m.State == migration.Aborting:
		if !r.abort(ctx, plan, diags) {
			return false
		}
		if m.From == to {
			return true
		}
	case underWay && m.To != to && m.From == to:
		return r.abort(ctx, plan, diags)
	case !underWay && rec.Model != to && rec.Model != state.IsolationModel.ValueString():
		diags.AddAttributeError(path.Root("isolation_model"), plan.what()+" was moved since the plan was made",
			fmt.Sprintf("The plan moves it from %q, and it is in %q now. Plan again.", state.IsolationModel.ValueString(), rec.Model))
		return false
	case !underWay && isAt(rec, plan):
		return true
	}
	return r.move(ctx, plan, diags)
}

// move runs or resumes the move to where the plan says.
func (r *tenantResource) move(ctx context.Context, plan tenantModel, diags *diag.Diagnostics) bool {
	times, ds := plan.moveTimes(ctx)
	diags.Append(ds...)
	if diags.HasError() {
		return false
	}
	id := plan.TenantID.ValueString()
	target := migration.Target{Model: plan.IsolationModel.ValueString(), Account: plan.Account.ValueString()}
	var report *migration.Report
	err := whileTableIsDeleted(ctx, func() (err error) {
		report, err = r.session.engine(ctx, id).Run(ctx, id, target, migration.Options{Drain: times.drain, MaxFreeze: times.maxFreeze, ReverseWindow: times.reverse})
		return err
	})
	var (
		late *migration.StragglersError
		long *migration.FreezeLimitError
	)
	switch {
	case err == nil, errors.Is(err, migration.ErrNothingToDo):
		return true
	case errors.As(err, &late):
		diags.AddWarning(plan.what()+" has moved, but was written at its old place meanwhile", sentence(err))
		return true
	case report != nil && report.State == migration.Switched:
		diags.AddWarning(plan.what()+" has moved, but not everything after the switch was done", sentence(err)+" "+report.Next)
		return true
	case errors.As(err, &long):
		addFreezeError(diags, plan, long)
		return false
	}
	addMoveError(diags, plan, err)
	return false
}

// whileTableIsDeleted does something again until the service has removed the table whose name it needs, or the context
// ends.
func whileTableIsDeleted(ctx context.Context, do func() error) error {
	for wait := time.Second; ; wait = min(2*wait, 10*time.Second) {
		err := do()
		if !errors.Is(err, tablestorage.ErrTableBeingDeleted) {
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(wait):
		}
	}
}

// addFreezeError says that the tenant's writes were, or would have been, held for too long.
func addFreezeError(diags *diag.Diagnostics, plan tenantModel, e *migration.FreezeLimitError) {
	what := fmt.Sprintf("To hold its writes would take about %s, and %s is allowed, so nothing was frozen.", e.Expected.Round(100*time.Millisecond), e.Limit)
	if e.Undone {
		what = fmt.Sprintf("Its writes were held for %s, as long as allowed, and were let go again; nothing was switched.", e.Limit)
	}
	diags.AddAttributeError(path.Root("migration").AtName("max_freeze"), plan.what()+" was not moved: it would have held writes for too long",
		what+" The tenant is where it was, and can be written; what was copied is kept. Raise `max_freeze`, or apply again at a quieter time. "+
			"To undo the move, set `isolation_model` to the old model again and apply.")
}

// abort undoes a move that has not switched.
func (r *tenantResource) abort(ctx context.Context, plan tenantModel, diags *diag.Diagnostics) bool {
	ctx, cancel := context.WithTimeout(ctx, undoTime)
	defer cancel()
	id := plan.TenantID.ValueString()
	_, err := r.session.engine(ctx, id).Abort(ctx, id, migration.Options{Strays: migration.KeepStrays}) // the tenant must be writable again in any case
	if err == nil || errors.Is(err, migration.ErrNothingToDo) {
		return true
	}
	diags.AddError("The move of tenant "+quote(id)+" could not be undone", sentence(err)+" The next apply goes on with it.")
	return false
}

// addMoveError says how far the move came and how it goes on.
func addMoveError(diags *diag.Diagnostics, plan tenantModel, err error) {
	summary := fmt.Sprintf("Tenant %q was not moved to isolation model %q", plan.TenantID.ValueString(), plan.IsolationModel.ValueString())
	var (
		interrupted *migration.InterruptedError
		refused     *migration.RefusedError
		busy        *migration.BusyError
	)
	switch {
	case errors.As(err, &interrupted):
		diags.AddError(summary+" yet",
			fmt.Sprintf("The move stopped in state %s and keeps what it has done. Apply again to go on. To undo it, set `isolation_model` to the old model again and apply. "+
				"If Terraform was killed and its state is locked, `terraform force-unlock` frees it.", interrupted.State))
	case errors.As(err, &refused), errors.As(err, &busy):
		diags.AddAttributeError(path.Root("isolation_model"), summary, sentence(err))
	default:
		diags.AddError(summary,
			sentence(err)+" Where the move has begun, apply again to go on, or set `isolation_model` to the old model again and apply to undo it.")
	}
}
