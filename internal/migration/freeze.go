package migration

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/aztenancy/terraform-provider-aztenancy/internal/catalog"
	"github.com/aztenancy/terraform-provider-aztenancy/internal/tenancy"
)

// A freeze belongs to one epoch of the tenant: what is proven under it holds as long as the tenant's row has that epoch.
// It ends in exactly one compare-and-swap of that row: the switch, or the undoing. Whichever comes first changes the row's
// ETag and state, so that the other one fails: a mover that slept past the deadline cannot switch after the tenant
// was written again. The migration's own state is set back after the row, never before.

// errHeldTooLong ends the work under a freeze whose deadline has come.
var errHeldTooLong = errors.New("the tenant's writes were held for as long as allowed")

// errNotFrozen says that the tenant's row is not, or no longer, what the freeze made of it.
var errNotFrozen = errors.New("not frozen by this migration")

// predict refuses to freeze where the freeze would probably last longer than allowed: it takes the last pass and the
// verification, each about as long as the pass before, and the drain.
func (r *run) predict(ctx context.Context) error {
	limit := r.maxFreeze()
	guess := r.predictFreeze()
	if limit <= 0 || guess <= limit {
		return nil
	}
	if r.j.details().LastPass.Whole { // it read both sides whole; the next one will be faster
		if _, err := r.reconcile(ctx, "hold"); err != nil {
			return err
		}
		if guess = r.predictFreeze(); guess <= limit {
			return nil
		}
	}
	m := r.j.migration()
	return &FreezeLimitError{TenantID: m.TenantID, Migration: m.ID, Limit: limit, Expected: guess, Next: r.next(m.State)}
}

func (r *run) predictFreeze() time.Duration {
	return time.Duration(2*r.j.details().LastPass.Seconds*float64(time.Second)) + r.options.Drain
}

// maxFreeze is the longest that writes may be held; 0 or less means that there is no limit.
func (r *run) maxFreeze() time.Duration {
	if r.options.MaxFreeze == 0 {
		return DefaultMaxFreeze + r.options.Drain
	}
	return r.options.MaxFreeze
}

// freeze holds the tenant's writes by its state in the catalog, and waits for writers that have not noticed yet. When it
// began stands in the migration's row before the tenant's row is changed, so that the deadline also binds a later run.
func (r *run) freeze(ctx context.Context) error {
	m := r.j.migration()
	if err := r.changeTenant(ctx, r.isFrozen, func(t *catalog.TenantRecord) error {
		if t.State != tenancy.Active {
			return fmt.Errorf("tenant %q is %s; only an active tenant can be frozen", t.ID, t.State)
		}
		t.State = tenancy.Frozen
		return nil
	}); err != nil {
		return err
	}
	t, err := r.catalog.Tenant(ctx, m.TenantID)
	if err != nil {
		return fmt.Errorf("read tenant %q: %w", m.TenantID, err)
	}
	if !r.isFrozen(t) {
		return fmt.Errorf("tenant %q: %w", m.TenantID, errNotFrozen)
	}
	if err := r.j.update(ctx, func(_ *catalog.Migration, d *detail) { d.FrozenEpoch = t.Epoch }); err != nil {
		return err
	}
	r.progress.Note(fmt.Sprintf("Tenant %q is frozen until the switch by its state in the catalog. Could still write: %s.", m.TenantID, couldWrite))
	return r.drain(ctx)
}

func (r *run) isFrozen(t catalog.TenantRecord) bool {
	return t.State == tenancy.Frozen && t.Migration == r.j.migration().ID
}

// drain waits for writers that still go by what the catalog said before.
func (r *run) drain(ctx context.Context) error {
	if r.engine.drained != nil {
		if err := r.engine.drained(ctx); err != nil {
			return err
		}
	}
	if r.options.Drain <= 0 {
		return nil
	}
	r.progress.Waiting(fmt.Sprintf("writers to notice the freeze (%s)", r.options.Drain))
	defer r.progress.Waiting("")
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(r.options.Drain):
		return nil
	}
}

// stillFrozen fails unless the freeze under which the migration works still holds.
func (r *run) stillFrozen(ctx context.Context) error {
	t, err := r.catalog.Tenant(ctx, r.j.migration().TenantID)
	if err != nil {
		return fmt.Errorf("read tenant %q: %w", t.ID, err)
	}
	return r.checkFrozen(t)
}

// checkFrozen says whether a tenant's row is the one that the freeze made.
func (r *run) checkFrozen(t catalog.TenantRecord) error {
	m := r.j.migration()
	epoch := r.j.details().FrozenEpoch
	if r.isFrozen(t) && (epoch == 0 || epoch == t.Epoch) { // 0: frozen by an earlier version
		return nil
	}
	return fmt.Errorf("tenant %q: %w: it is %s, epoch %d, and migration %s froze it at epoch %d: somebody changed its row, so nothing that was compared counts. %s",
		m.TenantID, errNotFrozen, t.State, t.Epoch, m.ID, epoch, next(m, CatchingUp))
}

// untilThaw ends when the freeze has to be undone.
func (r *run) untilThaw(ctx context.Context) (context.Context, context.CancelFunc) {
	until := r.j.details().FreezeUntil
	if until.IsZero() {
		return context.WithCancel(ctx)
	}
	return context.WithTimeoutCause(ctx, until.Sub(r.engine.clock()), errHeldTooLong)
}

