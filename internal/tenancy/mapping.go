package tenancy

import (
	"fmt"
	"strings"

	"github.com/aztenancy/terraform-provider-aztenancy/internal/edm"
)

// MapClass says what a mapping does to keys and their order.
type MapClass string

// The classes of mapping.
const (
	MapIdentity    MapClass = "identity"         // every key stays as it is
	MapOrdered     MapClass = "order-preserving" // keys change, their order does not: both sides can be merged as streams
	MapRebucketing MapClass = "re-bucketing"     // entities are spread over other partitions: order is kept only within them
)

// Mapping gives the key at the target for an entity of the source: it decodes the source's key scheme, then encodes the
// target's. The RowKey never changes. Every mapping has an inverse.
type Mapping struct {
	src, dst TablePlacement
	class    MapClass
}

// MappingError says why keys cannot be mapped between two placements, and the way out.
type MappingError struct {
	Source, Target TablePlacement
	Reason         string
	Way            string
}

func (e *MappingError) Error() string {
	return fmt.Sprintf("map keys of scheme %q in table %s/%s to scheme %q in table %s/%s: %s. %s", e.Source.Scheme.Kind, e.Source.Storage, e.Source.Table,
		e.Target.Scheme.Kind, e.Target.Storage, e.Target.Table, e.Reason, e.Way)
}

// NewMapping returns the mapping between two placements of one logical table of a tenant. Pairs that would lose a part
// of the key, or that lie over each other in one physical table, are a *MappingError.
func NewMapping(src, dst TablePlacement) (*Mapping, error) {
	refuse := func(reason, way string) (*Mapping, error) {
		return nil, &MappingError{Source: src, Target: dst, Reason: reason, Way: way}
	}
	for _, p := range []TablePlacement{src, dst} {
		if err := p.Scheme.Validate(); err != nil {
			return nil, err
		}
		if err := ValidateKey(p.Key); err != nil {
			return nil, err
		}
	}
	switch {
	case src.Scheme.keepsPartition() && !dst.Scheme.keepsPartition():
		return refuse("the application's own partition value would be lost, and entities that differ only in it would become one",
			fmt.Sprintf("Choose a model whose key scheme is %q or %q", SchemePrefixed, SchemeNative))
	case !src.Scheme.keepsPartition() && dst.Scheme.keepsPartition():
		return refuse("the target wants a partition value of the application's own, and these entities have none",
			fmt.Sprintf("Choose a model whose key scheme is %q or %q", SchemeTenant, SchemeBucketed))
	}
	m := &Mapping{src: src, dst: dst, class: classOf(src, dst)}
	if src != dst && src.Storage == dst.Storage && strings.EqualFold(src.Table, dst.Table) && src.Range.Overlaps(dst.Range) {
		return refuse(fmt.Sprintf("source %v and target %v overlap in one table, so what was copied could not be told from what was there", src.Range, dst.Range),
			"Move the tenant to another table first")
	}
	return m, nil
}

func classOf(src, dst TablePlacement) MapClass {
	s, d := src.Scheme, dst.Scheme
	sameStart := src.Key+s.Separator == dst.Key+d.Separator
	switch {
	case s.keepsPartition():
		sameStart = s.prefix(src.Key) == d.prefix(dst.Key)
	case s.Kind != d.Kind, s.Buckets != d.Buckets, s.BucketProperty != d.BucketProperty:
		return MapRebucketing
	}
	if sameStart {
		return MapIdentity
	}
	return MapOrdered
}

// Class returns the mapping's class.
func (m *Mapping) Class() MapClass { return m.class }

// Map returns the entity's key at the target. It needs the properties that Properties names. An entity that is not where
// the source's scheme puts it, or whose key would be too long at the target, is an error that names its key.
func (m *Mapping) Map(e *edm.Entity) (edm.Key, error) {
	value, err := m.src.Scheme.Partition(m.src.Key, e)
	if err != nil {
		return edm.Key{}, err
	}
	logical := edm.Entity{PartitionKey: value, RowKey: e.RowKey, Properties: e.Properties}
	pk, err := m.dst.Scheme.PartitionKey(m.dst.Key, &logical)
	if err != nil {
		return edm.Key{}, fmt.Errorf("entity (%q, %q) at the target: %w", e.PartitionKey, e.RowKey, err)
	}
	return edm.Key{PartitionKey: pk, RowKey: e.RowKey}, nil
}

// Inverse returns the mapping from the target back to the source.
func (m *Mapping) Inverse() (*Mapping, error) { return NewMapping(m.dst, m.src) }

// Properties returns the names of the properties that Map reads beside the keys: a scan of keys must select them too.
func (m *Mapping) Properties() []string {
	var names []string
	for _, s := range []KeyScheme{m.src.Scheme, m.dst.Scheme} {
		if s.BucketProperty != "" && (len(names) == 0 || names[0] != s.BucketProperty) {
			names = append(names, s.BucketProperty)
		}
	}
	return names
}

// MayCollide says, with the reason, whether two entities of the source can have one key at the target. That happens
// where the source's bucket comes from a property: two of its buckets may hold the same RowKey. Whoever copies must
// insert, and stop at a key that holds another entity.
func (m *Mapping) MayCollide() (reason string, ok bool) {
	if m.class != MapRebucketing || m.src.Scheme.BucketProperty == "" {
		return "", false
	}
	return fmt.Sprintf("the source's buckets come from property %q: two of them may hold the same RowKey, which the target would put into one partition",
		m.src.Scheme.BucketProperty), true
}
