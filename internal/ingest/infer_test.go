package ingest

import (
	"math"
	"strconv"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/aztenancy/terraform-provider-aztenancy/internal/edm"
)

// text makes CSV cells.
func text(values ...string) []Cell {
	cells := make([]Cell, len(values))
	for i, v := range values {
		if v != "" {
			cells[i] = Cell{Kind: CellText, Text: v}
		}
	}
	return cells
}

func inferred(cells ...Cell) edm.Type {
	var i inference
	for _, c := range cells {
		i.observe(c)
	}
	return i.result()
}

func TestAColumnHasATypeOnlyIfAllItsValuesHaveIt(t *testing.T) {
	cases := []struct {
		name  string
		cells []Cell
		want  edm.Type
	}{
		{"integers", text("0", "-5", "2147483647"), edm.Int32},
		{"one integer beyond 32 bits", text("1", "2147483648"), edm.Int64},
		{"least 64-bit integer", text("-9223372036854775808"), edm.Int64},
		{"integer beyond 64 bits that no double holds", text("9223372036854775809"), edm.String},
		{"integer beyond 64 bits that a double holds", text("10000000000000000000000"), edm.Double},
		{"integers and decimals", text("1", "2.5"), edm.Double},
		{"empty cells do not count", text("", "7", ""), edm.Int32},
		{"no value at all", text("", ""), 0},
		{"leading zero", text("1", "007"), edm.String},
		{"leading zero of a decimal", text("00.5"), edm.String},
		{"plus sign", text("+49"), edm.String},
		{"negative zero is no integer", text("-0"), edm.Double},
		{"shortest digits of a double", text("0.30000000000000004"), edm.Double},
		{"more digits than a double holds", text("0.1234567890123456789"), edm.String},
		{"trailing zeros lose nothing", text("12.50", "99.00"), edm.Double},
		{"too large for a double", text("1e400"), edm.String},
		{"too small for a double", text("1e-400"), edm.String},
		{"exponent", text("1e5", "2E-3"), edm.Double},
		{"Go's own number forms", text("0x10"), edm.String},
		{"underscores", text("1_000"), edm.String},
		{"NaN is text", text("NaN"), edm.String},
		{"truth values", text("true", "False", "TRUE"), edm.Boolean},
		{"yes and no", text("yes", "no"), edm.String},
		{"dates", text("1990-01-08", "2024-02-29"), edm.DateTime},
		{"no such day", text("2023-02-29"), edm.String},
		{"times with and without zone", text("2024-05-31T08:30:00Z", "2024-05-31 08:30", "2024-05-31T08:30:00.1234567+02:00"), edm.DateTime},
		{"more digits of a second than 100 ns", text("2024-05-31T08:30:00.12345678Z"), edm.String},
		{"before the service's first day", text("1600-12-31"), edm.String},
		{"past its last day in UTC", text("9999-12-31T23:59:59-01:00"), edm.String},
		{"guids", text("6F9619FF-8B86-D011-B42D-00CF4FC964FF"), edm.GUID},
		{"braces are no guid", text("{6f9619ff-8b86-d011-b42d-00cf4fc964ff}"), edm.String},
		{"date and number", text("1990-01-08", "5"), edm.String},
		{"JSON string that looks like a number", []Cell{{CellString, "5"}}, edm.String},
		{"JSON numbers", []Cell{{CellNumber, "5"}, {CellNumber, "6.5"}}, edm.Double},
		{"JSON truth values", []Cell{{CellBool, "true"}}, edm.Boolean},
		{"JSON empty string", []Cell{{CellString, ""}}, edm.String},
		{"JSON date", []Cell{{CellString, "2024-05-31"}}, edm.DateTime},
		{"JSON number and string", []Cell{{CellNumber, "5"}, {CellString, "x"}}, edm.String},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			if got := inferred(c.cells...); got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
		})
	}
}

func TestInferredNumbersLoseNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := rapid.Float64().Draw(t, "f")
		format := rapid.SampledFrom([]byte{'e', 'f', 'g'}).Draw(t, "format")
		s := strconv.FormatFloat(f, format, -1, 64)
		if math.IsInf(f, 0) || math.IsNaN(f) {
			t.Skip("no decimal form")
		}
		if !isExactDouble(s) {
			t.Fatalf("%s is the shortest form of a double and was not taken for one", s)
		}
		v, err := convert(edm.Double, Cell{CellText, s})
		if err != nil || v != edm.DoubleValue(f) {
			t.Fatalf("%s became %v, %v", s, v, err)
		}
	})
}

