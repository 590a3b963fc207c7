package tenancy

import (
	"errors"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/aztenancy/terraform-provider-aztenancy/internal/edm"
)

func placed(table string, s KeyScheme, key string) TablePlacement {
	return TablePlacement{Account: HomeAccount, Storage: "s", Table: table, Scheme: s, Key: key, Range: s.Range(key)}
}

// drawMapping draws a mapping that exists, and its source's scheme and key.
func drawMapping(t *rapid.T) *Mapping {
	src := placed("Source", scheme().Draw(t, "source"), tenantKey().Draw(t, "source key"))
	dst := placed("Target", scheme().Draw(t, "target"), tenantKey().Draw(t, "target key"))
	if rapid.Bool().Draw(t, "alike") { // equal schemes are rare otherwise
		dst.Scheme = src.Scheme
		dst.Range = dst.Scheme.Range(dst.Key)
	}
	m, err := NewMapping(src, dst)
	if src.Scheme.keepsPartition() != dst.Scheme.keepsPartition() {
		var refused *MappingError
		if !errors.As(err, &refused) || refused.Reason == "" || refused.Way == "" {
			t.Fatalf("lossy mapping from %v to %v: %v, %v", src.Scheme, dst.Scheme, m, err)
		}
		t.Skip("lossy")
	}
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func mapped(t *rapid.T, m *Mapping, e edm.Entity) edm.Entity {
	k, err := m.Map(&e)
	if err != nil {
		t.Fatalf("map %q: %v", e.Key(), err)
	}
	e.PartitionKey, e.RowKey = k.PartitionKey, k.RowKey
	return e
}

func TestInverseMappingLeadsBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := drawMapping(t)
		e := stored(t, m.src.Scheme, m.src.Key, entityOf(m.src.Scheme).Draw(t, "entity"))
		there := mapped(t, m, e)
		if !m.dst.Range.Contains(there.Key()) {
			t.Fatalf("%q went to %q, outside of %v", e.Key(), there.Key(), m.dst.Range)
		}
		back, err := m.Inverse()
		if err != nil {
			t.Fatal(err)
		}
		if again := mapped(t, back, there); again.Key() != e.Key() {
			t.Fatalf("%q → %q → %q", e.Key(), there.Key(), again.Key())
		}
		if back.Class() != m.Class() {
			t.Fatalf("class %s there, %s back", m.Class(), back.Class())
		}
	})
}

func TestClassSaysWhatHappensToKeys(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := drawMapping(t)
		one := stored(t, m.src.Scheme, m.src.Key, entityOf(m.src.Scheme).Draw(t, "one"))
		two := stored(t, m.src.Scheme, m.src.Key, entityOf(m.src.Scheme).Draw(t, "two"))
		mappedOne, mappedTwo := mapped(t, m, one), mapped(t, m, two)
		before, after := one.Key().Compare(two.Key()), mappedOne.Key().Compare(mappedTwo.Key())
		switch m.Class() {
		case MapIdentity:
			if mappedOne.Key() != one.Key() {
				t.Fatalf("identity changed %q to %q", one.Key(), mappedOne.Key())
			}
		case MapOrdered:
			if before != after {
				t.Fatalf("%q, %q compare %d before and %d after", one.Key(), two.Key(), before, after)
			}
		case MapRebucketing:
			if _, may := m.MayCollide(); !may && before != 0 && after == 0 {
				t.Fatalf("%q and %q both became %q", one.Key(), two.Key(), mappedOne.Key())
			}
		}
	})
}

func TestMappingReadsNoMoreThanItSays(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := drawMapping(t)
		e := stored(t, m.src.Scheme, m.src.Key, entityOf(m.src.Scheme).Draw(t, "entity"))
		projected := edm.Entity{PartitionKey: e.PartitionKey, RowKey: e.RowKey}
		for _, name := range m.Properties() {
			if v, ok := e.Get(name); ok {
				projected.Set(name, v)
			}
		}
		all, few := mapped(t, m, e), mapped(t, m, projected)
		if all.Key() != few.Key() {
			t.Fatalf("%q with all properties, %q with %q", all.Key(), few.Key(), m.Properties())
		}
	})
}

func TestMappingsOfTheSchemes(t *testing.T) {
	tenant := KeyScheme{Kind: SchemeTenant}
	b16 := KeyScheme{Kind: SchemeBucketed, Separator: "|", Buckets: 16}
	b32 := KeyScheme{Kind: SchemeBucketed, Separator: "|", Buckets: 32}
	region := KeyScheme{Kind: SchemeBucketed, Separator: "|", Buckets: 16, BucketProperty: "Region"}
	prefixed := KeyScheme{Kind: SchemePrefixed, Separator: "_"}
	native := KeyScheme{Kind: SchemeNative}
	for _, c := range []struct {
		name           string
		src, dst       KeyScheme
		srcKey, dstKey string
		class          MapClass // "": refused
	}{
		{"same scheme and key", tenant, tenant, "c", "c", MapIdentity},
		{"another key", tenant, tenant, "c", "d", MapOrdered},
		{"buckets under another key", b16, b16, "c", "d", MapOrdered},
		{"other buckets", b16, b32, "c", "c", MapRebucketing},
		{"another property", b16, region, "c", "c", MapRebucketing},
		{"into buckets", tenant, b16, "c", "c", MapRebucketing},
		{"out of buckets", b16, tenant, "c", "c", MapRebucketing},
		{"prefix taken off", prefixed, native, "c", "c", MapOrdered},
		{"prefix put on", native, prefixed, "c", "c", MapOrdered},
		{"native to native", native, native, "c", "d", MapIdentity},
		{"partition value lost", prefixed, tenant, "c", "c", ""},
		{"partition value lost in buckets", native, b16, "c", "c", ""},
		{"partition value made up", tenant, prefixed, "c", "c", ""},
	} {
		m, err := NewMapping(placed("Source", c.src, c.srcKey), placed("Target", c.dst, c.dstKey))
		switch {
		case c.class == "" && err == nil:
			t.Errorf("%s: not refused", c.name)
		case c.class != "" && (err != nil || m.Class() != c.class):
			t.Errorf("%s: %v, %v; want %s", c.name, m, err, c.class)
		}
	}
}

func TestMappingWithinOneTableNeedsRoom(t *testing.T) {
	b16 := KeyScheme{Kind: SchemeBucketed, Separator: "|", Buckets: 16}
	b32 := KeyScheme{Kind: SchemeBucketed, Separator: "|", Buckets: 32}
	_, err := NewMapping(placed("Orders", b16, "c"), placed("orders", b32, "c"))
	if err == nil || !strings.Contains(err.Error(), "`c|00` … `c|15`") || !strings.Contains(err.Error(), "another table") {
		t.Errorf("overlapping ranges in one table: %v", err)
	}
	if _, err := NewMapping(placed("Orders", b16, "c"), placed("Orders", b32, "d")); err != nil {
		t.Errorf("disjoint ranges in one table: %v", err)
	}
}

func TestKeyTooLongForTheTargetIsNamed(t *testing.T) {
	m, err := NewMapping(placed("Source", KeyScheme{Kind: SchemeNative}, "c"), placed("Target", KeyScheme{Kind: SchemePrefixed, Separator: "|"}, "c"))
	if err != nil {
		t.Fatal(err)
	}
	e := edm.Entity{PartitionKey: strings.Repeat("x", edm.MaxKeyUnits), RowKey: "r1"}
	if _, err := m.Map(&e); err == nil || !strings.Contains(err.Error(), `"r1"`) {
		t.Errorf("got %v", err)
	}
}
