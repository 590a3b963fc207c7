package store

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/aztenancy/terraform-provider-aztenancy/internal/edm"
)

func entity(rk, text string) *edm.Entity {
	e := &edm.Entity{PartitionKey: "p", RowKey: rk}
	e.Set("text", edm.StringValue(text))
	return e
}

// importable opens a store on disk with a table Orders of account home that holds (p, old).
func importable(t *testing.T) (*Store, Table, string) {
	t.Helper()
	dir := t.TempDir()
	s, err := Open(Options{Dir: dir})
	ok(t, err)
	ok(t, s.CreateTable(t.Context(), "home", "Orders"))
	old, err := s.Table(t.Context(), "home", "Orders")
	ok(t, err)
	_, err = s.Apply(t.Context(), old, []Operation{{Kind: Insert, Entity: entity("old", "")}})
	ok(t, err)
	return s, old, dir
}

func ok(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestImportIsUnseenUntilItReplacesAll(t *testing.T) {
	s, old, dir := importable(t)
	ctx := t.Context()
	im, err := s.NewImport(ctx, "home")
	ok(t, err)
	ok(t, im.CreateTable("orders", []Policy{{ID: "a"}}))
	big := strings.Repeat("x", 60<<10)
	stamp := time.Now().UTC().Add(time.Hour).Truncate(time.Second)
	const n = 200 // 12 MB: several batches
	for i := range n {
		e := entity(fmt.Sprintf("%04d", i), big)
		e.Timestamp = stamp
		ok(t, im.Put(e))
	}
	for _, rk := range []string{"0000", "0199"} { // the first batch is gone, the last is not
		if err := im.Put(entity(rk, "")); !errors.Is(err, ErrExists) {
			t.Errorf("%s a second time: %v", rk, err)
		}
	}
	if err := im.CreateTable("ORDERS", nil); !errors.Is(err, ErrTableExists) {
		t.Errorf("the table a second time: %v", err)
	}
	if _, err := s.Get(ctx, old, edm.Key{PartitionKey: "p", RowKey: "old"}); err != nil {
		t.Errorf("before the end: %v", err)
	}
	ok(t, im.Replace([]byte("properties")))
	if _, err := s.Apply(ctx, old, []Operation{{Kind: Insert, Entity: entity("late", "")}}); !errors.Is(err, ErrTableNotFound) {
		t.Errorf("a write into the replaced table: %v", err)
	}
	ok(t, s.Close())
	s, err = Open(Options{Dir: dir})
	ok(t, err)
	now, err := s.Table(ctx, "home", "Orders")
	ok(t, err)
	if now.Name != "orders" || len(now.Policies) != 1 {
		t.Errorf("the table is %+v", now)
	}
	e, err := s.Get(ctx, now, edm.Key{PartitionKey: "p", RowKey: "0000"})
	ok(t, err)
	if !e.Timestamp.Equal(stamp) || e.ETag != edm.ETagOf(stamp) {
		t.Errorf("Timestamp %v, ETag %s; imported with %v", e.Timestamp, e.ETag, stamp)
	}
	stored, err := s.Apply(ctx, now, []Operation{{Kind: Insert, Entity: entity("new", "")}})
	ok(t, err)
	if !stored[0].Timestamp.After(stamp) {
		t.Errorf("a new write has the Timestamp %v, not after the imported %v", stored[0].Timestamp, stamp)
	}
	var entities int
	properties, err := s.Dump(ctx, "home", func(Table) error { return nil }, func(*edm.Entity) error { entities++; return nil })
	ok(t, err)
	if entities != n+1 || string(properties) != "properties" {
		t.Errorf("%d entities, properties %q", entities, properties)
	}
	ok(t, s.Close())
}

func TestImportAddsNothingWhereATableIsThere(t *testing.T) {
	s, old, _ := importable(t)
	im, err := s.NewImport(t.Context(), "home")
	ok(t, err)
	ok(t, im.CreateTable("New", nil))
	ok(t, im.CreateTable("ORDERS", nil))
	ok(t, im.Put(entity("r", "")))
	if err := im.Add(); !errors.Is(err, ErrTableExists) {
		t.Errorf("got %v", err)
	}
	if _, err := s.Table(t.Context(), "home", "New"); !errors.Is(err, ErrTableNotFound) {
		t.Errorf("the other table is there: %v", err)
	}
	if _, err := s.Get(t.Context(), old, edm.Key{PartitionKey: "p", RowKey: "old"}); err != nil {
		t.Error(err)
	}
	ok(t, s.Close())
}
