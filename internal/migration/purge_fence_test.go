package migration

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/aztenancy/terraform-provider-aztenancy/internal/catalog"
	"github.com/aztenancy/terraform-provider-aztenancy/internal/tablestorage"
)

// dropper is a command that comes to drop table Ownalpha.
type dropper struct {
	name  string
	setup func(w *world)
	run   func(context.Context, *Engine) (*Report, error)
}

func droppers() []dropper {
	return []dropper{
		{"purge", func(w *world) {
			w.start(40)
			for _, model := range []string{"own", "far"} {
				_, err := w.engine("setup").Run(w.t.Context(), "alpha", Target{Model: model}, Options{})
				must(w.t, err)
			}
		}, func(ctx context.Context, e *Engine) (*Report, error) { return e.Purge(ctx, "alpha", Options{}) }},
		{"abort", func(w *world) {
			w.start(40)
			_, err := killAt("switch: before intent", 1, w.engine("setup"), func(ctx context.Context, e *Engine) (*Report, error) {
				return e.Run(ctx, "alpha", Target{Model: "own"}, Options{})
			})
			if !errors.Is(err, errKilled) {
				w.t.Fatalf("not killed before the switch: %v", err)
			}
			w.later()
		}, func(ctx context.Context, e *Engine) (*Report, error) { return e.Abort(ctx, "alpha", Options{}) }},
	}
}

// A mover that slept before it dropped a table, while another finished its work and the tenant came to live there, leaves it.
func TestSleeperCannotDropATableThatIsLiveAgain(t *testing.T) {
	worlds := newWorlds(t, 2)
	for i, d := range droppers() {
		w := worlds[i]
		t.Run(d.name, func(t *testing.T) {
			d.setup(w)
			sleeper := w.pauseRunAt("drop: before table", 1, d.run)
			w.skew += 24 * time.Hour
			_, err := d.run(t.Context(), w.engine("other"))
			must(t, err)
			_, err = w.engine("third").Run(t.Context(), "alpha", Target{Model: "own"}, Options{})
			must(t, err)
			want := w.get(t, "alpha")
			if err := sleeper.awake(); !errors.Is(err, ErrLeaseLost) {
				t.Errorf("the sleeper ended with %v, want ErrLeaseLost", err)
			}
			w.wantAt(t, "alpha", "own", want)
			if len(want) != 40 {
				t.Errorf("%d orders", len(want))
			}
		})
	}
}

// A request to drop a table that is on its way cannot be called back. Until it is known to be over, nothing is put there.
func TestNobodyMovesToATableWhileARequestToDropItIsOnItsWay(t *testing.T) {
	worlds := newWorlds(t, 2)
	for i, d := range droppers() {
		w := worlds[i]
		t.Run(d.name, func(t *testing.T) {
			d.setup(w)
			want := w.get(t, "alpha")
			slow, there, release := w.onSlowWire(t)
			e := slow.engine("sleeper")
			e.LeaseTTL = 12 * time.Hour
			result := make(chan error, 1)
			go func() {
				_, err := d.run(context.Background(), e)
				result <- err
			}()
			select {
			case <-there:
			case err := <-result:
				t.Fatalf("the run ended before it dropped a table: %v", err)
			}
			w.skew += 24 * time.Hour
			_, err := d.run(t.Context(), w.engine("other"))
			must(t, err)
			var dropping *catalog.TableDroppingError
			_, err = w.engine("third").Run(t.Context(), "alpha", Target{Model: "own"}, Options{})
			if !errors.As(err, &dropping) || time.Until(dropping.Until) < 15*time.Minute {
				t.Errorf("moved meanwhile: %v", err)
			}
			close(release)
			if err := <-result; !errors.Is(err, ErrLeaseLost) {
				t.Errorf("the sleeper ended with %v, want ErrLeaseLost", err)
			}
			_, err = w.engine("third").Run(t.Context(), "alpha", Target{Model: "own"}, Options{})
			must(t, err)
			w.wantAt(t, "alpha", "own", want)
		})
	}
}

// slowWire holds the first request to drop a table until it is released.
type slowWire struct{ there, release chan struct{} }

func (s *slowWire) Do(r *http.Request) (*http.Response, error) {
	if r.Method == http.MethodDelete && strings.Contains(r.URL.Path, "/Tables(") {
		close(s.there)
		<-s.release
	}
	return http.DefaultClient.Do(r)
}

// onSlowWire returns a view of the world through a slowWire.
func (w *world) onSlowWire(t *testing.T) (view *world, there <-chan struct{}, release chan<- struct{}) {
	t.Helper()
	wire := &slowWire{make(chan struct{}), make(chan struct{})}
	accounts, err := tablestorage.NewAccounts(tablestorage.Config{
		Home:     tablestorage.AccountConfig{ConnectionString: w.server.ConnectionString(w.home)},
		Accounts: map[string]tablestorage.AccountConfig{"premium": {ConnectionString: w.server.ConnectionString(w.premium)}},
	}, &tablestorage.ClientOptions{Transport: wire})
	must(t, err)
	v := *w
	v.accounts, v.catalog = accounts, catalog.Open(accounts.Home(), accounts.CatalogTable())
	return &v, wire.there, wire.release
}

// pauseRunAt is pauseAt for any command.
func (w *world) pauseRunAt(point string, nth int, run func(context.Context, *Engine) (*Report, error)) *pausedRun {
	w.t.Helper()
	p := &pausedRun{wake: make(chan struct{}), result: make(chan error, 1)}
	there := make(chan struct{})
	e := w.engine("sleeper")
	e.LeaseTTL = 12 * time.Hour
	seen := 0
	e.fault = func(at string) bool {
		if at == point {
			if seen++; seen == nth {
				close(there)
				<-p.wake
			}
		}
		return false
	}
	go func() {
		_, err := run(context.Background(), e)
		p.result <- err
	}()
	select {
	case <-there:
	case err := <-p.result:
		w.t.Fatalf("the run ended before %s#%d: %v", point, nth, err)
	}
	return p
}
