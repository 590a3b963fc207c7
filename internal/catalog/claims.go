package catalog

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/aztenancy/terraform-provider-aztenancy/internal/edm"
	"github.com/aztenancy/terraform-provider-aztenancy/internal/tablestorage"
	"github.com/aztenancy/terraform-provider-aztenancy/internal/tenancy"
)

// The row keys of a claim partition.
const (
	claimHead      = "head"
	claimRowPrefix = "range|"
)

// claimPartition returns the partition of a physical table's claims. The service does not tell letter case in table
// names, so the name is in lower case.
func claimPartition(storage, table string) string {
	return claimPrefix + tenancy.EncodeKey(storage) + "|" + strings.ToLower(table)
}

// claimKey returns the key of a claim's row. Ranges of one table do not overlap, and each begins with a whole
// partition, so the first PartitionKey tells them apart and keeps them in order.
func claimKey(c tenancy.Claim) edm.Key {
	return edm.Key{PartitionKey: claimPartition(c.Storage, c.Table), RowKey: claimRowPrefix + c.Range.First.PartitionKey}
}

func isClaimRow(r row) bool { return strings.HasPrefix(r.e.RowKey, claimRowPrefix) }

func encodeClaim(c tenancy.Claim) (*edm.Entity, error) {
	k := claimKey(c)
	w := newRow(k.PartitionKey, k.RowKey)
	w.text("TenantId", c.TenantID)
	w.text("Key", c.TenantKey)
	w.text("Logical", c.Logical)
	w.text("Storage", c.Storage)
	w.text("TableName", c.Table)
	w.json("Range", c.Range)
	return w.finish(fmt.Sprintf("claim of tenant %q on %v in table %s", c.TenantID, c.Range, c.Table))
}

func decodeClaim(r row) (tenancy.Claim, error) {
	c := tenancy.Claim{TenantID: r.text("TenantId"), TenantKey: r.text("Key"), Logical: r.text("Logical"),
		Storage: r.text("Storage"), Table: r.text("TableName")}
	r.json("Range", &c.Range)
	return c, r.failure()
}

// Claim takes all claims of a tenant, one physical table after the other, each in one transaction that the head row's
// ETag guards: of two that want overlapping ranges at once, one wins and the other gets a *ClaimConflictError. Claims that
// the tenant has already are confirmed. In a table that is being dropped nobody can claim: *TableDroppingError. After an error those on some tables may have been taken; the same call goes on.
//
// The tenant's row must exist: claims of a tenant without one are abandoned, and give way to the first who wants the
// range. Provisioner therefore writes the row before it claims, and removes it after it released.
func (c *Catalog) Claim(ctx context.Context, tenantID string, claims []tenancy.Claim) error {
	return c.eachTable(ctx, tenantID, claims, c.claimInTable)
}

// CheckClaims says, without changing anything, whether Claim would be a *ClaimConflictError now.
func (c *Catalog) CheckClaims(ctx context.Context, tenantID string, claims []tenancy.Claim) error {
	return c.eachTable(ctx, tenantID, claims, func(ctx context.Context, t *claimTable, id string, wanted []tenancy.Claim) error {
		_, err := c.contested(ctx, t, id, wanted)
		return err
	})
}

// Release gives claims of a tenant back. Claims that it does not have are passed over.
func (c *Catalog) Release(ctx context.Context, tenantID string, claims []tenancy.Claim) error {
	return c.release(ctx, tenantID, claims, func(context.Context) error { return nil })
}

// releaseOf gives claims of a record back that is about to be deleted, as long as the tenant's row is still that record:
// ErrChanged or ErrNotFound if not. The row is read after the claims. So a tenant that was created anew in the meantime
// keeps its claims: either its row is seen, or its claims have changed the head row on which the release depends.
func (c *Catalog) releaseOf(ctx context.Context, rec TenantRecord, claims []tenancy.Claim) error {
	return c.release(ctx, rec.ID, claims, func(ctx context.Context) error { return c.still(ctx, rec) })
}

func (c *Catalog) release(ctx context.Context, tenantID string, claims []tenancy.Claim, still func(context.Context) error) error {
	return c.eachTable(ctx, tenantID, claims, func(ctx context.Context, t *claimTable, id string, given []tenancy.Claim) error {
		return c.releaseInTable(ctx, t, id, given, still)
	})
}

// Claims reads the claims on a physical table in key order.
func (c *Catalog) Claims(ctx context.Context, storage, table string) ([]tenancy.Claim, error) {
	t := c.claimTable(claimPartition(storage, table))
	if err := t.lock(ctx); err != nil {
		return nil, err
	}
	defer t.unlock()
	if err := c.loadClaims(ctx, t); err != nil {
		return nil, err
	}
	return slices.Clone(t.held), nil
}

// ClaimAt reads the claim that begins where c begins, whoever holds it and wherever it ends; ErrNotFound. As claims on one
// table never overlap, a claim of the same tenant on the same range means that nobody else has a key in it.
func (c *Catalog) ClaimAt(ctx context.Context, claim tenancy.Claim) (tenancy.Claim, error) {
	r, err := c.get(ctx, claimKey(claim), fmt.Sprintf("the claim on %v in %s", claim.Range, tableOf([]tenancy.Claim{claim})))
	if err != nil {
		return tenancy.Claim{}, err
	}
	return decodeClaim(r)
}

