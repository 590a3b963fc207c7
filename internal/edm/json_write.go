package edm

import (
	"slices"
	"unicode/utf8"
)

// Metadata is how much a JSON answer says about its types and addresses: the odata parameter of Accept or $format.
type Metadata uint8

// The levels. At NoMetadata an Int64, DateTime, Guid or Binary cannot be told from a String.
const (
	NoMetadata Metadata = iota
	MinimalMetadata
	FullMetadata
)

// Annotations are the addresses that stand before an entity's properties. Those that are "" are left out. The level
// decides which are written at all: MinimalMetadata has only ODataMetadata, NoMetadata none.
type Annotations struct {
	ODataMetadata string // URL of the metadata; for an entity within a page ""
	ODataType     string // "account.Table"
	ODataID       string // the entity's URL
	ODataEditLink string // Table(PartitionKey='…',RowKey='…')
}

// The names of the properties that every entity has.
const (
	partitionKeyName = "PartitionKey"
	rowKeyName       = "RowKey"
	timestampName    = "Timestamp"
)

const (
	etagName   = "odata.etag"
	typeSuffix = "@odata.type"
)

// AppendEntity appends the entity as the service answers it (Payload format for Table service operations, and
// recordings where they differ). selected nil means all properties. Otherwise exactly those that it names appear, in
// its order, those that the entity lacks as null without annotation, PartitionKey, RowKey and Timestamp only when
// named. odata.etag is e.ETag, or follows from e.Timestamp when that is "".
//
// At MinimalMetadata an entity is
//
//	{"odata.metadata":"…","odata.etag":"W/\"datetime'…'\"","PartitionKey":"…","RowKey":"…","Timestamp":"…",
//	 "age":39,"ratio":3.0,"big@odata.type":"Edm.Int64","big":"933311100"}
//
// FullMetadata adds odata.type and odata.id before odata.etag, odata.editLink after it, and the type of Timestamp.
func AppendEntity(dst []byte, e *Entity, level Metadata, a Annotations, selected []string) []byte {
	dst = append(dst, '{')
	if level >= MinimalMetadata {
		dst = appendAnnotations(dst, e, level, a)
	}
	if selected != nil {
		return append(appendSelected(dst, e, level, selected), '}')
	}
	dst = appendKey(dst, e)
	if !e.Timestamp.IsZero() {
		dst = appendTimestamp(dst, e, level)
	}
	for i := range e.Properties {
		dst = appendProperty(dst, e.Properties[i].Name, e.Properties[i].Value, level >= MinimalMetadata)
	}
	return append(dst, '}')
}

// AppendBody appends the entity as the body of a write: PartitionKey, RowKey and the own properties, with the types
// that JSON cannot tell. A Double is always announced, as .NET does it: Azurite reads 3.0 as an Int32 otherwise.
func AppendBody(dst []byte, e *Entity) []byte {
	dst = appendKey(append(dst, '{'), e)
	for i := range e.Properties {
		p := &e.Properties[i]
		if p.Value.typ == Double && !p.Value.travelsAsText() {
			dst = appendType(dst, p.Name, Double)
		}
		dst = appendProperty(dst, p.Name, p.Value, true)
	}
	return append(dst, '}')
}

func appendAnnotations(dst []byte, e *Entity, level Metadata, a Annotations) []byte {
	dst = appendAnnotation(dst, "odata.metadata", a.ODataMetadata)
	if level == FullMetadata {
		dst = appendAnnotation(dst, "odata.type", a.ODataType)
		dst = appendAnnotation(dst, "odata.id", a.ODataID)
	}
	switch {
	case e.ETag != "":
		dst = appendAnnotation(dst, etagName, e.ETag)
	case !e.Timestamp.IsZero():
		dst = appendAnnotation(dst, etagName, ETagOf(e.Timestamp))
	}
	if level == FullMetadata {
		dst = appendAnnotation(dst, "odata.editLink", a.ODataEditLink)
	}
	return dst
}

func appendAnnotation(dst []byte, name, text string) []byte {
	if text == "" {
		return dst
	}
	return AppendJSONString(appendName(dst, name), text)
}

func appendSelected(dst []byte, e *Entity, level Metadata, selected []string) []byte {
	for i, name := range selected {
		if slices.Contains(selected[:i], name) {
			continue
		}
		switch name {
		case partitionKeyName:
			dst = AppendJSONString(appendName(dst, name), e.PartitionKey)
		case rowKeyName:
			dst = AppendJSONString(appendName(dst, name), e.RowKey)
		case timestampName:
			dst = appendTimestamp(dst, e, level)
		default:
			v, _ := e.Get(name) // absent: the zero Value, written as null
			dst = appendProperty(dst, name, v, level >= MinimalMetadata)
		}
	}
	return dst
}

