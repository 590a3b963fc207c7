package simulation

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"hash/crc32"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"

	"github.com/aztenancy/terraform-provider-aztenancy/internal/catalog"
	"github.com/aztenancy/terraform-provider-aztenancy/internal/edm"
	"github.com/aztenancy/terraform-provider-aztenancy/internal/migration"
	"github.com/aztenancy/terraform-provider-aztenancy/internal/tablestorage"
	"github.com/aztenancy/terraform-provider-aztenancy/internal/tenancy"
)

const (
	mover   = "alpha" // the tenant that moves
	logic   = "orders"
	ttl     = 2 * time.Second // for which writers go by what they read of the catalog
	atMost  = 4 * time.Second // that a writer's request may take: the service ends it, or the network
	maxSkew = 3 * time.Second // by which the clock of a partition is off
	drain   = 8 * time.Second // longer than a writer that follows the catalog can take: ttl + atMost
)

// models are what tenants move between.
var models = func() []tenancy.Model {
	byTenant := tenancy.KeyScheme{Kind: tenancy.SchemeTenant}
	buckets := func(n int) tenancy.KeyScheme {
		return tenancy.KeyScheme{Kind: tenancy.SchemeBucketed, Separator: "|", Buckets: n}
	}
	return []tenancy.Model{
		{Name: "pool", Kind: tenancy.SharedTable, Account: "home", Tables: map[string]string{logic: "Pool"}, KeyScheme: buckets(2)},
		{Name: "pool2", Kind: tenancy.SharedTable, Account: "home", Tables: map[string]string{logic: "Pool2"}, KeyScheme: byTenant},
		{Name: "own", Kind: tenancy.DedicatedTable, Account: "home", Tables: map[string]string{logic: "Own{tenant}"}, KeyScheme: byTenant},
		{Name: "far", Kind: tenancy.DedicatedAccount, Account: "premium", Tables: map[string]string{logic: "Far{tenant}"}, KeyScheme: buckets(3)},
	}
}()

// schedule is one run of the world. Equal schedules run alike.
type schedule struct {
	seed     uint64
	from, to string
	entities int     // that each tenant has at first
	writers  int     // that follow the catalog, for the tenant that moves
	actions  int     // of each writer
	rogue    bool    // one writer more, which never looks at the catalog
	faults   float64 // share of requests that meet another fate than delivery
	most     int     // faults at most
	kills    int     // movers that are killed
	rivals   int     // movers that are started while another one works
	holds    int     // times that everything a mover sends is held back for a while
	workers  int
	script   []job
	cut      time.Duration // after which cutJob is interrupted
	// at lets the n-th request of movers meet a fate, counted from 1: for exhaustive runs.
	at map[int]func(*world, *call)
}

// world is one schedule under way.
type world struct {
	schedule
	dice     *rand.Rand
	service  *service
	net      *network
	tenants  map[string]*truth
	rogues   *truth
	source   tenancy.Placement
	movers   []*process
	started  int
	running  sync.WaitGroup
	mu       sync.Mutex // of what follows
	alive    int        // processes that have not ended
	moving   int        // movers among them
	job      int        // the script's next
	ended    string     // the command that succeeded last
	verdict  error      // with which the script ended early
	failures []string
	faulted  int
	epochs   map[string]int64 // highest lease epoch that wrote to a target, by migration
	moved    int              // requests of movers
	looked   int              // how many calls had been handled when a mover last looked at the source
}

// job is one command that is run until it succeeds.
type job struct {
	name string
	do   func(context.Context, *migration.Engine, *world) error
}

var (
	migrateJob = job{"migrate", func(ctx context.Context, e *migration.Engine, s *world) error {
		_, err := e.Run(ctx, mover, migration.Target{Model: s.to}, migration.Options{Workers: s.workers, Drain: drain})
		return err
	}}
	// cutJob is a move that is interrupted, unless it is quicker.
	cutJob = job{"interrupted migrate", func(ctx context.Context, e *migration.Engine, s *world) error {
		ctx, cancel := context.WithTimeout(ctx, s.cut)
		defer cancel()
		_, _ = e.Run(ctx, mover, migration.Target{Model: s.to}, migration.Options{Workers: s.workers, Drain: drain})
		return nil
	}}
	purgeJob = job{"purge", func(ctx context.Context, e *migration.Engine, s *world) error {
		_, err := e.Purge(ctx, mover, migration.Options{Workers: s.workers, AcceptMissing: s.tenants[mover].deleted()})
		var d *migration.DifferencesError
		if errors.As(err, &d) && d.Verify.Differing == 0 && d.Verify.Missing <= s.tenants[mover].deleted() {
			return errors.New("the tenant has deleted more meanwhile")
		}
		return err
	}}
	abortJob = job{"abort", func(ctx context.Context, e *migration.Engine, s *world) error {
		strays := migration.ClearStrays
		if s.rogue {
			strays = migration.KeepStrays // they may be the only copy of what was written past the catalog
		}
		_, err := e.Abort(ctx, mover, migration.Options{Workers: s.workers, Strays: strays})
		if refused(err) { // it has switched already: finish it, as the refusal says
			_, err = e.Run(ctx, mover, migration.Target{Model: s.to}, migration.Options{Workers: s.workers, Drain: drain})
		}
		return err
	}}
	backJob = job{"back", func(ctx context.Context, e *migration.Engine, s *world) error {
		_, err := e.Run(ctx, mover, migration.Target{Model: s.from}, migration.Options{Workers: s.workers, Drain: drain})
		return err
	}}
)

