package catalog_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/aztenancy/terraform-provider-aztenancy/internal/catalog"
	"github.com/aztenancy/terraform-provider-aztenancy/internal/tenancy"
)

func specs(n int) []catalog.TenantSpec {
	all := make([]catalog.TenantSpec, n)
	for i := range all {
		all[i] = catalog.TenantSpec{ID: fmt.Sprintf("t%04d", i), Model: "pool", Labels: map[string]string{"n": fmt.Sprint(i)}}
	}
	return all
}

func TestAThousandTenantsAreCreatedInEntityGroupTransactions(t *testing.T) {
	w := newWorld(t).declare(pool())
	w.wire.set(nil, nil)
	for i, c := range w.p.CreateMany(t.Context(), specs(1000)) {
		if c.Err != nil || c.Tenant.ID != fmt.Sprintf("t%04d", i) || c.Tenant.State != tenancy.Active || c.Tenant.Epoch != 2 {
			t.Fatalf("tenant %d: %+v, %v", i, c.Tenant, c.Err)
		}
	}
	// Eleven times: rows, the model once more, claims, rows again; and a handful of requests to look around.
	if n := w.wire.count(); n > 11*4+6 {
		t.Errorf("%d requests for 1000 tenants", n)
	}
	if s := w.snapshot(); len(s.Tenants) != 1000 || len(s.Claims) != 1000 {
		t.Errorf("%d tenants and %d claims", len(s.Tenants), len(s.Claims))
	}
}

func TestTenantsCreatedTogetherAreAsIfCreatedOneByOne(t *testing.T) {
	one, many := newWorld(t).declare(pool(), ownTable()), newWorld(t).declare(pool(), ownTable())
	all := append(specs(12), catalog.TenantSpec{ID: "own-1", Model: "own-table"}, catalog.TenantSpec{ID: "own-2", Model: "own-table"})
	for _, s := range all {
		one.create(s)
	}
	for i, c := range many.p.CreateMany(t.Context(), all) {
		if c.Err != nil {
			t.Errorf("%s: %v", all[i].ID, c.Err)
		}
	}
	if d := sameCatalog(one.snapshot(), many.snapshot()); d != "" {
		t.Error(d)
	}
	if !many.tableExists("Ordersownz01") || !many.tableExists("Ordersownz02") {
		t.Error("dedicated tables are missing")
	}
	// A record that came of a transaction can be written like one that was read.
	rec := many.p.CreateMany(t.Context(), specs(2))[1].Tenant
	rec.State = tenancy.Frozen
	if rec, err := many.catalog.UpdateTenant(t.Context(), rec); err != nil || rec.Epoch != 3 {
		t.Errorf("written again: %+v, %v", rec, err)
	}
}

func TestOneThatCannotBeCreatedSpoilsNoOther(t *testing.T) {
	w := newWorld(t).declare(pool())
	w.create(catalog.TenantSpec{ID: "there", Model: "pool"})
	w.create(catalog.TenantSpec{ID: "other", Key: "taken", Model: "pool"})
	var exists *catalog.TenantExistsError
	all := []catalog.TenantSpec{
		{ID: "a", Model: "pool"},
		{ID: "there", Model: "pool"},                 // is as it shall be
		{ID: "there2", Key: "taken", Model: "pool"},  // another's range
		{ID: "b", Key: "same", Model: "pool"},        // the first of two that want one range
		{ID: "c", Key: "same", Model: "pool"},        // the second
		{ID: "d", Model: "swimming"},                 // no such model
		{ID: "E", Model: "pool"},                     // no id
		{ID: "other", Key: "another", Model: "pool"}, // is there, and not so
		{ID: "f", Model: "pool"},
	}
	got := w.p.CreateMany(t.Context(), all)
	for i, ok := range []func(error) bool{
		isNil, isNil,
		func(err error) bool { return errors.Is(err, catalog.ErrConflict) },
		isNil,
		func(err error) bool { return errors.Is(err, catalog.ErrConflict) },
		func(err error) bool { return errors.Is(err, catalog.ErrNotFound) },
		func(err error) bool { return err != nil && strings.Contains(err.Error(), "tenant id") },
		func(err error) bool { return errors.As(err, &exists) },
		isNil,
	} {
		if !ok(got[i].Err) {
			t.Errorf("%s: %v", all[i].ID, got[i].Err)
		}
	}
	s := w.snapshot()
	if len(s.Tenants) != 5 || len(s.Claims) != 5 { // there, other, a, b, f
		t.Errorf("left %d tenants and %d claims", len(s.Tenants), len(s.Claims))
	}
	for _, rec := range s.Tenants {
		if rec.State != tenancy.Active {
			t.Errorf("%s is %s", rec.ID, rec.State)
		}
	}
}

func isNil(err error) bool { return err == nil }

func TestKilledCreationOfManyIsFinishedByTheSameCall(t *testing.T) {
	for n, killed := 1, true; killed; n++ {
		for _, done := range []bool{false, true} {
			w := newWorld(t).declare(pool(), ownTable())
			all := append(specs(5), catalog.TenantSpec{ID: "own", Model: "own-table"})
			victim := w.operator(t)
			ctx, cancel := victim.killAt(n, done)
			killed = false
			for _, c := range victim.p.CreateMany(ctx, all) {
				killed = killed || c.Err != nil
			}
			cancel()
			for i, c := range w.operator(t).p.CreateMany(t.Context(), all) {
				if c.Err != nil || c.Tenant.State != tenancy.Active {
					t.Fatalf("killed at request %d (carried out: %v): %s: %+v, %v", n, done, all[i].ID, c.Tenant, c.Err)
				}
			}
			if s := w.snapshot(); len(s.Tenants) != 6 || len(s.Claims) != 6 {
				t.Fatalf("killed at request %d (carried out: %v): %d tenants, %d claims", n, done, len(s.Tenants), len(s.Claims))
			}
		}
	}
}

func TestTwoOperatorsWhoCreateTheSameTenantsBothSucceed(t *testing.T) {
	w := newWorld(t).declare(pool())
	all := specs(20)
	answers := make(chan []catalog.Created, 2)
	for range 2 {
		o := w.operator(t)
		go func() { answers <- o.p.CreateMany(t.Context(), all) }()
	}
	for range 2 {
		for i, c := range <-answers {
			if c.Err != nil || c.Tenant.State != tenancy.Active {
				t.Errorf("%s: %+v, %v", all[i].ID, c.Tenant, c.Err)
			}
		}
	}
	if s := w.snapshot(); len(s.Tenants) != 20 || len(s.Claims) != 20 {
		t.Errorf("%d tenants, %d claims", len(s.Tenants), len(s.Claims))
	}
}
