package migration

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/aztenancy/terraform-provider-aztenancy/internal/catalog"
)

// run is one hold on one migration: from the lease taken to the lease given back.
type run struct {
	engine   *Engine
	catalog  *catalog.Catalog
	progress Progress
	j        *journal
	moves    []*tableMove
	guards   []*guards       // of the last pass of this run
	inUse    map[string]bool // logical tables whose source is the tenant's place again
	options  Options
	kill     context.CancelCauseFunc

	copied, transactions, retries atomic.Int64 // of this run, copied also of the runs before

	verified *VerifyReport // of this run, with all its examples
	found    []Straggler   // of this run
}

// errKilled is what fault points return: the run stops without tidying up, as a killed process does.
var errKilled = errors.New("killed at a fault point")

// tidyTime is how long a run that was told to stop may take to leave the catalog in order.
const tidyTime = 10 * time.Second

// at is a fault point. Production runs have none.
func (r *run) at(point string) error {
	if r.engine.fault == nil || !r.engine.fault(point) {
		return nil
	}
	err := fmt.Errorf("%w: %s", errKilled, point)
	r.kill(err)
	return err
}

// hold takes the migration's lease, calls work, and gives the lease back. The context that work gets ends when the
// lease is lost.
func (e *Engine) hold(ctx context.Context, rec catalog.MigrationRecord, o Options, work func(*run, context.Context) error) (*Report, error) {
	held, err := e.acquire(ctx, rec, o.DontWait)
	if err != nil && ctx.Err() != nil {
		return nil, &InterruptedError{TenantID: rec.TenantID, Migration: rec.ID, State: rec.State, Next: next(rec.Migration, rec.State), Cause: context.Cause(ctx)}
	}
	if err != nil {
		return nil, err
	}
	return e.with(ctx, held, o, func(r *run, ctx context.Context) error {
		if err := r.takeOver(ctx); err != nil {
			return err
		}
		return work(r, ctx)
	})
}

// with runs work under a lease that was just taken.
func (e *Engine) with(parent context.Context, rec catalog.MigrationRecord, o Options, work func(*run, context.Context) error) (*Report, error) {
	ctx, cancel := context.WithCancelCause(parent)
	defer cancel(nil)
	j, err := openJournal(ctx, e, rec, cancel)
	if err != nil {
		return nil, err
	}
	r := &run{engine: e, catalog: e.Catalog, progress: e.progress(), j: j, options: o, kill: cancel}
	if r.moves, err = e.tableMoves(rec.Source, rec.Target); err != nil {
		return nil, fmt.Errorf("migration %s: %w", rec.ID, err)
	}
	r.keepCount()
	var wg sync.WaitGroup
	alive, stop := context.WithCancel(ctx)
	wg.Go(func() { j.keepAlive(alive) })
	wg.Go(func() { r.followTuning(alive) })
	wg.Go(func() { r.watchNeighbours(alive) })
	err = work(r, ctx)
	stop()
	wg.Wait()
	return r.finish(parent, context.Cause(ctx), err)
}

// keepCount lets each write of the migration's row carry the counts along.
func (r *run) keepCount() {
	before := r.j.details()
	r.copied.Store(r.j.migration().Copied)
	r.j.carry = func(m *catalog.Migration, d *detail) {
		m.Copied = r.copied.Load()
		d.Transactions = before.Transactions + r.transactions.Load()
		d.Retries = before.Retries + r.retries.Load()
	}
}

// workers is how many key ranges are worked on at the same time.
func (r *run) workers() int {
	if r.options.Workers > 0 {
		return r.options.Workers
	}
	return DefaultWorkers
}

// finish leaves the catalog in order and says how the run ended.
func (r *run) finish(parent context.Context, cause, err error) (*Report, error) {
	if err != nil && cause != nil && errors.Is(err, context.Canceled) {
		err = cause // what ended the context says more than that it ended
	}
	if errors.Is(err, errKilled) || errors.Is(cause, errKilled) {
		return r.report(), err
	}
	if !errors.Is(err, ErrLeaseLost) {
		tidy, cancel := context.WithTimeout(context.WithoutCancel(parent), tidyTime)
		defer cancel()
		if rerr := r.j.release(tidy); rerr != nil && err == nil {
			r.progress.Note(fmt.Sprintf("The lease could not be given back and runs out by itself: %v.", rerr))
		}
	}
	report := r.report()
	if err != nil && parent.Err() != nil {
		err = &InterruptedError{TenantID: report.TenantID, Migration: report.Migration, State: report.State, Next: report.Next, Cause: context.Cause(parent)}
	}
	return report, err
}

// takeOver shuts an earlier mover of this migration out, so that nothing it still has in flight can hurt: its swap of
// the tenant's row fails because the row's ETag is new, its transactions at the target fail because their
// guard rows are gone.
func (r *run) takeOver(ctx context.Context) error {
	m := r.j.migration()
	if m.Lease.Epoch == 1 || ended(m.State) {
		return nil
	}
	for {
		t, err := r.catalog.Tenant(ctx, m.TenantID)
		if err != nil {
			return fmt.Errorf("read tenant %q: %w", m.TenantID, err)
		}
		if t.Migration != m.ID {
			break
		}
		_, err = r.catalog.UpdateTenant(ctx, t)
		if err == nil {
			break
		}
		if !errors.Is(err, catalog.ErrChanged) {
			return fmt.Errorf("shut earlier movers out of tenant %q: %w", m.TenantID, err)
		}
	}
	if err := r.at("take over: after tenant row"); err != nil {
		return err
	}
	if m.State != Planned && CanAbort(m.State) {
		return r.removeGuards(ctx, func(epoch int64) bool { return epoch != m.Lease.Epoch && epoch != gateEpoch })
	}
	return nil
}

// changeTenant changes the tenant's row, as one compare-and-swap that only the holder of the lease can win: the row is read,
// then the lease is confirmed, then the row is swapped on the ETag that was read. done says from the row as it
// stands that nothing is left to do; it decides after an unclear answer, too.
func (r *run) changeTenant(ctx context.Context, done func(catalog.TenantRecord) bool, change func(*catalog.TenantRecord) error) error {
	id := r.j.migration().TenantID
	t, err := r.catalog.Tenant(ctx, id)
	if err != nil {
		return fmt.Errorf("read tenant %q: %w", id, err)
	}
	if done(t) {
		return nil
	}
	if m := r.j.migration(); t.Migration != m.ID {
		return fmt.Errorf("tenant %q belongs to migration %q, not to %s: its row was edited; look at it before anything else", id, t.Migration, m.ID)
	}
	if err := change(&t); err != nil {
		return err
	}
	if err := r.j.confirm(ctx); err != nil {
		return err
	}
	if err := r.at("tenant row: before swap"); err != nil {
		return err
	}
	_, err = r.catalog.UpdateTenant(ctx, t)
	if err == nil {
		return r.at("tenant row: after swap")
	}
	if !errors.Is(err, catalog.ErrUnclear) && !errors.Is(err, catalog.ErrChanged) {
		return fmt.Errorf("change tenant %q: %w", id, err)
	}
	now, rerr := r.catalog.Tenant(ctx, id)
	if rerr != nil {
		return fmt.Errorf("change tenant %q: %w; and reading it back: %w", id, err, rerr)
	}
	if done(now) {
		return nil
	}
	return fmt.Errorf("change tenant %q: %w", id, err)
}
