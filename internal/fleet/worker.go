package fleet

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/aztenancy/terraform-provider-aztenancy/internal/catalog"
	"github.com/aztenancy/terraform-provider-aztenancy/internal/migration"
	"github.com/aztenancy/terraform-provider-aztenancy/internal/tenancy"
)

// Mover moves one tenant: a migration.Engine with a Progress of its own for each run.
type Mover interface {
	// Run is migration.Engine.Run. With Options.HoldCutover it enters the phase "hold" and stays there until Release.
	Run(ctx context.Context, tenantID string, to migration.Target, o migration.Options, p migration.Progress) (*migration.Report, error)
	// Release is migration.Engine.Release.
	Release(ctx context.Context, tenantID string) error
}

// Engines is the Mover that works: each run has a copy of this engine.
type Engines migration.Engine

// Run moves a tenant.
func (e Engines) Run(ctx context.Context, tenantID string, to migration.Target, o migration.Options, p migration.Progress) (*migration.Report, error) {
	engine := migration.Engine(e)
	engine.Progress = p
	return engine.Run(ctx, tenantID, to, o)
}

// Release lets a tenant's move go on to the freeze.
func (e Engines) Release(ctx context.Context, tenantID string) error {
	engine := migration.Engine(e)
	engine.Progress = nil
	_, err := engine.Release(ctx, tenantID)
	return err
}

// Defaults of Worker.
const (
	DefaultParallel = 4
	DefaultLeaseTTL = 20 * time.Second
	defaultPoll     = time.Second
)

// Worker takes tenants of an evacuation by lease and moves them. Its fields are set once, before first use.
type Worker struct {
	Catalog  *catalog.Catalog
	Mover    Mover
	Progress migration.Progress // hears of tenants: its counts are tenants, not entities
	// Temporary says whether an error goes away by itself, so that the move is tried again.
	Temporary func(error) bool
	// Owner names this worker in leases; "" means host name and process id. No two workers have one name.
	Owner string
	// Parallel is how many tenants this worker moves at a time; 0 means DefaultParallel.
	Parallel int
	// LeaseTTL is how long a lease lives without renewal; 0 means DefaultLeaseTTL.
	LeaseTTL time.Duration
	// Poll is how often the worker looks for what others did; 0 means a second.
	Poll time.Duration
}

func (w *Worker) leaseTTL() time.Duration {
	if w.LeaseTTL > 0 {
		return w.LeaseTTL
	}
	return DefaultLeaseTTL
}

func (w *Worker) poll() time.Duration {
	if w.Poll > 0 {
		return w.Poll
	}
	return defaultPoll
}

func (w *Worker) parallel() int {
	if w.Parallel > 0 {
		return w.Parallel
	}
	return DefaultParallel
}

func (w *Worker) owner() string {
	if w.Owner != "" {
		return w.Owner
	}
	host, err := os.Hostname()
	if err != nil {
		host = "unknown-host"
	}
	return fmt.Sprintf("%s/%d", host, os.Getpid())
}

// Work moves tenants of an evacuation until there is nothing left that it could do: all are moved, or it was stopped. When
// ctx ends it begins no other, lets moves that have not been released to their freeze end at a safe point, and the others
// at their end; then it returns ctx's error. It waits for all of its moves in any case.
func (w *Worker) Work(ctx context.Context, name string) (*Summary, error) {
	s := &shift{Worker: w, name: name, changed: make(chan struct{}, 1), runs: map[string]*run{}}
	err := s.work(ctx)
	s.stop()
	s.wait.Wait()
	end, cancel := context.WithTimeout(context.WithoutCancel(ctx), tidyTime)
	defer cancel()
	l, lerr := load(end, w.Catalog, name)
	if lerr != nil {
		return nil, errors.Join(err, s.failure(), lerr)
	}
	if err == nil {
		err = s.failure()
	}
	return l.summary(time.Now()), err
}

// tidyTime is how long it may take to write down how a run ended.
const tidyTime = 30 * time.Second

// shift is one call of Work.
type shift struct {
	*Worker
	name    string
	wait    sync.WaitGroup
	changed chan struct{} // something that this shift waits for may have happened

	mu   sync.Mutex
	runs map[string]*run // by tenant
	err  error           // the first that ended a run without the catalog knowing how
}

func (s *shift) failure() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err
}

func (s *shift) busy() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.runs)
}

// wake lets the loop look again.
func (s *shift) wake() {
	select {
	case s.changed <- struct{}{}:
	default:
	}
}

