package edm

import "time"

// Limits of the service (Scalability targets for Table storage; data model, REST reference).
const (
	MaxKeyUnits    = 512
	MaxProperties  = 252
	MaxNameUnits   = 255
	MaxValueBytes  = 64 << 10
	MaxEntityBytes = 1 << 20
)

// Error is a service error.
type Error struct{ Code, Message string }

func (e *Error) Error() string { return e.Code + ": " + e.Message }

// ValidateKeyPart checks a key.
func ValidateKeyPart(name, s string) error { panic("under construction") }

// ValidatePropertyName checks a name.
func ValidatePropertyName(s string) error { panic("under construction") }

// ValidateTableName checks a table name.
func ValidateTableName(s string) error { panic("under construction") }

// Validate checks an entity.
func (e *Entity) Validate() error { panic("under construction") }

// Size is the billed size.
func (e *Entity) Size() int { panic("under construction") }

// UTF16Len counts units.
func UTF16Len(s string) int { panic("under construction") }

// String is the text form.
func (v Value) String() string { panic("under construction") }

// ParseValue reads the text form.
func ParseValue(t Type, text string) (Value, error) { panic("under construction") }

// FormatTime formats.
func FormatTime(t time.Time) string { panic("under construction") }

// ParseTime parses.
func ParseTime(s string) (time.Time, error) { panic("under construction") }

// ETagOf returns the ETag.
func ETagOf(t time.Time) string { panic("under construction") }

// Metadata is a level.
type Metadata uint8

// Levels.
const (
	NoMetadata Metadata = iota
	MinimalMetadata
	FullMetadata
)

// Annotations are written when not "".
type Annotations struct{ ODataMetadata, ODataType, ODataID, ODataEditLink string }

// AppendEntity writes.
func AppendEntity(dst []byte, e *Entity, level Metadata, a Annotations, selected []string) []byte {
	panic("under construction")
}

// AppendBody writes.
func AppendBody(dst []byte, e *Entity) []byte { panic("under construction") }

// AppendJSONString writes.
func AppendJSONString(dst []byte, s string) []byte { panic("under construction") }

// Presence says what a body named.
type Presence struct {
	PartitionKey, RowKey bool
	Nulls                []string
}

// ParseEntity reads.
func ParseEntity(body []byte) (*Entity, Presence, error) { panic("under construction") }

// ParsePage reads.
func ParsePage(body []byte) ([]*Entity, error) { panic("under construction") }

// AppendCanonical writes.
func AppendCanonical(dst []byte, key Key, e *Entity) []byte { panic("under construction") }

// Digest is a SHA-256.
type Digest [32]byte

// Digest returns it.
func (e *Entity) Digest(key Key) Digest { panic("under construction") }

// SameContent compares.
func (e *Entity) SameContent(o *Entity) bool { panic("under construction") }

// Differences names what differs.
func (e *Entity) Differences(o *Entity) []string { panic("under construction") }
