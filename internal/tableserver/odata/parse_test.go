package odata

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/aztenancy/terraform-provider-aztenancy/internal/edm"
)

// Texts of reference §4.2 and §8.4.
const (
	notImplementedText = "NotImplemented: The requested operation is not implemented on the specified resource."
	tooDeepText        = "InvalidInput: The $filter nests parentheses and not deeper than 10000 levels."
	invalidText        = "InvalidInput: One of the request inputs is not valid."
)

func TestWhatTheServiceRefuses(t *testing.T) {
	for _, c := range []struct{ filter, want string }{
		// reference §4.2, with the code and text given there
		{"a eq b", notImplementedText},
		{"PartitionKey eq RowKey", notImplementedText},
		{"1 eq 2", notImplementedText},
		{"'x' ne 'x'", notImplementedText},
		{"(1 === 1)", notImplementedText},
		{"property1 eq 1'invalid'", "InvalidInput: Syntax error at position 23 in 'property1 eq 1'invalid''."},
		{"a eq null", invalidText},
		{"null ne a", invalidText},
		// no arithmetic, no functions (§4.1); operators and words are case-sensitive
		{"a add 1 eq 2", notImplementedText},
		{"startswith(a,'x')", notImplementedText},
		{"a eq True", notImplementedText},
		{"a eq 1 eq true", notImplementedText},
		{"(a eq 1) eq (b eq 2)", notImplementedText},
		{"true", notImplementedText},
		{"a eq 1 and 1", notImplementedText},
		{"not 'x'", notImplementedText},
		{"null", invalidText},
		{"a EQ 1", "InvalidInput: Syntax error at position 4 in 'a EQ 1'."},
		{"a eq 1 AND b eq 2", "InvalidInput: Syntax error at position 10 in 'a eq 1 AND b eq 2'."},
		{"a eq", "InvalidInput: Syntax error at position 4 in 'a eq'."},
		{"(a eq 1", "InvalidInput: Syntax error at position 7 in '(a eq 1'."},
		{"a eq 1)", "InvalidInput: Syntax error at position 7 in 'a eq 1)'."},
		{"a eq 'x", "InvalidInput: Syntax error at position 7 in 'a eq 'x'."},
		{"a eq '😀' b", "InvalidInput: Syntax error at position 11 in 'a eq '😀' b'."},
		{"a eq 1x", "InvalidInput: Syntax error at position 6 in 'a eq 1x'."},
		{"a eq 1.", "InvalidInput: Syntax error at position 7 in 'a eq 1.'."},
		{"a eq -", "InvalidInput: Syntax error at position 6 in 'a eq -'."},
		{"a eq 1.5L", "InvalidInput: Syntax error at position 9 in 'a eq 1.5L'."},
		{"a eq 9223372036854775808", "InvalidInput: Syntax error at position 24 in 'a eq 9223372036854775808'."},
		{"a eq X'0'", "InvalidInput: Syntax error at position 9 in 'a eq X'0''."},
		{"a eq guid'1'", "InvalidInput: Syntax error at position 12 in 'a eq guid'1''."},
		{"a eq datetime'x'", "InvalidInput: Syntax error at position 16 in 'a eq datetime'x''."},
		{"a eq time'1'", "InvalidInput: Syntax error at position 12 in 'a eq time'1''."},
		{"a & b", "InvalidInput: Syntax error at position 3 in 'a & b'."},
		{"a eq \x00", "InvalidInput: Syntax error at position 6 in 'a eq \x00'."},
		{"a eq '\xff'", invalidText},
		{"a eq '" + strings.Repeat("x", maxFilterBytes) + "'", "InvalidInput: The $filter has 524295 bytes; at most 524288 are read."},
		{strings.Repeat("(", maxDepth+1) + "a eq 1" + strings.Repeat(")", maxDepth+1), tooDeepText},
		{strings.Repeat("not ", maxDepth+1) + "a eq 1", tooDeepText},
	} {
		f, err := Parse(c.filter)
		var refused *edm.Error
		if !errors.As(err, &refused) || refused.Error() != c.want || f != nil {
			t.Errorf("Parse(%.60q) = %v, want %s", c.filter, err, c.want)
		}
	}
}

