package catalog_test

import (
	"errors"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/aztenancy/terraform-provider-aztenancy/internal/catalog"
	"github.com/aztenancy/terraform-provider-aztenancy/internal/tenancy"
)

func TestModelIsReadAsItWasWritten(t *testing.T) {
	w := newWorld(t)
	for _, m := range []tenancy.Model{pool(), ownTable()} {
		created, err := w.catalog.CreateModel(t.Context(), m)
		if err != nil {
			t.Fatal(err)
		}
		got, err := w.catalog.Model(t.Context(), m.Name)
		if err != nil || !cmp.Equal(got, created) || !cmp.Equal(got.Model, m) {
			t.Errorf("created %+v, read %+v, %v", created, got, err)
		}
	}
	all, err := w.catalog.Models(t.Context())
	if err != nil || len(all) != 2 || all[0].Name != "own-table" {
		t.Errorf("listed %+v, %v", all, err)
	}
	if _, err := w.catalog.CreateModel(t.Context(), pool()); err != nil {
		t.Errorf("the same model again: %v", err)
	}
	other := pool()
	other.KeyScheme.Buckets = 32
	if _, err := w.catalog.CreateModel(t.Context(), other); !errors.Is(err, catalog.ErrExists) {
		t.Errorf("another model of the name: %v", err)
	}
	other.KeyScheme.Buckets = 0
	if _, err := w.catalog.CreateModel(t.Context(), other); err == nil || errors.Is(err, catalog.ErrExists) {
		t.Errorf("a bad model: %v", err)
	}
}

func TestModelInUseDoesNotChange(t *testing.T) {
	free := ownTable()
	free.Name, free.Kind, free.Account = "own-account", tenancy.DedicatedAccount, ""
	w := newWorld(t).declare(pool(), free)
	w.create(catalog.TenantSpec{ID: "contoso", Model: "pool"})
	w.create(catalog.TenantSpec{ID: "fabrikam", Model: "own-account", Account: "premium"})
	before := w.snapshot()

	rec, err := w.catalog.Model(t.Context(), "pool")
	if err != nil {
		t.Fatal(err)
	}
	changed := rec
	changed.KeyScheme.Buckets = 32
	if _, err := w.catalog.UpdateModel(t.Context(), changed); !errors.Is(err, catalog.ErrInUse) || !strings.Contains(err.Error(), `"contoso"`) {
		t.Errorf("update: %v", err)
	}
	if err := w.catalog.DeleteModel(t.Context(), rec); !errors.Is(err, catalog.ErrInUse) {
		t.Errorf("delete: %v", err)
	}
	if d := sameCatalog(before, w.snapshot()); d != "" {
		t.Errorf("changed by refusals:\n%s", d)
	}

	acc, err := w.catalog.Model(t.Context(), "own-account")
	if err != nil {
		t.Fatal(err)
	}
	acc.Account = "premium" // only for tenants to come
	if acc, err = w.catalog.UpdateModel(t.Context(), acc); err != nil || acc.Account != "premium" {
		t.Errorf("harmless update: %+v, %v", acc, err)
	}

	if err := w.p.Delete(t.Context(), "contoso", false); err != nil {
		t.Fatal(err)
	}
	if changed, err = w.catalog.UpdateModel(t.Context(), changed); err != nil || changed.Locked {
		t.Fatalf("update of an unused model: %+v, %v", changed, err)
	}
	if rec := w.create(catalog.TenantSpec{ID: "contoso", Model: "pool"}); rec.Placement["orders"].Scheme.Buckets != 32 {
		t.Errorf("placed by the old model: %+v", rec.Placement)
	}
	if err := w.p.Delete(t.Context(), "contoso", false); err != nil {
		t.Fatal(err)
	}
	if err := w.catalog.DeleteModel(t.Context(), rec); !errors.Is(err, catalog.ErrChanged) {
		t.Errorf("deletion of what was read before: %v", err)
	}
	if err := w.catalog.DeleteModel(t.Context(), changed); err != nil {
		t.Error(err)
	}
	if err := w.catalog.DeleteModel(t.Context(), changed); err != nil {
		t.Errorf("deleted again: %v", err)
	}
}

