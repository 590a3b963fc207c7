package migration

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/aztenancy/terraform-provider-aztenancy/internal/edm"
	"github.com/aztenancy/terraform-provider-aztenancy/internal/tablestorage"
	"github.com/aztenancy/terraform-provider-aztenancy/internal/tenancy"
)

// application is a tenant's application: writers that follow the catalog. Before each write they read the tenant's row, and
// write only where it is active. What was acknowledged stands in orders.
type application struct {
	w    *world
	id   string
	gate sync.RWMutex // held for reading from the look at the catalog to the answer of the write
	stop chan struct{}
	done sync.WaitGroup

	mu     sync.Mutex
	orders map[edm.Key]string // as world.get shows them
	acked  int
	paused int // looks at the catalog that found no active tenant
	err    error
}

// live starts an application with so many writers on tenant alpha, which holds the given orders.
func (w *world) live(t testing.TB, list []*edm.Entity, writers int) *application {
	t.Helper()
	a := &application{w: w, id: "alpha", stop: make(chan struct{}), orders: image(list)}
	for n := range writers {
		a.done.Go(func() { a.write(n, list) })
	}
	t.Cleanup(func() { a.end() })
	return a
}

// drained is what a mover's drain waits for: every write that began before the freeze was noticed has been answered.
func (a *application) drained(context.Context) error {
	a.gate.Lock()
	defer a.gate.Unlock()
	return nil
}

// engine returns a mover that knows when the application has noticed a freeze.
func (a *application) engine(name string) *Engine {
	e := a.w.engine(name)
	e.drained = a.drained
	return e
}

func (a *application) end() {
	select {
	case <-a.stop:
	default:
		close(a.stop)
	}
	a.done.Wait()
}

// count is how many writes were acknowledged.
func (a *application) count() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.acked
}

// await returns when so many more writes were acknowledged.
func (a *application) await(t testing.TB, more int) {
	t.Helper()
	for want := a.count() + more; a.count() < want; {
		select {
		case <-a.stop:
			t.Fatalf("the application stopped: %v", a.err)
		case <-time.After(time.Millisecond):
		}
		if a.failed() != nil {
			t.Fatalf("the application: %v", a.failed())
		}
	}
}

func (a *application) failed() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.err
}

// write is one writer. It has the orders whose number has its own remainder to itself, and adds new ones.
func (a *application) write(n int, list []*edm.Entity) {
	r := rand.New(rand.NewPCG(uint64(n), 7))
	var mine []*edm.Entity
	for i, e := range list {
		if i%8 == n {
			mine = append(mine, e)
		}
	}
	for i := 0; ; i++ {
		select {
		case <-a.stop:
			return
		default:
		}
		e := order("", fmt.Sprintf("new-%d-%06d", n, i), i)
		if len(list) > 0 {
			e.PartitionKey = list[0].PartitionKey
		}
		kind := tablestorage.OpInsert
		if len(mine) > 0 && r.IntN(3) > 0 {
			at := r.IntN(len(mine))
			e = mine[at].Clone()
			kind = tablestorage.OpReplace
			if r.IntN(3) == 0 {
				kind = tablestorage.OpDelete
				mine = append(mine[:at], mine[at+1:]...)
			} else {
				e.Set("Int64", edm.Int64Value(int64(i)))
				e.Set("Text", edm.StringValue(fmt.Sprint("version ", i)))
				mine[at] = e
			}
		} else {
			mine = append(mine, e)
		}
		for {
			ok, err := a.one(kind, e)
			if err != nil {
				a.mu.Lock()
				a.err = errors.Join(a.err, err)
				a.mu.Unlock()
				return
			}
			if ok {
				break
			}
			select { // frozen: look again soon
			case <-a.stop:
				return
			case <-time.After(2 * time.Millisecond):
			}
		}
	}
}

