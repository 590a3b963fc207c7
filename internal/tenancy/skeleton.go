package tenancy

import "github.com/aztenancy/terraform-provider-aztenancy/internal/edm"

// ValidateID checks a tenant id.
func ValidateID(id string) error { panic("under construction") }

// ValidateModelName checks the name of an isolation model.
func ValidateModelName(name string) error { panic("under construction") }

// ValidateLogicalName checks the name of a logical table.
func ValidateLogicalName(name string) error { panic("under construction") }

// ValidateKey checks a tenant key.
func ValidateKey(key string) error { panic("under construction") }

// Limits of this package.
const (
	MaxKeyUnits       = 256  // of a tenant key, in UTF-16 code units
	MaxSeparatorUnits = 8    // of a separator, in UTF-16 code units
	MinBuckets        = 2    // of the scheme bucketed
	MaxBuckets        = 1000 // of the scheme bucketed
)

// Validate checks the model.
func (m Model) Validate() error { panic("under construction") }

// Locator gives the storage account's own name and the address of a table.
type Locator func(account, table string) (storage, url string, err error)

// Place returns the placement of a tenant.
func (m Model) Place(t Tenant, account string, locate Locator) (Placement, error) {
	panic("under construction")
}

// LogicalTables returns the logical names in order.
func (m Model) LogicalTables() []string { panic("under construction") }

// LogicalTables returns the logical names in order.
func (p Placement) LogicalTables() []string { panic("under construction") }

// Equal says whether both placements are the same.
func (p Placement) Equal(o Placement) bool { panic("under construction") }

// TableName renders a template.
func TableName(template, tenantID string) (string, error) { panic("under construction") }

// Validate checks the scheme.
func (s KeyScheme) Validate() error { panic("under construction") }

// Range returns the range of a tenant.
func (s KeyScheme) Range(key string) KeyRange { panic("under construction") }

// PartitionKey returns the PartitionKey of a logical entity: e.PartitionKey holds the application's own partition
// value (prefixed and native; "" for tenant and bucketed), e.RowKey and the properties are what is stored.
func (s KeyScheme) PartitionKey(key string, e *edm.Entity) (string, error) {
	panic("under construction")
}

// Partition is the inverse of PartitionKey: it returns the application's own partition value of a stored entity, or an
// error if the entity is not where the scheme puts it.
func (s KeyScheme) Partition(key string, e *edm.Entity) (string, error) { panic("under construction") }

// Partitions returns all PartitionKeys of a tenant where they can be enumerated, else nil.
func (s KeyScheme) Partitions(key string) []string { panic("under construction") }

// Bucket returns the bucket of a text.
func Bucket(text string, buckets int) int { panic("under construction") }

// Contains says whether the range holds a key.
func (r KeyRange) Contains(k edm.Key) bool { panic("under construction") }

// Overlaps says whether the ranges have a key in common.
func (r KeyRange) Overlaps(o KeyRange) bool { panic("under construction") }

// String returns the range for people.
func (r KeyRange) String() string { panic("under construction") }

// Validate checks the range.
func (r KeyRange) Validate() error { panic("under construction") }

// IsWholeTable says whether the range holds all keys.
func (r KeyRange) IsWholeTable() bool { panic("under construction") }

// Filter returns the OData $filter that selects the range, "" for the whole table.
func (r KeyRange) Filter() string { panic("under construction") }

// Claim is a tenant's exclusive right to a key range of a physical table.
type Claim struct {
	Storage, Table      string
	TenantID, TenantKey string
	Logical             string
	Range               KeyRange
}

// Claims returns the claims of a placement.
func (p Placement) Claims(t Tenant) []Claim { panic("under construction") }

// Conflict returns another tenant's claim that overlaps c.
func Conflict(claims []Claim, c Claim) (Claim, bool) { panic("under construction") }

// Successor returns the smallest key text greater than all key texts that begin with prefix.
func Successor(prefix string) (string, bool) { panic("under construction") }

// MapClass says what a mapping does to the order of keys.
type MapClass string

// The classes.
const (
	MapIdentity    MapClass = "identity"
	MapOrdered     MapClass = "order-preserving"
	MapRebucketing MapClass = "re-bucketing"
)

// Mapping maps keys between two placements of a logical table.
type Mapping struct{ class MapClass }

// MappingError says why there is no mapping.
type MappingError struct{ Reason, Way string }

func (e *MappingError) Error() string { panic("under construction") }

// NewMapping returns the mapping.
func NewMapping(src, dst TablePlacement) (*Mapping, error) { panic("under construction") }

// Class returns the class.
func (m *Mapping) Class() MapClass { return m.class }

// Map returns the key at the target.
func (m *Mapping) Map(e *edm.Entity) (edm.Key, error) { panic("under construction") }

// Inverse returns the mapping back.
func (m *Mapping) Inverse() (*Mapping, error) { panic("under construction") }

// Properties returns the names of the properties that Map reads, besides the keys.
func (m *Mapping) Properties() []string { panic("under construction") }

// MayCollide says, with the reason, that two entities of the source may map to one key.
func (m *Mapping) MayCollide() (reason string, ok bool) { panic("under construction") }

// EncodeKey escapes what cannot stand in a key.
func EncodeKey(s string) string { panic("under construction") }

// DecodeKey is the inverse of EncodeKey.
func DecodeKey(s string) (string, error) { panic("under construction") }
