package access_test

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/aztenancy/terraform-provider-aztenancy/internal/access"
	"github.com/aztenancy/terraform-provider-aztenancy/internal/acctest"
	"github.com/aztenancy/terraform-provider-aztenancy/internal/edm"
	"github.com/aztenancy/terraform-provider-aztenancy/internal/tablestorage"
	"github.com/aztenancy/terraform-provider-aztenancy/internal/tenancy"
)

// keyRunes are characters at which orders and escapes go wrong: neighbours of forbidden ones, separators, what URLs and
// filters escape, both sides of the surrogates, and the last ones there are. They are few, so that keys begin alike.
var keyRunes = []rune{'a', 'a', 'b', '|', '|', '}', '0', '1', ' ', '\'', '%', '+', '&', '=', '.', '~', 0xA0, 0xD7FF, 0x10000, 0x10FFFF, 0xE000, 0xFFFE, 0xFFFF}

func keyText(minLen, maxLen int) *rapid.Generator[string] {
	return rapid.StringOfN(rapid.SampledFrom(keyRunes), minLen, maxLen, -1)
}

func sharedScheme() *rapid.Generator[tenancy.KeyScheme] {
	return rapid.Custom(func(t *rapid.T) tenancy.KeyScheme {
		s := tenancy.KeyScheme{Kind: rapid.SampledFrom([]tenancy.Scheme{tenancy.SchemeTenant, tenancy.SchemeBucketed, tenancy.SchemePrefixed}).Draw(t, "kind")}
		if s.Kind != tenancy.SchemeTenant {
			s.Separator = keyText(1, 2).Draw(t, "separator")
		}
		if s.Kind == tenancy.SchemeBucketed {
			s.Buckets = rapid.SampledFrom([]int{2, 3, 11, 101}).Draw(t, "buckets")
		}
		return s
	})
}

// owned are the keys of each tenant's entities in one shared table.
type owned map[string][]edm.Key

// Whatever tenants share a table, under whatever schemes and keys: a token reaches every entity of its tenant and none of
// another's.
func TestTokenOfOneTenantReachesAllOfItsOwnAndNoneOfAnother(t *testing.T) {
	server := acctest.StartServer(t, acctest.WithAccounts(account))
	n := 0
	rapid.Check(t, func(rt *rapid.T) {
		n++
		table := fmt.Sprintf("Shared%d", n)
		w := worldOn(rt, t.Context(), server, fmt.Sprintf("Catalog%d", n))
		has := populate(rt, w, table)
		for _, id := range slices.Sorted(maps.Keys(has)) {
			reached := holder(rt, w.issue(access.Request{TenantID: id, Permissions: access.AllPermissions}))
			before := w.etags(table)
			reachesOwn(rt, w, reached, has[id])
			for other, keys := range has {
				if other == id {
					continue
				}
				for _, key := range keys {
					reachesNot(rt, w, reached, key)
				}
			}
			after := w.etags(table)
			for other, keys := range has {
				for _, key := range keys {
					if other != id && after[key] != before[key] {
						rt.Errorf("the token of %q changed %v of %q", id, key, other)
					}
				}
			}
		}
	})
}

// populate makes tenants of random schemes and keys in one shared table, with entities.
func populate(t *rapid.T, w *world, table string) owned {
	schemes := rapid.SliceOfN(sharedScheme(), 1, 3).Draw(t, "schemes")
	for i, s := range schemes {
		w.shared(fmt.Sprintf("model-%d", i), table, s)
	}
	has := owned{}
	for i, key := range rapid.SliceOfNDistinct(keyText(1, 4), 2, 5, rapid.ID).Draw(t, "tenant keys") {
		id := fmt.Sprintf("tenant-%d", i)
		model := rapid.IntRange(0, len(schemes)-1).Draw(t, "model")
		rec, created := w.tenant(id, key, fmt.Sprintf("model-%d", model))
		if !created {
			continue
		}
		p := rec.Placement["orders"]
		for range rapid.IntRange(1, 3).Draw(t, "entities") {
			e := &edm.Entity{RowKey: keyText(0, 3).Draw(t, "row")}
			if p.Scheme.Kind == tenancy.SchemePrefixed {
				e.PartitionKey = keyText(0, 3).Draw(t, "partition")
			}
			if k := w.put(p, e); !slices.Contains(has[id], k) {
				has[id] = append(has[id], k)
			}
		}
	}
	return has
}

