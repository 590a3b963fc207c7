package migration

import (
	"context"
	"errors"
	"testing"

	"github.com/aztenancy/terraform-provider-aztenancy/internal/edm"
	"github.com/aztenancy/terraform-provider-aztenancy/internal/tablestorage"
	"github.com/aztenancy/terraform-provider-aztenancy/internal/tenancy"
)

// What somebody else writes into the target's range is never overwritten and never deleted, whenever he comes, and the
// tenant stays where it is and can be written.
func TestStrangersEntityAtTheTargetStopsTheMoveAndStays(t *testing.T) {
	change := func(t *testing.T, w *world, row, text string) { // at the source, as the application may
		p := w.record(t, "alpha").Placement["orders"]
		e, err := w.table(t, p).Get(t.Context(), edm.Key{PartitionKey: mustPartition(t, p, row), RowKey: row})
		must(t, err)
		e.Set("Text", edm.StringValue(text))
		_, err = w.table(t, p).Replace(t.Context(), e, e.ETag)
		must(t, err)
	}
	foreign := func(row string) *edm.Entity {
		e := order("alpha", row, 1)
		e.Set("Text", edm.StringValue("somebody else's"))
		return e
	}
	cases := []struct {
		name, point string
		do          func(t *testing.T, w *world)
		row         string // of the stranger's entity
	}{
		{"an order that the source does not have", "catch up: before intent", func(t *testing.T, w *world) {
			_, err := w.target().Insert(t.Context(), foreign("stranger"))
			must(t, err)
		}, "stranger"},
		{"another content of an order", "catch up: before intent", func(t *testing.T, w *world) {
			_, err := w.target().Replace(t.Context(), foreign("row-0007"), tablestorage.AnyETag)
			must(t, err)
		}, "row-0007"},
		{"another content of an order that changed at the source, too", "catch up: before intent", func(t *testing.T, w *world) {
			change(t, w, "row-0007", "changed")
			_, err := w.target().Replace(t.Context(), foreign("row-0007"), tablestorage.AnyETag)
			must(t, err)
		}, "row-0007"},
		{"an order that the source gets meanwhile", "copy: after outcome", func(t *testing.T, w *world) {
			p := w.record(t, "alpha").Placement["orders"]
			_, err := w.table(t, p).Insert(t.Context(), order(mustPartition(t, p, "late"), "late", 1))
			must(t, err)
			_, err = w.target().Insert(t.Context(), foreign("late"))
			must(t, err)
		}, "late"},
		{"after it was compared", "freeze: before intent", func(t *testing.T, w *world) {
			_, err := w.target().Replace(t.Context(), foreign("row-0007"), tablestorage.AnyETag)
			must(t, err)
		}, "row-0007"},
		{"a partition that the scheme does not have", "catch up: before intent", func(t *testing.T, w *world) {
			_, err := w.target().Insert(t.Context(), order("elsewhere", "row", 1))
			must(t, err)
		}, ""},
	}
	worlds := newWorlds(t, len(cases))
	for i, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			w := worlds[i]
			w.start(50)
			e := meddle(w.engine("mover"), c.point, func() { c.do(t, w) })
			_, err := e.Run(t.Context(), "alpha", Target{Model: "own"}, Options{})
			var collision *CollisionError
			if !errors.As(err, &collision) {
				t.Fatalf("got %v", err)
			}
			if c.row != "" {
				there, err := w.target().Get(t.Context(), edm.Key{PartitionKey: "alpha", RowKey: c.row})
				must(t, err)
				if !there.SameContent(foreign(c.row)) {
					t.Error("the stranger's entity was overwritten")
				}
			}
			if n := len(w.rows(t, "home", "Pool")); n < 50 {
				t.Errorf("%d rows at the source", n)
			}
			_, err = w.engine("mover").Abort(t.Context(), "alpha", Options{Strays: KeepStrays})
			must(t, err)
			if rec := w.record(t, "alpha"); rec.State != tenancy.Active || rec.Model != "pool" || len(w.rows(t, "home", "Ownalpha")) != 1 {
				t.Errorf("after the abort: %s in %s, %d rows at the target, want the stranger's", rec.State, rec.Model, len(w.rows(t, "home", "Ownalpha")))
			}
		})
	}
}

// Somebody who writes between the look at an entity of the target and the write there finds his entity as he left it.
func TestTargetEntityThatChangesUnderAPassIsNotOverwritten(t *testing.T) {
	w := newWorld(t)
	list := w.start(50)
	p := w.record(t, "alpha").Placement["orders"]
	mine := order("alpha", "row-0007", 1)
	e := meddle(w.engine("mover"), "catch up: before transaction", func() {
		_, err := w.target().Replace(t.Context(), mine, tablestorage.AnyETag)
		must(t, err)
	})
	once := false
	hook := e.fault
	e.fault = func(point string) bool {
		if point == "catch up: before intent" && !once {
			once = true
			changed := list[7].Clone()
			changed.PartitionKey = mustPartition(t, p, changed.RowKey)
			changed.Set("Text", edm.StringValue("changed"))
			_, err := w.table(t, p).Replace(t.Context(), changed, tablestorage.AnyETag)
			must(t, err)
		}
		return hook(point)
	}
	var collision *CollisionError
	if _, err := e.Run(t.Context(), "alpha", Target{Model: "own"}, Options{}); !errors.As(err, &collision) {
		t.Fatalf("got %v", err)
	}
	there, err := w.target().Get(t.Context(), mine.Key())
	must(t, err)
	if !there.SameContent(mine) {
		t.Error("it was overwritten")
	}
}