func newWorld(s schedule) *world {
	skews := rand.New(rand.NewPCG(s.seed, 7)).Perm(5)
	skew := func(partition string) time.Duration {
		return time.Duration(skews[crc32.ChecksumIEEE([]byte(partition))%5]-2) * maxSkew / 2
	}
	w := &world{schedule: s, dice: rand.New(rand.NewPCG(s.seed, 1)), service: newService(3, skew), tenants: map[string]*truth{},
		rogues: newTruth(), epochs: map[string]int64{}}
	w.net = newNetwork(w.service)
	w.net.after = w.afterCall
	return w
}

// process makes a client of the service.
func (w *world) process(name string) *process { return &process{name: name, net: w.net} }

// accounts returns the project's own clients, as a process has them.
func (p *process) accounts() (*tablestorage.Accounts, error) {
	connection := func(account string) tablestorage.AccountConfig {
		return tablestorage.AccountConfig{Name: account, Key: base64.StdEncoding.EncodeToString([]byte("key")), Endpoint: "http://127.0.0.1:9/" + account}
	}
	retries := int32(2)
	if p.isWriter() {
		retries = -1 // a writer looks at the catalog again before it tries again
	}
	return tablestorage.NewAccounts(tablestorage.Config{
		Home:     connection("homestore"),
		Accounts: map[string]tablestorage.AccountConfig{"premium": connection("premiumstore")},
		// A delay beyond the maximum is the maximum, without azcore's random part.
	}, &tablestorage.ClientOptions{Transport: p, Retry: policy.RetryOptions{MaxRetries: retries, RetryDelay: time.Minute, MaxRetryDelay: time.Second}})
}

// start runs a process until it ends by itself or is killed.
func (w *world) start(p *process, run func(context.Context, *tablestorage.Accounts) error) {
	w.mu.Lock()
	w.alive++
	if !p.isWriter() {
		w.moving++
	}
	w.mu.Unlock()
	w.running.Go(func() {
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		accounts, err := p.accounts()
		if err == nil {
			err = run(ctx, accounts)
		}
		w.mu.Lock()
		defer w.mu.Unlock()
		w.alive--
		if !p.isWriter() {
			w.moving--
		}
		if err != nil && !p.dead {
			w.failures = append(w.failures, fmt.Sprintf("%s: %v", p.name, err))
		}
	})
}

// prepare declares two tenants in one model and gives them entities.
func (w *world) prepare() {
	p := w.process("setup")
	w.start(p, func(ctx context.Context, a *tablestorage.Accounts) error {
		c := catalog.Open(a.Home(), a.CatalogTable())
		if err := c.Ensure(ctx); err != nil {
			return err
		}
		for _, m := range models {
			if m.Kind == tenancy.SharedTable {
				if _, err := a.Home().CreateTable(ctx, m.Tables[logic]); err != nil {
					return err
				}
			}
			if _, err := c.CreateModel(ctx, m); err != nil {
				return err
			}
		}
		prov := catalog.Provisioner{Catalog: c, Accounts: a}
		for _, id := range []string{mover, "beta"} {
			rec, err := prov.Create(ctx, catalog.TenantSpec{ID: id, Model: w.from})
			if err != nil {
				return err
			}
			if id == mover {
				w.source = rec.Placement
			}
			t := newTruth()
			for i := range w.entities {
				row := fmt.Sprintf("old-%02d", i)
				at := place(rec.Placement, row)
				w.service.put(w.service.table(at.account, at.table), at.key, content(id, row, "v0"))
				t.cell(row).acked = "v0"
			}
			w.tenants[id] = t
		}
		return nil
	})
	for !w.idle() {
		for _, c := range w.net.settle() {
			w.net.handle(c, delivered)
		}
		w.net.idle(time.Millisecond)
	}
	w.net.trace, w.net.handled = nil, 0
}

// idle says whether no process runs.
func (w *world) idle() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.alive == 0
}

// location is where an application's row is in a placement.
type location struct {
	account, table string
	key            edm.Key
}

