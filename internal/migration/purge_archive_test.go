package migration

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/aztenancy/terraform-provider-aztenancy/internal/archive"
	"github.com/aztenancy/terraform-provider-aztenancy/internal/edm"
	"github.com/aztenancy/terraform-provider-aztenancy/internal/tablestorage"
	"github.com/aztenancy/terraform-provider-aztenancy/internal/tenancy"
)

// moved makes a tenant alpha with n orders that has moved from the pool to own.
func (w *world) moved(n int, o Options) []*edm.Entity {
	w.t.Helper()
	list := w.start(n)
	_, err := w.engine("setup").Run(w.t.Context(), "alpha", Target{Model: "own"}, o)
	must(w.t, err)
	return list
}

// archivedOrders reads the archive of alpha's first migration as its application sees the orders.
func archivedOrders(t *testing.T, dir string) map[edm.Key]string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(dir, "alpha-*"))
	must(t, err)
	if len(found) != 1 {
		t.Fatalf("archives %q", found)
	}
	a, err := archive.Open(t.Context(), archive.NewFolder(found[0]))
	must(t, err)
	_, err = a.Check(t.Context(), Discard)
	must(t, err)
	place, _ := a.Manifest.Table("orders")
	out := map[edm.Key]string{}
	for e, err := range a.Entities(t.Context(), "orders") {
		must(t, err)
		value, err := place.Placement.Scheme.Partition(place.Placement.Key, e)
		must(t, err)
		k := nameOf(value, e)
		out[k] = string(edm.AppendCanonical(nil, k, e))
	}
	return out
}

func TestPurgeArchivesBeforeItDeletes(t *testing.T) {
	w := newWorld(t)
	list := w.moved(40, Options{})
	w.tenant(t, "alphaa", "pool")
	w.put(t, "alphaa", list[:3])
	dir := t.TempDir()
	before := 0
	e := meddle(w.engine("purger"), "delete: before transaction", func() {
		before = len(archivedOrders(t, dir))
	})
	report, err := e.Purge(t.Context(), "alpha", Options{ArchiveTo: dir})
	must(t, err)
	if before != 40 || !strings.HasPrefix(report.Archive, dir) || report.Purged != 40 {
		t.Errorf("%d orders were archived before the first was deleted; report %+v", before, report)
	}
	if d := cmp.Diff(image(list), archivedOrders(t, dir)); d != "" {
		t.Errorf("archive (-want +got):\n%s", d)
	}
	if n := len(w.rows(t, "home", "Pool")); n != 3 {
		t.Errorf("%d rows are left, want the neighbour's 3", n)
	}
}

// Wherever a purge with an archive is killed, the same command finishes it, and the archive is whole.
func TestPurgeWithArchiveKilledAnywhereIsFinished(t *testing.T) {
	base := t.TempDir()
	dirOf := func(e *Engine) string { return filepath.Join(base, e.Accounts.Home().AccountName()) }
	list := orders(bucketed(4), 230)
	j := job{"purge", func(w *world) {
		w.tenant(w.t, "alpha", "pool")
		w.put(w.t, "alpha", list)
		_, err := w.engine("setup").Run(w.t.Context(), "alpha", Target{Model: "own"}, Options{})
		must(w.t, err)
	}, func(ctx context.Context, e *Engine) (*Report, error) {
		return e.Purge(ctx, "alpha", Options{ArchiveTo: dirOf(e)})
	}, func(t *testing.T, w *world) {
		w.wantAt(t, "alpha", "own", image(list))
		if n := len(w.rows(t, "home", "Pool")); n != 0 {
			t.Errorf("%d rows are left", n)
		}
		if d := cmp.Diff(image(list), archivedOrders(t, dirOf(w.engine("")))); d != "" {
			t.Errorf("archive (-want +got):\n%s", d)
		}
	}}
	points := []string{"check: before intent", "archive: before writing", "archive: before record", "check: after effect", "check: after purging",
		"purge: after intent", "delete: before transaction", "claims: before release", "purge: after done"}
	worlds := newWorlds(t, len(points))
	for i, point := range points {
		t.Run(point, func(t *testing.T) {
			w := worlds[i]
			killAndFinish(t, w, j, point, 1)
		})
	}
}

