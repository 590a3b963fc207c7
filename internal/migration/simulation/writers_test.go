package simulation

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/aztenancy/terraform-provider-aztenancy/internal/catalog"
	"github.com/aztenancy/terraform-provider-aztenancy/internal/tablestorage"
	"github.com/aztenancy/terraform-provider-aztenancy/internal/tenancy"
)

// truth is what a tenant's writers know of its rows. A row is written by one writer, one write after the other.
type truth struct{ cells map[string]*cell }

// cell is one row: the value of the last acknowledged write, "" for none, and that of a write which has no answer yet.
type cell struct {
	acked   string
	maybe   []string
	deleted bool // at any time
	ackedAt int  // how many calls had been handled when it was acknowledged
}

func newTruth() *truth { return &truth{map[string]*cell{}} }

func (t *truth) cell(row string) *cell {
	c := t.cells[row]
	if c == nil {
		c = &cell{}
		t.cells[row] = c
	}
	return c
}

// deleted is how many rows the tenant has ever deleted, or may have: what its operator knows of it.
func (t *truth) deleted() (n int64) {
	for _, c := range t.cells {
		if c.deleted {
			n++
		}
	}
	return n
}

// allows says whether a reader may see the value.
func (c *cell) allows(value string) bool { return value == c.acked || slices.Contains(c.maybe, value) }

// writer changes rows of one tenant.
type writer struct {
	world    *world
	tenant   string
	name     string
	rows     []string
	dice     *rand.Rand
	accounts *tablestorage.Accounts
	catalog  *catalog.Catalog
	route    tenancy.Placement // nil: not known
	state    tenancy.State
	readAt   time.Time
	rogue    bool
}

// startWriters starts those that follow the catalog, one for the other tenant, and the one that does not.
func (w *world) startWriters() {
	for i := range w.writers {
		rows := []string{fmt.Sprintf("new-%d", i)}
		for k := i; k < w.entities; k += w.writers {
			rows = append(rows, fmt.Sprintf("old-%02d", k))
		}
		w.startWriter(&writer{tenant: mover, name: fmt.Sprintf("writer%d", i), rows: rows})
	}
	if w.writers > 0 {
		w.startWriter(&writer{tenant: "beta", name: "neighbour", rows: []string{"old-00", "new-0"}})
	}
	if w.rogue {
		w.startWriter(&writer{tenant: mover, name: "rogue", rows: []string{"rogue-0", "rogue-1"}, rogue: true, route: w.source})
	}
}

func (w *world) startWriter(x *writer) {
	w.started++
	x.world, x.dice = w, rand.New(rand.NewPCG(w.seed, 100+uint64(w.started)))
	w.start(w.process(x.name), func(ctx context.Context, a *tablestorage.Accounts) error {
		x.accounts, x.catalog = a, catalog.Open(a.Home(), a.CatalogTable())
		for n := range w.actions {
			time.Sleep(time.Duration(x.dice.IntN(3000)) * time.Millisecond)
			if err := x.write(ctx, pick(x.dice, x.rows), fmt.Sprintf("%s-%d", x.name, n)); err != nil {
				return err
			}
		}
		return nil
	})
}

// write gives a row a value, or deletes it, and keeps trying until it is known to be done.
func (x *writer) write(ctx context.Context, row, value string) error {
	if !x.rogue && x.dice.IntN(3) == 0 {
		value = ""
	}
	t := x.world.tenants[x.tenant]
	if x.rogue {
		t = x.world.rogues
	}
	c := t.cell(row)
	c.maybe = append(c.maybe, value)
	c.deleted = c.deleted || value == ""
	for try := 0; try < 200; try++ {
		if !x.rogue {
			if ok, err := x.follow(ctx); err != nil || !ok {
				time.Sleep(time.Second)
				continue
			}
		}
		err := x.send(ctx, row, value)
		if err == nil {
			c.acked, c.maybe, c.ackedAt = value, nil, x.world.net.handled
			return nil
		}
		x.readAt = time.Time{}
		if x.rogue && errors.Is(err, tablestorage.ErrTableNotFound) {
			return nil // it was never acknowledged
		}
		time.Sleep(time.Second)
	}
	return fmt.Errorf("row %s could not be written", row)
}

// follow makes sure that the route is fresh, and says whether the tenant may be written.
func (x *writer) follow(ctx context.Context) (bool, error) {
	if time.Since(x.readAt) < ttl && x.route != nil && x.state == tenancy.Active {
		return true, nil
	}
	asked := time.Now()
	rec, err := x.catalog.Tenant(ctx, x.tenant)
	if err != nil {
		return false, err
	}
	x.route, x.state, x.readAt = rec.Placement, rec.State, asked
	return rec.State == tenancy.Active && time.Since(asked) < ttl, nil
}

// send makes one try, which the service or the network ends within atMost.
func (x *writer) send(ctx context.Context, row, value string) error {
	at := place(x.route, row)
	tab, err := x.accounts.At(x.route[logic])
	if err != nil {
		return err
	}
	if value == "" {
		err := tab.Delete(ctx, at.key, tablestorage.AnyETag)
		if errors.Is(err, tablestorage.ErrNotFound) && !errors.Is(err, tablestorage.ErrTableNotFound) {
			return nil
		}
		return err
	}
	e := content(x.tenant, row, value)
	e.PartitionKey = at.key.PartitionKey
	_, err = tab.UpsertReplace(ctx, e)
	return err
}
