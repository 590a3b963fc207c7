package store

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/aztenancy/terraform-provider-aztenancy/internal/edm"
	"github.com/aztenancy/terraform-provider-aztenancy/internal/tableserver/keyspan"
)

func open(t *testing.T, o Options) *Store {
	t.Helper()
	s, err := Open(o)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func closeStore(t *testing.T, s *Store) {
	t.Helper()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

func makeTable(t *testing.T, s *Store, name string) Table {
	t.Helper()
	if err := s.CreateTable(ctx, "acct", name); err != nil {
		t.Fatal(err)
	}
	tab, err := s.Table(ctx, "acct", name)
	if err != nil {
		t.Fatal(err)
	}
	return tab
}

func upsert(t *testing.T, s *Store, tab Table, e *edm.Entity) *edm.Entity {
	t.Helper()
	out, err := s.Apply(ctx, tab, []Operation{{Kind: UpsertReplace, Entity: e}})
	if err != nil {
		t.Fatal(err)
	}
	return out[0]
}

func TestDataAndPoliciesAreThereAfterReopening(t *testing.T) {
	dir := t.TempDir()
	s := open(t, Options{Dir: dir})
	tab := makeTable(t, s, "Orders")
	want := upsert(t, s, tab, &edm.Entity{PartitionKey: "p", RowKey: "r", Properties: []edm.Property{{Name: "n", Value: edm.Int64Value(1)}}})
	if err := s.SetPolicies(ctx, "acct", "orders", []Policy{{ID: "readers", Permission: "r"}}); err != nil {
		t.Fatal(err)
	}
	closeStore(t, s)

	s = open(t, Options{Dir: dir})
	defer closeStore(t, s)
	tab, err := s.Table(ctx, "acct", "ORDERS")
	if err != nil {
		t.Fatal(err)
	}
	if tab.Name != "Orders" || len(tab.Policies) != 1 || tab.Policies[0].ID != "readers" {
		t.Errorf("table came back as %+v", tab)
	}
	got, err := s.Get(ctx, tab, want.Key())
	if err != nil || !got.SameContent(want) || got.ETag != want.ETag {
		t.Errorf("entity came back as %+v, %v", got, err)
	}
}

func TestTimestampsGrowWhenTheClockIsSetBackAndAcrossRestarts(t *testing.T) {
	for _, orderly := range []bool{true, false} {
		t.Run(fmt.Sprintf("orderly=%v", orderly), func(t *testing.T) {
			dir := t.TempDir()
			now := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
			s := open(t, Options{Dir: dir, Now: func() time.Time { return now }})
			tab := makeTable(t, s, "T")
			first := upsert(t, s, tab, &edm.Entity{PartitionKey: "p", RowKey: "1"})
			now = now.Add(-time.Hour)
			second := upsert(t, s, tab, &edm.Entity{PartitionKey: "p", RowKey: "1"})
			if !second.Timestamp.After(first.Timestamp) {
				t.Errorf("%v after %v", second.Timestamp, first.Timestamp)
			}
			if !orderly { // as after a kill: the mark that runs ahead stays on disk
				s.clock.last = s.clock.mark
			}
			closeStore(t, s)
			s = open(t, Options{Dir: dir, Now: func() time.Time { return now }})
			defer closeStore(t, s)
			tab, err := s.Table(ctx, "acct", "T")
			if err != nil {
				t.Fatal(err)
			}
			third := upsert(t, s, tab, &edm.Entity{PartitionKey: "p", RowKey: "1"})
			if !third.Timestamp.After(second.Timestamp) || third.Timestamp.Sub(second.Timestamp) > 2*time.Second {
				t.Errorf("%v after %v", third.Timestamp, second.Timestamp)
			}
		})
	}
}

// A kill leaves the operating system's cache in place; a power failure does not. This file system forgets at the
// crash whatever was not synced, or keeps a random part of it.
func TestAcknowledgedWritesSurvivePowerFailure(t *testing.T) {
	for round := range 10 {
		disk := vfs.NewCrashableMem()
		s := open(t, Options{fs: disk})
		tab := makeTable(t, s, "T")
		const writers = 4
		var acknowledged [writers]int64
		var mu sync.Mutex
		enough := make(chan struct{})
		ctx, cancel := context.WithCancel(ctx)
		var wg sync.WaitGroup
		for w := range writers {
			wg.Go(func() {
				for i := int64(1); ctx.Err() == nil; i++ {
					var ops []Operation
					for _, rk := range []string{"a", "b", "c"} {
						ops = append(ops, Operation{Kind: UpsertReplace, Entity: &edm.Entity{PartitionKey: fmt.Sprint(w), RowKey: rk,
							Properties: []edm.Property{{Name: "n", Value: edm.Int64Value(i)}}}})
					}
					if _, err := s.Apply(ctx, tab, ops); err != nil {
						t.Error(err)
						return
					}
					mu.Lock()
					acknowledged[w] = i
					mu.Unlock()
					if w == 0 && i == 20 {
						close(enough)
					}
				}
			})
		}
		<-enough
		mu.Lock()
		want := acknowledged
		mu.Unlock()
		after := disk.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: 10 * round, RNG: rand.New(rand.NewPCG(uint64(round), 1))})
		cancel()
		wg.Wait()
		closeStore(t, s)

		s = open(t, Options{fs: after})
		tab, err := s.Table(ctx, "acct", "T")
		if err != nil {
			t.Fatal(err)
		}
		for w, n := range want {
			var got []int64
			for _, rk := range []string{"a", "b", "c"} {
				e, err := s.Get(ctx, tab, edm.Key{PartitionKey: fmt.Sprint(w), RowKey: rk})
				if err != nil {
					if n == 0 && errors.Is(err, ErrNotFound) {
						continue
					}
					t.Fatal(err)
				}
				v, _ := e.Get("n")
				got = append(got, v.Int())
			}
			if n > 0 && (len(got) != 3 || got[0] != got[1] || got[1] != got[2] || got[0] < n) {
				t.Errorf("round %d, partition %d: found %v, %d was acknowledged", round, w, got, n)
			}
		}
		closeStore(t, s)
	}
}

