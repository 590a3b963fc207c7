package migration

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/aztenancy/terraform-provider-aztenancy/internal/catalog"
)

// owner returns the name under which this mover holds leases.
func (e *Engine) owner() string {
	if e.Owner != "" {
		return e.Owner
	}
	host, err := os.Hostname()
	if err != nil {
		host = "unknown-host"
	}
	return fmt.Sprintf("%s/%d", host, os.Getpid())
}

func (e *Engine) leaseTTL() time.Duration {
	if e.LeaseTTL > 0 {
		return e.LeaseTTL
	}
	return DefaultLeaseTTL
}

func (e *Engine) clock() time.Time {
	if e.now != nil {
		return e.now()
	}
	return time.Now()
}

// acquire takes the lease of a migration. A lease that has not run out belongs to somebody: acquire waits while nobody
// renews it, and gives up with a *BusyError at once if dontWait, or when it sees a renewal. Whose clock is wrong
// takes a lease too early; that costs the other mover its run, and the guard rows keep the data safe.
func (e *Engine) acquire(ctx context.Context, rec catalog.MigrationRecord, dontWait bool) (catalog.MigrationRecord, error) {
	for {
		held := rec.Lease
		busy := &BusyError{TenantID: rec.TenantID, Migration: rec.ID, Owner: held.Owner, Expires: held.Expires}
		if wait := held.Expires.Sub(e.clock()); held.Owner != "" && wait > 0 {
			if dontWait {
				return rec, busy
			}
			again, err := e.watch(ctx, rec, wait)
			if err != nil {
				return rec, err
			}
			if !sameLease(again.Lease, held) && again.Lease.Owner != "" {
				busy.Owner, busy.Expires = again.Lease.Owner, again.Lease.Expires
				return rec, busy
			}
			rec = again
			if rec.Lease.Owner != "" && rec.Lease.Expires.After(e.clock()) {
				continue
			}
		}
		rec.Lease = catalog.Lease{Owner: e.owner(), Epoch: rec.Lease.Epoch + 1, Expires: e.clock().Add(e.leaseTTL())}
		taken, err := e.Catalog.UpdateMigration(ctx, rec)
		if err == nil {
			return taken, nil
		}
		if !errors.Is(err, catalog.ErrChanged) && !errors.Is(err, catalog.ErrUnclear) {
			return rec, fmt.Errorf("take the lease of migration %s: %w", rec.ID, err)
		}
		now, err := e.Catalog.Migration(ctx, rec.ID)
		if err != nil {
			return rec, fmt.Errorf("read migration %s: %w", rec.ID, err)
		}
		if sameLease(now.Lease, rec.Lease) {
			return now, nil // our own swap, whose answer was lost
		}
		rec = now
	}
}

// watch waits until a lease has run out or has changed hands or been renewed, and returns the record as it then is.
func (e *Engine) watch(ctx context.Context, rec catalog.MigrationRecord, wait time.Duration) (catalog.MigrationRecord, error) {
	e.progress().Waiting(fmt.Sprintf("the lease of %s on migration %s, last renewed until %s, to run out",
		rec.Lease.Owner, rec.ID, rec.Lease.Expires.UTC().Format(time.RFC3339)))
	defer e.progress().Waiting("")
	deadline := time.NewTimer(wait + 10*time.Millisecond)
	defer deadline.Stop()
	tick := time.NewTicker(max(wait/8, 10*time.Millisecond))
	defer tick.Stop()
	for {
		last := false
		select {
		case <-ctx.Done():
			return rec, context.Cause(ctx)
		case <-deadline.C:
			last = true
		case <-tick.C:
		}
		now, err := e.Catalog.Migration(ctx, rec.ID)
		if err != nil {
			return rec, fmt.Errorf("watch migration %s: %w", rec.ID, err)
		}
		if last || !sameLease(now.Lease, rec.Lease) {
			return now, nil
		}
	}
}

func sameLease(a, b catalog.Lease) bool {
	return a.Owner == b.Owner && a.Epoch == b.Epoch && a.Expires.Equal(b.Expires)
}