// eachTable hands the claims to do, by physical table in order. That order is what makes exactly one of two
// tenants win that meet in several tables: the first table where they meet decides.
func (c *Catalog) eachTable(ctx context.Context, tenantID string, claims []tenancy.Claim,
	do func(context.Context, *claimTable, string, []tenancy.Claim) error) error {
	byTable, order := groupByTable(claims)
	for _, pk := range order {
		t := c.claimTable(pk)
		if err := t.lock(ctx); err != nil {
			return err
		}
		err := do(ctx, t, tenantID, byTable[pk])
		t.unlock()
		if err != nil {
			return err
		}
	}
	return nil
}

// claimInTable takes a tenant's claims on one physical table.
func (c *Catalog) claimInTable(ctx context.Context, t *claimTable, tenantID string, wanted []tenancy.Claim) error {
	what := fmt.Sprintf("claim %s for tenant %q", tableOf(wanted), tenantID)
	return c.changeClaims(ctx, t, what, func(ctx context.Context) (claimChange, error) {
		abandoned, err := c.contested(ctx, t, tenantID, wanted)
		if err != nil {
			return claimChange{}, err
		}
		change := claimChange{storage: wanted[0].Storage, table: wanted[0].Table, remove: abandoned, confirm: true}
		for _, w := range wanted {
			w.TenantID = tenantID
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

// releaseInTable gives a tenant's claims on one physical table back, unless still says no.
func (c *Catalog) releaseInTable(ctx context.Context, t *claimTable, tenantID string, given []tenancy.Claim, still func(context.Context) error) error {
	what := fmt.Sprintf("release %s from tenant %q", tableOf(given), tenantID)
	return c.changeClaims(ctx, t, what, func(ctx context.Context) (claimChange, error) {
		change := claimChange{storage: given[0].Storage, table: given[0].Table}
		for _, g := range given {
			g.TenantID = tenantID
			if has, err := t.has(g); err == nil && has {
				change.remove = append(change.remove, g)
			}
		}
		if len(change.remove) > 0 {
			return change, still(ctx)
		}
		return change, nil
	})
}

func tableOf(claims []tenancy.Claim) string {
	return fmt.Sprintf("table %s of storage account %s", claims[0].Table, claims[0].Storage)
}

// contested returns the abandoned claims that wanted ones would displace, or a *ClaimConflictError for one that is not
// abandoned, or a *TableDroppingError. What is remembered of the table is read again before it says no.
func (c *Catalog) contested(ctx context.Context, t *claimTable, tenantID string, wanted []tenancy.Claim) ([]tenancy.Claim, error) {
	fresh := !t.loaded
	for {
		if !t.loaded {
			if err := c.loadClaims(ctx, t); err != nil {
				return nil, err
			}
		}
		displaced, conflict := t.overlapping(tenantID, wanted)
		dropping := c.dropping(t, wanted)
		if conflict == nil && dropping == nil {
			return nil, nil
		}
		if !fresh {
			fresh, t.loaded = true, false
			continue
		}
		if dropping != nil {
			return nil, dropping
		}
		for _, held := range displaced {
			gone, err := c.abandoned(ctx, held.TenantID)
			if err != nil {
				return nil, err
			}
			if !gone {
				return nil, conflict
			}
		}
		return displaced, nil
	}
}

// headRow returns the head row of a claim partition as a change makes it.
func (t *claimTable) headRow(change claimChange) (*edm.Entity, error) {
	w := newRow(t.partition, claimHead)
	w.text("Storage", change.storage)
	w.text("TableName", change.table)
	w.int64("Changes", t.changes+1)
	intents := t.drops
	if change.drops != nil {
		intents = *change.drops
	}
	if len(intents) > 0 {
		w.json("Drops", intents)
	}
	return w.finish("the claims on table " + change.table)
}

// operations returns the transaction of a change: first the head row on condition of its ETag, then the claims.
func (c *Catalog) operations(t *claimTable, change claimChange) ([]tablestorage.Operation, error) {
	head, err := t.headRow(change)
	if err != nil {
		return nil, err
	}
	c.stamp(head)
	ops := []tablestorage.Operation{{Kind: tablestorage.OpInsert, Entity: head}}
	if t.head != "" {
		ops[0] = tablestorage.Operation{Kind: tablestorage.OpReplace, Entity: head, ETag: t.head}
	}
	replaced := map[string]bool{} // a row may occur once in a transaction
	for _, claim := range change.add {
		e, err := encodeClaim(claim)
		if err != nil {
			return nil, err
		}
		c.stamp(e)
		op := tablestorage.Operation{Kind: tablestorage.OpInsert, Entity: e}
		for _, old := range change.remove {
			if claimKey(old) == claimKey(claim) {
				op, replaced[e.RowKey] = tablestorage.Operation{Kind: tablestorage.OpReplace, Entity: e, ETag: tablestorage.AnyETag}, true
			}
		}
		ops = append(ops, op)
	}
	for _, old := range change.remove {
		if k := claimKey(old); !replaced[k.RowKey] {
			ops = append(ops, tablestorage.Operation{Kind: tablestorage.OpDelete, Entity: &edm.Entity{PartitionKey: k.PartitionKey, RowKey: k.RowKey}, ETag: tablestorage.AnyETag})
		}
	}
	return ops, nil
}
