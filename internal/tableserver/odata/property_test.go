package odata

import (
	"cmp"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"
	"unicode/utf16"

	"pgregory.net/rapid"

	"github.com/aztenancy/terraform-provider-aztenancy/internal/edm"
)

// Few names, keys and values, so that filters and entities meet. 😀 sorts before ～ in UTF-16, after it in UTF-8.
var (
	names = []string{"PartitionKey", "RowKey", "Timestamp", "A", "B", "ä_1"}
	texts = []string{"", "a", "ab", "b", "it's", "😀", "～"}
)

func genValue() *rapid.Generator[edm.Value] {
	return rapid.Custom(func(t *rapid.T) edm.Value {
		switch rapid.SampledFrom([]edm.Type{edm.String, edm.String, edm.Boolean, edm.Int32, edm.Int64, edm.Double,
			edm.DateTime, edm.GUID, edm.Binary}).Draw(t, "type") {
		case edm.String:
			return edm.StringValue(rapid.SampledFrom(texts).Draw(t, "text"))
		case edm.Boolean:
			return edm.BooleanValue(rapid.Bool().Draw(t, "bool"))
		case edm.Int32:
			return edm.Int32Value(rapid.Int32Range(-2, 2).Draw(t, "int32"))
		case edm.Int64:
			return edm.Int64Value(rapid.SampledFrom([]int64{-1, 0, 1, math.MaxInt64}).Draw(t, "int64"))
		case edm.Double:
			return edm.DoubleValue(rapid.SampledFrom([]float64{-1.5, 0, 1, 2, 1e300}).Draw(t, "double"))
		case edm.DateTime:
			return edm.TicksValue(637000000000000000 + rapid.Int64Range(0, 2).Draw(t, "ticks"))
		case edm.GUID:
			return edm.GUIDValue([16]byte{rapid.SampledFrom([]byte{0, 1, 0x80}).Draw(t, "guid")})
		default:
			return edm.BinaryValue(rapid.SliceOfN(rapid.Byte(), 0, 2).Draw(t, "binary"))
		}
	})
}

func genNode(depth int) *rapid.Generator[node] {
	return rapid.Custom(func(t *rapid.T) node {
		kind := rapid.IntRange(0, 9).Draw(t, "kind")
		if depth == 0 {
			kind %= 6
		}
		switch {
		case kind < 5:
			return comparison{propertyNamed(rapid.SampledFrom(names).Draw(t, "name")),
				operator(rapid.IntRange(int(eq), int(ge)).Draw(t, "op")), genValue().Draw(t, "literal")}
		case kind == 5:
			return bare{propertyNamed(rapid.SampledFrom(names).Draw(t, "name"))}
		case kind == 6:
			return not{genNode(depth-1).Draw(t, "term")}
		default:
			j := &junction{or: rapid.Bool().Draw(t, "or")}
			j.terms = rapid.SliceOfN(genNode(depth-1), 2, 4).Draw(t, "terms")
			if first, ok := j.terms[0].(*junction); ok && first.or == j.or { // keep the invariant of junction
				j.terms[0] = not{first}
			}
			return j
		}
	})
}

func genEntity() *rapid.Generator[*edm.Entity] {
	return rapid.Custom(func(t *rapid.T) *edm.Entity {
		e := &edm.Entity{PartitionKey: rapid.SampledFrom(texts).Draw(t, "pk"), RowKey: rapid.SampledFrom(texts).Draw(t, "rk"),
			Timestamp: edm.TimeOfTicks(637000000000000001)}
		for _, name := range names[3:] {
			if rapid.Bool().Draw(t, "has") {
				e.Set(name, genValue().Draw(t, "value"))
			}
		}
		return e
	})
}

// naive is reference §4.3 once more, over sorted UTF-16 units and without any of the evaluator's helpers.
func naive(n node, e *edm.Entity) bool {
	switch n := n.(type) {
	case *junction:
		held := 0
		for _, term := range n.terms {
			if naive(term, e) {
				held++
			}
		}
		return held == len(n.terms) || n.or && held > 0
	case not:
		return !naive(n.term, e)
	case bare:
		v, ok := naiveValue(n.prop.name, e)
		return ok && v == edm.BooleanValue(true)
	case comparison:
		v, ok := naiveValue(n.prop.name, e)
		if !ok {
			return false
		}
		c := naiveOrder(v, n.literal)
		return map[operator]bool{eq: c == 0, ne: c != 0, lt: c < 0, le: c <= 0, gt: c > 0, ge: c >= 0}[n.op]
	}
	panic("no such node")
}

func naiveValue(name string, e *edm.Entity) (edm.Value, bool) {
	all := append(slices.Clone(e.Properties), edm.Property{Name: "PartitionKey", Value: edm.StringValue(e.PartitionKey)},
		edm.Property{Name: "RowKey", Value: edm.StringValue(e.RowKey)},
		edm.Property{Name: "Timestamp", Value: edm.DateTimeValue(e.Timestamp)})
	for _, p := range all {
		if p.Name == name {
			return p.Value, true
		}
	}
	return edm.Value{}, false
}

