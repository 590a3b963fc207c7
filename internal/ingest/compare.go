package ingest

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/aztenancy/terraform-provider-aztenancy/internal/edm"
	"github.com/aztenancy/terraform-provider-aztenancy/internal/tablestorage"
)

// minComparePages is how many pages of a tenant are read in any case, however few rows the file has for it.
const minComparePages = 10

// compare reads what the tenants' ranges hold already, so that rows which are there unchanged are not written again
// and the report tells inserted from replaced. It reads at most one page for each row of the file, so that a few rows
// for a great tenant do not cost a scan of it; where that is not enough, the write looks its rows up one by one.
// It is also where a missing table or a credential without rights is noticed, before the first write.
func (r *run) compare(ctx context.Context) error {
	r.Progress.Phase("comparing")
	var mu sync.Mutex // guards r.known and r.report
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(r.writers())
	for _, route := range r.maker.tenants.sorted() {
		group.Go(func() error {
			if err := r.compareTenant(ctx, route, &mu); err != nil {
				return fmt.Errorf("read tenant %q in %s/%s before the import: %w", route.tenant.ID, route.place.Account, route.place.Table, err)
			}
			return nil
		})
	}
	return group.Wait()
}

func (r *run) compareTenant(ctx context.Context, route *route, mu *sync.Mutex) error {
	table, err := r.Accounts.At(route.place)
	if err != nil {
		return err
	}
	pages, budget := int64(0), max(minComparePages, route.counts.Read)
	for page, err := range table.Pages(ctx, tablestorage.Query{Range: &route.place.Range}) {
		if err != nil {
			return err
		}
		mu.Lock()
		if pages == 0 && len(page) > 0 {
			r.report.ComparedTenants++
		}
		for _, e := range page {
			if known := r.known[address(route.place, e.Key())]; known != nil {
				known.was = known.compare(e)
			}
		}
		mu.Unlock()
		r.Progress.Advance(int64(len(page)))
		if pages++; pages >= budget {
			route.lookUp = true
			return nil
		}
	}
	return nil
}

// compare says how the stored entity relates to the row.
func (k *knownRow) compare(stored *edm.Entity) existence {
	if contentOf(stored) == k.content {
		return isSame
	}
	return isOther
}

// existence says what the table holds under the row's key: as the comparison saw it or, where that did not read the
// whole range, by a point read.
func (p pending) existence(ctx context.Context, table *tablestorage.Table) (existence, error) {
	if !p.route.lookUp || p.known.was != isNew {
		return p.known.was, nil
	}
	stored, err := table.Get(ctx, p.entity.Key())
	if errors.Is(err, tablestorage.ErrNotFound) {
		return isNew, nil
	}
	if err != nil {
		return isNew, err
	}
	return p.known.compare(stored), nil
}

func (im *Importer) writers() int {
	if im.Writers > 0 {
		return im.Writers
	}
	return DefaultWriters
}