// A move whose copies changed at the source while no mover ran goes on: its own older copies are told from strangers by the
// list of what was sent.
func TestOlderCopiesOfAKilledMoverAreItsOwn(t *testing.T) {
	points := []string{"copy: before transaction", "copy: before checkpoint", "catch up: after list", "catch up: before seals hold", "hold: before intent"}
	worlds := newWorlds(t, len(points))
	for i, point := range points {
		t.Run(point, func(t *testing.T) {
			w := worlds[i]
			list := w.start(230)
			p := w.record(t, "alpha").Placement["orders"]
			edit := func(from int, text string) {
				for n, e := range list[from:] {
					if n%2 == 0 {
						e.Set("Text", edm.StringValue(text))
						stored := e.Clone()
						stored.PartitionKey = mustPartition(t, p, e.RowKey)
						_, err := w.table(t, p).Replace(context.Background(), stored, tablestorage.AnyETag)
						must(t, err)
					}
				}
			}
			e := meddle(w.engine("first"), "copy: after outcome", func() { edit(100, "second version") })
			meddled := e.fault
			seen := 0
			e.fault = countingHook(func(at string) bool {
				meddled(at)
				if at == point {
					seen++
				}
				return at == point && seen == 1
			})
			_, err := e.Run(t.Context(), "alpha", Target{Model: "own"}, Options{Workers: 1})
			if !errors.Is(err, errKilled) {
				t.Fatalf("not killed: %v", err)
			}
			edit(0, "third version")
			w.later()
			_, err = w.engine("second").Run(t.Context(), "alpha", Target{Model: "own"}, Options{})
			must(t, err)
			w.wantAt(t, "alpha", "own", image(list))
		})
	}
}

// The tenant may give an order another bucket while it moves: the order then is in two of the source's partitions for a scan
// that saw it before and after.
func TestOrdersThatChangeTheirBucketDuringTheMoveArriveOnce(t *testing.T) {
	w := newWorld(t)
	byRegion := tenancy.KeyScheme{Kind: tenancy.SchemeBucketed, Separator: "|", Buckets: 3, BucketProperty: "Region"}
	_, err := w.catalog.CreateModel(t.Context(), tenancy.Model{Name: "by-region", Kind: tenancy.SharedTable, Account: "home",
		Tables: map[string]string{"orders": "PoolTenant"}, KeyScheme: byRegion})
	must(t, err)
	w.tenant(t, "beta", "by-region")
	var list []*edm.Entity
	for i := range 40 {
		e := order("", orders(byTenant, 40)[i].RowKey, i)
		e.Set("Region", edm.StringValue([]string{"n", "s", "e", "w"}[i%4]))
		list = append(list, e)
	}
	w.put(t, "beta", list)
	p := w.record(t, "beta").Placement["orders"]
	shift := func(n int) { // the application moves an order to another bucket: insert, then delete
		e := list[n]
		old, err := p.Scheme.PartitionKey(p.Key, e)
		must(t, err)
		region, _ := e.Get("Region")
		next := map[string]string{"n": "s", "s": "e", "e": "w", "w": "n"}
		e.Set("Region", edm.StringValue(next[region.Str()]))
		stored := e.Clone()
		stored.PartitionKey, err = p.Scheme.PartitionKey(p.Key, e)
		must(t, err)
		_, err = w.table(t, p).UpsertReplace(context.Background(), stored)
		must(t, err)
		if stored.PartitionKey != old {
			must(t, w.table(t, p).Delete(context.Background(), edm.Key{PartitionKey: old, RowKey: e.RowKey}, tablestorage.AnyETag))
		}
	}
	for _, model := range []string{"own", "by-region2"} {
		if model == "by-region2" {
			_, err := w.catalog.CreateModel(t.Context(), tenancy.Model{Name: model, Kind: tenancy.SharedTable, Account: "home",
				Tables: map[string]string{"orders": "Pool"}, KeyScheme: byRegion})
			must(t, err)
		}
		at := 0
		e := w.engine("mover")
		e.fault = countingHook(func(point string) bool {
			switch point {
			case "copy: before transaction", "copy: after outcome", "catch up: before seals hold", "catch up: after outcome", "freeze: before intent":
				shift(at % len(list))
				shift((at + 7) % len(list))
				at += 3
			}
			return false
		})
		p = w.record(t, "beta").Placement["orders"] // of "own", where an order changes in place, and its key at the target with it
		_, err := e.Run(t.Context(), "beta", Target{Model: model}, Options{Workers: 1})
		must(t, err)
		w.wantAt(t, "beta", model, image(list))
	}
}
