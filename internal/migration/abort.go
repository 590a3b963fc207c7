package migration

import (
	"context"
	"errors"
	"fmt"

	"github.com/aztenancy/terraform-provider-aztenancy/internal/catalog"
	"github.com/aztenancy/terraform-provider-aztenancy/internal/edm"
	"github.com/aztenancy/terraform-provider-aztenancy/internal/tablestorage"
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
	if t.Model == m.To && t.Placement.Equal(m.Target) || !CanAbort(m.State) {
		return &RefusedError{Op: "abort the move of", TenantID: m.TenantID, Reason: fmt.Sprintf("migration %s has switched already (state %s)", m.ID, m.State),
			Way: "Run the migration again to finish it, then move the tenant back"}
	}
	return r.j.update(ctx, func(m *catalog.Migration, d *detail) {
		d.AbortedIn, m.State = m.State, Aborting
	})
}

// undo lets the tenant be written again, then removes what the migration wrote, then gives the target back. The tenant
// comes first: what is removed at the target is told by what was sent there, not by a source that stands still.
func (r *run) undo(ctx context.Context) error {
	m := r.j.migration()
	if err := r.unfreeze(ctx); err != nil {
		return err
	}
	if r.j.details().AbortedIn != Planned {
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
	return r.release(ctx, m.Target, t, r.targetLogical)
}

// remover deletes one migration's copies from the target of one logical table.
type remover struct {
	run     *run
	move    *tableMove
	deletes *tablestorage.BatchWriter
	others  int64
	example edm.Key // of others
}

// removeCopies deletes from the target what this migration wrote: see sent.go, and what equals its source entity, for
// the range was empty when it was claimed. Anything else is a stray, for the operator to decide on: see Strays.
func (r *run) removeCopies(ctx context.Context, mv *tableMove) error {
	x := &remover{run: r, move: mv}
	x.deletes = r.newDeleter(mv.target.table, func(n int64) { r.j.note(func(d *detail) { d.Removed += n }) })
	lanes, err := mv.lanes()
	if err != nil {
		return err
	}
	for _, l := range lanes {
		if err := x.lane(ctx, l); err != nil && !errors.Is(err, tablestorage.ErrTableNotFound) {
			return err
		}
	}
	if x.others == 0 {
		return nil
	}
	if m := r.j.migration(); r.options.Strays == "" {
		return &CollisionError{TenantID: m.TenantID, Table: mv.target.String(), Key: keyText(x.example), Next: fmt.Sprintf("%d entities there are not what this move wrote. "+
			"The range was empty when this move claimed it, so somebody else wrote or changed them. "+
			"Delete them with the rest: tenantctl abort %s --clear-target. Or leave them: tenantctl abort %s --keep-target", x.others, m.TenantID, m.TenantID)}
	}
	return r.remark(ctx, fmt.Sprintf("%d entities of %s that this move did not write were left in the target's range, such as %s.",
		x.others, mv.target, keyText(x.example)))
}

// lane removes the copies of one lane.
func (x *remover) lane(ctx context.Context, l lane) error {
	d := x.run.j.details()
	sent := newLedger(x.run, x.move.logical, l, d.Proven, d.Attempt)
	defer sent.close()
	c := x.run.comparison(x.move)
	c.base = d.Proven
	c.onMisplaced = func(ctx context.Context, e *edm.Entity) error { return x.stray(ctx, e) }
	var win window
	for p, err := range c.pairs(ctx, l) {
		if err != nil {
			return err
		}
		if p.target == nil {
			continue
		}
		if win.full() {
			if err := x.window(ctx, sent, win); err != nil {
				return err
			}
			win = window{}
		}
		win.pairs = append(win.pairs, p)
		win.bytes += p.target.Size()
	}
	return x.window(ctx, sent, win)
}

// window removes the copies among a few pairs.
func (x *remover) window(ctx context.Context, sent *ledger, win window) error {
	for _, p := range win.pairs {
		ours := p.targetKnown || p.source != nil && p.source.SameContent(p.target)
		if !ours {
			var err error
			if ours, err = sent.has(ctx, win.pairs[0].at, win.pairs[len(win.pairs)-1].at, p.target); err != nil {
				return err
			}
		}
		remove := x.stray
		if ours {
			remove = x.remove
		}
		if err := remove(ctx, p.target); err != nil {
			return err
		}
	}
	return plain(x.deletes.Flush(ctx))
}

func (x *remover) remove(ctx context.Context, e *edm.Entity) error {
	return plain(x.deletes.Add(ctx, deletion(e.Key(), e.ETag)))
}

// stray deletes or counts an entity that the migration did not write.
func (x *remover) stray(ctx context.Context, e *edm.Entity) error {
	if x.run.options.Strays == ClearStrays {
		return x.remove(ctx, e)
	}
	x.others, x.example = x.others+1, e.Key()
	return nil
}
