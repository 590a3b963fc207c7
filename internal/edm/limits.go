package edm

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// The service's limits (Table service data model and Scalability targets for Table storage).
const (
	MaxKeyUnits    = 512      // UTF-16 units of a PartitionKey and of a RowKey: 1 KiB; the exact boundary is unconfirmed
	MaxProperties  = 252      // own properties of an entity
	MaxNameUnits   = 255      // UTF-16 units of a property name
	MaxValueBytes  = 64 << 10 // bytes of an Edm.Binary, and of an Edm.String as UTF-16 (32768 units)
	MaxEntityBytes = 1 << 20  // bytes of an entity, by Size
)

// UTF16Len returns the length of s in UTF-16 code units, the unit of the service's limits.
func UTF16Len(s string) int {
	n := 0
	for _, r := range s {
		n++
		if r > 0xFFFF {
			n++
		}
	}
	return n
}

// longerThan says whether s has more than max UTF-16 units. It mostly need not count: a unit is at least a byte.
func longerThan(s string, max int) bool { return len(s) > max && UTF16Len(s) > max }

// ValidateKeyPart checks one part of a key that stands in a body; name is "PartitionKey" or "RowKey". The *Error
// is PropertyValueTooLarge for more than MaxKeyUnits, OutOfRangeInput for a character that keys may not hold
// (/ \ # ? and the control characters U+0000 to U+001F and U+007F to U+009F), InvalidInput for bad UTF-8. The
// service words keys in a URL otherwise. Which check comes first is unconfirmed.
func ValidateKeyPart(name, s string) error {
	if longerThan(s, MaxKeyUnits) {
		return valueTooLarge(fmt.Sprintf("%s has more than %d UTF-16 units", name, MaxKeyUnits))
	}
	if !utf8.ValidString(s) {
		return invalidInputf("%s is not UTF-8", name)
	}
	for _, r := range s {
		if r < 0x20 || r >= 0x7F && r <= 0x9F || r == '/' || r == '\\' || r == '#' || r == '?' {
			return outOfRange(name, s, fmt.Sprintf("%U is not allowed in keys", r))
		}
	}
	return nil
}

// ValidatePropertyName checks that s can name a property: a C# identifier of at most MaxNameUnits. The *Error is
// PropertyNameTooLong or PropertyNameInvalid. That the whole C# rule holds and not only letters, digits and "_"
// is unconfirmed.
func ValidatePropertyName(s string) error {
	if longerThan(s, MaxNameUnits) {
		return &Error{Code: "PropertyNameTooLong", Message: "The property name exceeds the maximum allowed length (255)."}
	}
	valid := s != ""
	for i, r := range s {
		valid = valid && (startsIdentifier(r) || i > 0 && continuesIdentifier(r))
	}
	if !valid {
		return &Error{"PropertyNameInvalid", "The property name is invalid.", fmt.Sprintf("%q is not a C# identifier", s)}
	}
	return nil
}

func startsIdentifier(r rune) bool {
	if r < utf8.RuneSelf {
		return r == '_' || 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z'
	}
	return unicode.IsLetter(r) || unicode.Is(unicode.Nl, r)
}

func continuesIdentifier(r rune) bool {
	if r < utf8.RuneSelf {
		return '0' <= r && r <= '9'
	}
	return unicode.In(r, unicode.Nd, unicode.Pc, unicode.Mn, unicode.Mc, unicode.Cf)
}

// ValidateTableName checks that a table can be created with the name s: 3 to 63 ASCII letters and digits, a letter
// first. The *Error is OutOfRangeInput for the length, InvalidResourceName for a character (its text is spelled as
// the service spells it), InvalidInput for the reserved "tables". That the length comes first is unconfirmed.
func ValidateTableName(s string) error {
	if n := UTF16Len(s); n < 3 || n > 63 {
		return &Error{"OutOfRangeInput", "The specified resource name length is not within the permissible limits.",
			"a table name has 3 to 63 characters"}
	}
	for i := range len(s) {
		letter := 'a' <= s[i]|0x20 && s[i]|0x20 <= 'z'
		digit := '0' <= s[i] && s[i] <= '9'
		if !letter && (i == 0 || !digit) {
			return &Error{"InvalidResourceName", "The specifed resource name contains invalid characters.",
				fmt.Sprintf("%q: a table name has ASCII letters and digits, a letter first", s)}
		}
	}
	if strings.EqualFold(s, "tables") {
		return invalidInputf("table name %q is reserved", s)
	}
	return nil
}

// Validate checks the entity against all limits of the service: key, names, values, number of properties, size.
// The *Error is the service's for the first broken rule; the order of the rules is unconfirmed.
func (e *Entity) Validate() error {
	if err := ValidateKeyPart("PartitionKey", e.PartitionKey); err != nil {
		return err
	}
	if err := ValidateKeyPart("RowKey", e.RowKey); err != nil {
		return err
	}
	if len(e.Properties) > MaxProperties {
		return tooManyProperties(fmt.Sprintf("%d own properties", len(e.Properties)))
	}
	for i, p := range e.Properties {
		if err := ValidatePropertyName(p.Name); err != nil {
			return err
		}
		if isSystemName(p.Name) || nameIn(e.Properties[:i], p.Name) {
			return duplicateProperty(p.Name)
		}
		if err := validateValue(p.Name, p.Value); err != nil {
			return err
		}
	}
	if n := e.Size(); n > MaxEntityBytes {
		return &Error{"EntityTooLarge", "The entity is larger than the maximum allowed size (1MB).", fmt.Sprintf("%d bytes", n)}
	}
	return nil
}

// isSystemName says whether every entity has a property of this name, so that an own one would be a second.
func isSystemName(name string) bool {
	return name == partitionKeyName || name == rowKeyName || name == timestampName
}

func nameIn(properties []Property, name string) bool {
	for i := range properties {
		if properties[i].Name == name {
			return true
		}
	}
	return false
}

func validateValue(name string, v Value) error {
	switch v.typ {
	case 0:
		return invalidInputf("property %q has no value", name)
	case String:
		if longerThan(v.text, MaxValueBytes/2) {
			return valueTooLarge(fmt.Sprintf("property %q", name))
		}
		if !utf8.ValidString(v.text) {
			return invalidInputf("property %q is not UTF-8", name)
		}
	case Binary:
		if len(v.text) > MaxValueBytes {
			return valueTooLarge(fmt.Sprintf("property %q", name))
		}
	case DateTime:
		if !inTimeRange(v.Ticks()) {
			return timeOutOfRange(name, v.Time())
		}
	}
	return nil
}

// Size returns the entity's size in bytes by the published formula for billing. Whether Timestamp counts, and
// whether the limit of 1 MiB is measured so, is unconfirmed.
func (e *Entity) Size() int {
	n := 4 + 2*(UTF16Len(e.PartitionKey)+UTF16Len(e.RowKey))
	for i := range e.Properties {
		n += 8 + 2*UTF16Len(e.Properties[i].Name) + valueSize(e.Properties[i].Value)
	}
	return n
}

func valueSize(v Value) int {
	switch v.typ {
	case String:
		return 2*UTF16Len(v.text) + 4
	case Binary:
		return len(v.text) + 4
	case GUID:
		return 16
	case Int64, Double, DateTime:
		return 8
	case Int32:
		return 4
	case Boolean:
		return 1
	default:
		return 0
	}
}
