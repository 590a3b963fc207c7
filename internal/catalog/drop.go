package catalog

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"time"

	"github.com/google/uuid"

	"github.com/aztenancy/terraform-provider-aztenancy/internal/tablestorage"
	"github.com/aztenancy/terraform-provider-aztenancy/internal/tenancy"
)

// The service drops a table unconditionally. A request that slept with its process, or that a network held back, would
// drop whatever has the name when it arrives: perhaps a tenant that came back meanwhile. So a table is dropped in three
// writes:
//
//	intent   the head row of the table's claims names the drop and the time from which its request is dead, on condition
//	         that nobody else has claims and that the one who drops still may
//	request  is signed and sent before its deadline, or not at all
//	outcome  the intent is taken out, if every try of the request got a definite answer
//
// While an intent stands, nobody can claim anything in that table, so nothing can be put there that the request could
// reach. An intent that was left behind, by a process that was killed or an answer that was lost, runs out by itself.
const (
	// dropTime is how long the request to drop a table may take, tries included.
	dropTime = time.Minute
	// deadAfter is how long after its deadline a request can no longer be carried out. The service refuses a request
	// whose signed date is 15 minutes old (Authorize with Shared Key); the rest is for clocks that differ. A SAS or an Entra
	// token dates no request: there it rests on connections that break within that time.
	deadAfter = 20 * time.Minute
	// tidyTime is how long it may take to take the intent out.
	tidyTime = 10 * time.Second
)

// drops are the intents of a table by their ids: until when nobody may claim.
type drops map[string]time.Time

// standing returns those that have not run out.
func (d drops) standing(now time.Time) drops {
	out := maps.Clone(d)
	maps.DeleteFunc(out, func(_ string, until time.Time) bool { return !now.Before(until) })
	return out
}

// TableDroppingError says that a request to drop a table may still be carried out, so that nobody can be given a part of
// it yet. It is an ErrInUse.
type TableDroppingError struct {
	Table   string
	Storage string // storage account
	Until   time.Time
}

func (e *TableDroppingError) Error() string {
	return fmt.Sprintf("table %s of storage account %s cannot be given to a tenant before %s: it is being dropped, or was dropped by a process that did not live to see the answer, "+
		"and a late request would drop what is put there. Run the same again then, or choose another table name in the model",
		e.Table, e.Storage, e.Until.UTC().Format(time.RFC3339))
}

// Is makes the error an ErrInUse.
func (e *TableDroppingError) Is(target error) bool { return target == ErrInUse }

// DropTable drops a table on which nobody but the tenant has claims; one that is gone is no error. still says whether the
// caller has the right to drop it; it is asked after the claims were read, and whoever claims after that makes the
// drop fail. last is the last look at the table, right before the request; where it fails nothing is sent. What somebody writes between the two
// is lost with the table, for the service drops on no condition. The request is not sent after deadline, and not later than a minute from now. Another tenant's claim is a
// *ClaimConflictError.
func (c *Catalog) DropTable(ctx context.Context, table *tablestorage.Table, tenantID string, deadline time.Time, still, last func(context.Context) error) error {
	storage, name := table.Client().AccountName(), table.Name()
	if latest := time.Now().Add(dropTime); latest.Before(deadline) {
		deadline = latest
	}
	id := uuid.NewString()
	if err := c.changeDrops(ctx, storage, name, func(ctx context.Context, t *claimTable) (drops, error) {
		all := tenancy.Claim{TenantID: tenantID, Storage: storage, Table: name, Range: tenancy.WholeTable()}
		if _, conflict := t.overlapping(tenantID, []tenancy.Claim{all}); conflict != nil {
			return nil, conflict
		}
		if err := still(ctx); err != nil {
			return nil, err
		}
		intents := t.drops.standing(c.now())
		if intents == nil {
			intents = drops{}
		}
		// On the catalog's clock, which may not be the one that the deadline runs by.
		intents[id] = c.now().Add(time.Until(deadline) + deadAfter).UTC()
		return intents, nil
	}); err != nil {
		return fmt.Errorf("drop table %s of storage account %s: %w", name, storage, err)
	}
	within, cancel := context.WithDeadline(ctx, deadline)
	settled, err := true, last(within)
	if err == nil {
		settled, err = table.Client().DropTable(within, name)
	}
	cancel()
	if errors.Is(err, tablestorage.ErrTableNotFound) || errors.Is(err, tablestorage.ErrTableBeingDeleted) {
		err = nil
	}
	if settled { // also when ctx has ended meanwhile: an intent that stays keeps the name from everybody
		tidy, cancel := context.WithTimeout(context.WithoutCancel(ctx), tidyTime)
		defer cancel()
		err = errors.Join(err, c.changeDrops(tidy, storage, name, func(_ context.Context, t *claimTable) (drops, error) {
			intents := t.drops.standing(c.now())
			delete(intents, id)
			return intents, nil
		}))
	}
	if err != nil {
		return fmt.Errorf("drop table %s of storage account %s: %w", name, storage, err)
	}
	return nil
}

// changeDrops changes the intents of a table in one compare-and-swap of its head row.
func (c *Catalog) changeDrops(ctx context.Context, storage, table string, change func(context.Context, *claimTable) (drops, error)) error {
	t := c.claimTable(claimPartition(storage, table))
	if err := t.lock(ctx); err != nil {
		return err
	}
	defer t.unlock()
	t.loaded = false
	return c.changeClaims(ctx, t, "record it in the catalog", func(ctx context.Context) (claimChange, error) {
		intents, err := change(ctx, t)
		return claimChange{storage: storage, table: table, drops: &intents, confirm: true}, err
	})
}

// dropping returns a *TableDroppingError if a request to drop the table may still be carried out.
func (c *Catalog) dropping(t *claimTable, wanted []tenancy.Claim) error {
	var last time.Time
	for _, until := range t.drops.standing(c.now()) {
		if until.After(last) {
			last = until
		}
	}
	if last.IsZero() || len(wanted) == 0 {
		return nil
	}
	return &TableDroppingError{Table: wanted[0].Table, Storage: wanted[0].Storage, Until: last}
}
