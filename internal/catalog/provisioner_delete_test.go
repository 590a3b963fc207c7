package catalog_test

import (
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/aztenancy/terraform-provider-aztenancy/internal/catalog"
	"github.com/aztenancy/terraform-provider-aztenancy/internal/edm"
	"github.com/aztenancy/terraform-provider-aztenancy/internal/tenancy"
)

func TestTenantWithEntitiesIsDeletedOnlyWhenTold(t *testing.T) {
	w := newWorld(t).declare(pool(), ownTable())
	w.create(catalog.TenantSpec{ID: "shared", Model: "pool"})
	w.create(catalog.TenantSpec{ID: "own", Model: "own-table"})
	w.put("Orders", "shared|00", "1")
	w.put("OrdersOwn", "stray", "1") // outside of the tenant's partition, but in its table
	before := w.snapshot()
	for _, id := range []string{"shared", "own"} {
		if err := w.p.Delete(t.Context(), id, false); !errors.Is(err, catalog.ErrNotEmpty) || !strings.Contains(err.Error(), "with its data") {
			t.Errorf("%s: %v", id, err)
		}
	}
	if d := sameCatalog(before, w.snapshot()); d != "" {
		t.Errorf("changed by refusals:\n%s", d)
	}
	for _, id := range []string{"shared", "own"} {
		if err := w.p.Delete(t.Context(), id, true); err != nil {
			t.Error(err)
		}
	}
	if s := w.snapshot(); len(s.Tenants)+len(s.Claims) != 0 || w.tableExists("OrdersOwn") || len(w.keys("Orders")) != 0 {
		t.Errorf("left over: %+v, %q", s, w.keys("Orders"))
	}
	if err := w.p.Delete(t.Context(), "own", true); !errors.Is(err, catalog.ErrNotFound) {
		t.Errorf("deleted again: %v", err)
	}
}

// Rows right beside the tenant's range, in order, must survive its deletion.
func TestDeletionKeepsToTheTenantsRange(t *testing.T) {
	w := newWorld(t)
	prefixed := pool()
	prefixed.Name, prefixed.KeyScheme = "prefixed", tenancy.KeyScheme{Kind: tenancy.SchemePrefixed, Separator: "|"}
	w.declare(pool(), prefixed)
	w.create(catalog.TenantSpec{ID: "b", Model: "pool"})
	w.create(catalog.TenantSpec{ID: "p", Model: "prefixed"})
	keep := [][2]string{{"b", "1"}, {"b|", "1"}, {"b|/"[:2] + "!", "1"}, {"b|16", ""}, {"b|16", "1"}, {"ba|00", "1"}, {"B|00", "1"}, {"p", "1"}, {"p{", "1"}, {"p}", "1"}, {"p}|x", "1"}}
	for _, k := range keep {
		w.put("Orders", k[0], k[1])
	}
	want := w.keys("Orders")
	for _, pk := range []string{"b|00", "b|07", "b|15", "p|", "p|x", "p|\uFFFF"} {
		for i := range 120 {
			w.put("Orders", pk, strings.Repeat("r", i))
		}
	}
	for _, id := range []string{"b", "p"} {
		if err := w.p.Delete(t.Context(), id, true); err != nil {
			t.Fatal(err)
		}
	}
	if got := w.keys("Orders"); !slices.Equal(got, want) {
		t.Errorf("left %q, want %q", got, want)
	}
}

// A creation that was killed before it could claim leaves a row whose range may be another tenant's.
func TestDeletionOfAHalfMadeTenantSparesTheOwnerOfItsRange(t *testing.T) {
	w := newWorld(t).declare(pool(), ownTable())
	owner := w.create(catalog.TenantSpec{ID: "owner", Key: "k", Model: "pool"})
	w.put("Orders", "k|00", "1")
	if _, err := w.catalog.CreateTenant(t.Context(), tenancy.Tenant{ID: "half", Key: "k", Model: "pool", Placement: owner.Placement}); err != nil {
		t.Fatal(err)
	}
	if err := w.p.Delete(t.Context(), "half", true); err != nil {
		t.Fatal(err)
	}
	if got := w.keys("Orders"); len(got) != 1 {
		t.Errorf("the owner's entities: %q", got)
	}
	if s := w.snapshot(); len(s.Tenants) != 1 || len(s.Claims) != 1 || s.Claims[0].TenantID != "owner" {
		t.Errorf("catalog %+v", s)
	}
}

func TestKilledDeletionIsFinishedByTheSameCall(t *testing.T) {
	w := newWorld(t)
	w.createTable("Invoices")
	own := ownTable()
	own.Tables = map[string]string{"orders": "Orders{tenant}", "invoices": "Invoices{tenant}"}
	w.declare(twoTables("two", "|"), own)
	w.create(catalog.TenantSpec{ID: "neighbour", Model: "two"})
	w.put("Orders", "neighbour|00", "1")
	want := w.snapshot()
	for _, model := range []string{"two", "own-table"} {
		for n, killed := 1, true; killed; n++ {
			for _, done := range []bool{false, true} {
				rec := w.create(catalog.TenantSpec{ID: "victim", Model: model})
				pk := rec.Placement["orders"].Range.First.PartitionKey
				for _, rk := range []string{"1", "2", "3"} {
					w.put(rec.Placement["orders"].Table, pk, rk)
				}
				victim := w.operator(t)
				ctx, cancel := victim.killAt(n, done)
				err := victim.p.Delete(ctx, "victim", true)
				killed = err != nil
				cancel()
				if err := w.operator(t).p.Delete(t.Context(), "victim", true); err != nil && !errors.Is(err, catalog.ErrNotFound) {
					t.Fatalf("%s, killed at request %d (carried out: %v): %v", model, n, done, err)
				}
				if d := sameCatalog(want, w.snapshot()); d != "" {
					t.Fatalf("%s, killed at request %d (carried out: %v):\n%s", model, n, done, d)
				}
				if got := w.keys("Orders"); len(got) != 1 || w.tableExists("Ordersvictim") || w.tableExists("Invoicesvictim") {
					t.Fatalf("%s, killed at request %d (carried out: %v): left %q", model, n, done, got)
				}
				w = w.operator(t).later() // a drop that was killed keeps the table's name for a while
			}
		}
	}
}

