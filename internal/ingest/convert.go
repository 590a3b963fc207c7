package ingest

import (
	"encoding/base64"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/aztenancy/terraform-provider-aztenancy/internal/edm"
)

// ParseTypeName reads a type as users declare it: String, Boolean, Int32, Int64, Double, DateTime, Guid or Binary, in
// any case, with or without "Edm.".
func ParseTypeName(name string) (edm.Type, error) {
	short := name
	if len(name) > 4 && strings.EqualFold(name[:4], "Edm.") {
		short = name[4:]
	}
	for t := edm.String; t <= edm.Binary; t++ {
		if strings.EqualFold(short, TypeName(t)) {
			return t, nil
		}
	}
	return 0, fmt.Errorf("%q is no property type; use String, Boolean, Int32, Int64, Double, DateTime, Guid or Binary", name)
}

// TypeName returns the name that ParseTypeName reads, such as "Int64"; "" for no type.
func TypeName(t edm.Type) string {
	if t == 0 {
		return ""
	}
	return strings.TrimPrefix(t.String(), "Edm.")
}

// convert turns a value of the file into a property of type t. The error is a reason in the form of RowError.Reason.
// A declared type reads more than inference finds: leading zeros of numbers, 0 and 1 as Boolean, NaN and Infinity.
func convert(t edm.Type, c Cell) (edm.Value, error) {
	if c.Kind == CellNested && t != edm.String {
		return edm.Value{}, errors.New("an object or array is no property value; " +
			"declare the column as String to store its JSON text, or flatten it")
	}
	switch t {
	case edm.String:
		return edm.StringValue(c.Text), nil
	case edm.Boolean:
		return convertBoolean(c.Text)
	case edm.Int32:
		n, err := strconv.ParseInt(c.Text, 10, 32)
		return edm.Int32Value(int32(n)), notA(t, err)
	case edm.Int64:
		n, err := strconv.ParseInt(c.Text, 10, 64)
		return edm.Int64Value(n), notA(t, err)
	case edm.Double:
		return convertDouble(c.Text)
	case edm.DateTime:
		at, ok := parseDateTime(c.Text)
		if !ok {
			return edm.Value{}, errors.New("no ISO 8601 date or time of the years 1601 to 9999 " +
				"with at most 7 digits of a second, such as 2024-05-31 or 2024-05-31T08:30:00Z")
		}
		return edm.DateTimeValue(at), nil
	case edm.GUID:
		g, ok := parseGUID(c.Text)
		if !ok {
			return edm.Value{}, errors.New("no Guid such as 6f9619ff-8b86-d011-b42d-00cf4fc964ff")
		}
		return edm.GUIDValue(g), nil
	case edm.Binary:
		b, err := base64.StdEncoding.DecodeString(c.Text)
		if err != nil {
			return edm.Value{}, errors.New("no base64 text, the form in which a file holds Binary")
		}
		return edm.BinaryValue(b), nil
	default:
		return edm.Value{}, errors.New("the column has no type")
	}
}

func convertBoolean(s string) (edm.Value, error) {
	switch {
	case s == "1", isBoolean(s) && strings.EqualFold(s, "true"):
		return edm.BooleanValue(true), nil
	case s == "0", isBoolean(s):
		return edm.BooleanValue(false), nil
	}
	return edm.Value{}, errors.New("no Boolean; true, false, 1 and 0 are")
}

func convertDouble(s string) (edm.Value, error) {
	switch s {
	case "NaN":
		return edm.DoubleValue(math.NaN()), nil
	case "Infinity", "+Infinity":
		return edm.DoubleValue(math.Inf(1)), nil
	case "-Infinity":
		return edm.DoubleValue(math.Inf(-1)), nil
	}
	f, err := strconv.ParseFloat(s, 64)
	if err == nil && strings.ContainsAny(s, "_xXpPiInN") {
		err = strconv.ErrSyntax
	}
	return edm.DoubleValue(f), notA(edm.Double, err)
}

// notA words an error of strconv.
func notA(t edm.Type, err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, strconv.ErrRange):
		return fmt.Errorf("outside the range of %s", TypeName(t))
	default:
		return fmt.Errorf("no %s", TypeName(t))
	}
}
