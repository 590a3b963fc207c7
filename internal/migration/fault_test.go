package migration

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/aztenancy/terraform-provider-aztenancy/internal/edm"
	"github.com/aztenancy/terraform-provider-aztenancy/internal/tablestorage"
	"github.com/aztenancy/terraform-provider-aztenancy/internal/tenancy"
)

// meddle calls do once, when the run comes to the fault point.
func meddle(e *Engine, point string, do func()) *Engine {
	done := false
	e.fault = countingHook(func(at string) bool {
		if at == point && !done {
			done = true
			do()
		}
		return false
	})
	return e
}

// start gives tenant alpha n orders in the pool.
func (w *world) start(n int) []*edm.Entity {
	w.t.Helper()
	w.tenant(w.t, "alpha", "pool")
	list := orders(bucketed(4), n)
	w.put(w.t, "alpha", list)
	return list
}

// target is the table that alpha moves to with model own.
func (w *world) target() *tablestorage.Table { return w.accounts.Home().Table("Ownalpha") }

func TestDifferencesAreNamedAndNothingIsSwitched(t *testing.T) {
	w := newWorld(t)
	list := w.start(50)
	e := meddle(w.engine("mover"), "verify: after intent", func() {
		gone := edm.Key{PartitionKey: "alpha", RowKey: "row-0003"}
		must(t, w.target().Delete(t.Context(), gone, tablestorage.AnyETag))
		changed := order("alpha", "row-0007", 7)
		changed.Set("Int64", edm.Int32Value(0)) // another type
		changed.Remove("Bool")
		_, err := w.target().Replace(t.Context(), changed, tablestorage.AnyETag)
		must(t, err)
		_, err = w.target().Insert(t.Context(), order("alpha", "row-9999", 1))
		must(t, err)
		_, err = w.target().Insert(t.Context(), order("elsewhere", "row", 1))
		must(t, err)
	})
	report, err := e.Run(t.Context(), "alpha", Target{Model: "own"}, Options{})
	var differ *DifferencesError
	if !errors.As(err, &differ) {
		t.Fatalf("got %v", err)
	}
	v := report.Verify
	if v.Result != ResultDifferent || v.Missing != 1 || v.Differing != 1 || v.Extra != 2 || v.Equal != 48 {
		t.Errorf("verify: %+v", v)
	}
	for _, d := range v.Differences {
		switch d.Kind {
		case KindMissing:
			if !strings.Contains(d.Source, "row-0003") {
				t.Errorf("missing: %+v", d)
			}
		case KindDiffers:
			if !strings.Contains(d.Target, "row-0007") || !slices.Equal(slices.Sorted(slices.Values(d.Properties)), []string{"Bool", "Int64"}) {
				t.Errorf("differs: %+v", d)
			}
		}
	}
	if rec := w.record(t, "alpha"); rec.Model != "pool" || rec.State != tenancy.Active || report.State != CatchingUp {
		t.Errorf("tenant: %s, %s; migration: %s", rec.Model, rec.State, report.State)
	}
	if !strings.Contains(err.Error(), "tenantctl abort alpha") {
		t.Errorf("the message names no way out: %v", err)
	}
	var collision *CollisionError
	if _, err = w.engine("mover").Abort(t.Context(), "alpha", Options{}); !errors.As(err, &collision) || !strings.Contains(err.Error(), "--clear-target") {
		t.Errorf("abort of a move with strays: %v", err)
	}
	report, err = w.engine("mover").Abort(t.Context(), "alpha", Options{Strays: KeepStrays})
	must(t, err)
	w.wantAt(t, "alpha", "pool", image(list))
	if report.Removed != 48 || len(report.Notes) == 0 || len(w.rows(t, "home", "Ownalpha")) != 3 {
		t.Errorf("abort removed %d, notes %v", report.Removed, report.Notes)
	}
}

func TestWhatIsMissingAtTheTargetIsCopiedByTheNextRun(t *testing.T) {
	w := newWorld(t)
	list := w.start(50)
	e := meddle(w.engine("mover"), "verify: after intent", func() {
		must(t, w.target().Delete(t.Context(), edm.Key{PartitionKey: "alpha", RowKey: "row-0003"}, tablestorage.AnyETag))
	})
	var differ *DifferencesError
	if _, err := e.Run(t.Context(), "alpha", Target{Model: "own"}, Options{}); !errors.As(err, &differ) {
		t.Fatalf("got %v", err)
	}
	_, err := e.Run(t.Context(), "alpha", Target{Model: "own"}, Options{})
	must(t, err)
	w.wantAt(t, "alpha", "own", image(list))
}

func TestCollisionStopsTheMoveAndNamesKeyAndProperties(t *testing.T) {
	w := newWorld(t)
	w.start(250)
	other := order("alpha", "row-0123", 123)
	other.Set("Text", edm.StringValue("somebody else's"))
	e := meddle(w.engine("mover"), "copy: after intent", func() {
		_, err := w.target().Insert(t.Context(), other)
		must(t, err)
	})
	_, err := e.Run(t.Context(), "alpha", Target{Model: "own"}, Options{})
	var collision *CollisionError
	if !errors.As(err, &collision) || !strings.Contains(collision.Key, "row-0123") || !slices.Equal(collision.Properties, []string{"Text"}) {
		t.Fatalf("got %v", err)
	}
	there, err := w.target().Get(t.Context(), other.Key())
	must(t, err)
	if !there.SameContent(other) {
		t.Error("the other entity was overwritten")
	}
}

