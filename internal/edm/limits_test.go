package edm_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf16"

	"pgregory.net/rapid"

	"github.com/aztenancy/terraform-provider-aztenancy/internal/edm"
)

// codeOf returns the service's code of err, "" for none.
func codeOf(err error) string {
	if e := (*edm.Error)(nil); errors.As(err, &e) {
		return e.Code
	}
	return ""
}

func messageOf(err error) string {
	if e := (*edm.Error)(nil); errors.As(err, &e) {
		return e.Message
	}
	return ""
}

func TestUTF16LenIsTheLengthOfTheUTF16Form(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := text().Draw(t, "s")
		if got, want := edm.UTF16Len(s), len(utf16.Encode([]rune(s))); got != want {
			t.Fatalf("%q: %d, want %d", s, got, want)
		}
	})
}

func TestCompareTextIsTheOrderOfUTF16Units(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a := text().Draw(t, "a")
		b := rapid.OneOf(text(), rapid.Map(text(), func(s string) string { return a + s }),
			rapid.Map(text(), func(s string) string { r := []rune(a); return string(r[:len(r)/2]) + s })).Draw(t, "b")
		want := compareUnits(utf16.Encode([]rune(a)), utf16.Encode([]rune(b)))
		if got := edm.CompareText(a, b); got != want {
			t.Fatalf("CompareText(%q, %q) = %d, want %d", a, b, got, want)
		}
		x, y := edm.Key{PartitionKey: "p", RowKey: a}, edm.Key{PartitionKey: "p", RowKey: b}
		if got := x.Compare(y); got != want {
			t.Fatalf("%v.Compare(%v) = %d, want %d", x, y, got, want)
		}
	})
}

func compareUnits(a, b []uint16) int {
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			if a[i] < b[i] {
				return -1
			}
			return 1
		}
	}
	switch {
	case len(a) < len(b):
		return -1
	case len(a) > len(b):
		return 1
	}
	return 0
}

func TestKeyCharactersAndLength(t *testing.T) { // reference §3, §3.1
	forbidden := func(r rune) bool {
		return strings.ContainsRune(`/\#?`, r) || r <= 0x1F || r >= 0x7F && r <= 0x9F
	}
	for r := rune(0); r <= 0x10FFFF; r++ {
		if r >= 0xD800 && r <= 0xDFFF {
			continue
		}
		err := edm.ValidateKeyPart("RowKey", "a"+string(r))
		if (codeOf(err) == "OutOfRangeInput") != forbidden(r) || (err == nil) == forbidden(r) {
			t.Fatalf("%U: error %v", r, err)
		}
	}
	if got, want := messageOf(edm.ValidateKeyPart("PartitionKey", "a/b")), "The 'PartitionKey' parameter of value 'a/b' is out of range."; got != want {
		t.Errorf("message %q, want %q", got, want)
	}
	for s, code := range map[string]string{
		"": "", "100% 'quoted'": "", "bad\xff": "InvalidInput",
		strings.Repeat("é", 512): "", strings.Repeat("é", 513): "PropertyValueTooLarge",
		strings.Repeat("😀", 256): "", strings.Repeat("😀", 256) + "a": "PropertyValueTooLarge",
	} {
		if err := edm.ValidateKeyPart("PartitionKey", s); codeOf(err) != code {
			t.Errorf("%.20q: error %v, want code %q", s, err, code)
		}
	}
}

func TestPropertyNames(t *testing.T) { // reference §3: C# identifiers, 255
	for name, code := range map[string]string{
		"a": "", "_": "", "_1": "", "Größe": "", "名前": "", "a1_b": "", "ⅷ": "", "e\u0301": "", "a\u203Fb": "",
		"": "PropertyNameInvalid", "1a": "PropertyNameInvalid", "a-b": "PropertyNameInvalid", "a b": "PropertyNameInvalid",
		"a.b": "PropertyNameInvalid", "a@b": "PropertyNameInvalid", "\u0301a": "PropertyNameInvalid", "a\xff": "PropertyNameInvalid", "€": "PropertyNameInvalid",
		strings.Repeat("a", 255): "", strings.Repeat("a", 256): "PropertyNameTooLong", strings.Repeat("é", 255): "",
	} {
		if err := edm.ValidatePropertyName(name); codeOf(err) != code {
			t.Errorf("%.20q: error %v, want code %q", name, err, code)
		}
	}
}

