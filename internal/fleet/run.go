package fleet

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/aztenancy/terraform-provider-aztenancy/internal/catalog"
	"github.com/aztenancy/terraform-provider-aztenancy/internal/migration"
	"github.com/aztenancy/terraform-provider-aztenancy/internal/tenancy"
)

// run is a worker's hold on one move: from the lease taken to the outcome written. Its context ends when it shall stop, or
// when the lease is lost; it is not that of Work, because a move that was released goes on to its end.
type run struct {
	*shift
	tenant string
	ctx    context.Context
	cancel context.CancelCauseFunc
	holds  chan struct{} // closed when the engine waits before the freeze
	once   sync.Once

	mu       sync.Mutex
	rec      catalog.EvacuationMoveRecord
	valid    time.Time // until when the lease is known to be ours, on the monotonic clock
	stopping bool
}

var (
	errStopped   = fmt.Errorf("the worker stops: %w", context.Canceled)
	errLeaseLost = errors.New("another worker took the move over")
)

// stop ends the run at a safe point, unless its tenant's writes may be held: then the way on is the shorter one.
func (r *run) stop() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.stopping = true
	if !r.rec.Released {
		r.cancel(errStopped)
	}
}

// run moves the tenant and writes down how that ended. Its error says that the catalog does not know it.
func (r *run) run(settings Settings) error {
	target := migration.Target{Model: r.rec.To, Account: r.rec.Account} // before the helpers write to rec
	var helpers sync.WaitGroup
	alive, end := context.WithCancel(r.ctx)
	helpers.Go(func() { r.keepAlive(alive) })
	helpers.Go(func() { r.cutOver(alive) })
	report, err := r.Mover.Run(r.ctx, r.tenant, target, settings.options(), &listener{run: r})
	end()
	helpers.Wait()
	if cause := context.Cause(r.ctx); errors.Is(cause, errLeaseLost) {
		r.Progress.Note(fmt.Sprintf("Tenant %s: %v.", r.tenant, cause))
		return nil // it is the other's to say
	}
	tidy, cancel := context.WithTimeout(context.WithoutCancel(r.ctx), tidyTime)
	defer cancel()
	return r.finish(tidy, report, err)
}

// judge says what a run has come to.
func (r *run) judge(report *migration.Report, err error) outcome {
	var straggled *migration.StragglersError
	var busy *migration.BusyError
	switch {
	case errors.As(err, &straggled), (err == nil || errors.Is(err, migration.ErrNothingToDo)) && report != nil && report.StragglerCount > 0:
		return wasViolated
	case err == nil, errors.Is(err, migration.ErrNothingToDo):
		return wasMoved
	case r.ctx.Err() != nil:
		return wasStopped
	case errors.As(err, &busy):
		return wasBusy
	case errors.Is(err, migration.ErrLeaseLost), r.temporary(err):
		return wasHindered
	}
	return hasFailed
}

// finish writes the outcome.
func (r *run) finish(ctx context.Context, report *migration.Report, err error) error {
	how := r.judge(report, err)
	res := result{}
	if report != nil {
		res = result{Migration: report.Migration, Entities: report.Entities, Freeze: report.FreezeFor}
	}
	if err != nil && how != wasMoved {
		res.Error = shorten(err.Error())
	}
	if how != wasMoved && how != wasViolated {
		t, terr := r.Catalog.Tenant(ctx, r.tenant)
		res.Held = terr == nil && t.State == tenancy.Frozen || terr != nil && !errors.Is(terr, catalog.ErrNotFound) && r.rec.Released
	}
	now := time.Now().UTC()
	state := ""
	_, cerr := change(ctx, r.Catalog, r.name, func(l *list) ([]int, error) {
		i := l.index(r.tenant)
		if i < 0 || l.moves[i].State != Moving || !sameHold(l.moves[i].Lease, r.rec.Lease) {
			return nil, nil // written before, without an answer; or taken over
		}
		l.end(i, how, res, now)
		state = l.moves[i].State
		return []int{i}, nil
	})
	if cerr != nil {
		return fmt.Errorf("tenant %q: its move ended (%s), which could not be written down: %w", r.tenant, how, cerr)
	}
	r.tell(state, res)
	return nil
}

// tell says how a run ended.
func (r *run) tell(state string, res result) {
	text := fmt.Sprintf("Tenant %s: %s", r.tenant, state)
	if state == Moved {
		text += fmt.Sprintf(" to %s, %d entities, writes held for %.1f s.", r.rec.To, res.Entities, res.Freeze)
	} else if res.Error != "" {
		text += ": " + res.Error
	}
	r.Progress.Note(text)
}

