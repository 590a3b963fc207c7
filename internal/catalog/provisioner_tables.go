package catalog

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/aztenancy/terraform-provider-aztenancy/internal/tablestorage"
	"github.com/aztenancy/terraform-provider-aztenancy/internal/tenancy"
)

// checkTables refuses a shared table that is absent and a dedicated one that holds entities. It only reads.
func (p *Provisioner) checkTables(ctx context.Context, plan tenantPlan) error {
	t := plan.tenant
	for _, logical := range t.Placement.LogicalTables() {
		tp := t.Placement[logical]
		seen := tp.Storage + "/" + strings.ToLower(tp.Table)
		if _, ok := p.shared.Load(seen); ok && !tp.Dedicated {
			continue
		}
		table, err := p.Accounts.At(tp)
		if err != nil {
			return err
		}
		_, exists, err := table.Client().TableExists(ctx, tp.Table)
		switch {
		case err != nil:
			return fmt.Errorf("%s: look up table %s: %w", tenantName(t.ID), tp.Table, err)
		case !tp.Dedicated && !exists:
			return fmt.Errorf("%s: table %s of model %q does not exist in account %q: create it first; it is shared, so no tenant creates it",
				tenantName(t.ID), tp.Table, t.Model, tp.Account)
		case !tp.Dedicated:
			p.shared.Store(seen, true)
		case exists && !plan.adopt:
			if err := p.checkEmpty(ctx, t.ID, tp, "It was not created for this tenant. Adopt it explicitly if the entities are the tenant's, or choose another table name in the model"); err != nil {
				return err
			}
		}
	}
	return nil
}

// createTables creates the dedicated tables of a tenant that are not there yet.
func (p *Provisioner) createTables(ctx context.Context, rec TenantRecord) error {
	for _, logical := range rec.Placement.LogicalTables() {
		tp := rec.Placement[logical]
		if !tp.Dedicated {
			continue
		}
		table, err := p.Accounts.At(tp)
		if err != nil {
			return err
		}
		_, err = table.Client().CreateTable(ctx, tp.Table)
		if errors.Is(err, tablestorage.ErrTableBeingDeleted) {
			return fmt.Errorf("%s: table %s is still being deleted, which can take the service a minute; run the same again then: %w", tenantName(rec.ID), tp.Table, err)
		}
		if err != nil {
			return fmt.Errorf("%s: create table %s in account %q: %w", tenantName(rec.ID), tp.Table, tp.Account, err)
		}
	}
	return nil
}

// owned is the range of a physical table that belongs to the tenant: all of a dedicated one, its own range of a shared one.
func owned(tp tenancy.TablePlacement) tenancy.KeyRange {
	if tp.Dedicated {
		return tenancy.WholeTable()
	}
	return tp.Range
}

// checkEmpty returns a *NotEmptyError if the tenant's part of a table holds an entity. An absent table holds none.
func (p *Provisioner) checkEmpty(ctx context.Context, tenantID string, tp tenancy.TablePlacement, way string) error {
	table, err := p.Accounts.At(tp)
	if err != nil {
		return err
	}
	r := owned(tp)
	q := tablestorage.Query{Range: &r, Select: []string{"PartitionKey", "RowKey"}, PageSize: 1}
	for _, err := range table.Query(ctx, q) {
		if errors.Is(err, tablestorage.ErrTableNotFound) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("%s: look into table %s: %w", tenantName(tenantID), tp.Table, err)
		}
		place := fmt.Sprintf("%v of table %s in storage account %s", r, tp.Table, tp.Storage)
		if r.IsWholeTable() {
			place = fmt.Sprintf("table %s in storage account %s", tp.Table, tp.Storage)
		}
		return &NotEmptyError{TenantID: tenantID, Place: place, Way: way}
	}
	return nil
}

// clear removes a tenant's part of a table: it drops a dedicated one, and deletes from a shared one what lies in the
// tenant's range and nothing else. It does so only for as long as the tenant's row is the given record.
func (p *Provisioner) clear(ctx context.Context, rec TenantRecord, tp tenancy.TablePlacement) error {
	table, err := p.Accounts.At(tp)
	if err != nil {
		return err
	}
	still := func(ctx context.Context) error { return p.Catalog.still(ctx, rec) }
	if tp.Dedicated {
		err = p.Catalog.DropTable(ctx, table, rec.ID, time.Now().Add(dropTime), still, still)
	} else {
		err = deleteRange(ctx, table, tp.Range, still)
	}
	if err != nil && !errors.Is(err, tablestorage.ErrTableNotFound) {
		return fmt.Errorf("%s: remove %v from table %s of storage account %s: %w", tenantName(rec.ID), owned(tp), tp.Table, tp.Storage, err)
	}
	return nil
}

// maxSweeps is how often deleteRange reads a range in which entities keep changing.
const maxSweeps = 10

// deleteRange deletes all entities of a range, each in the version that was read, and asks still before each transaction:
// a process that slept while others finished its work must not delete what the range holds now.
func deleteRange(ctx context.Context, t *tablestorage.Table, r tenancy.KeyRange, still func(context.Context) error) error {
	for range maxSweeps {
		changed, err := sweep(ctx, t, r, still)
		if err != nil || !changed {
			return err
		}
	}
	return fmt.Errorf("entities of %v in table %s are still being written: %w", r, t.Name(), ErrChanged)
}

// sweep is one pass of deleteRange. changed says that an entity was written between its being read and deleted.
func sweep(ctx context.Context, t *tablestorage.Table, r tenancy.KeyRange, still func(context.Context) error) (changed bool, err error) {
	w := tablestorage.NewBatchWriter(t)
	w.BeforeSend = still
	w.Resolve = func(_ context.Context, ops []tablestorage.Operation, refused *tablestorage.Error) ([]tablestorage.Operation, error) {
		newer := errors.Is(refused, tablestorage.ErrConditionNotMet)
		if !newer && !errors.Is(refused, tablestorage.ErrNotFound) || refused.Index < 0 || refused.Index >= len(ops) {
			return nil, refused
		}
		changed = changed || newer
		return append(ops[:refused.Index:refused.Index], ops[refused.Index+1:]...), nil
	}
	for e, err := range t.Query(ctx, tablestorage.Query{Range: &r, Select: []string{"PartitionKey", "RowKey"}}) {
		if err != nil {
			return false, err
		}
		if !r.Contains(e.Key()) { // whatever the service answers, nothing outside of the range is deleted
			return false, fmt.Errorf("the service returned the key %q for a query of %v", e.Key(), r)
		}
		if err := w.Add(ctx, tablestorage.Operation{Kind: tablestorage.OpDelete, Entity: e, ETag: e.ETag}); err != nil {
			return false, err
		}
	}
	err = w.Flush(ctx)
	return changed, err
}