func TestTableNames(t *testing.T) { // reference §3
	for name, code := range map[string]string{
		"abc": "", "Orders2": "", strings.Repeat("a", 63): "", "tablesx": "",
		"": "OutOfRangeInput", "ab": "OutOfRangeInput", strings.Repeat("a", 64): "OutOfRangeInput",
		"1abc": "InvalidResourceName", "a-b": "InvalidResourceName", "a_b": "InvalidResourceName", "größe": "InvalidResourceName", "$Metrics": "InvalidResourceName",
		"@bc": "InvalidResourceName", "a[c": "InvalidResourceName",
		"tables": "InvalidInput", "TABLES": "InvalidInput",
	} {
		if err := edm.ValidateTableName(name); codeOf(err) != code {
			t.Errorf("%q: error %v, want code %q", name, err, code)
		}
	}
	if got, want := messageOf(edm.ValidateTableName("a-b")), "The specifed resource name contains invalid characters."; got != want {
		t.Errorf("message %q, want %q", got, want)
	}
}

func TestEntityLimits(t *testing.T) { // reference §3
	one := func(name string, v edm.Value) edm.Entity {
		return edm.Entity{Properties: []edm.Property{{Name: name, Value: v}}}
	}
	filled := func(n int, v edm.Value) (e edm.Entity) {
		for i := range n {
			e.Set(fmt.Sprintf("p%03d", i), v)
		}
		return e
	}
	large := edm.StringValue(strings.Repeat("x", 32768))
	for name, c := range map[string]struct {
		entity edm.Entity
		code   string
	}{
		"empty":                    {edm.Entity{}, ""},
		"bad PartitionKey":         {edm.Entity{PartitionKey: "#"}, "OutOfRangeInput"},
		"bad RowKey":               {edm.Entity{RowKey: "\x00"}, "OutOfRangeInput"},
		"252 properties":           {filled(252, edm.Int32Value(1)), ""},
		"253 properties":           {filled(253, edm.Int32Value(1)), "TooManyProperties"},
		"bad name":                 {one("a-b", edm.Int32Value(1)), "PropertyNameInvalid"},
		"system name":              {one("Timestamp", edm.StringValue("x")), "DuplicatePropertiesSpecified"},
		"same name twice":          {edm.Entity{Properties: []edm.Property{{Name: "a", Value: large}, {Name: "a", Value: large}}}, "DuplicatePropertiesSpecified"},
		"null":                     {one("a", edm.Value{}), "InvalidInput"},
		"string of 32768 units":    {one("a", edm.StringValue(strings.Repeat("é", 32768))), ""},
		"string of 32769 units":    {one("a", edm.StringValue(strings.Repeat("😀", 16384)+"a")), "PropertyValueTooLarge"},
		"string that is not UTF-8": {one("a", edm.StringValue("\xff")), "InvalidInput"},
		"binary of 65536 bytes":    {one("a", edm.BinaryValue(make([]byte, 65536))), ""},
		"binary of 65537 bytes":    {one("a", edm.BinaryValue(make([]byte, 65537))), "PropertyValueTooLarge"},
		"first time":               {one("a", edm.DateTimeValue(time.Date(1601, 1, 1, 0, 0, 0, 0, time.UTC))), ""},
		"time before the first":    {one("a", edm.DateTimeValue(time.Date(1600, 12, 31, 23, 59, 59, 999999900, time.UTC))), "OutOfRangeInput"},
		"last time":                {one("a", edm.DateTimeValue(time.Date(9999, 12, 31, 23, 59, 59, 999999900, time.UTC))), ""},
		"time after the last":      {one("a", edm.DateTimeValue(time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC))), "OutOfRangeInput"},
		"15 strings of 64 KiB":     {filled(15, large), ""},
		"16 strings of 64 KiB":     {filled(16, large), "EntityTooLarge"},
	} {
		if err := c.entity.Validate(); codeOf(err) != c.code {
			t.Errorf("%s: error %v, want code %q", name, err, c.code)
		}
	}
}

func TestValidEntitiesOfAllTypesPass(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		e := entity().Draw(t, "entity")
		e.PartitionKey, e.RowKey = "p", "r"
		if err := e.Validate(); err != nil {
			t.Fatal(err)
		}
	})
}

func TestSizeFollowsThePublishedFormula(t *testing.T) { // reference §3.2
	e := edm.Entity{PartitionKey: "pk", RowKey: "r😀"} // 4 + 2·(2+3) = 14
	e.Set("s", edm.StringValue("é😀"))                 // 8 + 2 + 2·3 + 4 = 20
	e.Set("bo", edm.BooleanValue(true))               // 8 + 4 + 1 = 13
	e.Set("i", edm.Int32Value(1))                     // 8 + 2 + 4 = 14
	e.Set("l", edm.Int64Value(1))                     // 8 + 2 + 8 = 18
	e.Set("d", edm.DoubleValue(1))                    // 18
	e.Set("t", edm.DateTimeValue(time.Now()))         // 18
	e.Set("g", edm.GUIDValue([16]byte{}))             // 8 + 2 + 16 = 26
	e.Set("b", edm.BinaryValue([]byte("abc")))        // 8 + 2 + 3 + 4 = 17
	if got, want := e.Size(), 14+20+13+14+18+18+18+26+17; got != want {
		t.Errorf("size %d, want %d", got, want)
	}
}
