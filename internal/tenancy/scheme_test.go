package tenancy

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/aztenancy/terraform-provider-aztenancy/internal/edm"
)

// Values of Python's zlib.crc32(text.encode()) % buckets; CBF43926 for "123456789" is the check value of CRC-32/ISO-HDLC.
func TestBucketIsFrozen(t *testing.T) {
	for _, c := range []struct {
		text    string
		buckets int
		want    int
	}{
		{"", 16, 0}, {"123456789", 16, 6}, {"contoso", 16, 15}, {"2024-05-31", 16, 4}, {"Ünïcødé", 16, 8}, {"😀", 16, 4},
		{"a", 2, 1}, {"a", 100, 7}, {"a", 1000, 907}, {"row-000001", 32, 0},
	} {
		if got := Bucket(c.text, c.buckets); got != c.want {
			t.Errorf("Bucket(%q, %d) = %d, want %d", c.text, c.buckets, got, c.want)
		}
	}
}

func TestBucketNumbersHaveFixedWidth(t *testing.T) {
	for _, c := range []struct {
		buckets     int
		first, last string
	}{
		{2, "k|00", "k|01"}, {10, "k|00", "k|09"}, {100, "k|00", "k|99"}, {101, "k|000", "k|100"}, {1000, "k|000", "k|999"},
	} {
		all := KeyScheme{Kind: SchemeBucketed, Separator: "|", Buckets: c.buckets}.Partitions("k")
		if len(all) != c.buckets || all[0] != c.first || all[len(all)-1] != c.last || !slices.IsSorted(all) {
			t.Errorf("%d buckets: %d partitions from %q to %q, want %q to %q in order", c.buckets, len(all), all[0], all[len(all)-1], c.first, c.last)
		}
	}
}

func TestRangeOfATenantHoldsAllItsKeys(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s, key := scheme().Draw(t, "scheme"), tenantKey().Draw(t, "key")
		e := stored(t, s, key, entityOf(s).Draw(t, "entity"))
		if !s.Range(key).Contains(e.Key()) {
			t.Fatalf("%v does not hold %q", s.Range(key), e.Key())
		}
		if all := s.Partitions(key); all != nil && !slices.Contains(all, e.PartitionKey) {
			t.Fatalf("%q is none of the partitions %q", e.PartitionKey, all)
		}
	})
}

// The heart of isolation: whatever two tenants' keys and schemes are, if their claims do not conflict, then neither
// range holds a key of the other.
func TestRangesWithoutConflictHoldNoKeyOfAnotherTenant(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var claims []Claim
		var keys []edm.Key
		for i, id := range []string{"a", "b"} {
			s, key := scheme().Draw(t, "scheme "+id), tenantKey().Draw(t, "key "+id)
			if i == 1 && rapid.Bool().Draw(t, "extends") { // keys that begin alike are the interesting ones
				key = claims[0].TenantKey + rapid.SampledFrom([]string{"", "|", "0", "|0", "|00", "|00a", "}", "b"}).Draw(t, "tail")
			}
			claims = append(claims, Claim{Storage: "s", Table: "T", TenantID: id, TenantKey: key, Range: s.Range(key)})
			e := stored(t, s, key, entityOf(s).Draw(t, "entity "+id))
			keys = append(keys, e.Key())
		}
		if _, conflict := Conflict(claims[:1], claims[1]); conflict {
			return
		}
		if claims[0].Range.Contains(keys[1]) || claims[1].Range.Contains(keys[0]) {
			t.Fatalf("ranges %v and %v, keys %q", claims[0].Range, claims[1].Range, keys)
		}
	})
}

func TestSeparatorKeepsTenantsWithKeysThatBeginAlikeApart(t *testing.T) {
	for _, s := range []KeyScheme{{Kind: SchemeTenant}, {Kind: SchemeBucketed, Separator: "|", Buckets: 16}, {Kind: SchemePrefixed, Separator: "|"}} {
		if s.Range("a").Overlaps(s.Range("ab")) {
			t.Errorf("%s: tenant a captures ab: %v and %v", s.Kind, s.Range("a"), s.Range("ab"))
		}
	}
}