func TestFolderInUseIsRefused(t *testing.T) {
	dir := t.TempDir()
	s := open(t, Options{Dir: dir})
	defer closeStore(t, s)
	if _, err := Open(Options{Dir: dir}); !errors.Is(err, ErrInUse) || !strings.Contains(err.Error(), dir) {
		t.Errorf("got %v", err)
	}
}

func TestFolderOfAnotherFormatIsRefusedAndLeftAlone(t *testing.T) {
	dir := t.TempDir()
	closeStore(t, open(t, Options{Dir: dir}))
	name := filepath.Join(dir, "FORMAT")
	for _, text := range []string{"aztenancy tableserver format 2\n", ""} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := Open(Options{Dir: dir}); err == nil || !strings.Contains(err.Error(), "format") {
			t.Errorf("format %q: %v", text, err)
		}
	}
	if err := os.Remove(name); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(Options{Dir: dir}); err == nil || !strings.Contains(err.Error(), "no FORMAT file") {
		t.Errorf("no format: %v", err)
	}
}

func TestTableMadeAgainIsEmptyAndRefusesWritesMeantForTheOldOne(t *testing.T) {
	s := open(t, Options{})
	defer closeStore(t, s)
	old := makeTable(t, s, "T")
	upsert(t, s, old, &edm.Entity{PartitionKey: "p", RowKey: "r"})
	if err := s.DeleteTable(ctx, "acct", "t"); err != nil {
		t.Fatal(err)
	}
	now := makeTable(t, s, "T")
	for e, err := range s.Scan(ctx, now, keyspan.Whole()) {
		t.Errorf("found %v, %v", e, err)
	}
	_, err := s.Apply(ctx, old, []Operation{{Kind: Insert, Entity: &edm.Entity{PartitionKey: "p", RowKey: "r"}}})
	if !errors.Is(err, ErrTableNotFound) {
		t.Errorf("write to the deleted table: %v", err)
	}
}

func TestAccountsDoNotSeeEachOther(t *testing.T) {
	s := open(t, Options{})
	defer closeStore(t, s)
	makeTable(t, s, "T")
	if _, err := s.Table(ctx, "other", "T"); !errors.Is(err, ErrTableNotFound) {
		t.Errorf("got %v", err)
	}
	if err := s.CreateTable(ctx, "other", "T"); err != nil {
		t.Error(err)
	}
}

func TestReadersSeeTransactionsWholeAndWritersLoseNoUpdate(t *testing.T) {
	s := open(t, Options{})
	defer closeStore(t, s)
	tab := makeTable(t, s, "T")
	set := func(n int32) []Operation {
		ops := make([]Operation, 10)
		for i := range ops {
			ops[i] = Operation{Kind: UpsertReplace, Entity: &edm.Entity{PartitionKey: "p", RowKey: fmt.Sprint(i),
				Properties: []edm.Property{{Name: "n", Value: edm.Int32Value(n)}}}}
		}
		return ops
	}
	if _, err := s.Apply(ctx, tab, set(0)); err != nil {
		t.Fatal(err)
	}
	const writers, rounds = 4, 50
	var wg sync.WaitGroup
	for range writers {
		wg.Go(func() {
			for done := 0; done < rounds; {
				seen := make(map[int64]bool)
				var etag string
				var n int64
				for e, err := range s.Scan(ctx, tab, keyspan.Whole()) {
					if err != nil {
						t.Error(err)
						return
					}
					v, _ := e.Get("n")
					seen[v.Int()] = true
					if e.RowKey == "0" {
						n, etag = v.Int(), e.ETag
					}
				}
				if len(seen) != 1 {
					t.Errorf("half a transaction was seen: %v", seen)
				}
				ops := set(int32(n) + 1)
				ops[0].Kind, ops[0].IfMatch = Replace, etag
				if _, err := s.Apply(ctx, tab, ops); err == nil {
					done++
				} else if !errors.Is(err, ErrConditionNotMet) {
					t.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	e, err := s.Get(ctx, tab, edm.Key{PartitionKey: "p", RowKey: "9"})
	if err != nil {
		t.Fatal(err)
	}
	if v, _ := e.Get("n"); v.Int() != writers*rounds {
		t.Errorf("%d increments arrived, want %d", v.Int(), writers*rounds)
	}
}
