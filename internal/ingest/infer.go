package ingest

import (
	"strconv"
	"strings"
	"time"

	"github.com/aztenancy/terraform-provider-aztenancy/internal/edm"
)

// typeSet is a set of property types: bit n stands for edm.Type n.
type typeSet uint16

func setOf(types ...edm.Type) (s typeSet) {
	for _, t := range types {
		s |= 1 << t
	}
	return s
}

func (s typeSet) has(t edm.Type) bool { return s&(1<<t) != 0 }

// anyType is where inference starts: every type that it can find. Binary must be declared, because base64 cannot be
// told from text.
var anyType = setOf(edm.String, edm.Boolean, edm.Int32, edm.Int64, edm.Double, edm.DateTime, edm.GUID)

// preference is the order in which inference picks among the types that hold all values of a column.
var preference = [...]edm.Type{edm.Int32, edm.Int64, edm.Double, edm.Boolean, edm.DateTime, edm.GUID, edm.String}

// inference narrows the type of one column, value by value. A column has a type only if all its values have it, and
// only if the type holds each value without loss.
type inference struct {
	candidates typeSet
	values     int64 // values seen, absent ones not counted
}

// observe takes one value into account.
func (i *inference) observe(c Cell) {
	if c.Kind == CellAbsent {
		return
	}
	if i.values == 0 {
		i.candidates = anyType
	}
	i.values++
	if i.candidates != setOf(edm.String) {
		i.candidates &= typesOf(c)
	}
}

// result returns the column's type; 0 for a column without a value.
func (i *inference) result() edm.Type {
	for _, t := range preference {
		if i.candidates.has(t) {
			return t
		}
	}
	return 0
}

// typesOf returns the types that hold the value without loss.
func typesOf(c Cell) typeSet {
	text := setOf(edm.String)
	switch c.Kind {
	case CellNumber:
		return text | numberTypes(c.Text)
	case CellBool:
		return text | setOf(edm.Boolean)
	case CellString:
		return text | formattedTypes(c.Text)
	case CellText:
		if isBoolean(c.Text) {
			return text | setOf(edm.Boolean)
		}
		return text | numberTypes(c.Text) | formattedTypes(c.Text)
	default:
		return text
	}
}

// numberTypes returns the number types that hold the literal exactly. A literal with a plus sign or with leading
// zeros is a code (a postcode, an article number), not a number.
func numberTypes(s string) typeSet {
	digits := strings.TrimPrefix(s, "-")
	if digits == "" || digits[0] < '0' || digits[0] > '9' {
		return 0
	}
	if len(digits) > 1 && digits[0] == '0' && digits[1] >= '0' && digits[1] <= '9' {
		return 0
	}
	var types typeSet
	if s != "-0" { // an integer has no negative zero
		if _, err := strconv.ParseInt(s, 10, 32); err == nil {
			types |= setOf(edm.Int32, edm.Int64)
		} else if _, err := strconv.ParseInt(s, 10, 64); err == nil {
			types |= setOf(edm.Int64)
		}
	}
	if isExactDouble(s) {
		types |= setOf(edm.Double)
	}
	return types
}

// isExactDouble says whether s is a decimal number that a Double gives back: the shortest text that reads as the
// same Double has the same digits. 0.1 does, 12345678901234567890 and 1e400 do not.
func isExactDouble(s string) bool {
	if strings.ContainsAny(s, "_xXpPiInN") { // forms of Go that no file means
		return false
	}
	f, err := strconv.ParseFloat(s, 64)
	if err != nil {
		return false
	}
	digits, exponent := significand(s)
	shortDigits, shortExponent := significand(strconv.FormatFloat(f, 'e', -1, 64))
	return digits == shortDigits && (digits == "" || exponent == shortExponent)
}

// significand returns the decimal digits of a number literal without zeros at either end, and the power of ten of
// the first of them. Zero has no digits.
func significand(s string) (digits string, exponent int) {
	s = strings.TrimLeft(s, "+-")
	mantissa := s
	if i := strings.IndexAny(s, "eE"); i >= 0 {
		mantissa = s[:i]
		// Out of range: ParseFloat has answered 0 or an error already, and digits differ from those of 0.
		exponent, _ = strconv.Atoi(s[i+1:])
	}
	whole, fraction, _ := strings.Cut(mantissa, ".")
	digits = whole + fraction
	exponent += len(whole) - 1
	trimmed := strings.TrimLeft(digits, "0")
	exponent -= len(digits) - len(trimmed)
	return strings.TrimRight(trimmed, "0"), exponent
}

// isBoolean takes the three ways in which programs write a truth value.
func isBoolean(s string) bool {
	switch s {
	case "true", "True", "TRUE", "false", "False", "FALSE":
		return true
	}
	return false
}

// formattedTypes returns DateTime or Guid if the text has the form.
func formattedTypes(s string) typeSet {
	if _, ok := parseDateTime(s); ok {
		return setOf(edm.DateTime)
	}
	if _, ok := parseGUID(s); ok {
		return setOf(edm.GUID)
	}
	return 0
}

// maxFraction is the number of digits of a second that a DateTime holds: its unit is 100 ns (reference §2.3).
const maxFraction = 7

// dateTimeLayouts are the ISO 8601 forms that are read as DateTime; a fraction of a second may follow the seconds.
// Without a zone the time is UTC, as the service takes it (reference §2.3).
var dateTimeLayouts = [...]string{
	"2006-01-02", "2006-01-02T15:04Z07:00", "2006-01-02T15:04:05Z07:00", "2006-01-02 15:04:05Z07:00",
	"2006-01-02T15:04", "2006-01-02T15:04:05", "2006-01-02 15:04:05", "2006-01-02 15:04",
}

// The service's range of Edm.DateTime (reference §2.3); the upper end is exclusive.
var (
	minDateTime = time.Date(1601, 1, 1, 0, 0, 0, 0, time.UTC)
	maxDateTime = time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC)
)

// parseDateTime reads an ISO date or time that the service's DateTime holds without loss of the instant.
func parseDateTime(s string) (time.Time, bool) {
	if len(s) < len("2006-01-02") || s[4] != '-' || s[7] != '-' || strings.Contains(s, ",") {
		return time.Time{}, false
	}
	if dot := strings.IndexByte(s, '.'); dot >= 0 {
		fraction := strings.TrimLeft(s[dot+1:], "0123456789")
		if len(s)-dot-1-len(fraction) > maxFraction {
			return time.Time{}, false
		}
	}
	for _, layout := range dateTimeLayouts {
		t, err := time.Parse(layout, s)
		if err != nil {
			continue
		}
		t = t.UTC()
		return t, !t.Before(minDateTime) && t.Before(maxDateTime)
	}
	return time.Time{}, false
}

// parseGUID reads the form 8-4-4-4-12, in either case. The service gives it back in lower case.
func parseGUID(s string) (g [16]byte, ok bool) {
	if len(s) != 36 {
		return g, false
	}
	n := 0
	for i := 0; i < len(s); i++ {
		if i == 8 || i == 13 || i == 18 || i == 23 {
			if s[i] != '-' {
				return g, false
			}
			continue
		}
		nibble := strings.IndexByte("0123456789abcdef", s[i]|0x20)
		if nibble < 0 || s[i] < '0' {
			return g, false
		}
		g[n/2] = g[n/2]<<4 | byte(nibble)
		n++
	}
	return g, true
}