// beginFreeze records when the freeze begins and when it has to be over.
func (r *run) beginFreeze(ctx context.Context) error {
	if !r.j.details().FrozenAt.IsZero() {
		return nil
	}
	limit := r.maxFreeze()
	return r.j.update(ctx, func(_ *catalog.Migration, d *detail) {
		d.FrozenAt, d.ThawedAt, d.FreezeUntil = r.engine.clock().UTC(), time.Time{}, time.Time{}
		if limit > 0 {
			d.FreezeUntil = d.FrozenAt.Add(limit)
		}
	})
}

// undoFreeze lets the tenant be written again, because the freeze took too long, and goes back to catching up.
func (r *run) undoFreeze(ctx context.Context) error {
	m, d := r.j.migration(), r.j.details()
	if err := r.backToCatchingUp(ctx, nil); err != nil {
		return err
	}
	return &FreezeLimitError{TenantID: m.TenantID, Migration: m.ID, Limit: d.FreezeUntil.Sub(d.FrozenAt), Undone: true, Next: r.next(CatchingUp)}
}

// backToCatchingUp lifts the freeze first and then sets the migration's state back, with what the verification found.
func (r *run) backToCatchingUp(ctx context.Context, report *VerifyReport) error {
	if err := r.at("thaw: before tenant row"); err != nil {
		return err
	}
	if err := r.unfreeze(ctx); err != nil {
		return err
	}
	if err := r.at("thaw: after tenant row"); err != nil {
		return err
	}
	return r.j.update(ctx, func(m *catalog.Migration, d *detail) {
		m.State, d.Sealed = CatchingUp, 0
		if !d.FrozenAt.IsZero() && !d.ThawedAt.IsZero() {
			d.HeldBefore += d.ThawedAt.Sub(d.FrozenAt).Seconds()
		}
		d.FrozenAt, d.ThawedAt, d.FreezeUntil, d.FrozenEpoch = time.Time{}, time.Time{}, time.Time{}, 0
		if report != nil {
			d.Verify = report.brief()
		}
	})
}

// unfreeze lets the tenant be written at the source again.
func (r *run) unfreeze(ctx context.Context) error {
	err := r.changeTenant(ctx,
		func(t catalog.TenantRecord) bool { return !r.isFrozen(t) },
		func(t *catalog.TenantRecord) error {
			t.State = tenancy.Active
			return nil
		})
	if err != nil {
		return err
	}
	r.j.note(func(d *detail) {
		if d.ThawedAt.IsZero() && !d.FrozenAt.IsZero() {
			d.ThawedAt = r.engine.clock().UTC()
		}
	})
	return nil
}

// reviewFreeze looks, at the beginning of a run, at a freeze that an earlier run left behind. Where its deadline is over, or
// somebody has lifted it, the migration goes back to catching up. A migration that was proven equal is not held up: to switch
// takes no longer than to undo.
func (r *run) reviewFreeze(ctx context.Context) error {
	m, d := r.j.migration(), r.j.details()
	if !holdsWrites(m.State) {
		return nil
	}
	t, err := r.catalog.Tenant(ctx, m.TenantID)
	if err != nil {
		return fmt.Errorf("read tenant %q: %w", m.TenantID, err)
	}
	over := !d.FreezeUntil.IsZero() && !r.engine.clock().Before(d.FreezeUntil)
	switch {
	case m.State == Switching && (r.isSwitched(t) || r.checkFrozen(t) == nil):
		return nil
	case m.State == Freezing && !over:
		return nil
	case m.State != Freezing && m.State != Switching && !over && r.checkFrozen(t) == nil:
		return nil
	}
	r.progress.Note(fmt.Sprintf("An earlier run left tenant %q in state %s, and its writes may not be held any longer: the move goes back to catching up.", m.TenantID, m.State))
	return r.backToCatchingUp(ctx, nil)
}

// isSwitched says whether a tenant is at the target.
func (r *run) isSwitched(t catalog.TenantRecord) bool {
	m := r.j.migration()
	return t.State == tenancy.Active && t.Model == m.To && t.Placement.Equal(m.Target)
}

// switchOver makes the target the tenant's place and lifts the freeze, in one compare-and-swap. After an unclear answer
// the row is read back; it is never swapped a second time blindly.
func (r *run) switchOver(ctx context.Context) error {
	m := r.j.migration()
	err := r.changeTenant(ctx, r.isSwitched, func(t *catalog.TenantRecord) error {
		if err := r.checkFrozen(*t); err != nil {
			return err
		}
		t.State, t.Model, t.Placement = tenancy.Active, m.To, m.Target
		return nil
	})
	if err != nil {
		return err
	}
	r.j.note(func(d *detail) {
		if d.ThawedAt.IsZero() {
			d.ThawedAt = r.engine.clock().UTC()
		}
		if w := r.options.ReverseWindow; w > 0 && d.ReverseUntil.IsZero() {
			d.ReverseUntil = r.engine.clock().Add(w).UTC().Truncate(time.Second)
		}
	})
	return nil
}
