package migration

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/aztenancy/terraform-provider-aztenancy/internal/catalog"
	"github.com/aztenancy/terraform-provider-aztenancy/internal/tablestorage"
)

// prepare claims the target and creates its dedicated tables. The intention to create a table stands in the
// migration's row before the table exists, so that an abort knows which tables are this migration's.
func (r *run) prepare(ctx context.Context) error {
	m := r.j.migration()
	t, err := r.catalog.Tenant(ctx, m.TenantID)
	if err != nil {
		return fmt.Errorf("read tenant %q: %w", m.TenantID, err)
	}
	if err := r.at("prepare: before claim"); err != nil {
		return err
	}
	if err := r.j.confirm(ctx); err != nil {
		return err
	}
	if err := r.catalog.Claim(ctx, m.TenantID, claims(m.Target, t.Tenant, r.targetLogical)); err != nil {
		return fmt.Errorf("claim the target: %w", err)
	}
	if err := r.at("prepare: after claim"); err != nil {
		return err
	}
	sides, err := r.targets()
	if err != nil {
		return err
	}
	for logical, s := range sides {
		if err := r.prepareTable(ctx, logical, s); err != nil {
			return err
		}
		if err := r.sweep(ctx, s); err != nil {
			return err
		}
	}
	return nil
}

// prepareTable makes sure that the target's table exists and that the tenant's range in it is empty, now that the
// claim keeps others out.
func (r *run) prepareTable(ctx context.Context, logical string, s side) error {
	client := s.table.Client()
	_, exists, err := client.TableExists(ctx, s.place.Table)
	if err != nil {
		return fmt.Errorf("look for table %s: %w", s, err)
	}
	if exists {
		return r.engine.refuseRows(ctx, r.j.migration().TenantID, s)
	}
	if !s.place.Dedicated {
		return refuseMissingTable(r.j.migration().TenantID, s)
	}
	err = r.j.update(ctx, func(_ *catalog.Migration, d *detail) {
		d.Created = with(d.Created, logical)
	})
	if err != nil {
		return err
	}
	if err := r.at("prepare: before table"); err != nil {
		return err
	}
	if err := r.createTable(ctx, s); err != nil {
		return err
	}
	return r.at("prepare: after table")
}

// createTable waits for a table of the same name that is being deleted, which takes the service at least 40 seconds
// (Delete Table, REST reference).
func (r *run) createTable(ctx context.Context, s side) error {
	const most, pause = 3 * time.Minute, 5 * time.Second
	for began := time.Now(); ; {
		_, err := s.table.Client().CreateTable(ctx, s.place.Table)
		if err == nil {
			return nil
		}
		if !errors.Is(err, tablestorage.ErrTableBeingDeleted) || time.Since(began) > most {
			return fmt.Errorf("create table %s: %w", s, err)
		}
		r.progress.Waiting(fmt.Sprintf("the service to finish deleting an earlier table %s", s))
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(pause):
		}
		r.progress.Waiting("")
	}
}

// with returns a copy of a set with one more element.
func with(set map[string]bool, element string) map[string]bool {
	out := map[string]bool{element: true}
	for k := range set {
		out[k] = true
	}
	return out
}

// targetLogical says whether a logical table gets a new place: it moves, or only the target's model has it.
func (r *run) targetLogical(logical string) bool {
	m := r.j.migration()
	from, had := m.Source[logical]
	to, has := m.Target[logical]
	return has && (!had || !samePlace(from, to))
}

// sourceLogical says whether a logical table leaves its place.
func (r *run) sourceLogical(logical string) bool {
	m := r.j.migration()
	from, had := m.Source[logical]
	return had && !r.inUse[logical] && !samePlace(from, m.Target[logical])
}

// targets returns the new places by logical table.
func (r *run) targets() (map[string]side, error) {
	out := map[string]side{}
	for logical, p := range r.j.migration().Target {
		if !r.targetLogical(logical) {
			continue
		}
		s, err := r.engine.newSide(p)
		if err != nil {
			return nil, err
		}
		out[logical] = s
	}
	return out, nil
}
