package catalog

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sort"
	"time"

	"github.com/aztenancy/terraform-provider-aztenancy/internal/edm"
	"github.com/aztenancy/terraform-provider-aztenancy/internal/tablestorage"
	"github.com/aztenancy/terraform-provider-aztenancy/internal/tenancy"
)

// maxClaimTries is how often a change of claims is tried while others change claims of the same table.
const maxClaimTries = 25

// claimTable is what is remembered of the claims on one physical table. It was true when the head row had the ETag
// head; a change succeeds only if it still has. So a thousand tenants need not read a thousand claims each.
// Its holder has the lock.
type claimTable struct {
	partition string
	sem       chan struct{} // of one: a lock that a context can give up

	loaded  bool
	head    string          // ETag of the head row, "" if there is none
	write   edm.Value       // its column Write: the change that made it
	changes int64           // its column Changes
	held    []tenancy.Claim // in order of their ranges, which do not overlap
	drops   drops           // its column Drops
}

// claimChange is one transaction on the claims of a table.
type claimChange struct {
	storage, table string
	add, remove    []tenancy.Claim
	drops          *drops // nil: they stay
	confirm        bool   // send it even if there is nothing to add or remove: the head row's ETag then proves what was remembered
}

func (c *Catalog) claimTable(partition string) *claimTable {
	c.mu.Lock()
	defer c.mu.Unlock()
	t, ok := c.claims[partition]
	if !ok {
		t = &claimTable{partition: partition, sem: make(chan struct{}, 1)}
		c.claims[partition] = t
	}
	return t
}