func TestWritesPastTheFreezeAreReportedAndNeverMergedOrPurged(t *testing.T) {
	w := newWorld(t)
	w.start(50)
	p := w.record(t, "alpha").Placement["orders"]
	source := w.table(t, p)
	late := order("alpha|00", "late", 1)
	e := meddle(w.engine("mover"), "switch: before intent", func() {
		_, err := source.Insert(t.Context(), late)
		must(t, err)
		e, err := source.Get(t.Context(), edm.Key{PartitionKey: mustPartition(t, p, "row-0009"), RowKey: "row-0009"})
		must(t, err)
		e.Set("Text", edm.StringValue("later"))
		_, err = source.Replace(t.Context(), e, e.ETag)
		must(t, err)
		must(t, source.Delete(t.Context(), edm.Key{PartitionKey: mustPartition(t, p, "row-0010"), RowKey: "row-0010"}, tablestorage.AnyETag))
	})
	report, err := e.Run(t.Context(), "alpha", Target{Model: "own"}, Options{})
	var late3 *StragglersError
	if !errors.As(err, &late3) || late3.Count != 3 || report.StragglerCount != 3 || report.State != Switched {
		t.Fatalf("got %v, %+v", err, report)
	}
	if n := len(w.get(t, "alpha")); n != 50 {
		t.Errorf("%d orders at the target, want the 50 that were verified", n)
	}
	before := w.rows(t, "home", "Pool")
	if _, err := w.engine("mover").Purge(t.Context(), "alpha", Options{}); !errors.As(err, &late3) {
		t.Errorf("purge: %v", err)
	}
	if n := len(w.rows(t, "home", "Pool")); n != len(before) {
		t.Errorf("purge deleted %d rows", len(before)-n)
	}
	// Once an operator has dealt with what was written, nothing that a purge deletes could be lost with it.
	for _, row := range []string{"late", "row-0009"} {
		key := edm.Key{PartitionKey: "alpha|00", RowKey: row}
		if row != "late" {
			key.PartitionKey = mustPartition(t, p, row)
		}
		must(t, source.Delete(t.Context(), key, tablestorage.AnyETag))
	}
	if report, err := w.engine("mover").Purge(t.Context(), "alpha", Options{}); err != nil || report.Purged != 48 || report.State != Done {
		t.Errorf("purge of the 48 that are as they were sealed: %v, %+v", err, report)
	}
	if n := len(w.get(t, "alpha")); n != 50 {
		t.Errorf("%d orders at the target after the purge, want 50", n)
	}
}

func mustPartition(t fataler, p tenancy.TablePlacement, row string) string {
	t.Helper()
	pk, err := p.Scheme.PartitionKey(p.Key, &edm.Entity{RowKey: row})
	must(t, err)
	return pk
}

func TestInterruptedMoveGivesItsLeaseBackAndGoesOnLater(t *testing.T) {
	w := newWorld(t)
	list := w.start(500)
	ctx, cancel := context.WithCancel(t.Context())
	e := meddle(w.engine("mover"), "copy: before checkpoint", cancel)
	report, err := e.Run(ctx, "alpha", Target{Model: "own"}, Options{Workers: 1})
	var interrupted *InterruptedError
	if !errors.As(err, &interrupted) || !errors.Is(err, context.Canceled) || interrupted.State != Copying || report == nil {
		t.Fatalf("got %v", err)
	}
	if !strings.Contains(err.Error(), "tenantctl migrate alpha --to own") {
		t.Errorf("the message names no next command: %v", err)
	}
	_, err = w.engine("other").Run(t.Context(), "alpha", Target{Model: "own"}, Options{DontWait: true})
	must(t, err)
	w.wantAt(t, "alpha", "own", image(list))
}

func TestEntityInAPartitionThatTheSchemeDoesNotHaveIsFoundByThePlan(t *testing.T) {
	w := newWorld(t)
	w.start(20)
	p := w.record(t, "alpha").Placement["orders"]
	for _, k := range []edm.Key{{PartitionKey: "alpha|007", RowKey: "stray"}, {PartitionKey: "alpha|01", RowKey: "row-0001x"}} {
		_, err := w.table(t, p).Insert(t.Context(), order(k.PartitionKey, k.RowKey, 1))
		must(t, err)
	}
	_, err := w.engine("mover").Run(t.Context(), "alpha", Target{Model: "own"}, Options{})
	var refused *RefusedError
	if !errors.As(err, &refused) || !strings.Contains(err.Error(), "alpha|007") {
		t.Fatalf("got %v", err)
	}
	if rec := w.record(t, "alpha"); rec.Migration != "" || rec.Epoch != 2 {
		t.Errorf("the tenant's row was changed: %+v", rec)
	}
}

