package catalog_test

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/aztenancy/terraform-provider-aztenancy/internal/catalog"
	"github.com/aztenancy/terraform-provider-aztenancy/internal/edm"
	"github.com/aztenancy/terraform-provider-aztenancy/internal/tenancy"
)

func contoso() tenancy.Tenant {
	s := tenancy.KeyScheme{Kind: tenancy.SchemePrefixed, Separator: "|"}
	return tenancy.Tenant{ID: "contoso", Key: "Contoso <é>", Model: "pool", State: tenancy.Active, Epoch: 1, Labels: map[string]string{"tier": "trial"},
		Placement: tenancy.Placement{"orders": {Account: "home", Storage: "home1", Table: "Orders", URL: "http://x/Orders", Scheme: s, Key: "Contoso <é>", Range: s.Range("Contoso <é>")}}}
}

func TestTenantIsReadAsItWasWritten(t *testing.T) {
	w := newWorld(t)
	created, err := w.catalog.CreateTenant(t.Context(), contoso()) // creates the catalog too
	if err != nil {
		t.Fatal(err)
	}
	got, err := w.catalog.Tenant(t.Context(), "contoso")
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(contoso(), got.Tenant); d != "" {
		t.Errorf("read back (-want +got):\n%s", d)
	}
	if got.ETag != created.ETag || got.Created.IsZero() || got.Updated.IsZero() {
		t.Errorf("created %+v, read %+v", created, got)
	}
	all, err := w.catalog.Tenants(t.Context())
	if err != nil || len(all) != 1 || !cmp.Equal(all[0], got, cmpopts.IgnoreUnexported(catalog.TenantRecord{})) {
		t.Errorf("listed: %+v, %v", all, err)
	}
}

func TestEpochCountsChangesOfStateAndPlacementOnly(t *testing.T) {
	w := newWorld(t)
	rec, err := w.catalog.CreateTenant(t.Context(), contoso())
	if err != nil {
		t.Fatal(err)
	}
	for _, step := range []struct {
		name   string
		change func(*catalog.TenantRecord)
		epoch  int64
	}{
		{"labels", func(r *catalog.TenantRecord) { r.Labels = nil }, 1},
		{"migration", func(r *catalog.TenantRecord) { r.Migration = "m1" }, 1},
		{"a number set by hand", func(r *catalog.TenantRecord) { r.Epoch = 77 }, 1},
		{"state", func(r *catalog.TenantRecord) { r.State = tenancy.Frozen }, 2},
		{"placement in place", func(r *catalog.TenantRecord) {
			p := r.Placement["orders"]
			p.Table = "Elsewhere"
			r.Placement["orders"] = p
		}, 3},
		{"state and placement at once", func(r *catalog.TenantRecord) { r.State, r.Placement = tenancy.Active, contoso().Placement }, 4},
		{"nothing", func(*catalog.TenantRecord) {}, 4},
	} {
		step.change(&rec)
		if rec, err = w.catalog.UpdateTenant(t.Context(), rec); err != nil {
			t.Fatalf("%s: %v", step.name, err)
		}
		read, err := w.catalog.Tenant(t.Context(), "contoso")
		if err != nil || rec.Epoch != step.epoch || read.Epoch != step.epoch || read.ETag != rec.ETag {
			t.Errorf("after a change of %s: epoch %d, read %d, want %d (%v)", step.name, rec.Epoch, read.Epoch, step.epoch, err)
		}
	}
	if _, err := w.catalog.UpdateTenant(t.Context(), catalog.TenantRecord{Tenant: contoso(), ETag: rec.ETag}); err == nil {
		t.Error("a record that was not read could be written")
	}
}

func TestOnlyOneOfTwoChangesWins(t *testing.T) {
	w := newWorld(t)
	rec, err := w.catalog.CreateTenant(t.Context(), contoso())
	if err != nil {
		t.Fatal(err)
	}
	first, second := rec, rec
	first.State, second.State = tenancy.Frozen, tenancy.Frozen // the same content does not make it the same change
	if _, err := w.catalog.UpdateTenant(t.Context(), first); err != nil {
		t.Fatal(err)
	}
	if _, err := w.catalog.UpdateTenant(t.Context(), second); !errors.Is(err, catalog.ErrChanged) {
		t.Errorf("second change: %v, want ErrChanged", err)
	}
	if err := w.catalog.DeleteTenant(t.Context(), rec); !errors.Is(err, catalog.ErrChanged) {
		t.Errorf("deletion of what was read before: %v, want ErrChanged", err)
	}
	if _, err := w.catalog.CreateTenant(t.Context(), contoso()); !errors.Is(err, catalog.ErrExists) {
		t.Errorf("second creation: %v, want ErrExists", err)
	}
}

// An answer that is lost on the way back leaves the writer in doubt about a write that was made.
func TestLostAnswerOfAWriteThatWasMadeIsFoundOut(t *testing.T) {
	w := newWorld(t)
	if err := w.catalog.Ensure(t.Context()); err != nil {
		t.Fatal(err)
	}
	loseWrites := func() {
		lost := false
		w.wire.set(nil, func(_ int, r *http.Request) error {
			if r.Method != http.MethodGet && !lost {
				lost = true
				return errCut
			}
			return nil
		})
	}
	loseWrites()
	rec, err := w.catalog.CreateTenant(t.Context(), contoso())
	if err != nil {
		t.Fatalf("insert: %v", err)
	}
	loseWrites()
	rec.State = tenancy.Frozen
	rec, err = w.catalog.UpdateTenant(t.Context(), rec)
	if err != nil || rec.Epoch != 2 {
		t.Fatalf("replace: epoch %d, %v", rec.Epoch, err)
	}
	read, err := w.catalog.Tenant(t.Context(), "contoso")
	if err != nil || read.ETag != rec.ETag || read.Epoch != 2 {
		t.Fatalf("read %+v, %v; want what the writer has: %+v", read, err, rec)
	}
	loseWrites()
	if err := w.catalog.DeleteTenant(t.Context(), rec); err != nil {
		t.Fatalf("delete: %v", err)
	}
	if _, err := w.catalog.Tenant(t.Context(), "contoso"); !errors.Is(err, catalog.ErrNotFound) {
		t.Errorf("after the deletion: %v", err)
	}
}

