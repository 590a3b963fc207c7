package tenancy

import (
	"cmp"
	"slices"
	"unicode/utf16"

	"pgregory.net/rapid"

	"github.com/aztenancy/terraform-provider-aztenancy/internal/edm"
)

// keyRunes are characters at which orders and escapes go wrong: neighbours of forbidden ones, separators, both sides
// of the surrogates, and the last ones there are.
var keyRunes = []rune{' ', '!', '\'', '"', '.', '0', '1', '9', ':', '>', '@', 'A', '[', ']', 'a', 'b', '{', '|', '}', '~', 0xA0,
	'é', 0xD7FF, 0x10000, 0x1F600, 0x10FFFF, 0xE000, 0xFF5E, 0xFFFE, 0xFFFF}

func keyText(minLen, maxLen int) *rapid.Generator[string] {
	return rapid.StringOfN(rapid.SampledFrom(keyRunes), minLen, maxLen, -1)
}

func tenantKey() *rapid.Generator[string] { return keyText(1, 4) }

func scheme() *rapid.Generator[KeyScheme] {
	return rapid.Custom(func(t *rapid.T) KeyScheme {
		s := KeyScheme{Kind: rapid.SampledFrom([]Scheme{SchemeTenant, SchemeBucketed, SchemePrefixed, SchemeNative}).Draw(t, "kind")}
		if s.Kind == SchemeBucketed || s.Kind == SchemePrefixed {
			s.Separator = keyText(1, 2).Draw(t, "separator")
		}
		if s.Kind == SchemeBucketed {
			s.Buckets = rapid.SampledFrom([]int{2, 3, 10, 16, 99, 100, 101, 1000}).Draw(t, "buckets")
			s.BucketProperty = rapid.SampledFrom([]string{"", "", "Region"}).Draw(t, "property")
		}
		return s
	})
}

// entityOf draws an entity as the application knows it, without what the scheme adds.
func entityOf(s KeyScheme) *rapid.Generator[edm.Entity] {
	return rapid.Custom(func(t *rapid.T) edm.Entity {
		e := edm.Entity{RowKey: keyText(0, 3).Draw(t, "row")}
		if s.keepsPartition() {
			e.PartitionKey = keyText(0, 3).Draw(t, "partition")
		}
		if rapid.Bool().Draw(t, "hasRegion") {
			e.Set("Region", edm.Int32Value(rapid.Int32Range(0, 50).Draw(t, "region")))
		}
		return e
	})
}

func stored(t *rapid.T, s KeyScheme, key string, logical edm.Entity) edm.Entity {
	pk, err := s.PartitionKey(key, &logical)
	if err != nil {
		t.Fatalf("PartitionKey: %v", err)
	}
	logical.PartitionKey = pk
	return logical
}

func anyRange() *rapid.Generator[KeyRange] {
	return rapid.Custom(func(t *rapid.T) KeyRange {
		a := edm.Key{PartitionKey: keyText(0, 2).Draw(t, "pk1"), RowKey: keyText(0, 2).Draw(t, "rk1")}
		b := edm.Key{PartitionKey: keyText(0, 2).Draw(t, "pk2"), RowKey: keyText(0, 2).Draw(t, "rk2")}
		if rapid.Bool().Draw(t, "onePartition") {
			b.PartitionKey = a.PartitionKey
		}
		if a.Compare(b) > 0 {
			a, b = b, a
		}
		switch End(rapid.IntRange(0, 2).Draw(t, "end")) {
		case EndTable:
			return KeyRange{First: a, End: EndTable}
		case EndPartition:
			return KeyRange{First: a, Last: edm.Key{PartitionKey: b.PartitionKey}, End: EndPartition}
		default:
			return KeyRange{First: a, Last: b}
		}
	})
}

// compareUnits is the order of the service written down plainly: ordinal, by UTF-16 code units (reference §4.4).
func compareUnits(a, b string) int {
	return slices.Compare(utf16.Encode([]rune(a)), utf16.Encode([]rune(b)))
}

func compareKeys(a, b edm.Key) int {
	return cmp.Or(compareUnits(a.PartitionKey, b.PartitionKey), compareUnits(a.RowKey, b.RowKey))
}
