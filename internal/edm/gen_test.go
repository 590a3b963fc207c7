package edm_test

import (
	"math"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/aztenancy/terraform-provider-aztenancy/internal/edm"
)

// timeOf parses a time for use in a table of cases.
func timeOf(t *testing.T, s string) time.Time {
	t.Helper()
	tm, err := time.Parse(time.RFC3339Nano, s)
	if err != nil {
		t.Fatal(err)
	}
	return tm
}

// text generates strings of any Unicode characters, with those that need care more often than by chance.
func text() *rapid.Generator[string] {
	return rapid.StringOfN(rapid.OneOf(
		rapid.RuneFrom([]rune("aZ0 _'/\"\\\x00\x1f\n\r\t\b\f\x7f\u0080\u009f\u2028\ud7ff\ue000\ufeff\ufffd\uffff\U00010000\U0001F600\U0010FFFF")),
		rapid.Int32Range(0, 0xD7FF), rapid.Int32Range(0xE000, 0x10FFFF)), 0, 20, -1)
}

// propertyName generates valid names.
func propertyName() *rapid.Generator[string] {
	return rapid.OneOf(rapid.StringMatching(`[A-Za-z_][A-Za-z0-9_]{0,8}`), rapid.StringMatching(`[\p{L}\p{Nl}][\p{L}\p{Nd}\p{Mn}_]{0,4}`)).
		Filter(func(s string) bool { return s != "PartitionKey" && s != "RowKey" && s != "Timestamp" })
}

// instant generates times of Edm.DateTime's whole range, in ticks.
func instant() *rapid.Generator[time.Time] {
	first := edm.Ticks(time.Date(1601, 1, 1, 0, 0, 0, 0, time.UTC))
	last := edm.Ticks(time.Date(9999, 12, 31, 23, 59, 59, 999999900, time.UTC))
	return rapid.Map(rapid.OneOf(rapid.Int64Range(first, last), rapid.Just(first), rapid.Just(last),
		rapid.Map(rapid.Int64Range(first/1e7, last/1e7), func(s int64) int64 { return s * 1e7 })), edm.TimeOfTicks)
}

// value generates values of all types.
func value() *rapid.Generator[edm.Value] {
	return rapid.OneOf(
		rapid.Map(text(), edm.StringValue),
		rapid.Map(rapid.Bool(), edm.BooleanValue),
		rapid.Map(rapid.OneOf(rapid.Int32(), rapid.SampledFrom([]int32{math.MinInt32, -1, 0, math.MaxInt32})), edm.Int32Value),
		rapid.Map(rapid.OneOf(rapid.Int64(), rapid.SampledFrom([]int64{math.MinInt64, -1, 0, math.MaxInt64})), edm.Int64Value),
		rapid.Map(rapid.OneOf(rapid.Float64(), rapid.SampledFrom([]float64{math.NaN(), math.Inf(1), math.Inf(-1), 0,
			math.Copysign(0, -1), math.MaxFloat64, math.SmallestNonzeroFloat64, 1e20, 1e21, 1e-6, 1e-7, 3})), edm.DoubleValue),
		rapid.Map(instant(), edm.DateTimeValue),
		rapid.Map(rapid.SliceOfN(rapid.Byte(), 16, 16), func(b []byte) edm.Value { return edm.GUIDValue([16]byte(b)) }),
		rapid.Map(rapid.SliceOfN(rapid.Byte(), 0, 40), edm.BinaryValue),
	)
}

// entity generates entities as they come from the service: with Timestamp and ETag.
func entity() *rapid.Generator[*edm.Entity] {
	return rapid.Custom(func(t *rapid.T) *edm.Entity {
		e := &edm.Entity{PartitionKey: text().Draw(t, "pk"), RowKey: text().Draw(t, "rk"), Timestamp: instant().Draw(t, "timestamp")}
		e.ETag = edm.ETagOf(e.Timestamp)
		names := rapid.SliceOfNDistinct(propertyName(), 0, 8, rapid.ID).Draw(t, "names")
		for _, name := range names {
			e.Set(name, value().Draw(t, name))
		}
		return e
	})
}

// requireCode checks that err is the service error of that code; "" stands for no error.
func requireCode(t *testing.T, err error, code string) {
	t.Helper()
	if got := codeOf(err); got != code {
		t.Fatalf("error %v, want code %q", err, code)
	}
}