// one makes a write where the catalog says, if the tenant may be written.
func (a *application) one(kind tablestorage.OpKind, e *edm.Entity) (bool, error) {
	a.gate.RLock()
	defer a.gate.RUnlock()
	ctx := context.Background()
	rec, err := a.w.catalog.Tenant(ctx, a.id)
	if err != nil {
		return false, err
	}
	if rec.State != tenancy.Active {
		a.mu.Lock()
		a.paused++
		a.mu.Unlock()
		return false, nil
	}
	p := rec.Placement["orders"]
	table, err := a.w.accounts.At(p)
	if err != nil {
		return false, err
	}
	stored := e.Clone()
	if stored.PartitionKey, err = p.Scheme.PartitionKey(p.Key, e); err != nil {
		return false, err
	}
	switch kind {
	case tablestorage.OpInsert:
		_, err = table.Insert(ctx, stored)
	case tablestorage.OpReplace:
		_, err = table.Replace(ctx, stored, tablestorage.AnyETag) // fails where an acknowledged write was lost
	default:
		err = table.Delete(ctx, stored.Key(), tablestorage.AnyETag)
	}
	if err != nil {
		return false, fmt.Errorf("%v %s in %s, state %s, model %s: %w", kind, keyText(stored.Key()), p.Table, rec.State, rec.Model, err)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.acked++
	if kind == tablestorage.OpDelete {
		delete(a.orders, nameOf(e.PartitionKey, e))
	} else {
		maps.Copy(a.orders, image([]*edm.Entity{e}))
	}
	return true, nil
}

// wantEverything stops the application and checks that the place which the catalog names holds what was acknowledged, and
// nothing else.
func (a *application) wantEverything(t *testing.T, model string) {
	t.Helper()
	a.end()
	if a.err != nil {
		t.Fatalf("the application: %v", a.err)
	}
	a.w.wantAt(t, a.id, model, a.orders)
}

// Nothing that the application was told is written is lost by a move, in whatever direction, and nothing that it deleted comes
// back.
func TestAcknowledgedWritesSurviveMovesInEveryDirection(t *testing.T) {
	routes := map[string][]string{
		"buckets":    {"pool", "own", "far", "own-7", "pool-tenant", "pool"},
		"partitions": {"pool-prefixed", "own-native", "pool-prefixed"},
	}
	for name, route := range routes {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			for _, id := range []string{"alph", "alpha", "alphaa"} {
				w.tenant(t, id, route[0])
			}
			scheme := w.record(t, "alpha").Placement["orders"].Scheme
			list := orders(scheme, 1500)
			w.put(t, "alpha", list)
			for _, id := range []string{"alph", "alphaa"} {
				w.put(t, id, list[:5])
			}
			home := w.record(t, "alpha").Placement["orders"]
			others := outside(w.rows(t, home.Account, home.Table), home.Range)
			a := w.live(t, list, 3)
			for _, model := range route[1:] {
				a.await(t, 20)
				report, err := a.engine("mover").Run(t.Context(), "alpha", Target{Model: model}, Options{})
				must(t, err)
				if report.State != Switched || report.Verify.Result != ResultEqual || report.StragglerCount != 0 {
					t.Fatalf("report: %+v", report)
				}
				t.Logf("to %s: %+v, writes held for %.3f s", model, report.CaughtUp, report.FreezeFor)
				a.await(t, 20)
				_, err = a.engine("mover").Purge(t.Context(), "alpha", Options{AcceptMissing: 1 << 30})
				must(t, err)
			}
			a.wantEverything(t, route[len(route)-1])
			if d := cmp.Diff(others, outside(w.rows(t, home.Account, home.Table), home.Range)); d != "" {
				t.Fatalf("rows of other tenants (-before +after):\n%s", d)
			}
		})
	}
}

