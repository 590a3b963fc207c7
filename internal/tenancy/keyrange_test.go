package tenancy

import (
	"encoding/json"
	"testing"

	"pgregory.net/rapid"

	"github.com/aztenancy/terraform-provider-aztenancy/internal/edm"
)

// containsPlainly is what a SAS with the range's ends lets in (Create a service SAS, REST reference: inclusive bounds).
func containsPlainly(r KeyRange, k edm.Key) bool {
	if compareKeys(k, r.First) < 0 {
		return false
	}
	switch r.End {
	case EndTable:
		return true
	case EndPartition:
		return compareUnits(k.PartitionKey, r.Last.PartitionKey) <= 0
	default:
		return compareKeys(k, r.Last) <= 0
	}
}

func TestRangeFilterAndSASAgreeOnEveryKey(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := anyRange().Draw(t, "range")
		if err := r.Validate(); err != nil {
			t.Fatal(err)
		}
		k := rapid.OneOf(
			rapid.Custom(func(t *rapid.T) edm.Key {
				return edm.Key{PartitionKey: keyText(0, 2).Draw(t, "pk"), RowKey: keyText(0, 2).Draw(t, "rk")}
			}),
			rapid.Custom(func(t *rapid.T) edm.Key {
				return edm.Key{PartitionKey: rapid.SampledFrom([]string{r.First.PartitionKey, r.Last.PartitionKey}).Draw(t, "pk"),
					RowKey: rapid.SampledFrom([]string{"", r.First.RowKey, r.Last.RowKey, "a"}).Draw(t, "rk")}
			})).Draw(t, "key")
		want := containsPlainly(r, k)
		if got := r.Contains(k); got != want {
			t.Fatalf("Contains(%q) = %v, want %v", k, got, want)
		}
		if got := evalFilter(t, r.Filter(), k); got != want {
			t.Fatalf("filter %s on %q = %v, want %v", r.Filter(), k, got, want)
		}
	})
}

func TestRangesOverlapExactlyWhenAKeyLiesInBoth(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := anyRange().Draw(t, "a"), anyRange().Draw(t, "b")
		// Two intervals have a point in common exactly if one of them holds the other's first point.
		want := containsPlainly(a, b.First) || containsPlainly(b, a.First)
		if a.Overlaps(b) != want || b.Overlaps(a) != want {
			t.Fatalf("%v and %v: Overlaps = %v and %v, want %v", a, b, a.Overlaps(b), b.Overlaps(a), want)
		}
	})
}

func TestRangeSurvivesJSON(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := anyRange().Draw(t, "range")
		b, err := json.Marshal(want)
		if err != nil {
			t.Fatal(err)
		}
		var got KeyRange
		if err := json.Unmarshal(b, &got); err != nil || got != want {
			t.Fatalf("%s → %v, %v; want %v", b, got, err, want)
		}
	})
}

func TestRangeJSONHasTheNamesOfASAS(t *testing.T) {
	for _, c := range []struct {
		r    KeyRange
		want string
	}{
		{KeyScheme{Kind: SchemeBucketed, Separator: "|", Buckets: 16}.Range("contoso"), `{"spk":"contoso|00","epk":"contoso|15"}`},
		{KeyScheme{Kind: SchemePrefixed, Separator: "|"}.Range("contoso"), `{"spk":"contoso|","epk":"contoso}","erk":""}`},
		{WholeTable(), `{}`},
	} {
		if b, err := json.Marshal(c.r); err != nil || string(b) != c.want {
			t.Errorf("%v: %s, %v; want %s", c.r, b, err, c.want)
		}
	}
}

func TestBadRangesAreRefused(t *testing.T) {
	a, b := edm.Key{PartitionKey: "a"}, edm.Key{PartitionKey: "b"}
	for name, r := range map[string]KeyRange{
		"ends before it begins":      {First: b, Last: a},
		"partition before the start": {First: b, Last: a, End: EndPartition},
		"table end with a key":       {First: a, Last: b, End: EndTable},
		"partition end with a row":   {First: a, Last: edm.Key{PartitionKey: "b", RowKey: "1"}, End: EndPartition},
		"no such end":                {End: 3},
	} {
		if r.Validate() == nil {
			t.Errorf("%s: no error", name)
		}
	}
	for _, text := range []string{`{"erk":"x"}`, `{"spk":"b","epk":"a"}`, `[]`} {
		var r KeyRange
		if json.Unmarshal([]byte(text), &r) == nil {
			t.Errorf("%s was read as %v", text, r)
		}
	}
}

func TestFilterSeeksByPartitionKey(t *testing.T) {
	for _, c := range []struct {
		r    KeyRange
		want string
	}{
		{KeyScheme{Kind: SchemeTenant}.Range("O'Hare"), "PartitionKey eq 'O''Hare'"},
		{KeyScheme{Kind: SchemeBucketed, Separator: "|", Buckets: 4}.Range("a"), "PartitionKey ge 'a|00' and PartitionKey le 'a|03'"},
		{KeyScheme{Kind: SchemePrefixed, Separator: "|"}.Range("a"), "PartitionKey ge 'a|' and PartitionKey le 'a}' and (PartitionKey lt 'a}' or RowKey eq '')"},
		{WholeTable(), ""},
	} {
		if got := c.r.Filter(); got != c.want {
			t.Errorf("%v: %s, want %s", c.r, got, c.want)
		}
	}
}

func FuzzKeyRangeJSON(f *testing.F) {
	for _, s := range []string{`{}`, `{"spk":"a|00","epk":"a|15"}`, `{"spk":"a|","epk":"a}","erk":""}`, `{"erk":"x"}`, `{"spk":"b","epk":"a"}`, `null`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		var r, again KeyRange
		if json.Unmarshal(b, &r) != nil {
			return
		}
		text, err := json.Marshal(r)
		if err == nil {
			err = json.Unmarshal(text, &again)
		}
		if err != nil || again != r || r.Validate() != nil {
			t.Errorf("%s was read as %v, written as %s, read as %v (%v)", b, r, text, again, err)
		}
	})
}
