package archive

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aztenancy/terraform-provider-aztenancy/internal/acctest"
	"github.com/aztenancy/terraform-provider-aztenancy/internal/edm"
	"github.com/aztenancy/terraform-provider-aztenancy/internal/tablestorage"
	"github.com/aztenancy/terraform-provider-aztenancy/internal/tenancy"
)

func contextOfSeconds(t *testing.T) (context.Context, context.CancelFunc) {
	return context.WithTimeout(t.Context(), 2*time.Second)
}

// place is a table on a server with a target for restores.
type place struct {
	t     *testing.T
	table *tablestorage.Table
}

func newPlace(t *testing.T) *place {
	t.Helper()
	server := acctest.StartServer(t, acctest.WithAccounts("home1"))
	accounts, err := tablestorage.NewAccounts(tablestorage.Config{Home: tablestorage.AccountConfig{ConnectionString: server.ConnectionString("home1")}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := accounts.Home().CreateTable(t.Context(), "Orders"); err != nil {
		t.Fatal(err)
	}
	return &place{t, accounts.Home().Table("Orders")}
}

func (p *place) target(s tenancy.KeyScheme, key string) Target {
	tp := placement(s, key)
	return Target{Logical: "orders", Placement: tp, Range: tp.Range, Table: p.table}
}

func (p *place) put(e *edm.Entity) {
	p.t.Helper()
	if _, err := p.table.UpsertReplace(p.t.Context(), &edm.Entity{PartitionKey: e.PartitionKey, RowKey: e.RowKey, Properties: e.Properties}); err != nil {
		p.t.Fatal(err)
	}
}

// holds checks that the target holds exactly these entities, content and all.
func (p *place) holds(to Target, list []*edm.Entity) {
	p.t.Helper()
	var got []*edm.Entity
	for e, err := range p.table.Query(p.t.Context(), tablestorage.Query{Range: &to.Range}) {
		if err != nil {
			p.t.Fatal(err)
		}
		got = append(got, e)
	}
	if !slices.EqualFunc(list, got, func(a, b *edm.Entity) bool { return a.Key() == b.Key() && a.SameContent(b) }) {
		p.t.Errorf("the target holds %d entities, want %d, or other ones", len(got), len(list))
	}
}

func always(context.Context) error { return nil }

func TestRestoreMapsKeysAndMayBeRunAgain(t *testing.T) {
	byTenant := tenancy.KeyScheme{Kind: tenancy.SchemeTenant}
	seven := tenancy.KeyScheme{Kind: tenancy.SchemeBucketed, Separator: ":", Buckets: 7}
	for name, to := range map[string]struct {
		scheme tenancy.KeyScheme
		key    string
	}{"as it was": {bucketed, "contoso"}, "another key": {bucketed, "fabrikam"}, "one partition": {byTenant, "contoso"}, "other buckets": {seven, "contoso"}} {
		t.Run(name, func(t *testing.T) {
			p := newPlace(t)
			a := keep(t, newMemory(), placement(bucketed, "contoso"), orders(t, bucketed, "contoso", 250))
			target := p.target(to.scheme, to.key)
			p.put(&edm.Entity{PartitionKey: "neighbour", RowKey: "1"})
			stop := errors.New("the tenant moves")
			n := 0
			_, err := a.Restore(t.Context(), []Target{target}, func(context.Context) error {
				if n++; n > 2 {
					return stop
				}
				return nil
			}, silent{})
			if !errors.Is(err, stop) {
				t.Fatalf("not stopped: %v", err)
			}
			done, err := a.Restore(t.Context(), []Target{target}, always, silent{})
			if err != nil || done[0].Entities != 250 || done[0].Inserted == 0 || done[0].Identical == 0 || done[0].Inserted+done[0].Identical != 250 {
				t.Errorf("resumed: %+v, %v", done, err)
			}
			done, err = a.Restore(t.Context(), []Target{target}, func(context.Context) error { return errors.New("nothing is written") }, silent{})
			if err != nil || done[0].Inserted != 0 || done[0].Identical != 250 {
				t.Errorf("again: %+v, %v", done, err)
			}
			p.holds(target, orders(t, to.scheme, to.key, 250))
		})
	}
}

func TestRestoreToAPlaceThatHoldsSomethingElseWritesNothing(t *testing.T) {
	p := newPlace(t)
	list := orders(t, bucketed, "contoso", 20)
	a := keep(t, newMemory(), placement(bucketed, "contoso"), list)
	target := p.target(bucketed, "contoso")
	changed := list[3].Clone()
	changed.Set("Int64", edm.Int32Value(1))
	extra := &edm.Entity{PartitionKey: "contoso|00", RowKey: "extra"}
	for name, put := range map[string][]*edm.Entity{"1 of its entities are not in the archive, 0 differ": {extra, list[0]}, "0 of its entities are not in the archive, 1 differ": {changed, list[4]}} {
		for _, e := range put {
			p.put(e)
		}
		_, err := a.Restore(t.Context(), []Target{target}, func(context.Context) error { t.Error("a transaction is sent"); return nil }, silent{})
		var conflict *ConflictError
		if !errors.As(err, &conflict) || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
		if conflict != nil && conflict.Differing > 0 && !strings.Contains(err.Error(), "[Int64]") {
			t.Errorf("the property is not named: %v", err)
		}
		for _, e := range put {
			if err := p.table.Delete(t.Context(), e.Key(), tablestorage.AnyETag); err != nil {
				t.Fatal(err)
			}
		}
	}
}

func TestDamagedArchiveRestoresNothing(t *testing.T) {
	p := newPlace(t)
	m := newMemory()
	a := keep(t, m, placement(bucketed, "contoso"), orders(t, bucketed, "contoso", few+1))
	m.files[chunkName("orders", 1)][20] ^= 1
	_, err := a.Restore(t.Context(), []Target{p.target(bucketed, "contoso")}, func(context.Context) error { t.Error("a transaction is sent"); return nil }, silent{})
	var fault *FaultError
	if !errors.As(err, &fault) {
		t.Errorf("got %v", err)
	}
}

// Whoever writes while a restore runs is found by the comparison at its end.
func TestRestoreSaysWhatDiffersAtItsEnd(t *testing.T) {
	p := newPlace(t)
	list := orders(t, bucketed, "contoso", 20)
	a := keep(t, newMemory(), placement(bucketed, "contoso"), list)
	done := false
	_, err := a.Restore(t.Context(), []Target{p.target(bucketed, "contoso")}, func(context.Context) error {
		if !done {
			done = true
			p.put(&edm.Entity{PartitionKey: "contoso|00", RowKey: "meanwhile"})
		}
		return nil
	}, silent{})
	var differ *DifferencesError
	if !errors.As(err, &differ) || differ.Extra != 1 || differ.Missing+differ.Differing != 0 {
		t.Errorf("got %v", err)
	}
}

func TestRestoreThatWouldLoseKeysIsRefused(t *testing.T) {
	p := newPlace(t)
	prefixed := tenancy.KeyScheme{Kind: tenancy.SchemePrefixed, Separator: "|"}
	e := &edm.Entity{PartitionKey: "contoso|eu", RowKey: "1"}
	a := keep(t, newMemory(), placement(prefixed, "contoso"), []*edm.Entity{e})
	_, err := a.Restore(t.Context(), []Target{p.target(bucketed, "contoso")}, always, silent{})
	var mapping *tenancy.MappingError
	if !errors.As(err, &mapping) {
		t.Errorf("got %v", err)
	}
}