// etags is everything that a table holds.
func (w *world) etags(table string) map[edm.Key]string {
	w.t.Helper()
	all := map[edm.Key]string{}
	for e, err := range w.accounts.Home().Table(table).Query(w.ctx, tablestorage.Query{}) {
		must(w.t, err)
		all[e.Key()] = e.ETag
	}
	return all
}

// reachesOwn reads and writes every entity of the token's tenant, in every way.
func reachesOwn(t failer, w *world, table *tablestorage.Table, keys []edm.Key) {
	t.Helper()
	var found []edm.Key
	for e, err := range table.Query(w.ctx, tablestorage.Query{}) {
		must(t, err)
		found = append(found, e.Key())
	}
	slices.SortFunc(keys, edm.Key.Compare)
	if !slices.Equal(found, keys) {
		t.Errorf("a query of the whole table finds %q, want %q", found, keys)
	}
	for _, key := range keys {
		if _, err := table.Get(w.ctx, key); err != nil {
			t.Errorf("get %q: %v", key, err)
		}
		if _, err := table.UpsertMerge(w.ctx, written(key)); err != nil {
			t.Errorf("upsert %q: %v", key, err)
		}
		if _, err := table.Submit(w.ctx, []tablestorage.Operation{{Kind: tablestorage.OpMerge, Entity: written(key), ETag: tablestorage.AnyETag}}); err != nil {
			t.Errorf("batch on %q: %v", key, err)
		}
		must(t, table.Delete(w.ctx, key, tablestorage.AnyETag))
		_, err := table.Insert(w.ctx, written(key))
		must(t, err)
	}
}

// reachesNot tries to read and to write an entity of another tenant, in every way.
func reachesNot(t failer, w *world, table *tablestorage.Table, key edm.Key) {
	t.Helper()
	if e, err := table.Get(w.ctx, key); err == nil {
		t.Errorf("got %v", e)
	}
	only := tenancy.KeyRange{First: key, Last: key}
	for e, err := range table.Query(w.ctx, tablestorage.Query{Range: &only}) {
		if err == nil {
			t.Errorf("a query for it finds %v", e)
		}
	}
	entity := written(key)
	for _, op := range []tablestorage.Operation{
		{Kind: tablestorage.OpInsert, Entity: entity},
		{Kind: tablestorage.OpUpsertMerge, Entity: entity},
		{Kind: tablestorage.OpUpsertReplace, Entity: entity},
		{Kind: tablestorage.OpMerge, Entity: entity, ETag: tablestorage.AnyETag},
		{Kind: tablestorage.OpReplace, Entity: entity, ETag: tablestorage.AnyETag},
		{Kind: tablestorage.OpDelete, Entity: entity, ETag: tablestorage.AnyETag},
	} {
		if _, err := table.Submit(w.ctx, []tablestorage.Operation{op}); !errors.Is(err, tablestorage.ErrForbidden) {
			t.Errorf("batch with operation %d on %q: %v", op.Kind, key, err)
		}
	}
	_, inserted := table.Insert(w.ctx, entity)
	_, merged := table.Merge(w.ctx, entity, tablestorage.AnyETag)
	_, upserted := table.UpsertReplace(w.ctx, entity)
	for _, err := range []error{inserted, merged, upserted, table.Delete(w.ctx, key, tablestorage.AnyETag)} {
		if !errors.Is(err, tablestorage.ErrForbidden) {
			t.Errorf("write of %q: %v", key, err)
		}
	}
}

func written(key edm.Key) *edm.Entity {
	e := &edm.Entity{PartitionKey: key.PartitionKey, RowKey: key.RowKey}
	e.Set("By", edm.StringValue("the holder of a token"))
	return e
}