func TestAbortWithClearLeavesNothingInTheWayOfTheNextMove(t *testing.T) {
	w := newWorld(t)
	list := w.start(50)
	p := w.record(t, "alpha").Placement["orders"]
	source := w.table(t, p)
	e := meddle(w.engine("mover"), "verify: after intent", func() { // somebody ignores the freeze
		late, err := source.Get(t.Context(), edm.Key{PartitionKey: mustPartition(t, p, "row-0009"), RowKey: "row-0009"})
		must(t, err)
		late.Set("Text", edm.StringValue("later"))
		_, err = source.Replace(t.Context(), late, late.ETag)
		must(t, err)
	})
	var differ *DifferencesError
	if _, err := e.Run(t.Context(), "alpha", Target{Model: "own"}, Options{}); !errors.As(err, &differ) {
		t.Fatalf("got %v", err)
	}
	_, err := w.engine("mover").Abort(t.Context(), "alpha", Options{Strays: ClearStrays})
	must(t, err)
	if n := len(w.rows(t, "home", "Ownalpha")); n != 0 {
		t.Errorf("%d rows were left at the target", n)
	}
	_, err = w.engine("mover").Run(t.Context(), "alpha", Target{Model: "own"}, Options{})
	must(t, err)
	list[9].Set("Text", edm.StringValue("later"))
	w.wantAt(t, "alpha", "own", image(list))
}

func TestPurgeRefusesWhatMayBeTheLastCopy(t *testing.T) {
	w := newWorld(t)
	list := w.start(20)
	_, err := w.engine("mover").Run(t.Context(), "alpha", Target{Model: "own"}, Options{})
	must(t, err)
	before := w.rows(t, "home", "Pool")
	must(t, w.target().Delete(t.Context(), edm.Key{PartitionKey: "alpha", RowKey: "row-0003"}, tablestorage.AnyETag))
	var differ *DifferencesError
	if _, err := w.engine("mover").Purge(t.Context(), "alpha", Options{}); !errors.As(err, &differ) || !strings.Contains(err.Error(), "--accept-missing 1") {
		t.Errorf("with one entity missing at the target: %v", err)
	}
	client := w.target().Client()
	must(t, client.DeleteTable(t.Context(), "Ownalpha"))
	if _, err := w.engine("mover").Purge(t.Context(), "alpha", Options{AcceptMissing: 20}); !errors.Is(err, tablestorage.ErrTableNotFound) {
		t.Errorf("with the target's table gone: %v", err)
	}
	if d := cmp.Diff(before, w.rows(t, "home", "Pool")); d != "" {
		t.Errorf("a refused purge changed the source:\n%s", d)
	}
	_, err = client.CreateTable(t.Context(), "Ownalpha")
	must(t, err)
	w.put(t, "alpha", list[1:])
	_, err = w.engine("mover").Purge(t.Context(), "alpha", Options{AcceptMissing: 1})
	must(t, err)
}

func TestPurgeAfterThereAndBackLeavesThePlaceInUse(t *testing.T) {
	w := newWorld(t)
	w.tenant(t, "alpha", "pool")
	_, err := w.engine("mover").Run(t.Context(), "alpha", Target{Model: "own"}, Options{})
	must(t, err)
	list := orders(byTenant, 5)
	w.put(t, "alpha", list)
	_, err = w.engine("mover").Run(t.Context(), "alpha", Target{Model: "pool"}, Options{})
	must(t, err)
	report, err := w.engine("mover").Purge(t.Context(), "alpha", Options{})
	must(t, err)
	if report.Purged != 5 || len(w.rows(t, "home", "Ownalpha")) != 0 {
		t.Errorf("purge: %+v", report)
	}
	w.wantAt(t, "alpha", "pool", image(list))
	if d := cmp.Diff([]string{"home/Pool"}, w.claimed(t)); d != "" {
		t.Errorf("claims (-want +got):\n%s", d)
	}
}

func TestAnAccountThatIsConfiguredAsAnotherIsRefused(t *testing.T) {
	ws := newWorlds(t, 2)
	w, other := ws[0], ws[1]
	w.start(20)
	_, err := w.engine("mover").Run(t.Context(), "alpha", Target{Model: "far"}, Options{})
	must(t, err)
	foreign, err := tablestorage.NewAccounts(tablestorage.Config{
		Home:     tablestorage.AccountConfig{ConnectionString: w.server.ConnectionString(w.home)},
		Accounts: map[string]tablestorage.AccountConfig{"premium": {ConnectionString: w.server.ConnectionString(other.premium)}},
	}, nil)
	must(t, err)
	e := w.engine("mover")
	e.Accounts = foreign
	var misled *tablestorage.OtherStorageError
	if _, err := e.Run(t.Context(), "alpha", Target{Model: "own"}, Options{}); !errors.As(err, &misled) {
		t.Errorf("move: %v", err)
	}
	if _, err := e.Purge(t.Context(), "alpha", Options{}); !errors.As(err, &misled) {
		t.Errorf("purge: %v", err)
	}
}
