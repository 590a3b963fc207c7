package odata

import (
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/aztenancy/terraform-provider-aztenancy/internal/edm"
)

// reference §4.3: the stored values of the entity, and which operators are true with each literal.
func TestTypesMatchAsTheServiceMatchesThem(t *testing.T) {
	at := time.Date(2020, 1, 22, 1, 2, 3, 400, time.UTC)
	e := &edm.Entity{PartitionKey: "pk", RowKey: "rk", Timestamp: at}
	e.Set("S", edm.StringValue("b"))
	e.Set("B", edm.BooleanValue(true))
	e.Set("I", edm.Int32Value(3))
	e.Set("L", edm.Int64Value(3))
	e.Set("D", edm.DoubleValue(3))
	e.Set("N", edm.DoubleValue(math.NaN()))
	e.Set("T", edm.DateTimeValue(at))
	e.Set("G", edm.GUIDValue([16]byte{0x80, 15: 1}))
	e.Set("X", edm.BinaryValue([]byte{1, 2}))
	const less, equal, greater, missing = "ne lt le", "eq le ge", "ne gt ge", ""
	for _, c := range []struct{ prop, literal, want string }{
		// rule 1: one type, natural order; strings ordinal and case-sensitive
		{"S", "'b'", equal}, {"S", "'B'", greater}, {"S", "'bB'", less}, {"S", "''", greater},
		{"B", "true", equal}, {"B", "false", greater},
		{"I", "3", equal}, {"I", "-4", greater}, {"I", "4", less},
		{"L", "3L", equal}, {"L", "4L", less}, {"D", "3.0", equal}, {"D", "2.5", greater}, {"D", "3.5e0", less},
		{"T", "datetime'2020-01-22T01:02:03.0000004Z'", equal}, {"T", "datetime'2020-01-22T01:02:03.0000005Z'", less},
		{"G", "guid'80000000-0000-0000-0000-000000000001'", equal}, {"G", "guid'7f000000-0000-0000-0000-000000000001'", greater},
		{"G", "guid'80000000-0000-0000-0000-000000000002'", less},
		{"X", "X'0102'", equal}, {"X", "x'01'", greater}, {"X", "binary'010200'", less},
		// rule 2: a literal is widened
		{"L", "3", equal}, {"L", "2", greater}, {"L", "4", less}, {"D", "3", equal}, {"D", "3L", equal}, {"D", "4L", less},
		// rule 3: any other pair: the stored value counts as less
		{"I", "3L", less}, {"I", "2L", less}, {"I", "3.0", less}, {"L", "3.0", less}, {"L", "2.0", less}, {"I", "'3'", less},
		{"S", "3", less}, {"S", "true", less}, {"B", "1", less}, {"B", "'true'", less}, {"T", "'2020'", less},
		{"G", "'80000000-0000-0000-0000-000000000001'", less}, {"X", "''", less}, {"D", "'x'", less},
		// rule 4: a missing property: every comparison is false; names are case-sensitive
		{"M", "'x'", missing}, {"M", "1", missing}, {"s", "'b'", missing},
		// keys are strings, Timestamp is a DateTime
		{"PartitionKey", "'pk'", equal}, {"RowKey", "'ra'", greater}, {"RowKey", "5", less},
		{"Timestamp", "datetime'2020-01-22T01:02:03.0000004Z'", equal}, {"Timestamp", "datetime'2021-01-01T00:00:00Z'", less},
		// IEEE 754; unconfirmed
		{"N", "1.0", "ne"},
	} {
		got := ""
		for op := eq; op <= ge; op++ {
			name := operatorNames[op]
			direct := mustParse(t, c.prop+" "+name+" "+c.literal)
			mirrored := mustParse(t, c.literal+" "+operatorNames[op.mirrored()]+" "+c.prop)
			negated := mustParse(t, fmt.Sprintf("not (%s %s %s)", c.prop, name, c.literal))
			matches := direct.Matches(e)
			if mirrored.Matches(e) != matches || negated.Matches(e) == matches {
				t.Errorf("%s, %s and %s disagree", direct, mirrored, negated)
			}
			if matches {
				got += " " + name
			}
		}
		if got != "" {
			got = got[1:]
		}
		if got != c.want {
			t.Errorf("%s compared with %s: %q are true, want %q", c.prop, c.literal, got, c.want)
		}
	}
}

func TestBarePropertyIsTrueOnlyForABooleanTrue(t *testing.T) { // reference §4.3 rule 5
	e := &edm.Entity{PartitionKey: "true"}
	e.Set("yes", edm.BooleanValue(true))
	e.Set("no", edm.BooleanValue(false))
	e.Set("one", edm.Int32Value(1))
	e.Set("text", edm.StringValue("true"))
	for filter, want := range map[string]bool{
		"yes": true, "no": false, "one": false, "text": false, "missing": false, "PartitionKey": false, "Timestamp": false,
		"not no": true, "not missing": true, "not yes": false, "yes and not one": true, "no or yes": true,
		"not (missing ne 'x')": true, // reference §4.3 rule 4
	} {
		if mustParse(t, filter).Matches(e) != want {
			t.Errorf("%s is %v", filter, !want)
		}
	}
}

func mustParse(t testing.TB, filter string) *Filter {
	t.Helper()
	f, err := Parse(filter)
	if err != nil {
		t.Fatalf("Parse(%q): %v", filter, err)
	}
	return f
}
