package ingest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/aztenancy/terraform-provider-aztenancy/internal/catalog"
	"github.com/aztenancy/terraform-provider-aztenancy/internal/edm"
	"github.com/aztenancy/terraform-provider-aztenancy/internal/tablestorage"
)

// recheckInterval is how often an import looks whether its tenants may still be written where they were.
const recheckInterval = 2 * time.Second

// requestGrace is how long transactions under way may take to end once the import was told to stop: a transaction that
// is cut off may have been carried out or not.
const requestGrace = 5 * time.Second

// lingering returns a context that ends the given time after ctx does.
func lingering(ctx context.Context, grace time.Duration) (context.Context, context.CancelFunc) {
	longer, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() { time.AfterFunc(grace, cancel) })
	return longer, func() { stop(); cancel() }
}

// stillWritable reads the tenants again and refuses to go on when one was moved or frozen since the import began.
func (r *run) stillWritable(ctx context.Context) error {
	tenants, err := r.Catalog.Tenants(ctx)
	if err != nil {
		return fmt.Errorf("read the tenants from the catalog: %w", err)
	}
	now := make(map[string]*catalog.TenantRecord, len(tenants))
	for i := range tenants {
		now[tenants[i].ID] = &tenants[i]
	}
	for id, route := range r.maker.tenants.routes {
		t := now[id]
		if t == nil {
			return fmt.Errorf("tenant %q was removed during the import", id)
		}
		if err := writable(t); err != nil {
			return fmt.Errorf("the import stops: %w", err)
		}
		if t.Epoch != route.tenant.Epoch {
			return fmt.Errorf("tenant %q was changed during the import (epoch %d, then %d)", id, route.tenant.Epoch, t.Epoch)
		}
	}
	return nil
}

// write is the last pass: it makes the entities again and writes those that are not there yet, several transactions
// at a time. At the end it looks once more whether the tenants are still where the rows went.
func (r *run) write(ctx context.Context, before identity) error {
	r.Progress.Phase("writing")
	r.Progress.Total(r.rows)
	var acknowledged sync.Mutex // guards the counts and, in known rows, was
	groups := make(chan group)
	requests, release := lingering(ctx, requestGrace)
	defer release()
	workers, stopped := errgroup.WithContext(ctx)
	for range r.writers() {
		workers.Go(func() error {
			for g := range groups {
				if err := r.writeGroup(requests, g, &acknowledged); err != nil {
					return err
				}
			}
			return nil
		})
	}
	err := r.distribute(stopped, groups, &acknowledged)
	close(groups)
	// A worker's error is the cause; the other is then only that the workers' context ended.
	if workerErr := workers.Wait(); workerErr != nil {
		return workerErr
	}
	if err != nil {
		return err
	}
	if err := r.unchanged(before); err != nil {
		return err
	}
	return r.stillWritable(ctx)
}

// foresee counts what write would do.
func (r *run) foresee(ctx context.Context) error {
	r.Progress.Phase("counting")
	r.Progress.Total(r.rows)
	r.maker.restart()
	var acknowledged sync.Mutex
	_, err := r.quietPass(ctx, func(rec Record) error {
		w, err := r.rowToWrite(rec, &acknowledged)
		if err != nil || w == nil {
			return err
		}
		client, err := r.Accounts.Client(w.route.place.Account)
		if err != nil {
			return err
		}
		was, err := w.existence(ctx, client.Table(w.route.place.Table))
		if err != nil {
			return err
		}
		r.acknowledge(w.route, []existence{was}, &acknowledged)
		return nil
	})
	r.report.Complete = err == nil
	return err
}

// distribute reads the file and hands rows to the workers, grouped by partition.
func (r *run) distribute(ctx context.Context, groups chan<- group, acknowledged *sync.Mutex) error {
	r.maker.restart()
	waiting := newGatherer()
	send := func(g group) error {
		select {
		case groups <- g:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	checked := time.Now()
	_, err := r.quietPass(ctx, func(rec Record) error {
		if time.Since(checked) > recheckInterval {
			if err := r.stillWritable(ctx); err != nil {
				return err
			}
			checked = time.Now()
		}
		w, err := r.rowToWrite(rec, acknowledged)
		if err != nil || w == nil {
			return err
		}
		for _, g := range waiting.add(*w) {
			if err := send(g); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	for _, g := range waiting.rest() {
		if err := send(g); err != nil {
			return err
		}
	}
	return nil
}

// rowToWrite makes the record's row; nil for one that needs no write.
func (r *run) rowToWrite(rec Record, acknowledged *sync.Mutex) (*pending, error) {
	row, err := r.maker.make(rec)
	if u := (*unknownTenantError)(nil); errors.As(err, &u) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	known := r.known[address(row.route.place, row.entity.Key())]
	if known == nil || known.content != contentOf(row.entity) {
		return nil, &RowError{File: r.input.Name, Line: row.line, Reason: "the row is not what it was when it was checked; " +
			"the file was changed while it was being imported"}
	}
	if known.passed {
		return nil, nil // an exact duplicate with the same key
	}
	known.passed = true
	if known.was == isSame {
		r.acknowledge(row.route, []existence{isSame}, acknowledged)
		return nil, nil
	}
	return &pending{route: row.route, entity: row.entity, known: known, line: row.line}, nil
}

// writeGroup writes rows of one partition.
func (r *run) writeGroup(ctx context.Context, g group, acknowledged *sync.Mutex) error {
	if err := r.submit(ctx, g, acknowledged); err != nil {
		first := g.rows[0]
		return fmt.Errorf("write rows of tenant %q to %s/%s, partition %q (line %d and others): %w",
			g.route.tenant.ID, g.route.place.Account, g.route.place.Table, first.entity.PartitionKey, first.line, err)
	}
	return nil
}

func (r *run) submit(ctx context.Context, g group, acknowledged *sync.Mutex) error {
	table, err := r.Accounts.At(g.route.place)
	if err != nil {
		return err
	}
	was := make(map[*edm.Entity]existence, len(g.rows))
	writer := tablestorage.NewBatchWriter(table)
	writer.Acknowledged = func(ops []tablestorage.Operation, _ []string) {
		each := make([]existence, len(ops))
		for i, op := range ops {
			each[i] = was[op.Entity]
		}
		r.acknowledge(g.route, each, acknowledged)
		acknowledged.Lock()
		r.report.Transactions++
		acknowledged.Unlock()
	}
	for _, p := range g.rows {
		state, err := p.existence(ctx, table)
		if err != nil {
			return err
		}
		if state == isSame {
			r.acknowledge(g.route, []existence{isSame}, acknowledged)
			continue
		}
		was[p.entity] = state
		if err := writer.Add(ctx, tablestorage.Operation{Kind: tablestorage.OpUpsertReplace, Entity: p.entity}); err != nil {
			return err
		}
	}
	return writer.Flush(ctx)
}

// acknowledge counts rows that are in place.
func (r *run) acknowledge(route *route, was []existence, acknowledged *sync.Mutex) {
	acknowledged.Lock()
	for _, w := range was {
		route.counts.add(w)
	}
	acknowledged.Unlock()
	r.Progress.Advance(int64(len(was)))
}