func TestDeletionMindsMigrations(t *testing.T) {
	w := newWorld(t).declare(pool(), ownTable())
	rec := w.create(catalog.TenantSpec{ID: "contoso", Model: "pool"})
	source := rec.Placement
	target, err := ownTable().Place(rec.Tenant, "", w.accounts.Locate)
	if err != nil {
		t.Fatal(err)
	}
	m, err := w.catalog.CreateMigration(t.Context(), catalog.Migration{ID: "contoso-1", TenantID: "contoso", From: "pool", To: "own-table",
		Source: source, Target: target, State: "copying"})
	if err != nil {
		t.Fatal(err)
	}
	rec.Migration = m.ID
	if rec, err = w.catalog.UpdateTenant(t.Context(), rec); err != nil {
		t.Fatal(err)
	}
	if err := w.p.Delete(t.Context(), "contoso", true); !errors.Is(err, catalog.ErrInUse) || !strings.Contains(err.Error(), "contoso-1") {
		t.Errorf("while it moves: %v", err)
	}
	// The move has switched and kept its source.
	if err := w.catalog.Claim(t.Context(), "contoso", target.Claims(rec.Tenant)); err != nil {
		t.Fatal(err)
	}
	w.createTable("OrdersContoso")
	w.put("Orders", "contoso|00", "1")
	rec.Placement, rec.Model, rec.Migration = target, "own-table", ""
	if _, err := w.catalog.UpdateTenant(t.Context(), rec); err != nil {
		t.Fatal(err)
	}
	if err := w.catalog.AppendStep(t.Context(), catalog.Step{MigrationID: m.ID, Seq: 1, Kind: catalog.StepIntent, Name: "switch"}); err != nil {
		t.Fatal(err)
	}
	if err := w.p.Delete(t.Context(), "contoso", false); !errors.Is(err, catalog.ErrNotEmpty) || !strings.Contains(err.Error(), "kept its source") {
		t.Errorf("with a kept source: %v", err)
	}
	if err := w.p.Delete(t.Context(), "contoso", true); err != nil {
		t.Fatal(err)
	}
	s := w.snapshot()
	steps, err := w.catalog.Steps(t.Context(), m.ID)
	if err != nil || len(s.Tenants)+len(s.Claims)+len(s.Migrations)+len(steps) != 0 || len(w.keys("Orders")) != 0 || w.tableExists("OrdersContoso") {
		t.Errorf("left over: %+v, steps %v, entities %q, %v", s, steps, w.keys("Orders"), err)
	}
}

func TestTenantBeingDeletedIsNotCreated(t *testing.T) {
	w := newWorld(t).declare(pool())
	rec := w.create(catalog.TenantSpec{ID: "contoso", Model: "pool"})
	rec.State = tenancy.Deleting
	if _, err := w.catalog.UpdateTenant(t.Context(), rec); err != nil {
		t.Fatal(err)
	}
	if _, err := w.p.Create(t.Context(), catalog.TenantSpec{ID: "contoso", Model: "pool"}); err == nil || !strings.Contains(err.Error(), "being deleted") {
		t.Errorf("got %v", err)
	}
	if err := w.p.Delete(t.Context(), "contoso", false); err != nil {
		t.Error(err)
	}
	if e, err := w.accounts.Home().Table(catalog.DefaultTable).Get(t.Context(), edm.Key{PartitionKey: "claim|home1|orders", RowKey: "head"}); err != nil {
		t.Errorf("the head row of the claims stays: %v, %v", e, err)
	}
}

// An application may write between the look and the state that tells it not to.
func TestEntityWrittenWhileATenantIsBeingDeletedSurvives(t *testing.T) {
	w := newWorld(t).declare(pool(), ownTable())
	for _, c := range []catalog.TenantSpec{{ID: "shared", Model: "pool"}, {ID: "own", Model: "own-table"}} {
		rec := w.create(c)
		deleter := w.operator(t)
		deleter.wire.set(func(_ int, r *http.Request) error {
			if r.Method == http.MethodPut { // the state
				w.put(rec.Placement["orders"].Table, rec.Placement["orders"].Range.First.PartitionKey, "late")
			}
			return nil
		}, nil)
		if err := deleter.p.Delete(t.Context(), c.ID, false); !errors.Is(err, catalog.ErrNotEmpty) {
			t.Errorf("%s: %v", c.ID, err)
		}
		if got := w.keys(rec.Placement["orders"].Table); len(got) != 1 {
			t.Errorf("%s: entities %q", c.ID, got)
		}
		if now, err := w.catalog.Tenant(t.Context(), c.ID); err != nil || now.State != tenancy.Active || now.Epoch != rec.Epoch+2 {
			t.Errorf("%s: %+v, %v", c.ID, now, err)
		}
	}
}