func naiveOrder(v, literal edm.Value) int {
	switch [2]edm.Type{v.Type(), literal.Type()} {
	case [2]edm.Type{edm.String, edm.String}:
		return slices.Compare(utf16.Encode([]rune(v.Str())), utf16.Encode([]rune(literal.Str())))
	case [2]edm.Type{edm.Int32, edm.Int32}, [2]edm.Type{edm.Int64, edm.Int64}, [2]edm.Type{edm.Int64, edm.Int32}:
		return cmp.Compare(v.Int(), literal.Int())
	case [2]edm.Type{edm.Double, edm.Double}:
		return cmp.Compare(v.Float(), literal.Float())
	case [2]edm.Type{edm.Double, edm.Int32}, [2]edm.Type{edm.Double, edm.Int64}:
		return cmp.Compare(v.Float(), float64(literal.Int()))
	case [2]edm.Type{edm.DateTime, edm.DateTime}:
		return v.Time().Compare(literal.Time())
	case [2]edm.Type{edm.GUID, edm.GUID}:
		return strings.Compare(v.String(), literal.String())
	case [2]edm.Type{edm.Binary, edm.Binary}:
		return slices.Compare(v.Bytes(), literal.Bytes())
	case [2]edm.Type{edm.Boolean, edm.Boolean}:
		return strings.Compare(v.String(), literal.String()) // "false" < "true"
	}
	return -1
}

func TestMatchesAgreesWithTheRulesWrittenDownNaively(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		root, e := genNode(4).Draw(t, "filter"), genEntity().Draw(t, "entity")
		f := &Filter{root}
		if got, want := f.Matches(e), naive(root, e); got != want {
			t.Fatalf("%s is %v for %v, want %v", f, got, e, want)
		}
	})
}

func TestFilterIsReadAsItIsPrinted(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := &Filter{genNode(4).Draw(t, "filter")}
		again, err := Parse(f.String())
		if err != nil {
			t.Fatalf("%s: %v", f, err)
		}
		if !reflect.DeepEqual(f, again) {
			t.Fatalf("%s is read as %s", f, again)
		}
	})
}

func TestWhatMatchesLiesWithinTheKeySpans(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := &Filter{genNode(4).Draw(t, "filter")}
		spans, bounds := f.KeySpans(), f.KeyBounds()
		for i, s := range spans {
			if s.Empty() || i > 0 && spans[i-1].To.Compare(s.From) >= 0 {
				t.Fatalf("%s: span %d of %v is empty or not behind the one before", f, i, spans)
			}
		}
		e := genEntity().Draw(t, "entity")
		for _, pk := range texts {
			for _, rk := range texts {
				e.PartitionKey, e.RowKey = pk, rk
				inside := false
				for _, s := range spans {
					inside = inside || s.Contains(e.Key())
				}
				if f.Matches(e) && !inside {
					t.Fatalf("%s matches %v outside of %v", f, e.Key(), spans)
				}
				if inside && !bounds.Contains(e.Key()) {
					t.Fatalf("%s: %v is in a span but not in the bounds %v", f, e.Key(), bounds)
				}
			}
		}
	})
}

func TestKeySpansAreAsNarrowAsTheFilter(t *testing.T) {
	for _, c := range []struct{ filter, want string }{
		{"PartitionKey eq 'p' and RowKey eq 'r'", `[before ("p", "r"), after ("p", "r")]`},
		{"'p' eq PartitionKey and x eq 1", `[before ("p", ""), after "p"]`},
		{"PartitionKey eq 'p' and RowKey ge 'a' and RowKey lt 'b'", `[before ("p", "a"), before ("p", "b")]`},
		{"PartitionKey ge 'a' and PartitionKey lt 'b'", `[before ("a", ""), before ("b", "")]`},
		{"PartitionKey gt 'a' and PartitionKey le 'b'", `[after "a", after "b"]`},
		{"PartitionKey ge 'a' and RowKey gt 'x' and PartitionKey le 'c' and RowKey le 'y'", `[after ("a", "x"), after ("c", "y")]`},
		{"not (PartitionKey lt 'a' or PartitionKey gt 'b')", `[before ("a", ""), after "b"]`},
		{"RowKey eq 'r'", `[before ("", "r"), end]`},
		{"x eq 1", `[before ("", ""), end]`},
		{"PartitionKey eq 'a' or x eq 1", `[before ("", ""), end]`},
		{"PartitionKey eq 'b' or PartitionKey eq 'a'", `[before ("a", ""), after "a"] [before ("b", ""), after "b"]`},
		{"PartitionKey eq 'p' and (RowKey eq '1' or RowKey eq '5')", `[before ("p", "1"), after ("p", "1")] [before ("p", "5"), after ("p", "5")]`},
		{"PartitionKey le 'b' or PartitionKey ge 'a'", `[before ("", ""), end]`},
		{"PartitionKey eq 'a' and PartitionKey eq 'b'", ""},
		{"PartitionKey eq 5", ""},
		{"PartitionKey", ""},
		{"not (PartitionKey ne 5)", ""},
		{"PartitionKey lt 5", `[before ("", ""), end]`},
		// the range of a tenant with prefixed keys, closed with an empty RowKey at the successor
		{"PartitionKey ge 'a_' and (PartitionKey lt 'a`' or (PartitionKey eq 'a`' and RowKey le ''))", "[before (\"a_\", \"\"), after (\"a`\", \"\")]"},
	} {
		var got []string
		for _, s := range mustParse(t, c.filter).KeySpans() {
			got = append(got, s.String())
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("%s spans %s, want %s", c.filter, got, c.want)
		}
	}
}

func TestSpansOfHostileFiltersCostBoundedWork(t *testing.T) {
	var b strings.Builder
	for i := range 4000 {
		if i > 0 {
			b.WriteString(" and ")
		}
		b.WriteString("(PartitionKey eq 'a' or PartitionKey eq 'b' or RowKey gt 'c')")
	}
	f := mustParse(t, b.String())
	var work boxer
	if boxes := work.collect(nil, f.root, false); len(boxes) > maxWork {
		t.Errorf("%d boxes", len(boxes))
	}
	if !f.KeyBounds().Contains(edm.Key{PartitionKey: "a", RowKey: "d"}) {
		t.Error("a key that matches is outside")
	}
}
