package catalog

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/aztenancy/terraform-provider-aztenancy/internal/tablestorage"
	"github.com/aztenancy/terraform-provider-aztenancy/internal/tenancy"
)

// Created is what became of one creation of many.
type Created struct {
	Tenant TenantRecord
	Err    error
}

// maxTogether is how many tenants are created together: with the head row of their claims they fill a transaction.
const maxTogether = tablestorage.MaxOperations - 1

// manyAtOnce is how many tenants are provisioned at the same time where each needs requests of its own.
const manyAtOnce = 8

// CreateMany does what Create does for each of the specs, with results in their order, in far fewer requests. Tenants that do
// not exist yet and stand in nobody's way go together, in the steps of Create and in the same order, each step one entity
// group transaction:
//
//	rows provisioning (all or none) → claims by table, guarded by the head row's ETag → dedicated tables → rows active
//
// Whatever refuses a transaction, or leaves its outcome unclear, is for Create to sort out: it is called for each of those
// tenants, finishes what is half made, and says what is wrong with the one that is to blame.
func (p *Provisioner) CreateMany(ctx context.Context, specs []TenantSpec) []Created {
	all := make([]Created, len(specs))
	if len(specs) == 1 {
		all[0].Tenant, all[0].Err = p.Create(ctx, specs[0])
		return all
	}
	done := p.createTogether(tablestorage.WithCorrelation(ctx, "", "create"), specs)
	var group errgroup.Group
	group.SetLimit(manyAtOnce)
	for i, s := range specs {
		if rec, ok := done[i]; ok {
			all[i].Tenant = rec
			continue
		}
		group.Go(func() error {
			all[i].Tenant, all[i].Err = p.Create(ctx, s)
			return nil
		})
	}
	_ = group.Wait() // no goroutine returns an error
	return all
}

// newcomer is a tenant that can be created together with others.
type newcomer struct {
	index  int // of its spec
	plan   tenantPlan
	claims []tenancy.Claim
	rec    TenantRecord
}

// createTogether creates what can be created together, and returns it by the index of its spec.
func (p *Provisioner) createTogether(ctx context.Context, specs []TenantSpec) map[int]TenantRecord {
	done := make(map[int]TenantRecord)
	for chunk := range slices.Chunk(p.newcomers(ctx, specs), maxTogether) {
		for _, n := range p.createChunk(ctx, chunk) {
			done[n.index] = n.rec
		}
	}
	return done
}

// newcomers returns the tenants that are not there, can be placed, and whose claims neither the catalog nor an earlier one of
// them stands against. It only reads.
func (p *Provisioner) newcomers(ctx context.Context, specs []TenantSpec) []*newcomer {
	existing, err := p.Catalog.Tenants(ctx)
	if err != nil && !errors.Is(err, ErrNoCatalog) {
		return nil
	}
	taken := make(map[string]bool, len(existing))
	for _, t := range existing {
		taken[t.ID] = true
	}
	models := make(map[string]modelAnswer)
	wanted := make(map[string][]tenancy.Claim) // by physical table
	var all []*newcomer
	for i, s := range specs {
		m, asked := models[s.Model]
		if !asked {
			m.rec, m.err = p.Catalog.Model(ctx, s.Model)
			models[s.Model] = m
		}
		if m.err != nil || taken[s.ID] {
			continue
		}
		n := &newcomer{index: i}
		if n.plan, err = p.place(s, m.rec); err != nil {
			continue
		}
		n.claims = n.plan.tenant.Placement.Claims(n.plan.tenant)
		if collides(wanted, n.claims) || p.Catalog.CheckClaims(ctx, s.ID, n.claims) != nil || p.checkTables(ctx, n.plan) != nil {
			continue
		}
		taken[s.ID] = true
		for _, c := range n.claims {
			pk := claimPartition(c.Storage, c.Table)
			wanted[pk] = append(wanted[pk], c)
		}
		all = append(all, n)
	}
	return all
}

type modelAnswer struct {
	rec ModelRecord
	err error
}

// collides says whether one of the claims overlaps a wanted one.
func collides(wanted map[string][]tenancy.Claim, claims []tenancy.Claim) bool {
	return slices.ContainsFunc(claims, func(c tenancy.Claim) bool {
		_, found := tenancy.Conflict(wanted[claimPartition(c.Storage, c.Table)], c)
		return found
	})
}

// createChunk creates as many newcomers as fit a transaction, and returns those that it is sure of.
func (p *Provisioner) createChunk(ctx context.Context, chunk []*newcomer) []*newcomer {
	if p.insertRows(ctx, chunk) != nil {
		return nil
	}
	// As in Create: the rows are written, so whoever changes a model sees them; a change that came before is seen here.
	chunk = p.ofUnchangedModels(ctx, chunk)
	if p.Catalog.claimTogether(ctx, chunk) != nil {
		return nil
	}
	chunk = p.withTables(ctx, chunk)
	if p.activateRows(ctx, chunk) != nil {
		return nil
	}
	return chunk
}

