package tenantctl

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/spf13/pflag"

	"github.com/aztenancy/terraform-provider-aztenancy/internal/migration"
	"github.com/aztenancy/terraform-provider-aztenancy/internal/tablestorage/pace"
	"github.com/aztenancy/terraform-provider-aztenancy/internal/tenantctl/ui"
)

// paceOptions are the flags of the commands that read and write entities at length.
type paceOptions struct {
	Rate          int64
	PauseFile     string
	MetricsListen string
	NeighbourP99  time.Duration
	untuned       bool // does not follow tenantctl tune: what undoes a paused move must not be paused by it
}

func (o *paceOptions) addFlags(f *pflag.FlagSet) {
	f.Int64Var(&o.Rate, "rate", 0, "entities a second that are read, and that are written, at most; 0 is no limit but the service's")
	f.StringVar(&o.PauseFile, "pause-file", "", "pause while there is a `FILE` of this name")
	f.StringVar(&o.MetricsListen, "metrics-listen", "", "serve metrics for Prometheus at http://`ADDRESS`/metrics, such as 127.0.0.1:0")
}

func (o *paceOptions) addNeighbourFlag(f *pflag.FlagSet) {
	f.DurationVar(&o.NeighbourP99, "max-neighbour-p99", 0,
		"slow down while other tenants' point reads in a shared table have a p99 beyond `TIME`, such as 50ms")
}

func (o *paceOptions) check() error {
	switch {
	case o.Rate < 0:
		return fmt.Errorf("--rate %d: it is a number of entities a second, or 0", o.Rate)
	case o.NeighbourP99 < 0:
		return fmt.Errorf("--max-neighbour-p99 %v: it is a time", o.NeighbourP99)
	}
	return nil
}

// paced is a command at work under a pacer. Its goroutines end with Close.
type paced struct {
	services services // whose tables are paced
	progress *pacedProgress
	options  paceOptions
	pacer    *pace.Pacer

	stop    context.CancelFunc
	running sync.WaitGroup
	once    sync.Once
}

// startPaced opens the configuration and starts what watches over the pace.
func (env *environment) startPaced(ctx context.Context, o paceOptions) (*paced, error) {
	if err := o.check(); err != nil {
		return nil, &usageError{err, "tenantctl"}
	}
	services, err := env.open()
	if err != nil {
		return nil, err
	}
	p := &paced{options: o, pacer: pace.New(nil)}
	p.pacer.SetRate(float64(o.Rate))
	services.accounts = services.accounts.Paced(p.pacer)
	p.services = services
	ctx, p.stop = context.WithCancel(context.WithoutCancel(ctx))
	p.progress = newPacedProgress(env.progress(), p.pacer)
	if o.MetricsListen != "" {
		if err := p.serveMetrics(ctx); err != nil {
			p.Close()
			return nil, &configError{err}
		}
	}
	p.lookForPauseFile()
	p.running.Go(func() { p.watch(ctx) })
	return p, nil
}

// engine returns the mover at this pace.
func (p *paced) engine() *migration.Engine {
	e := p.services.engine(p.progress)
	if !p.options.untuned {
		e.Pacer, e.MaxNeighbourP99 = p.pacer, p.options.NeighbourP99
	}
	return e
}

// Close ends the progress and waits for the goroutines. It may be called again.
func (p *paced) Close() {
	p.once.Do(func() {
		p.stop()
		p.running.Wait()
		p.progress.Close()
	})
}

// watchInterval is how often the pause file is looked for and the status line's reason is brought up to date.
const watchInterval = 500 * time.Millisecond

func (p *paced) watch(ctx context.Context) {
	ticker := time.NewTicker(watchInterval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			p.lookForPauseFile()
			p.progress.refresh()
		}
	}
}

// lookForPauseFile pauses while the pause file is there. One that cannot be looked at is taken to be there: somebody wants
// something.
func (p *paced) lookForPauseFile() {
	if p.options.PauseFile == "" {
		return
	}
	reason := ""
	if _, err := os.Stat(p.options.PauseFile); !errors.Is(err, os.ErrNotExist) {
		reason = fmt.Sprintf("the pause file %s to be removed", p.options.PauseFile)
	}
	p.pacer.Pause("pause file", reason)
}

// pacedProgress shows what the work waits for, and where that is nothing, what the pacer holds it back for. It counts
// for the metrics.
type pacedProgress struct {
	ui.Progress
	pacer *pace.Pacer

	mu     sync.Mutex
	reason string // the work's own
	phase  string
	done   map[string]int64 // entities, by phase
}

func newPacedProgress(inner ui.Progress, p *pace.Pacer) *pacedProgress {
	return &pacedProgress{Progress: inner, pacer: p, done: map[string]int64{}}
}

// Phase begins a phase.
func (p *pacedProgress) Phase(name string) {
	p.mu.Lock()
	p.phase = name
	p.mu.Unlock()
	p.Progress.Phase(name)
	p.refresh()
}

// Advance counts entities.
func (p *pacedProgress) Advance(n int64) {
	p.mu.Lock()
	p.done[p.phase] += n
	p.mu.Unlock()
	p.Progress.Advance(n)
}

// Waiting says why nothing moves.
func (p *pacedProgress) Waiting(reason string) {
	p.mu.Lock()
	p.reason = reason
	p.mu.Unlock()
	p.refresh()
}

// refresh shows the reason that holds now.
func (p *pacedProgress) refresh() {
	p.mu.Lock()
	reason := p.reason
	p.mu.Unlock()
	if reason == "" {
		reason = p.pacer.Reason()
	}
	p.Progress.Waiting(reason)
}