func TestLiteralsHaveTheirTypes(t *testing.T) {
	for _, c := range []struct {
		literal string
		want    edm.Value
	}{ // reference §4.1
		{"'it''s'", edm.StringValue("it's")},
		{"''", edm.StringValue("")},
		{"''''", edm.StringValue("'")},
		{"'a(b) and c eq'", edm.StringValue("a(b) and c eq")},
		{"true", edm.BooleanValue(true)},
		{"false", edm.BooleanValue(false)},
		{"123", edm.Int32Value(123)},
		{"-5", edm.Int32Value(-5)},
		{"-2147483648", edm.Int32Value(-2147483648)},
		{"2147483648", edm.Int64Value(2147483648)},
		{"123L", edm.Int64Value(123)},
		{"-9223372036854775808L", edm.Int64Value(-9223372036854775808)},
		{"1.5", edm.DoubleValue(1.5)},
		{"3.0", edm.DoubleValue(3)},
		{"1e3", edm.DoubleValue(1000)},
		{"-1.25E-2", edm.DoubleValue(-0.0125)},
		{"datetime'2020-01-22T00:00:00Z'", edm.DateTimeValue(time.Date(2020, 1, 22, 0, 0, 0, 0, time.UTC))},
		{"datetime'0001-01-01T00:00:00Z'", edm.DateTimeValue(time.Time{})}, // .NET's smallest; no entity has it
		{"guid'68260b3f-0000-0000-0000-00000000000f'", edm.GUIDValue([16]byte{0x68, 0x26, 0x0b, 0x3f, 15: 0x0f})},
		{"X'0AFF'", edm.BinaryValue([]byte{0x0a, 0xff})},
		{"x'0aff'", edm.BinaryValue([]byte{0x0a, 0xff})},
		{"binary'0AFF'", edm.BinaryValue([]byte{0x0a, 0xff})},
		{"X''", edm.BinaryValue(nil)},
	} {
		f, err := Parse("a eq " + c.literal)
		if err != nil {
			t.Errorf("%s: %v", c.literal, err)
			continue
		}
		if got := f.root.(comparison).literal; got != c.want { //nolint:forcetypeassert // a test fails either way
			t.Errorf("%s is %v, want %v", c.literal, got, c.want)
		}
	}
}

func TestFiltersMeanTheSameHoweverTheyAreWritten(t *testing.T) {
	for _, c := range []struct{ filter, canonical string }{
		{"a eq 1 or b eq 2 and c eq 3", "a eq 1 or (b eq 2 and c eq 3)"}, // and binds tighter (§4.1)
		{"(a eq 1 or b eq 2) and c eq 3", "(a eq 1 or b eq 2) and c eq 3"},
		{"(a eq 1)and(b eq 2)", "a eq 1 and b eq 2"}, // no space is needed next to parentheses (§4.1)
		{" \ta  eq\n1 ", "a eq 1"},
		{"'x' eq PartitionKey", "PartitionKey eq 'x'"}, // constant on the left (§4.2)
		{"5 lt a", "a gt 5"},
		{"5 le a", "a ge 5"},
		{"5 gt a", "a lt 5"},
		{"5 ge a", "a le 5"},
		{"(a) eq (5)", "a eq 5"},
		{"((a or b) or c) or d", "a or b or c or d"},
		{"a or (b or c)", "a or (b or c)"},
		{"not a eq 1", "not (a eq 1)"},
		{"not not a", "not (not (a))"},
		{"not(a)and b", "not (a) and b"},
		{"eq eq 'and'", "eq eq 'and'"}, // words are operators by their place only
		{"größe gt 1.0e0", "größe gt 1.0"},
	} {
		f, err := Parse(c.filter)
		if err != nil {
			t.Errorf("%q: %v", c.filter, err)
			continue
		}
		if got := f.String(); got != c.canonical {
			t.Errorf("%q reads as %q, want %q", c.filter, got, c.canonical)
		}
	}
}

func TestBlankFilterMatchesEverything(t *testing.T) {
	for _, text := range []string{"", " ", "\t\n"} { // $filter= is no filter (§4.2)
		f, err := Parse(text)
		if f != nil || err != nil {
			t.Fatalf("Parse(%q) = %v, %v", text, f, err)
		}
		if !f.Matches(&edm.Entity{}) || !f.KeyBounds().IsWhole() || f.String() != "" {
			t.Error("a nil filter does not match everything")
		}
	}
}