// insertRows writes the rows of all newcomers, or none.
func (p *Provisioner) insertRows(ctx context.Context, chunk []*newcomer) error {
	return p.writeRows(ctx, chunk, func(n *newcomer) (tablestorage.Operation, error) {
		e, err := encodeTenant(TenantRecord{Tenant: n.plan.tenant, Created: p.Catalog.now().UTC()})
		return tablestorage.Operation{Kind: tablestorage.OpInsert, Entity: e}, err
	})
}

// activateRows takes the rows of all newcomers from provisioning to active, or none.
func (p *Provisioner) activateRows(ctx context.Context, chunk []*newcomer) error {
	return p.writeRows(ctx, chunk, func(n *newcomer) (tablestorage.Operation, error) {
		rec := n.rec
		rec.State = tenancy.Active
		rec.Epoch++ // the state differs from what was written
		e, err := encodeTenant(rec)
		return tablestorage.Operation{Kind: tablestorage.OpReplace, Entity: e, ETag: rec.ETag}, err
	})
}

// writeRows sends one transaction with an operation for each newcomer, whose records are then what was written.
func (p *Provisioner) writeRows(ctx context.Context, chunk []*newcomer, write func(*newcomer) (tablestorage.Operation, error)) error {
	if len(chunk) == 0 {
		return nil
	}
	ops := make([]tablestorage.Operation, len(chunk))
	for i, n := range chunk {
		var err error
		if ops[i], err = write(n); err != nil {
			return err
		}
		p.Catalog.stamp(ops[i].Entity)
	}
	etags, err := p.Catalog.table.Submit(ctx, ops)
	if err != nil {
		return err
	}
	for i, n := range chunk {
		if n.rec, err = written(ops[i].Entity, etags[i], decodeTenant); err != nil {
			return err
		}
	}
	return nil
}

// ofUnchangedModels returns the newcomers whose models are still what their placement was made of.
func (p *Provisioner) ofUnchangedModels(ctx context.Context, chunk []*newcomer) []*newcomer {
	unchanged := make(map[string]bool)
	return slices.DeleteFunc(chunk, func(n *newcomer) bool {
		name := n.plan.model.Name
		same, asked := unchanged[name]
		if !asked {
			m, err := p.Catalog.Model(ctx, name)
			same = err == nil && m.ETag == n.plan.model.ETag
			unchanged[name] = same
		}
		return !same
	})
}

// withTables creates the dedicated tables of the newcomers, several at a time, and returns those that have all of theirs.
func (p *Provisioner) withTables(ctx context.Context, chunk []*newcomer) []*newcomer {
	causes := make(map[string]error, len(chunk))
	answers := make([]error, len(chunk))
	var group errgroup.Group
	group.SetLimit(manyAtOnce)
	for i, n := range chunk {
		group.Go(func() error {
			answers[i] = p.createTables(ctx, n.rec)
			return nil
		})
	}
	_ = group.Wait() // no goroutine returns an error
	for i, n := range chunk {
		causes[n.rec.ID] = answers[i]
	}
	return slices.DeleteFunc(chunk, func(n *newcomer) bool { return causes[n.rec.ID] != nil })
}

// claimTogether takes the claims of several tenants, one physical table after the other in the order of Claim, each in one
// transaction that the head row's ETag guards. It takes none that another tenant holds, be it an abandoned one.
func (c *Catalog) claimTogether(ctx context.Context, chunk []*newcomer) error {
	var all []tenancy.Claim
	for _, n := range chunk {
		all = append(all, n.claims...)
	}
	byTable, order := groupByTable(all)
	for _, pk := range order {
		t := c.claimTable(pk)
		if err := t.lock(ctx); err != nil {
			return err
		}
		err := c.claimAllInTable(ctx, t, byTable[pk])
		t.unlock()
		if err != nil {
			return err
		}
	}
	return nil
}

// claimAllInTable takes claims of several tenants on one physical table.
func (c *Catalog) claimAllInTable(ctx context.Context, t *claimTable, wanted []tenancy.Claim) error {
	if len(wanted) > maxTogether {
		return fmt.Errorf("claim %s for %d tenants: %w", tableOf(wanted), len(wanted), tablestorage.ErrTooLarge)
	}
	what := fmt.Sprintf("claim %s for %d tenants", tableOf(wanted), len(wanted))
	return c.changeClaims(ctx, t, what, func(context.Context) (claimChange, error) {
		change := claimChange{storage: wanted[0].Storage, table: wanted[0].Table, confirm: true}
		for _, w := range wanted {
			if _, conflict := t.overlapping(w.TenantID, []tenancy.Claim{w}); conflict != nil {
				return claimChange{}, conflict
			}
			has, err := t.has(w)
			if err != nil {
				return claimChange{}, err
			}
			if !has {
				change.add = append(change.add, w)
			}
		}
		return change, nil
	})
}