// maxErrorText is how much of an error a row keeps, in bytes.
const maxErrorText = 4096

func shorten(s string) string {
	if len(s) <= maxErrorText {
		return s
	}
	return s[:maxErrorText] + " …"
}

// sameHold says whether two leases are one worker's hold, renewed or not.
func sameHold(a, b catalog.Lease) bool { return a.Owner == b.Owner && a.Epoch == b.Epoch }

// keepAlive renews the lease until ctx ends; it ends the run when the lease is lost.
func (r *run) keepAlive(ctx context.Context) {
	tick := time.NewTicker(r.leaseTTL() / 3)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if err := r.renew(ctx); err != nil && ctx.Err() == nil && errors.Is(err, errLeaseLost) {
			r.cancel(err)
			return
		}
	}
}

// renew renews the lease once: errLeaseLost if it is another's, or was not renewed in time.
func (r *run) renew(ctx context.Context) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	start := time.Now()
	next := r.rec
	next.Lease.Expires = start.UTC().Add(r.leaseTTL())
	written, err := r.Catalog.RenewMove(ctx, r.name, next)
	if errors.Is(err, catalog.ErrChanged) || errors.Is(err, catalog.ErrUnclear) {
		now, rerr := r.Catalog.EvacuationMove(ctx, r.name, r.tenant)
		if rerr == nil && (now.State != Moving || !sameHold(now.Lease, r.rec.Lease)) {
			return fmt.Errorf("%w (%s)", errLeaseLost, now.Lease.Owner)
		}
		if rerr == nil {
			r.rec = now
		}
		return errors.Join(err, r.late())
	}
	if err != nil {
		return errors.Join(err, r.late())
	}
	r.rec, r.valid = written, start.Add(r.leaseTTL())
	return nil
}

// late is errLeaseLost once the lease has run out. The caller holds mu.
func (r *run) late() error {
	if time.Now().After(r.valid) {
		return fmt.Errorf("%w, or may have: the lease was not renewed in time", errLeaseLost)
	}
	return nil
}

// cutOver waits until the engine holds, then until the limits let the tenant's writes be held, and releases it.
func (r *run) cutOver(ctx context.Context) {
	select {
	case <-ctx.Done():
		return
	case <-r.holds:
	}
	tick := time.NewTicker(r.poll())
	defer tick.Stop()
	for {
		granted, err := r.grant(ctx)
		if granted {
			err = r.Mover.Release(ctx, r.tenant)
			if err == nil || errors.Is(err, migration.ErrNothingToDo) { // released before, by a worker that died then
				return
			}
		}
		if err != nil && ctx.Err() == nil {
			r.Progress.Note(fmt.Sprintf("Tenant %s: not released yet: %v", r.tenant, err))
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// grant asks for the right to hold the tenant's writes: under the head's compare-and-swap, so that no two workers give out
// the last place.
func (r *run) grant(ctx context.Context) (bool, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.rec.Released {
		return true, nil
	}
	if r.stopping {
		return false, nil
	}
	granted := false
	l, err := change(ctx, r.Catalog, r.name, func(l *list) ([]int, error) {
		granted = false
		i := l.index(r.tenant)
		if i < 0 || l.moves[i].State != Moving || !sameHold(l.moves[i].Lease, r.rec.Lease) || l.mayFreeze(i) != "" {
			return nil, nil
		}
		granted = true
		if l.moves[i].Released {
			return nil, nil
		}
		l.moves[i].Released = true
		return []int{i}, nil
	})
	if err != nil || !granted {
		return false, err
	}
	r.rec = l.moves[l.index(r.tenant)].EvacuationMoveRecord
	return true, nil
}

// listener is the Progress of one move. It passes remarks on, and notices that the engine waits for its release.
type listener struct{ run *run }

// holdPhase is the phase in which the engine waits for Release: the name of that step of the protocol.
const holdPhase = "hold"

// Phase notices the phase in which the engine waits.
func (l *listener) Phase(name string) {
	if name == holdPhase {
		l.run.once.Do(func() { close(l.run.holds) })
	}
}

// Total is not told: the evacuation counts tenants.
func (l *listener) Total(int64) {}

// Advance is not told.
func (l *listener) Advance(int64) {}

// Waiting is not told: the worker says for what it waits.
func (l *listener) Waiting(string) {}

// Note passes a remark on, with the tenant's name.
func (l *listener) Note(text string) {
	l.run.Progress.Note(fmt.Sprintf("Tenant %s: %s", l.run.tenant, text))
}