// TestAcknowledgedWritesSurviveAMoverKilledAnywhere kills a move at every fault point while the application writes, lets it
// write on, and lets another mover finish.
func TestAcknowledgedWritesSurviveAMoverKilledAnywhere(t *testing.T) {
	counts := map[string]int{}
	move := func(ctx context.Context, e *Engine) (*Report, error) {
		return e.Run(ctx, "alpha", Target{Model: "own"}, Options{Workers: 2})
	}
	start := func(t *testing.T, w *world) *application {
		list := w.start(130)
		return w.live(t, list, 2)
	}
	a := start(t, newWorld(t))
	e := a.engine("counter")
	e.fault = countingHook(func(p string) bool { counts[p]++; return false })
	_, err := move(t.Context(), e)
	must(t, err)
	a.wantEverything(t, "own")
	type kill struct {
		point string
		nth   int
	}
	var kills []kill
	for point, n := range counts {
		for _, nth := range uniq(1, (n+1)/2) {
			kills = append(kills, kill{point, nth})
		}
	}
	worlds := newWorlds(t, len(kills))
	for i, k := range kills {
		t.Run(fmt.Sprintf("%s#%d", k.point, k.nth), func(t *testing.T) {
			w := worlds[i]
			a := start(t, w)
			a.await(t, 5)
			_, err := killAt(k.point, k.nth, a.engine("first"), move)
			if err != nil && !errors.Is(err, errKilled) {
				t.Fatalf("the first run: %v", err)
			}
			if w.record(t, "alpha").State == tenancy.Active {
				a.await(t, 20)
			}
			w.later()
			_, err = move(t.Context(), a.engine("second"))
			if err != nil && !errors.Is(err, ErrNothingToDo) {
				t.Fatalf("the second run: %v", err)
			}
			a.await(t, 5)
			a.wantEverything(t, "own")
		})
	}
}

// An abort at any moment leaves the tenant where it is, with everything that was acknowledged, and nothing at the target: also
// of what changed at the source after it was copied.
func TestAbortOfAnOnlineMoveLeavesNothingBehind(t *testing.T) {
	points := []string{"copy: after list", "copy: before checkpoint", "catch up: before intent", "catch up: after list", "catch up: before seals hold",
		"hold: after intent", "tenant row: after swap", "sync: before seals hold", "verify: after intent", "switch: before intent"}
	worlds := newWorlds(t, len(points))
	for i, point := range points {
		t.Run(point, func(t *testing.T) {
			w := worlds[i]
			list := w.start(300)
			a := w.live(t, list, 2)
			a.await(t, 5)
			_, err := killAt(point, 1, a.engine("first"), func(ctx context.Context, e *Engine) (*Report, error) {
				return e.Run(ctx, "alpha", Target{Model: "own"}, Options{})
			})
			if !errors.Is(err, errKilled) {
				t.Fatalf("not killed: %v", err)
			}
			if w.record(t, "alpha").State == tenancy.Active {
				a.await(t, 20)
			}
			w.later()
			_, err = a.engine("second").Abort(t.Context(), "alpha", Options{})
			must(t, err)
			a.await(t, 5)
			a.wantEverything(t, "pool")
			if n := len(w.rows(t, "home", "Ownalpha")); n != 0 {
				t.Errorf("%d rows are left at the target", n)
			}
		})
	}
}

// holdingMove starts a move that holds and returns when it waits.
func (a *application) holdingMove(t *testing.T) (result chan error) {
	t.Helper()
	e := a.engine("holder")
	e.poll = time.Millisecond
	waits := make(chan struct{})
	var once sync.Once
	e.fault = func(point string) bool {
		if point == "hold: waiting" {
			once.Do(func() { close(waits) })
		}
		return false
	}
	result = make(chan error, 1)
	go func() {
		_, err := e.Run(context.Background(), "alpha", Target{Model: "own"}, Options{HoldCutover: true})
		result <- err
	}()
	select {
	case <-waits:
	case err := <-result:
		t.Fatalf("the move did not hold: %v", err)
	}
	return result
}