// Query builders of client libraries chain thousands of comparisons (reference §11.9): flat, or each in one more
// pair of parentheses.
func TestLongChainsAreReadInTimeAndSpaceOfTheirLength(t *testing.T) {
	const terms = 9000
	flat := make([]string, terms)
	nested := "(PartitionKey eq 'p' and RowKey eq '0')"
	for i := range flat {
		flat[i] = fmt.Sprintf("(PartitionKey eq 'p' and RowKey eq '%05d')", i)
		if i > 0 {
			nested = "(" + nested + " or RowKey eq 'x')"
		}
	}
	for _, text := range []string{strings.Join(flat, " or "), nested} {
		f, err := Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		if j, ok := f.root.(*junction); !ok || len(j.terms) != terms {
			t.Errorf("the chain of %d terms is not flat", terms)
		}
	}
	f, err := Parse(strings.Join(flat, " or "))
	if err != nil {
		t.Fatal(err)
	}
	if spans := f.KeySpans(); len(spans) != terms {
		t.Errorf("%d points give %d spans", terms, len(spans))
	}
}

func TestTableFilters(t *testing.T) {
	for _, c := range []struct {
		filter, name string
		want         bool
	}{ // reference §4.5
		{"", "Any", true},
		{"TableName eq 'orders'", "Orders", true},
		{"TableName eq 'Orders'", "orders", true},
		{"TableName eq 'orders'", "orders2", false},
		{"TableName ge 'abc' and TableName lt 'abd'", "ABCx", true},
		{"TableName ge 'abc' and TableName lt 'abd'", "abd", false},
		{"not (TableName eq 'a') or TableName eq 1", "b", true},
		{"TableName", "b", false},
	} {
		f, err := ParseTableFilter(c.filter)
		if err != nil {
			t.Errorf("%q: %v", c.filter, err)
		} else if f.Matches(c.name) != c.want {
			t.Errorf("%q matches %q: %v", c.filter, c.name, !c.want)
		}
	}
	for filter, want := range map[string]string{ // reference §4.2
		"Name eq 'x'":                           "InternalError: Server encountered an internal error. Please try again after some time.",
		"TableName eq 'x' and not Other":        "InternalError: Server encountered an internal error. Please try again after some time.",
		"not (TableName eq 'x' or tablename)":   "InternalError: Server encountered an internal error. Please try again after some time.",
		"TableName eq 'x' and PartitionKey lt ": "InvalidInput: Syntax error at position 37 in 'TableName eq 'x' and PartitionKey lt '.",
	} {
		_, err := ParseTableFilter(filter)
		if err == nil {
			t.Errorf("%q is accepted", filter)
		} else if diff := cmp.Diff(want, err.Error()); diff != "" {
			t.Errorf("%q: %s", filter, diff)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, seed := range []string{
		"", "a eq 1", "PartitionKey ge 'a' and RowKey lt 'b'", "not (a eq 1) or b", "x eq datetime'2020-01-22T00:00:00Z'",
		"x ne guid'68260b3f-0000-0000-0000-000000000000'", "x le X'0AFF'", "a eq 1'bad'", "((((", "a eq -1.5e-7", "1 === 1",
		"a eq 'it''s' and 5L gt b", "eq eq eq", "not", "a eq null", "\xff", "größe eq '😀'",
	} {
		f.Add(seed)
	}
	e := &edm.Entity{PartitionKey: "a", RowKey: "b", Properties: []edm.Property{{Name: "a", Value: edm.Int32Value(1)}}}
	f.Fuzz(func(t *testing.T, text string) {
		filter, err := Parse(text)
		if err != nil {
			var refused *edm.Error
			if !errors.As(err, &refused) {
				t.Fatalf("Parse(%q) gives %T", text, err)
			}
			return
		}
		if filter.Matches(e) && !filter.KeyBounds().Contains(e.Key()) {
			t.Errorf("%q matches outside of its bounds", text)
		}
		again, err := Parse(filter.String())
		if err != nil || again.String() != filter.String() {
			t.Errorf("%q prints as %q, which reads as %q, %v", text, filter, again, err)
		}
		_, _ = ParseTableFilter(text)
	})
}
