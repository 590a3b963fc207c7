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

// errHeldTooLong ends a move that holds the tenant's writes for longer than max_freeze.
var errHeldTooLong = errors.New("the tenant's writes were held for longer than migration.max_freeze")

// undoTime is how long an undoing may go on after the time of the move itself is over.
const undoTime = 30 * time.Minute

// beforeSwitch says whether a migration in this state can still be undone, or has still to be undone.
func beforeSwitch(state string) bool {
	switch state {
	case migration.Planned, migration.Freezing, migration.Copying, migration.Verifying, migration.Switching, migration.Aborting:
		return true
	}
	return false
}

// underWay returns the migration to which a tenant is bound, if it has begun and not switched.
func (d *directory) underWay(t catalog.TenantRecord) (catalog.MigrationRecord, bool) {
	m, ok := d.migrations[t.Migration]
	return m, ok && beforeSwitch(m.State)
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
	outer := ctx
	if times.maxFreeze > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, times.maxFreeze, errHeldTooLong)
		defer cancel()
	}
	id := plan.TenantID.ValueString()
	target := migration.Target{Model: plan.IsolationModel.ValueString(), Account: plan.Account.ValueString()}
	var report *migration.Report
	err := whileTableIsDeleted(ctx, func() (err error) {
		report, err = r.session.engine(ctx, id).Run(ctx, id, target, migration.Options{Drain: times.drain, ReverseWindow: times.reverse})
		return err
	})
	var late *migration.StragglersError
	switch {
	case err == nil, errors.Is(err, migration.ErrNothingToDo):
		return true
	case errors.As(err, &late):
		diags.AddWarning(plan.what()+" has moved, but was written at its old place meanwhile", sentence(err))
		return true
	case report != nil && report.State == migration.Switched:
		diags.AddWarning(plan.what()+" has moved, but not everything after the switch was done", sentence(err)+" "+report.Next)
		return true
	case errors.Is(context.Cause(ctx), errHeldTooLong) && outer.Err() == nil:
		return r.undoSlow(outer, plan, times.maxFreeze, report, diags)
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

// undoSlow undoes a move that took longer than it may hold the tenant's writes.
func (r *tenantResource) undoSlow(ctx context.Context, plan tenantModel, limit time.Duration, report *migration.Report, diags *diag.Diagnostics) bool {
	copied := int64(0)
	if report != nil {
		copied = report.Entities
	}
	if !r.abort(ctx, plan, diags) {
		return false
	}
	diags.AddAttributeError(path.Root("migration").AtName("max_freeze"), plan.what()+" was not moved: it would have held writes for too long",
		fmt.Sprintf("After %s, with %d entities copied, the move was undone: the tenant is where it was, and can be written. Raise `max_freeze`, or move it at a quieter time.", limit, copied))
	return false
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