// work is the loop: begin what may be begun, then wait.
func (s *shift) work(ctx context.Context) error {
	s.Progress.Phase("evacuating")
	tick := time.NewTicker(s.poll())
	defer tick.Stop()
	told, blips := 0, 0
	for {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		l, why, err := s.beginAll(ctx)
		switch {
		case err != nil && ctx.Err() != nil:
			return context.Cause(ctx)
		case err != nil && s.temporary(err) && blips < maxBlips:
			blips++
			s.Progress.Waiting(fmt.Sprintf("the catalog: %v", err))
		case err != nil:
			return err
		default:
			blips = 0
			told = s.show(l, why, told)
			if l.head.State == Stopped {
				s.stop()
			}
			if s.busy() == 0 && l.over() {
				return nil
			}
		}
		if err := s.failure(); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
		case <-s.changed:
		case <-tick.C:
		}
	}
}

// maxBlips is how often in a row the catalog may fail for a reason that goes away by itself.
const maxBlips = 60

func (w *Worker) temporary(err error) bool { return w.Temporary != nil && w.Temporary(err) }

// show tells where the evacuation stands; told is how many moves were told of before.
func (s *shift) show(l *list, why string, told int) int {
	s.Progress.Total(int64(len(l.moves) - l.count(LeftOut)))
	made := l.count(Moved) + l.count(Violated)
	s.Progress.Advance(int64(made - told))
	s.Progress.Waiting(l.waiting(why, s.busy()))
	return made
}

// waiting says what a worker waits for whose own moves are busy in number.
func (l *list) waiting(why string, busy int) string {
	switch {
	case busy > 0:
		return ""
	case l.head.State == Declaring:
		return "the list to be complete; if nobody is writing it, run tenantctl evacuate again"
	case why != "":
		return why
	}
	for _, m := range l.moves {
		if m.State == Moving {
			return fmt.Sprintf("%d tenants under way elsewhere, such as %s by %s", l.count(Moving), m.TenantID, m.Lease.Owner)
		}
	}
	return ""
}

// beginAll begins moves until this worker or a limit is full, and returns the list as it then is, and why no other fits.
func (s *shift) beginAll(ctx context.Context) (*list, string, error) {
	for {
		var began int
		var why string
		l, err := change(ctx, s.Catalog, s.name, func(l *list) ([]int, error) {
			began = -1
			i, reason, err := s.choose(ctx, l)
			if err != nil || i < 0 {
				why = reason
				return nil, err
			}
			began = i
			l.begin(i, s.owner(), time.Now().UTC(), s.leaseTTL())
			return []int{i}, nil
		})
		if err != nil || began < 0 {
			return l, why, err
		}
		s.start(l.moves[began], l.d.Settings)
	}
}

// choose asks the list for a move, and looks once more at one that was not begun yet: its tenant may be under way by
// another's hand, and so hold its writes at once.
func (s *shift) choose(ctx context.Context, l *list) (int, string, error) {
	for {
		now := time.Now().UTC()
		if s.busy() >= s.parallel() {
			return l.stranded(now), "", nil
		}
		i, why := l.next(now)
		if i < 0 || l.moves[i].Attempts > 0 || l.moves[i].Released {
			return i, why, nil
		}
		t, err := s.Catalog.Tenant(ctx, l.moves[i].TenantID)
		if errors.Is(err, catalog.ErrNotFound) || err == nil && t.Migration == "" {
			return i, "", nil // the engine says what it thinks of a tenant that is gone
		}
		if err != nil {
			return -1, "", err
		}
		l.moves[i].Released, l.moves[i].Held = true, t.State == tenancy.Frozen
	}
}

// start runs a move that was begun.
func (s *shift) start(m move, settings Settings) {
	r := &run{shift: s, tenant: m.TenantID, rec: m.EvacuationMoveRecord, holds: make(chan struct{}), valid: time.Now().Add(s.leaseTTL())}
	r.ctx, r.cancel = context.WithCancelCause(context.Background())
	s.mu.Lock()
	s.runs[m.TenantID] = r
	s.mu.Unlock()
	s.wait.Go(func() {
		err := r.run(settings)
		r.cancel(nil)
		s.mu.Lock()
		delete(s.runs, m.TenantID)
		if err != nil && s.err == nil {
			s.err = err
		}
		s.mu.Unlock()
		s.wake()
	})
}

// stop lets the runs end that have not been released.
func (s *shift) stop() {
	s.mu.Lock()
	runs := make([]*run, 0, len(s.runs))
	for _, r := range s.runs {
		runs = append(runs, r)
	}
	s.mu.Unlock()
	for _, r := range runs {
		r.stop()
	}
}
