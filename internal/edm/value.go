package edm

import (
	"math"
	"time"
)

// Type is one of the eight primitive types that a property can have (Table service data model, REST reference).
// The zero Type is no type.
type Type uint8

// The property types. Their order is part of the canonical form: do not change it.
const (
	String Type = iota + 1
	Boolean
	Int32
	Int64
	Double
	DateTime
	GUID
	Binary
)

var typeNames = [...]string{String: "Edm.String", Boolean: "Edm.Boolean", Int32: "Edm.Int32", Int64: "Edm.Int64",
	Double: "Edm.Double", DateTime: "Edm.DateTime", GUID: "Edm.Guid", Binary: "Edm.Binary"}

// String returns the name as it stands in an odata.type annotation, such as "Edm.Int64".
func (t Type) String() string {
	if t == 0 || int(t) >= len(typeNames) {
		return "Edm.Null"
	}
	return typeNames[t]
}

// ParseType returns the type that an odata.type annotation names. The comparison is exact.
func ParseType(name string) (Type, bool) {
	for t, n := range typeNames {
		if n != "" && n == name {
			return Type(t), true
		}
	}
	return 0, false
}

// Value is a property value with its type. Values are comparable: a == b says that both have the same type and
// the same bits, so a NaN equals itself and 0.0 differs from -0.0. The zero Value has no type and stands for null.
type Value struct {
	typ  Type
	bits uint64 // Boolean, Int32, Int64, Double (IEEE 754 bits), DateTime (ticks)
	text string // String (UTF-8), GUID (16 bytes in text order), Binary (raw bytes)
}

// StringValue returns an Edm.String.
func StringValue(s string) Value { return Value{typ: String, text: s} }

// BooleanValue returns an Edm.Boolean.
func BooleanValue(b bool) Value {
	v := Value{typ: Boolean}
	if b {
		v.bits = 1
	}
	return v
}

// Int32Value returns an Edm.Int32.
func Int32Value(i int32) Value { return Value{typ: Int32, bits: uint64(int64(i))} }

// Int64Value returns an Edm.Int64.
func Int64Value(i int64) Value { return Value{typ: Int64, bits: uint64(i)} }

// DoubleValue returns an Edm.Double. Infinities and NaN are kept bit by bit.
func DoubleValue(f float64) Value { return Value{typ: Double, bits: math.Float64bits(f)} }

// DateTimeValue returns an Edm.DateTime of t, cut to the service's unit of 100 ns.
func DateTimeValue(t time.Time) Value { return TicksValue(Ticks(t)) }

// TicksValue returns an Edm.DateTime of ticks: units of 100 ns since 0001-01-01T00:00:00Z.
func TicksValue(ticks int64) Value { return Value{typ: DateTime, bits: uint64(ticks)} }

// GUIDValue returns an Edm.Guid of 16 bytes in the order in which the text form prints them.
func GUIDValue(g [16]byte) Value { return Value{typ: GUID, text: string(g[:])} }

// BinaryValue returns an Edm.Binary of a copy of b.
func BinaryValue(b []byte) Value { return Value{typ: Binary, text: string(b)} }

// Type returns the value's type; 0 for the zero Value.
func (v Value) Type() Type { return v.typ }

// IsZero says whether v is the zero Value (null).
func (v Value) IsZero() bool { return v.typ == 0 }

// Str returns the text of an Edm.String; "" for other types.
func (v Value) Str() string {
	if v.typ != String {
		return ""
	}
	return v.text
}

// Bool returns the value of an Edm.Boolean.
func (v Value) Bool() bool { return v.typ == Boolean && v.bits != 0 }

// Int returns the value of an Edm.Int32 or Edm.Int64.
func (v Value) Int() int64 { return int64(v.bits) }

// Float returns the value of an Edm.Double.
func (v Value) Float() float64 { return math.Float64frombits(v.bits) }

// Ticks returns an Edm.DateTime in units of 100 ns since 0001-01-01T00:00:00Z.
func (v Value) Ticks() int64 { return int64(v.bits) }

// Time returns an Edm.DateTime as a time in UTC.
func (v Value) Time() time.Time { return TimeOfTicks(int64(v.bits)) }

// GUID returns the 16 bytes of an Edm.Guid in text order.
func (v Value) GUID() (g [16]byte) {
	copy(g[:], v.text)
	return g
}

// Bytes returns a copy of the bytes of an Edm.Binary.
func (v Value) Bytes() []byte { return []byte(v.text) }

// ticksAtUnixEpoch is 1970-01-01T00:00:00Z in ticks.
const ticksAtUnixEpoch = 621355968000000000

// Ticks returns t in units of 100 ns since 0001-01-01T00:00:00Z, rounded down.
func Ticks(t time.Time) int64 {
	return t.Unix()*1e7 + int64(t.Nanosecond())/100 + ticksAtUnixEpoch
}

// TimeOfTicks is the inverse of Ticks; the result is in UTC.
func TimeOfTicks(ticks int64) time.Time {
	u := ticks - ticksAtUnixEpoch
	sec, frac := u/1e7, u%1e7
	if frac < 0 {
		sec, frac = sec-1, frac+1e7
	}
	return time.Unix(sec, frac*100).UTC()
}