func TestHeldMoveWaitsForItsReleaseWhileTheTenantIsWritten(t *testing.T) {
	w := newWorld(t)
	list := w.start(300)
	a := w.live(t, list, 2)
	result := a.holdingMove(t)
	a.await(t, 50)
	if s, err := w.engine("viewer").Status(t.Context(), "alpha"); err != nil || s.State != tenancy.Active || s.Migrations[0].State != Holding {
		t.Fatalf("status: %+v, %v", s, err)
	}
	_, err := w.engine("operator").Release(t.Context(), "alpha")
	must(t, err)
	must(t, <-result)
	a.wantEverything(t, "own")
	if _, err := w.engine("operator").Release(t.Context(), "alpha"); !errors.Is(err, ErrNothingToDo) {
		t.Errorf("release of a move that is over: %v", err)
	}
}

// frozenFor makes a run stand still for longer than the freeze may last, at a fault point.
func frozenFor(e *Engine, point string) {
	now := time.Now
	skew := time.Duration(0)
	var mu sync.Mutex
	e.now = func() time.Time { mu.Lock(); defer mu.Unlock(); return now().Add(skew) }
	meddle(e, point, func() { mu.Lock(); skew = time.Minute; mu.Unlock() })
}

func TestFreezeThatTakesTooLongIsUndoneAndNothingIsLost(t *testing.T) {
	points := []string{"freeze: after outcome", "sync: after intent", "sync: after outcome", "verify: before intent"}
	worlds := newWorlds(t, len(points))
	for i, point := range points {
		t.Run(point, func(t *testing.T) {
			w := worlds[i]
			list := w.start(300)
			a := w.live(t, list, 2)
			e := a.engine("slow")
			e.LeaseTTL = time.Hour
			frozenFor(e, point)
			var limit *FreezeLimitError
			_, err := e.Run(t.Context(), "alpha", Target{Model: "own"}, Options{MaxFreeze: 20 * time.Second})
			if !errors.As(err, &limit) || !limit.Undone {
				t.Fatalf("got %v", err)
			}
			if rec := w.record(t, "alpha"); rec.State != tenancy.Active || rec.Model != "pool" {
				t.Fatalf("state %s, model %s", rec.State, rec.Model)
			}
			a.await(t, 20)
			w.later()
			_, err = a.engine("second").Run(t.Context(), "alpha", Target{Model: "own"}, Options{})
			must(t, err)
			a.wantEverything(t, "own")
		})
	}
}

// However long a move holds, the catalog keeps the seals and lists of its last pass alone.
func TestCatalogForgetsThePassesBeforeTheLast(t *testing.T) {
	w := newWorld(t)
	w.start(300)
	at := 0
	e := w.engine("mover")
	e.fault = countingHook(func(point string) bool {
		if point == "freeze: before intent" {
			for a := 1; a < 3; a++ {
				for _, name := range []string{targetSealName("orders", a, 0), sentName("orders", a, 0)} {
					for _, err := range w.catalog.ChunksOf(context.Background(), "alpha-000002", name) {
						must(t, err)
						at++
					}
				}
			}
		}
		return false
	})
	_, err := e.Run(t.Context(), "alpha", Target{Model: "own"}, Options{})
	must(t, err)
	kept := 0 // attempts: 1 the copy, 2 the pass before the freeze, 3 the pass under it, 4 the verification
	all, err := w.catalog.Chunks(t.Context(), "alpha-000002")
	must(t, err)
	for _, c := range all {
		for a := 1; a < 3; a++ {
			if strings.HasPrefix(c.Logical, fmt.Sprintf("sent%04d|", a)) || strings.HasPrefix(c.Logical, fmt.Sprintf("there%04d|", a)) {
				kept++
			}
		}
	}
	if at == 0 || kept != 0 {
		t.Errorf("%d rows before the freeze, %d of passes before the last at the end", at, kept)
	}
}
