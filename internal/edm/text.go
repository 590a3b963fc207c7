package edm

import (
	"encoding/base64"
	"encoding/hex"
	"math"
	"strconv"
	"strings"
)

// String returns the value's text, as it stands in JSON without its quotes: Edm.DateTime as FormatTime, Edm.Guid in
// lower case with hyphens, Edm.Binary in base64, Edm.Double always with a point or an exponent, or "NaN",
// "Infinity", "-Infinity". The zero Value gives "null".
func (v Value) String() string {
	if v.typ == String {
		return v.text
	}
	return string(v.appendText(nil))
}

// appendText appends what String returns.
func (v Value) appendText(dst []byte) []byte {
	switch v.typ {
	case String:
		return append(dst, v.text...)
	case Boolean:
		return strconv.AppendBool(dst, v.Bool())
	case Int32, Int64:
		return strconv.AppendInt(dst, v.Int(), 10)
	case Double:
		return appendDouble(dst, v.Float())
	case DateTime:
		return appendTime(dst, v.Time())
	case GUID:
		return appendGUID(dst, v.text)
	case Binary:
		return base64.StdEncoding.AppendEncode(dst, []byte(v.text))
	default:
		return append(dst, "null"...)
	}
}

// appendDouble appends the shortest text that reads back as f and that no client takes for an integer: clients try
// Int32 first.
func appendDouble(dst []byte, f float64) []byte {
	switch {
	case math.IsNaN(f):
		return append(dst, "NaN"...)
	case math.IsInf(f, 1):
		return append(dst, "Infinity"...)
	case math.IsInf(f, -1):
		return append(dst, "-Infinity"...)
	}
	if abs := math.Abs(f); abs != 0 && (abs < 1e-6 || abs >= 1e21) {
		return strconv.AppendFloat(dst, f, 'e', -1, 64)
	}
	dst = strconv.AppendFloat(dst, f, 'f', -1, 64)
	if f == math.Trunc(f) {
		dst = append(dst, ".0"...)
	}
	return dst
}

func isFinite(f float64) bool { return !math.IsNaN(f) && !math.IsInf(f, 0) }

// hyphens are the positions of the hyphens in the text of a GUID.
var hyphens = [...]int{8, 13, 18, 23}

func appendGUID(dst []byte, g string) []byte {
	var digits [32]byte
	hex.Encode(digits[:], []byte(g))
	dst = append(append(dst, digits[:8]...), '-')
	dst = append(append(dst, digits[8:12]...), '-')
	dst = append(append(dst, digits[12:16]...), '-')
	dst = append(append(dst, digits[16:20]...), '-')
	return append(dst, digits[20:]...)
}

// ParseValue reads the text of a value of type t, in the forms that String gives and some more: upper case in an
// Edm.Guid, each form of ParseTime. The *Error is InvalidInput, or OutOfRangeInput for an Edm.DateTime outside its
// range. Limits of length are left to Entity.Validate.
func ParseValue(t Type, text string) (Value, error) {
	switch t {
	case String:
		return StringValue(text), nil
	case Boolean:
		if text == "true" || text == "false" {
			return BooleanValue(text == "true"), nil
		}
	case Int32:
		if i, err := strconv.ParseInt(text, 10, 32); err == nil {
			return Int32Value(int32(i)), nil
		}
	case Int64:
		if i, err := strconv.ParseInt(text, 10, 64); err == nil {
			return Int64Value(i), nil
		}
	case Double:
		if f, ok := parseDouble(text); ok {
			return DoubleValue(f), nil
		}
	case DateTime:
		time, err := ParseTime(text)
		if err != nil {
			return Value{}, err
		}
		return DateTimeValue(time), nil
	case GUID:
		if g, ok := parseGUID(text); ok {
			return GUIDValue(g), nil
		}
	case Binary:
		if b, err := base64.StdEncoding.DecodeString(text); err == nil {
			return BinaryValue(b), nil
		}
	}
	return Value{}, invalidInputf("%.100q is no %v", text, t)
}

// parseDouble takes the three names and what JSON calls a number. A finite text beyond the range of a double is
// refused: the service takes 1.797693134862315e308 and refuses 1.797693134862316e308.
func parseDouble(s string) (float64, bool) {
	switch s {
	case "NaN":
		return math.NaN(), true
	case "Infinity":
		return math.Inf(1), true
	case "-Infinity":
		return math.Inf(-1), true
	}
	if numberEnd(s, 0) != len(s) {
		return 0, false
	}
	f, err := strconv.ParseFloat(s, 64)
	return f, err == nil
}

// parseGUID takes the form with hyphens and without braces, in either case.
func parseGUID(s string) (g [16]byte, ok bool) {
	if len(s) != 36 || strings.Count(s, "-") != len(hyphens) {
		return g, false
	}
	for _, i := range hyphens {
		if s[i] != '-' {
			return g, false
		}
	}
	var digits [32]byte
	copy(digits[:], s[:8])
	copy(digits[8:], s[9:13])
	copy(digits[12:], s[14:18])
	copy(digits[16:], s[19:23])
	copy(digits[20:], s[24:])
	_, err := hex.Decode(g[:], digits[:])
	return g, err == nil
}