func TestModelOfAnUnfinishedMigrationStays(t *testing.T) {
	w := newWorld(t).declare(pool(), ownTable())
	m, err := w.catalog.CreateMigration(t.Context(), catalog.Migration{ID: "m1", TenantID: "contoso", From: "pool", To: "own-table", State: "copying"})
	if err != nil {
		t.Fatal(err)
	}
	rec, err := w.catalog.Model(t.Context(), "own-table")
	if err != nil {
		t.Fatal(err)
	}
	if err := w.catalog.DeleteModel(t.Context(), rec); !errors.Is(err, catalog.ErrInUse) || !strings.Contains(err.Error(), "m1") {
		t.Errorf("got %v", err)
	}
	m.Ended = m.Created
	if _, err := w.catalog.UpdateMigration(t.Context(), m); err != nil {
		t.Fatal(err)
	}
	if err := w.catalog.DeleteModel(t.Context(), rec); err != nil {
		t.Errorf("once it has ended: %v", err)
	}
}

func TestInterruptedChangeOfAModelKeepsTenantsOutUntilItIsRepeated(t *testing.T) {
	w := newWorld(t).declare(pool())
	rec, err := w.catalog.Model(t.Context(), "pool")
	if err != nil {
		t.Fatal(err)
	}
	dying := w.operator(t)
	puts := 0
	ctx, cancel := dying.killAt(1<<30, false)
	defer cancel()
	dying.wire.set(func(_ int, r *http.Request) error {
		if r.Method == http.MethodPut {
			puts++
		}
		if puts > 1 || r.Method == http.MethodDelete { // the lock is written, nothing more is
			cancel()
			return errCut
		}
		return nil
	}, nil)
	if err := dying.catalog.DeleteModel(ctx, rec); err == nil {
		t.Fatal("not interrupted")
	}
	if _, err := w.p.Create(t.Context(), catalog.TenantSpec{ID: "a", Model: "pool"}); err == nil || !strings.Contains(err.Error(), "being changed") {
		t.Errorf("creation under the lock: %v", err)
	}
	now, err := w.catalog.Model(t.Context(), "pool")
	if err != nil || !now.Locked {
		t.Fatalf("%+v, %v", now, err)
	}
	if now, err = w.catalog.UpdateModel(t.Context(), now); err != nil || now.Locked { // "no change" repeats it to its end too
		t.Fatalf("%+v, %v", now, err)
	}
	w.create(catalog.TenantSpec{ID: "a", Model: "pool"})
}

func TestModelIsDeletedOrTenantIsCreatedNeverBoth(t *testing.T) {
	w := newWorld(t)
	w.createTable("Orders")
	one, two := w.operator(t), w.operator(t)
	deleted, created := 0, 0
	for range 40 {
		rec, err := w.catalog.CreateModel(t.Context(), pool())
		if err != nil {
			t.Fatal(err)
		}
		var all sync.WaitGroup
		var errDelete, errCreate error
		all.Go(func() { errDelete = one.catalog.DeleteModel(t.Context(), rec) })
		all.Go(func() { _, errCreate = two.p.Create(t.Context(), catalog.TenantSpec{ID: "a", Model: "pool"}) })
		all.Wait()
		s := w.snapshot()
		if len(s.Models) == 0 && len(s.Tenants) > 0 {
			t.Fatalf("a tenant without its model: %+v (delete %v, create %v)", s, errDelete, errCreate)
		}
		if errDelete == nil {
			deleted++
		}
		if errCreate == nil {
			created++
			if err := w.p.Delete(t.Context(), "a", false); err != nil {
				t.Fatal(err)
			}
		}
	}
	t.Logf("%d times deleted, %d times created", deleted, created)
}