func (t *claimTable) lock(ctx context.Context) error {
	select {
	case t.sem <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (t *claimTable) unlock() { <-t.sem }

// loadClaims reads a claim partition.
func (c *Catalog) loadClaims(ctx context.Context, t *claimTable) error {
	t.head, t.write, t.changes, t.held, t.drops, t.loaded = "", edm.Value{}, 0, nil, nil, false
	err := c.scan(ctx, partition(t.partition), "", func(r row) error {
		if !isClaimRow(r) {
			t.head, t.write, t.changes = r.e.ETag, r.column(colWrite, edm.GUID, false), r.int("Changes", edm.Int64)
			if r.optionalText("Drops") != "" {
				r.json("Drops", &t.drops)
			}
			return r.failure()
		}
		claim, err := decodeClaim(r)
		t.held = append(t.held, claim)
		return err
	})
	if errors.Is(err, ErrNoCatalog) {
		return err
	}
	if err != nil {
		return fmt.Errorf("read claims: %w", err)
	}
	slices.SortFunc(t.held, tenancy.Claim.Compare)
	t.loaded = true
	return nil
}

// overlapping returns the claims of other tenants that overlap wanted ones, and the first such pair as an error.
func (t *claimTable) overlapping(tenantID string, wanted []tenancy.Claim) (held []tenancy.Claim, conflict error) {
	for _, w := range wanted {
		w.TenantID = tenantID
		for _, h := range t.neighbours(w) {
			if h.TenantID == tenantID {
				continue
			}
			if conflict == nil {
				conflict = &ClaimConflictError{Wanted: w, Held: h}
			}
			held = append(held, h)
		}
	}
	return held, conflict
}

// neighbours returns the claims that overlap c: a run of the ordered list, because claims do not overlap each other.
func (t *claimTable) neighbours(c tenancy.Claim) []tenancy.Claim {
	// The first claim that begins after the start of c; the one before it may reach into c.
	i := sort.Search(len(t.held), func(i int) bool { return t.held[i].Compare(c) > 0 })
	from, to := i, i
	for from > 0 && t.held[from-1].Range.Overlaps(c.Range) {
		from--
	}
	for to < len(t.held) && t.held[to].Range.Overlaps(c.Range) {
		to++
	}
	return t.held[from:to]
}

// has says whether the tenant holds exactly this claim. Another range of its own that overlaps it is an error.
func (t *claimTable) has(c tenancy.Claim) (bool, error) {
	for _, h := range t.neighbours(c) {
		switch {
		case h.TenantID != c.TenantID:
		case h.Range == c.Range:
			return true, nil
		default:
			return false, fmt.Errorf("tenant %q already holds %v in table %s of storage account %s, which overlaps %v: release it first, or use another table",
				c.TenantID, h.Range, c.Table, c.Storage, c.Range)
		}
	}
	return false, nil
}

// apply remembers a change that was made.
func (t *claimTable) apply(change claimChange, head string) {
	t.head, t.changes = head, t.changes+1
	if change.drops != nil {
		t.drops = *change.drops
	}
	t.held = slices.DeleteFunc(t.held, func(h tenancy.Claim) bool {
		return slices.ContainsFunc(change.remove, func(c tenancy.Claim) bool { return claimKey(c) == claimKey(h) })
	})
	for _, c := range change.add {
		i := sort.Search(len(t.held), func(i int) bool { return t.held[i].Compare(c) > 0 })
		t.held = slices.Insert(t.held, i, c)
	}
}

// changeClaims makes the change that plan asks for. Whenever the answer is a conflict or unclear, the partition is read
// again: if its head row comes from our change, that was made, else plan decides anew. A first try that is still on its
// way fails by the head row's ETag once a second one was made.
func (c *Catalog) changeClaims(ctx context.Context, t *claimTable, what string, plan func(context.Context) (claimChange, error)) error {
	unclear, fresh := 0, false
	var sent edm.Value
	for try := range maxClaimTries {
		if try > 1 { // the first conflict mostly means that what was remembered is old
			if err := pause(ctx); err != nil {
				return fmt.Errorf("%s: %w: %w", what, ErrUnclear, err)
			}
		}
		if !t.loaded {
			if err := c.loadClaims(ctx, t); err != nil {
				return fmt.Errorf("%s: %w", what, err)
			}
			if fresh = true; !sent.IsZero() && t.write == sent {
				return nil
			}
		}
		change, err := plan(ctx)
		if err != nil {
			return err
		}
		if len(change.add)+len(change.remove) == 0 && !change.confirm {
			if fresh {
				return nil
			}
			t.loaded = false // what is not remembered may have been claimed elsewhere
			continue
		}
		sent, err = c.submitClaims(ctx, t, change)
		if err == nil {
			return nil
		}
		t.loaded = false
		switch {
		case refused(err), errors.Is(err, tablestorage.ErrTableNotFound):
			return fmt.Errorf("%s: %w", what, c.noCatalog(err))
		case !contention(err):
			if unclear++; unclear == maxTries {
				return fmt.Errorf("%s: %w: %w", what, ErrUnclear, err)
			}
		}
	}
	return fmt.Errorf("%s: others kept changing the claims of that table: %w", what, ErrChanged)
}

// submitClaims sends one change, and remembers what it made of the table. It returns the change's id in any case.
func (c *Catalog) submitClaims(ctx context.Context, t *claimTable, change claimChange) (edm.Value, error) {
	ops, err := c.operations(t, change)
	if err != nil {
		return edm.Value{}, err
	}
	sent, _ := ops[0].Entity.Get(colWrite)
	etags, err := c.table.Submit(ctx, ops)
	if err == nil {
		t.write = sent
		t.apply(change, etags[0])
	}
	return sent, err
}

// contention says whether a change failed because another one came first.
func contention(err error) bool {
	return errors.Is(err, tablestorage.ErrConditionNotMet) || errors.Is(err, tablestorage.ErrExists) || errors.Is(err, tablestorage.ErrNotFound)
}

// pause waits a moment, so that those who change the same claims do not keep step.
func pause(ctx context.Context) error {
	timer := time.NewTimer(time.Duration(rand.Int64N(int64(100 * time.Millisecond))))
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// abandoned says whether claims of a tenant are left over: its row is written before the first claim and removed after the last.
func (c *Catalog) abandoned(ctx context.Context, tenantID string) (bool, error) {
	_, err := c.Tenant(ctx, tenantID)
	if errors.Is(err, ErrNotFound) {
		return true, nil
	}
	return false, err
}

// groupByTable sorts claims by the partition of their physical table.
func groupByTable(claims []tenancy.Claim) (map[string][]tenancy.Claim, []string) {
	byTable := map[string][]tenancy.Claim{}
	for _, c := range claims {
		pk := claimPartition(c.Storage, c.Table)
		byTable[pk] = append(byTable[pk], c)
	}
	order := make([]string, 0, len(byTable))
	for pk := range byTable {
		order = append(order, pk)
	}
	slices.Sort(order)
	return byTable, order
}
