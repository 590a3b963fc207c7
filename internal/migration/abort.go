package migration

import (
	"context"
	"errors"
	"fmt"

	"github.com/aztenancy/terraform-provider-aztenancy/internal/catalog"
	"github.com/aztenancy/terraform-provider-aztenancy/internal/edm"
	"github.com/aztenancy/terraform-provider-aztenancy/internal/tablestorage"
	"github.com/aztenancy/terraform-provider-aztenancy/internal/tenancy"
)

// beginAbort turns a migration that has not switched towards its undoing.
func (r *run) beginAbort(ctx context.Context) error {
	m := r.j.migration()
	if m.State == Aborting {
		return nil
	}
	t, err := r.catalog.Tenant(ctx, m.TenantID)
	if err != nil {
		return fmt.Errorf("read tenant %q: %w", m.TenantID, err)
	}
	if t.Model == m.To && t.Placement.Equal(m.Target) || !canAbort(m.State) {
		return &RefusedError{Op: "abort the move of", TenantID: m.TenantID, Reason: fmt.Sprintf("migration %s has switched already (state %s)", m.ID, m.State),
			Way: "Run the migration again to finish it, then move the tenant back"}
	}
	return r.j.update(ctx, func(m *catalog.Migration, d *detail) {
		d.AbortedIn, m.State = m.State, Aborting
	})
}

// undo removes what the migration wrote, then gives the target back, then lets the tenant be written again.
func (r *run) undo(ctx context.Context) error {
	m := r.j.migration()
	switch r.j.details().AbortedIn {
	case Copying, Verifying, Switching:
		// Without guards, nothing that is still on its way to the target can be carried out.
		if err := r.removeGuards(ctx, func(int64) bool { return true }); err != nil {
			return err
		}
		for _, mv := range r.moves {
			if err := r.removeCopies(ctx, mv); err != nil {
				return fmt.Errorf("%s: %w", mv.target, err)
			}
		}
	}
	t, err := r.catalog.Tenant(ctx, m.TenantID)
	if err != nil {
		return fmt.Errorf("read tenant %q: %w", m.TenantID, err)
	}
	sides, err := r.targets()
	if err != nil {
		return err
	}
	for logical, s := range sides {
		if r.j.details().Created[logical] {
			if err := r.dropEmpty(ctx, s, m.TenantID); err != nil {
				return err
			}
		}
	}
	if err := r.release(ctx, m.Target, t, r.targetLogical); err != nil {
		return err
	}
	return r.unfreeze(ctx)
}

func (r *run) unfreeze(ctx context.Context) error {
	m := r.j.migration()
	err := r.changeTenant(ctx,
		func(t catalog.TenantRecord) bool { return t.State != tenancy.Frozen || t.Migration != m.ID },
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

// removeCopies deletes from the target what equals its source entity, for that is what this migration wrote: the range
// was empty when it was claimed. Anything else is a stray, for the operator to decide on: see Strays.
func (r *run) removeCopies(ctx context.Context, mv *tableMove) error {
	w := r.newDeleter(mv.target.table, func(n int64) { r.j.note(func(d *detail) { d.Removed += n }) })
	var others int64
	var example edm.Key
	waiting := 0
	c := &comparison{move: mv, onStray: func(*edm.Entity, error) {}}
	c.onPair = func(ctx context.Context, s, t *edm.Entity, at edm.Key) error {
		if t == nil {
			return nil
		}
		if (s == nil || !s.SameContent(t)) && r.options.Strays != ClearStrays {
			others, example = others+1, at
			return nil
		}
		if err := w.Add(ctx, deletion(t.Key(), t.ETag)); err != nil {
			return plain(err)
		}
		if waiting++; waiting%sealRows == 0 {
			return plain(w.Flush(ctx))
		}
		return nil
	}
	if err := c.run(ctx, 1); err != nil && !errors.Is(err, tablestorage.ErrTableNotFound) {
		return err
	}
	if err := w.Flush(ctx); err != nil {
		return plain(err)
	}
	if others == 0 {
		return nil
	}
	if m := r.j.migration(); r.options.Strays == "" {
		return &CollisionError{TenantID: m.TenantID, Table: mv.target.String(), Key: keyText(example), Next: fmt.Sprintf("%d entities there differ from the source. "+
			"The range was empty when this move claimed it, so they are its copies of what changed at the source since, or somebody else's. "+
			"Delete them with the rest: tenantctl abort %s --clear-target. Or leave them: tenantctl abort %s --keep-target", others, m.TenantID, m.TenantID)}
	}
	return r.remark(ctx, fmt.Sprintf("%d entities of %s that differ from the source were left in the target's range, such as %s.",
		others, mv.target, keyText(example)))
}
