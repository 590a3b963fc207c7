package catalog

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/aztenancy/terraform-provider-aztenancy/internal/tablestorage"
	"github.com/aztenancy/terraform-provider-aztenancy/internal/tenancy"
)

// Delete removes the tenant, or finishes removing it; ErrNotFound where it is gone. One that has entities, at its
// placement or at a source that a move has kept, is an ErrNotEmpty unless purgeData. One that is being moved is an ErrInUse.
// Only what the tenant's claims cover is deleted; a dedicated table is dropped.
func (p *Provisioner) Delete(ctx context.Context, id string, purgeData bool) error {
	ctx = tablestorage.WithCorrelation(ctx, id, "delete")
	rec, err := p.Catalog.Tenant(ctx, id)
	if err != nil {
		return err
	}
	migrations, err := p.Catalog.Migrations(ctx, id)
	if err != nil {
		return err
	}
	held, err := p.holdings(ctx, rec, migrations)
	if err != nil {
		return err
	}
	if !purgeData {
		if err := p.checkAllEmpty(ctx, rec.ID, held); err != nil {
			return err
		}
	}
	before := rec.State
	if rec.State != tenancy.Deleting {
		rec.State = tenancy.Deleting
		if rec, err = p.Catalog.UpdateTenant(ctx, rec); err != nil {
			return err
		}
	}
	if !purgeData { // look again, now that the state tells applications to keep off
		if err := p.checkAllEmpty(ctx, rec.ID, held); err != nil {
			return errors.Join(err, p.restore(ctx, rec, before))
		}
	}
	err = p.remove(ctx, rec, held, migrations, purgeData)
	if errors.Is(err, ErrNotFound) {
		return nil // somebody else has finished the same deletion
	}
	return err
}

// remove removes what the tenant holds, then what the catalog holds of it, its row last. Before each part it makes sure
// that the row still is the one that it set to deleting: another may have finished this deletion meanwhile, and a third
// have created the tenant anew.
func (p *Provisioner) remove(ctx context.Context, rec TenantRecord, held []holding, migrations []MigrationRecord, purgeData bool) error {
	claims := make([]tenancy.Claim, len(held))
	for i, h := range held {
		claims[i] = h.claim
		if !purgeData && !h.place.Dedicated {
			continue
		}
		if err := p.Catalog.still(ctx, rec); err != nil {
			return err
		}
		if err := p.clear(ctx, rec, h.place); err != nil {
			return err
		}
	}
	if err := p.Catalog.releaseOf(ctx, rec, claims); err != nil {
		return err
	}
	for _, m := range migrations {
		if err := p.Catalog.DeleteMigration(ctx, m); err != nil {
			return err
		}
	}
	return p.Catalog.DeleteTenant(ctx, rec)
}

// holding is a part of a table that is the tenant's by a claim.
type holding struct {
	place tenancy.TablePlacement
	claim tenancy.Claim
	kept  bool // it is the source that a finished move has kept
}

// holdings returns what the tenant holds, by its placement and by the sources that moves have kept. What it does not
// claim is left out: a creation that was killed has a placement in its row, which may be another tenant's.
func (p *Provisioner) holdings(ctx context.Context, rec TenantRecord, migrations []MigrationRecord) ([]holding, error) {
	wanted := wantedHoldings(rec.Tenant, rec.Placement, false)
	for _, m := range migrations {
		switch {
		case !m.Ended.IsZero():
		case m.ID != rec.Migration, m.Target.Equal(rec.Placement): // switched, perhaps long ago: the source is still there
			wanted = append(wanted, wantedHoldings(rec.Tenant, m.Source, true)...)
		default:
			return nil, fmt.Errorf("%s is being moved from model %q to %q (migration %s, %s): finish or abort that first: %w",
				tenantName(rec.ID), m.From, m.To, m.ID, m.State, ErrInUse)
		}
	}
	var held []holding
	for _, w := range wanted {
		claims, err := p.Catalog.Claims(ctx, w.claim.Storage, w.claim.Table)
		if err != nil {
			return nil, err
		}
		isThis := func(c tenancy.Claim) bool { return c.TenantID == rec.ID && c.Range == w.claim.Range }
		isKnown := func(h holding) bool { return h.claim.SameTable(w.claim) && h.claim.Range == w.claim.Range }
		if slices.ContainsFunc(claims, isThis) && !slices.ContainsFunc(held, isKnown) {
			held = append(held, w)
		}
	}
	return held, nil
}

func wantedHoldings(t tenancy.Tenant, place tenancy.Placement, kept bool) []holding {
	var all []holding
	for _, c := range place.Claims(t) {
		all = append(all, holding{place: place[c.Logical], claim: c, kept: kept})
	}
	return all
}

// checkAllEmpty returns a *NotEmptyError if any part of a table holds an entity.
func (p *Provisioner) checkAllEmpty(ctx context.Context, tenantID string, held []holding) error {
	for _, h := range held {
		way := "Delete them first, or ask explicitly to delete the tenant with its data"
		if h.kept {
			way = "A move has kept its source there: purge it first, or ask explicitly to delete the tenant with its data"
		}
		if err := p.checkEmpty(ctx, tenantID, h.place, way); err != nil {
			return err
		}
	}
	return nil
}

// restore gives a tenant that cannot be deleted its state back.
func (p *Provisioner) restore(ctx context.Context, rec TenantRecord, state tenancy.State) error {
	if rec.State == state {
		return nil
	}
	rec.State = state
	_, err := p.Catalog.UpdateTenant(ctx, rec)
	return err
}