func appendKey(dst []byte, e *Entity) []byte {
	dst = AppendJSONString(appendName(dst, partitionKeyName), e.PartitionKey)
	return AppendJSONString(appendName(dst, rowKeyName), e.RowKey)
}

// appendTimestamp appends Timestamp, whose type is announced at FullMetadata only, unlike that of other properties.
func appendTimestamp(dst []byte, e *Entity, level Metadata) []byte {
	var v Value // null as long as there is no Timestamp
	if !e.Timestamp.IsZero() {
		v = DateTimeValue(e.Timestamp)
	}
	return appendProperty(dst, timestampName, v, level == FullMetadata)
}

// appendProperty appends a property, its type before it where annotate asks for it and the type needs it. Types that
// do not need it must not have it: Azure's Go client reads an annotated Edm.Int32, Edm.Boolean or Edm.String as nil.
func appendProperty(dst []byte, name string, v Value, annotate bool) []byte {
	quoted := v.travelsAsText()
	if annotate && quoted {
		dst = appendType(dst, name, v.typ)
	}
	dst = appendName(dst, name)
	switch {
	case v.typ == String:
		return AppendJSONString(dst, v.text)
	case quoted:
		return append(v.appendText(append(dst, '"')), '"')
	default:
		return v.appendText(dst)
	}
}

// appendType appends the annotation of a property's type.
func appendType(dst []byte, name string, t Type) []byte {
	dst = append(appendMember(dst, name, typeSuffix), '"')
	return append(append(dst, t.String()...), '"')
}

// travelsAsText says whether JSON carries v as a string although it is none, so that it needs an annotation.
func (v Value) travelsAsText() bool {
	switch v.typ {
	case Int64, DateTime, GUID, Binary:
		return true
	case Double:
		return !isFinite(v.Float())
	default:
		return false
	}
}

func appendName(dst []byte, name string) []byte { return appendMember(dst, name, "") }

// appendMember appends a member's name with a suffix and the colon, after a comma unless it is the object's first.
func appendMember(dst []byte, name, suffix string) []byte {
	if dst[len(dst)-1] != '{' {
		dst = append(dst, ',')
	}
	dst = AppendJSONString(dst, name)
	dst = append(dst[:len(dst)-1], suffix...)
	return append(dst, '"', ':')
}

// AppendJSONString appends s as a JSON string. Escaped are what JSON demands, and U+2028 and U+2029, which end a line
// in the regular expressions with which Azurite reads transactions. Bytes that are not UTF-8, which Entity.Validate
// refuses, become U+FFFD.
func AppendJSONString(dst []byte, s string) []byte {
	dst = append(dst, '"')
	start := 0 // s[start:i] needs no escape and is not yet copied
	for i := 0; i < len(s); {
		if i+8 <= len(s) && plain(s[i:i+8]) {
			i += 8
			continue
		}
		c := s[i]
		if c >= utf8.RuneSelf {
			r, size := utf8.DecodeRuneInString(s[i:])
			switch {
			case r == utf8.RuneError && size == 1:
				dst = append(append(dst, s[start:i]...), "\uFFFD"...)
				start = i + size
			case r == '\u2028':
				dst = append(append(dst, s[start:i]...), `\u2028`...)
				start = i + size
			case r == '\u2029':
				dst = append(append(dst, s[start:i]...), `\u2029`...)
				start = i + size
			}
			i += size
			continue
		}
		if c < 0x20 || c == '"' || c == '\\' {
			dst = appendEscape(append(dst, s[start:i]...), c)
			start = i + 1
		}
		i++
	}
	return append(append(dst, s[start:]...), '"')
}

// plain says of eight bytes whether all of them stand for themselves: ASCII, no control characters, no quote and no
// backslash. A subtraction sets the high bit of the first byte that is too small; behind it a borrow may set more.
func plain(s string) bool {
	const ones, highs = 0x0101010101010101, 0x8080808080808080
	_ = s[7]
	w := uint64(s[0]) | uint64(s[1])<<8 | uint64(s[2])<<16 | uint64(s[3])<<24 |
		uint64(s[4])<<32 | uint64(s[5])<<40 | uint64(s[6])<<48 | uint64(s[7])<<56
	quotes, slashes := w^('"'*ones), w^('\\'*ones)
	return (w|(w-0x20*ones)|(quotes-ones)|(slashes-ones))&highs == 0
}

func appendEscape(dst []byte, c byte) []byte {
	const digits = "0123456789abcdef"
	switch c {
	case '"', '\\':
		return append(dst, '\\', c)
	case '\n':
		return append(dst, '\\', 'n')
	case '\r':
		return append(dst, '\\', 'r')
	case '\t':
		return append(dst, '\\', 't')
	default:
		return append(dst, '\\', 'u', '0', '0', digits[c>>4], digits[c&15])
	}
}