func place(p tenancy.Placement, row string) location {
	tp := p[logic]
	pk, err := tp.Scheme.PartitionKey(tp.Key, &edm.Entity{RowKey: row})
	if err != nil {
		panic(err)
	}
	return location{tp.Storage, tp.Table, edm.Key{PartitionKey: pk, RowKey: row}}
}

// content is a row of a tenant.
func content(tenant, row, value string) *edm.Entity {
	return &edm.Entity{RowKey: row, Properties: []edm.Property{
		{Name: "Owner", Value: edm.StringValue(tenant)}, {Name: "V", Value: edm.StringValue(value)}}}
}

// startMover starts a mover that goes through what is left of the script.
func (w *world) startMover() {
	w.started++
	p := w.process(fmt.Sprintf("mover%d", w.started))
	w.movers = append(w.movers, p)
	w.start(p, func(ctx context.Context, a *tablestorage.Accounts) error {
		e := &migration.Engine{Catalog: catalog.Open(a.Home(), a.CatalogTable()), Accounts: a, Owner: p.name}
		return w.goThrough(ctx, p, e)
	})
}

// goThrough runs the script's jobs, each until it succeeds. Errors that the world can cause are tried again.
func (w *world) goThrough(ctx context.Context, p *process, e *migration.Engine) error {
	for tries := 0; ; {
		w.mu.Lock()
		at := w.job
		over := at >= len(w.script)
		w.mu.Unlock()
		if over || p.dead {
			return nil
		}
		j := w.script[at]
		err := j.do(ctx, e, w)
		w.net.note(fmt.Sprintf("%s ended: %v", j.name, err), &call{from: p})
		w.mu.Lock()
		switch {
		case p.dead:
		case err == nil, errors.Is(err, migration.ErrNothingToDo):
			w.job, w.ended, tries = max(w.job, at+1), j.name, 0
		case (final(err) || w.rogue && refused(err)) && w.verdict == nil:
			// What an operator does then, who finds the tenant frozen.
			w.verdict, w.script, w.job = err, append(slices.Clone(w.script[:at+1]), abortJob), at+1
		default:
			tries++
		}
		w.mu.Unlock()
		if tries > 60 {
			return fmt.Errorf("%s does not come to an end: %w", j.name, err)
		}
		if err != nil {
			time.Sleep(min(time.Duration(1+tries)*2*time.Second, time.Minute))
		}
	}
}

// final says whether an error is the mover's verdict on the data, which an operator must look at.
func final(err error) bool {
	var differences *migration.DifferencesError
	var collision *migration.CollisionError
	var stragglers *migration.StragglersError
	return errors.As(err, &differences) || errors.As(err, &collision) || errors.As(err, &stragglers)
}

// refused says whether nothing was begun, as where strays that were kept stand in the way.
func refused(err error) bool {
	var r *migration.RefusedError
	return errors.As(err, &r)
}

// run lets the world go until all processes have ended, and returns what is wrong with it.
func (w *world) run() []string {
	w.prepare()
	w.startWriters()
	w.startMover()
	w.untilIdle()
	w.stop()
	for _, c := range w.net.waiting { // what was on its way all the time
		if !c.op.query.Has("tables") || time.Since(c.born) < dropAtMost {
			w.net.note("arrives at last", c)
			w.net.carryOut(c)
		}
	}
	w.net.waiting = nil
	w.untilIdle() // what came so late may have left something to be finished
	w.running.Wait()
	if len(w.failures) == 0 {
		w.checkEnd()
	}
	return w.failures
}

func (w *world) untilIdle() {
	for len(w.failures) == 0 {
		calls := w.net.settle()
		if w.abandoned() {
			// A mover was killed or interrupted when others had done its part of the script: whoever runs the last command again
			// finishes. The tenant may be frozen, so nobody waits with that for the writers.
			w.most, w.job = w.faulted, len(w.script)-1
			w.startMover()
			continue
		}
		if w.idle() {
			return
		}
		w.act(calls)
		if w.net.handled > 50_000 {
			w.fail("no end after 50,000 requests")
		}
	}
}

// abandoned says whether the tenant is bound to a migration that nobody works on, and that does not wait for the operator.
func (w *world) abandoned() bool {
	w.mu.Lock()
	busy := w.moving > 0 || w.verdict != nil
	w.mu.Unlock()
	if busy {
		return false
	}
	_, _, bound := w.tenantRow(mover)
	return bound != ""
}

// stop ends every process that still runs.
func (w *world) stop() {
	all := slices.Clone(w.movers)
	for !w.idle() {
		for _, c := range w.net.settle() {
			c.from.dead = true
			w.net.handle(c, lost)
		}
		for _, p := range all {
			p.dead = true
		}
		w.net.idle(time.Second)
	}
	w.running.Wait()
}