func TestWriteThatNeverArrivedIsSentAgain(t *testing.T) {
	w := newWorld(t)
	rec, err := w.catalog.CreateTenant(t.Context(), contoso())
	if err != nil {
		t.Fatal(err)
	}
	w.wire.set(func(n int, _ *http.Request) error {
		if n == 1 {
			return errCut
		}
		return nil
	}, nil)
	rec.State = tenancy.Frozen
	if rec, err = w.catalog.UpdateTenant(t.Context(), rec); err != nil || rec.Epoch != 2 {
		t.Fatalf("epoch %d, %v", rec.Epoch, err)
	}
}

func TestDoubtThatCannotBeSettledIsSaid(t *testing.T) {
	w := newWorld(t)
	rec, err := w.catalog.CreateTenant(t.Context(), contoso())
	if err != nil {
		t.Fatal(err)
	}
	w.wire.set(nil, func(int, *http.Request) error { return errCut })
	rec.State = tenancy.Frozen
	if _, err := w.catalog.UpdateTenant(t.Context(), rec); !errors.Is(err, catalog.ErrUnclear) {
		t.Errorf("got %v, want ErrUnclear", err)
	}
}

func TestNewerRowsAreRefusedNotGuessedAt(t *testing.T) {
	w := newWorld(t).declare(pool())
	w.create(catalog.TenantSpec{ID: "contoso", Model: "pool"})
	table := w.accounts.Home().Table(catalog.DefaultTable)
	e, err := table.Get(t.Context(), edm.Key{PartitionKey: "tenant", RowKey: "contoso"})
	if err != nil {
		t.Fatal(err)
	}
	e.Set("Schema", edm.Int32Value(2))
	if _, err := table.Replace(t.Context(), e, e.ETag); err != nil {
		t.Fatal(err)
	}
	for name, read := range map[string]func() error{
		"point read": func() error { _, err := w.catalog.Tenant(t.Context(), "contoso"); return err },
		"list":       func() error { _, err := w.catalog.Tenants(t.Context()); return err },
		"snapshot":   func() error { _, err := w.catalog.Snapshot(t.Context()); return err },
		"creation": func() error {
			_, err := w.p.Create(t.Context(), catalog.TenantSpec{ID: "contoso", Model: "pool"})
			return err
		},
		"deletion": func() error { return w.p.Delete(t.Context(), "contoso", true) },
	} {
		if err := read(); !errors.Is(err, catalog.ErrNewerSchema) || !strings.Contains(err.Error(), "use that version") {
			t.Errorf("%s: %v, want ErrNewerSchema with the way out", name, err)
		}
	}
}

func TestDamagedRowsAreNamed(t *testing.T) {
	w := newWorld(t)
	if err := w.catalog.Ensure(t.Context()); err != nil {
		t.Fatal(err)
	}
	w.put(catalog.DefaultTable, "tenant", "stray")
	if _, err := w.catalog.Tenants(t.Context()); err == nil || !strings.Contains(err.Error(), `("tenant", "stray")`) {
		t.Errorf("row without schema: %v", err)
	}
	e := &edm.Entity{PartitionKey: "tenant", RowKey: "stray"}
	e.Set("Schema", edm.Int32Value(1))
	e.Set("State", edm.Int32Value(7))
	if _, err := w.accounts.Home().Table(catalog.DefaultTable).UpsertReplace(t.Context(), e); err != nil {
		t.Fatal(err)
	}
	if _, err := w.catalog.Tenant(t.Context(), "stray"); err == nil || !strings.Contains(err.Error(), "State is Edm.Int32, not Edm.String") {
		t.Errorf("column of another type: %v", err)
	}
}

func TestAbsentCatalogIsToldFromAbsentTenant(t *testing.T) {
	w := newWorld(t)
	_, err := w.catalog.Tenant(t.Context(), "contoso")
	if !errors.Is(err, catalog.ErrNotFound) || !errors.Is(err, catalog.ErrNoCatalog) {
		t.Errorf("point read without a catalog: %v", err)
	}
	if _, err := w.catalog.Tenants(t.Context()); !errors.Is(err, catalog.ErrNoCatalog) {
		t.Errorf("list without a catalog: %v", err)
	}
	if err := w.catalog.Ensure(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := w.catalog.Tenant(t.Context(), "contoso"); !errors.Is(err, catalog.ErrNotFound) || errors.Is(err, catalog.ErrNoCatalog) {
		t.Errorf("point read in an empty catalog: %v", err)
	}
}

func TestColumnsThatWouldNotFitAreRefused(t *testing.T) {
	w := newWorld(t)
	tenant := contoso()
	tenant.Labels = map[string]string{"text": strings.Repeat("x", catalog.MaxJSON)}
	if _, err := w.catalog.CreateTenant(t.Context(), tenant); err == nil || !strings.Contains(err.Error(), "Labels") {
		t.Errorf("got %v, want an error that names Labels", err)
	}
	if w.wire.count() != 0 {
		t.Errorf("%d requests were sent", w.wire.count())
	}
}