func TestSchemesRefuseForeignEntities(t *testing.T) {
	bucketed := KeyScheme{Kind: SchemeBucketed, Separator: "|", Buckets: 16}
	for _, c := range []struct {
		s KeyScheme
		e edm.Entity
	}{
		{KeyScheme{Kind: SchemeTenant}, edm.Entity{PartitionKey: "b"}},
		{bucketed, edm.Entity{PartitionKey: "a|00", RowKey: "contoso"}}, // its bucket is 15
		{bucketed, edm.Entity{PartitionKey: "b|15", RowKey: "contoso"}},
		{KeyScheme{Kind: SchemePrefixed, Separator: "|"}, edm.Entity{PartitionKey: "a}"}}, // the key that a prefix range lets in
	} {
		if v, err := c.s.Partition("a", &c.e); err == nil || !strings.Contains(err.Error(), `"`+c.e.PartitionKey+`"`) {
			t.Errorf("%s, (%q, %q): %q, %v; want an error that names the key", c.s.Kind, c.e.PartitionKey, c.e.RowKey, v, err)
		}
	}
	if _, err := (KeyScheme{Kind: SchemeTenant}).PartitionKey("a", &edm.Entity{PartitionKey: "own"}); err == nil {
		t.Error("scheme tenant dropped the application's partition value without a word")
	}
}

func TestSchemeParametersAreChecked(t *testing.T) {
	for name, s := range map[string]KeyScheme{
		"unknown kind":         {Kind: "hashed"},
		"no separator":         {Kind: SchemePrefixed},
		"separator /":          {Kind: SchemePrefixed, Separator: "/"},
		"long separator":       {Kind: SchemePrefixed, Separator: "123456789"},
		"separator for tenant": {Kind: SchemeTenant, Separator: "|"},
		"buckets for prefixed": {Kind: SchemePrefixed, Separator: "|", Buckets: 4},
		"property for native":  {Kind: SchemeNative, BucketProperty: "P"},
		"one bucket":           {Kind: SchemeBucketed, Separator: "|", Buckets: 1},
		"too many buckets":     {Kind: SchemeBucketed, Separator: "|", Buckets: 1001},
		"bad property":         {Kind: SchemeBucketed, Separator: "|", Buckets: 4, BucketProperty: "a b"},
	} {
		if s.Validate() == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

func TestSuccessorEndsAPrefixExactly(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		prefix := keyText(1, 4).Draw(t, "prefix")
		next, ok := Successor(prefix)
		if !ok {
			if strings.Trim(prefix, "\uFFFF") != "" {
				t.Fatalf("%q has no successor", prefix)
			}
			return
		}
		if err := edm.ValidateKeyPart("PartitionKey", next); err != nil {
			t.Fatalf("successor %q of %q: %v", next, prefix, err)
		}
		text := keyText(0, 6).Draw(t, "text")
		if rapid.Bool().Draw(t, "within") {
			text = prefix + text
		}
		within := compareUnits(prefix, text) <= 0 && compareUnits(text, next) < 0
		if within != strings.HasPrefix(text, prefix) {
			t.Fatalf("%q between %q and %q: %v", text, prefix, next, within)
		}
	})
}

func TestSuccessorSkipsWhatCannotStandInKeys(t *testing.T) {
	for _, c := range [][2]string{
		{"a", "b"}, {"a|", "a}"}, {"a.", "a0"}, {"a~", "a\u00a0"}, {"a[", "a]"}, {"a>", "a@"}, {"a\"", "a$"},
		{"a\uD7FF", "a\U00010000"}, {"a\U0010FFFF", "a\uE000"}, {"a\U0001F600", "a\U0001F601"}, {"a\U000103FF", "a\U00010400"}, {"a\uFFFF", "b"},
	} {
		if got, _ := Successor(c[0]); got != c[1] {
			t.Errorf("Successor(%q) = %q, want %q", c[0], got, c[1])
		}
	}
	for _, none := range []string{"", "\uFFFF", "\uFFFF\uFFFF"} {
		if got, ok := Successor(none); ok {
			t.Errorf("Successor(%q) = %q, want none", none, got)
		}
	}
}