// Where the archive is not what it has to be, nothing is deleted, and the message says what it is.
func TestPurgeDeletesNothingWithoutAGoodArchive(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	must(t, os.WriteFile(file, []byte("x"), 0o600))
	at := func(id string) string { return filepath.Join(dir, id, "alpha-000002") }
	kill := func(t *testing.T, w *world, point, to string) {
		_, err := killAt(point, 1, w.engine("first"), func(ctx context.Context, e *Engine) (*Report, error) {
			return e.Purge(ctx, "alpha", Options{ArchiveTo: to})
		})
		if !errors.Is(err, errKilled) {
			t.Fatalf("not killed: %v", err)
		}
		w.later()
	}
	damage := func(t *testing.T, folder string) {
		found, err := filepath.Glob(filepath.Join(folder, "orders-*"))
		must(t, err)
		data, err := os.ReadFile(found[0])
		must(t, err)
		must(t, os.WriteFile(found[0], data[:len(data)-1], 0o600))
	}
	cases := []struct {
		name  string
		setup func(t *testing.T, w *world) (to string)
		want  string
	}{
		{"not a folder", func(*testing.T, *world) string { return file }, "not a directory"},
		{"taken", func(t *testing.T, w *world) string {
			must(t, os.MkdirAll(at("taken"), 0o700))
			must(t, os.WriteFile(filepath.Join(at("taken"), "letter"), nil, 0o600))
			return filepath.Join(dir, "taken")
		}, `holds "letter"`},
		{"lacks an entity", func(t *testing.T, w *world) string {
			to := filepath.Join(dir, "lacks")
			place := w.firstSource(t)
			_, err := archive.Write(t.Context(), archive.NewFolder(at("lacks")), archive.Manifest{Tenant: "alpha", Migration: "alpha-000002"},
				[]archive.Source{{Logical: "orders", Placement: place, Range: place.Range, Entities: func(func(*edm.Entity, error) bool) {}}}, Discard)
			must(t, err)
			return to
		}, "is not in archive"},
		{"of another migration", func(t *testing.T, w *world) string {
			_, err := archive.Write(t.Context(), archive.NewFolder(at("other")), archive.Manifest{Tenant: "alpha", Migration: "alpha-000001"}, nil, Discard)
			must(t, err)
			return filepath.Join(dir, "other")
		}, `holds the archive of migration "alpha-000001"`},
		{"damaged before the record", func(t *testing.T, w *world) string {
			kill(t, w, "archive: before record", filepath.Join(dir, "damaged"))
			damage(t, at("damaged"))
			return filepath.Join(dir, "damaged")
		}, "truncated"},
		{"damaged after the record", func(t *testing.T, w *world) string {
			kill(t, w, "purge: before intent", filepath.Join(dir, "later"))
			damage(t, at("later"))
			return filepath.Join(dir, "later")
		}, "truncated"},
		{"gone after the record", func(t *testing.T, w *world) string {
			kill(t, w, "purge: before intent", filepath.Join(dir, "gone"))
			must(t, os.RemoveAll(at("gone")))
			return filepath.Join(dir, "gone")
		}, "there is no archive"},
		{"begun without", func(t *testing.T, w *world) string {
			kill(t, w, "purge: before intent", "")
			return filepath.Join(dir, "without")
		}, "began without an archive"},
		{"in a Blob container of an account that is not configured", func(*testing.T, *world) string {
			return "https://elsewhere.blob.core.windows.net/archives"
		}, "storage account elsewhere is not configured"},
	}
	worlds := newWorlds(t, len(cases))
	for i, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			w := worlds[i]
			w.moved(20, Options{})
			before := w.rows(t, "home", "Pool")
			to := c.setup(t, w)
			_, err := w.engine("purger").Purge(t.Context(), "alpha", Options{ArchiveTo: to})
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v", err)
			}
			if d := cmp.Diff(before, w.rows(t, "home", "Pool")); d != "" {
				t.Errorf("rows of the source:\n%s", d)
			}
		})
	}
}

// firstSource is where alpha's first migration comes from.
func (w *world) firstSource(t *testing.T) tenancy.TablePlacement {
	t.Helper()
	all, err := w.catalog.Migrations(t.Context(), "alpha")
	must(t, err)
	return all[0].Source["orders"]
}

func TestPurgeWaitsForTheReverseWindowUnlessToldTwice(t *testing.T) {
	w := newWorld(t)
	w.moved(5, Options{ReverseWindow: 24 * time.Hour})
	_, err := w.engine("purger").Purge(t.Context(), "alpha", Options{})
	var refused *RefusedError
	until := time.Now().Add(24 * time.Hour).UTC().Format("2006-01-02T15")
	if !errors.As(err, &refused) || !strings.Contains(err.Error(), until) || !strings.Contains(err.Error(), "--now alpha") {
		t.Errorf("within the window: %v", err)
	}
	if n := len(w.rows(t, "home", "Pool")); n != 5 {
		t.Errorf("%d rows are left of 5", n)
	}
	if rec := w.record(t, "alpha"); rec.Migration != "" {
		t.Errorf("the refusal left the tenant bound to %s", rec.Migration)
	}
	early := w.engine("early")
	_, err = early.Purge(t.Context(), "alpha", Options{Now: true})
	must(t, err)
	if n := len(w.rows(t, "home", "Pool")); n != 0 {
		t.Errorf("%d rows are left", n)
	}
	// Over by itself.
	_, err = w.engine("mover").Run(t.Context(), "alpha", Target{Model: "far"}, Options{ReverseWindow: 30 * time.Minute})
	must(t, err)
	if _, err := w.engine("purger").Purge(t.Context(), "alpha", Options{}); !errors.As(err, &refused) {
		t.Errorf("within the window: %v", err)
	}
	w.later()
	_, err = w.engine("purger").Purge(t.Context(), "alpha", Options{})
	must(t, err)
}

// What the archive of a purge holds can be brought back to where the tenant lives now.
func TestPurgedSourceCanBeRestored(t *testing.T) {
	w := newWorld(t)
	list := w.moved(40, Options{})
	dir := t.TempDir()
	report, err := w.engine("purger").Purge(t.Context(), "alpha", Options{ArchiveTo: dir})
	must(t, err)
	p := w.record(t, "alpha").Placement["orders"]
	for e, err := range w.table(t, p).Query(t.Context(), tablestorage.Query{}) { // the application loses everything
		must(t, err)
		must(t, w.table(t, p).Delete(t.Context(), e.Key(), tablestorage.AnyETag))
	}
	a, err := archive.Open(t.Context(), archive.NewFolder(report.Archive))
	must(t, err)
	done, err := a.Restore(t.Context(), []archive.Target{{Logical: "orders", Placement: p, Range: tenancy.WholeTable(), Table: w.table(t, p)}},
		func(context.Context) error { return nil }, Discard)
	must(t, err)
	if done[0].Inserted != 40 {
		t.Errorf("restored %s", fmt.Sprint(done))
	}
	w.wantAt(t, "alpha", "own", image(list))
}