func TestADecimalWithOneMoreDigitIsText(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		// 18 significant digits: a double holds 17 at most, so the last can be told from its neighbour only by text.
		n := rapid.Int64Range(100000000000000000, 999999999999999999).Draw(t, "n")
		s := "0." + strconv.FormatInt(n, 10)
		f, err := strconv.ParseFloat(s, 64)
		if err != nil {
			t.Fatal(err)
		}
		short := strconv.FormatFloat(f, 'f', -1, 64)
		trimmed := s
		for trimmed[len(trimmed)-1] == '0' {
			trimmed = trimmed[:len(trimmed)-1]
		}
		if isExactDouble(s) != (short == trimmed) {
			t.Fatalf("%s is exact: %v; the shortest form is %s", s, isExactDouble(s), short)
		}
	})
}

func TestDeclaredTypesReadMoreThanInferenceFinds(t *testing.T) {
	at := time.Date(2024, 5, 31, 6, 30, 0, 0, time.UTC)
	cases := []struct {
		typ  edm.Type
		text string
		want edm.Value // zero: an error
	}{
		{edm.Int32, "007", edm.Int32Value(7)},
		{edm.Int32, "2147483648", edm.Value{}},
		{edm.Int64, "5", edm.Int64Value(5)},
		{edm.Int64, "5.0", edm.Value{}},
		{edm.Double, "5", edm.DoubleValue(5)},
		{edm.Double, "Infinity", edm.DoubleValue(math.Inf(1))},
		{edm.Double, "0x1p3", edm.Value{}},
		{edm.Boolean, "1", edm.BooleanValue(true)},
		{edm.Boolean, "FALSE", edm.BooleanValue(false)},
		{edm.Boolean, "yes", edm.Value{}},
		{edm.DateTime, "2024-05-31T08:30+02:00", edm.DateTimeValue(at)},
		{edm.DateTime, "31.05.2024", edm.Value{}},
		{edm.GUID, "6F9619FF-8B86-D011-B42D-00CF4FC964FF", edm.GUIDValue([16]byte{0x6f, 0x96, 0x19, 0xff, 0x8b, 0x86, 0xd0, 0x11, 0xb4, 0x2d, 0x00, 0xcf, 0x4f, 0xc9, 0x64, 0xff})},
		{edm.Binary, "AAEC", edm.BinaryValue([]byte{0, 1, 2})},
		{edm.Binary, "AAE", edm.Value{}},
		{edm.String, "5", edm.StringValue("5")},
	}
	for _, c := range cases {
		got, err := convert(c.typ, Cell{CellText, c.text})
		if (err != nil) != c.want.IsZero() || err == nil && got != c.want {
			t.Errorf("%s of %q: %v, %v", TypeName(c.typ), c.text, got, err)
		}
	}
}

func TestObjectsAreStoredOnlyAsDeclaredText(t *testing.T) {
	cell := Cell{CellNested, `{"a":1}`}
	if v, err := convert(edm.String, cell); err != nil || v != edm.StringValue(`{"a":1}`) {
		t.Errorf("as String: %v, %v", v, err)
	}
	if _, err := convert(edm.Int32, cell); err == nil {
		t.Error("an object became an Int32")
	}
}

func TestTypeNamesAreReadInAnyCaseWithAndWithoutPrefix(t *testing.T) {
	for name, want := range map[string]edm.Type{"Int64": edm.Int64, "edm.int64": edm.Int64, "GUID": edm.GUID, "Edm.Guid": edm.GUID, "binary": edm.Binary} {
		if got, err := ParseTypeName(name); err != nil || got != want {
			t.Errorf("%s: %v, %v", name, got, err)
		}
	}
	for _, name := range []string{"", "int", "Edm.", "Null", "Edm.Null"} {
		if got, err := ParseTypeName(name); err == nil {
			t.Errorf("%q was read as %s", name, got)
		}
	}
}

func FuzzEveryValueConvertsToItsInferredType(f *testing.F) {
	for _, s := range []string{"1", "-0", "1e400", "0.1", "2024-05-31", "2024-05-31T08:30:00.1234567Z", "true", "6f9619ff-8b86-d011-b42d-00cf4fc964ff", "x", "9999-12-31T23:59:59.9999999Z"} {
		f.Add(s, uint8(CellText))
	}
	f.Add("5", uint8(CellNumber))
	f.Fuzz(func(t *testing.T, s string, kind uint8) {
		c := Cell{CellKind((kind+2)%3 + 1), s} // CellText, CellString or CellNumber
		typ := inferred(c)
		v, err := convert(typ, c)
		if err != nil {
			t.Fatalf("%q was inferred as %s, but: %v", s, TypeName(typ), err)
		}
		if v.Type() != typ {
			t.Fatalf("%q was inferred as %s and became %s", s, TypeName(typ), v.Type())
		}
		if (typ == edm.Int32 || typ == edm.Int64) && strconv.FormatInt(v.Int(), 10) != s {
			t.Fatalf("%q became %d", s, v.Int())
		}
	})
}
