package tenancy

import (
	"fmt"
	"hash/crc32"
	"strconv"
	"strings"

	"github.com/aztenancy/terraform-provider-aztenancy/internal/edm"
)

// Validate checks that the scheme has the parameters that its kind needs, and no others.
func (s KeyScheme) Validate() error {
	switch s.Kind {
	case SchemeTenant, SchemeNative:
		if s.Separator != "" {
			return fmt.Errorf("key scheme %q takes no separator: its PartitionKeys are not put together", s.Kind)
		}
	case SchemeBucketed, SchemePrefixed:
		if err := validateSeparator(s); err != nil {
			return err
		}
	default:
		return fmt.Errorf("key scheme %q is unknown: use %q, %q, %q or %q", s.Kind, SchemeTenant, SchemeBucketed, SchemePrefixed, SchemeNative)
	}
	if s.Kind != SchemeBucketed {
		if s.Buckets != 0 || s.BucketProperty != "" {
			return fmt.Errorf("key scheme %q takes neither buckets nor bucket_property: they belong to %q", s.Kind, SchemeBucketed)
		}
		return nil
	}
	if s.Buckets < MinBuckets || s.Buckets > MaxBuckets {
		return fmt.Errorf("key scheme %q with %d buckets: choose %d to %d", s.Kind, s.Buckets, MinBuckets, MaxBuckets)
	}
	if s.BucketProperty != "" {
		if err := edm.ValidatePropertyName(s.BucketProperty); err != nil {
			return fmt.Errorf("bucket_property %q cannot name a property (%w): leave it out to hash the RowKey", s.BucketProperty, err)
		}
	}
	return nil
}

func validateSeparator(s KeyScheme) error {
	if s.Separator == "" {
		return fmt.Errorf("key scheme %q needs a separator, such as \"|\"", s.Kind)
	}
	if n := edm.UTF16Len(s.Separator); n > MaxSeparatorUnits {
		return fmt.Errorf("separator %q has %d UTF-16 code units; use at most %d", s.Separator, n, MaxSeparatorUnits)
	}
	if err := edm.ValidateKeyPart("PartitionKey", s.Separator); err != nil {
		return fmt.Errorf("separator %q cannot stand in a PartitionKey (%w): choose another, such as \"|\"", s.Separator, err)
	}
	return nil
}

// Range returns the closed range that holds all keys that the scheme gives a tenant.
//
//	tenant    partition KEY
//	bucketed  partitions KEY sep 00 to KEY sep NN
//	prefixed  from KEY sep to the first row that the next prefix could have, which a SAS cannot leave out
//	native    the whole table
func (s KeyScheme) Range(key string) KeyRange {
	switch s.Kind {
	case SchemeTenant:
		return KeyRange{First: edm.Key{PartitionKey: key}, Last: edm.Key{PartitionKey: key}, End: EndPartition}
	case SchemeBucketed:
		return KeyRange{
			First: edm.Key{PartitionKey: s.bucketPartition(key, 0)},
			Last:  edm.Key{PartitionKey: s.bucketPartition(key, s.Buckets-1)},
			End:   EndPartition,
		}
	case SchemePrefixed:
		prefix := key + s.Separator
		next, ok := Successor(prefix)
		if !ok {
			return KeyRange{First: edm.Key{PartitionKey: prefix}, End: EndTable}
		}
		return KeyRange{First: edm.Key{PartitionKey: prefix}, Last: edm.Key{PartitionKey: next}, End: EndKey}
	default:
		return WholeTable()
	}
}

// PartitionKey returns the PartitionKey under which the scheme stores an entity of the tenant. e.PartitionKey is the
// application's own partition value, which prefixed and native keep and which must be "" for tenant and bucketed;
// e.RowKey and the properties are those that are stored. A property that the entity lacks is hashed as "".
func (s KeyScheme) PartitionKey(key string, e *edm.Entity) (string, error) {
	if e.PartitionKey != "" && !s.keepsPartition() {
		return "", fmt.Errorf("key scheme %q has no place for the partition value %q: use %q", s.Kind, e.PartitionKey, SchemePrefixed)
	}
	var pk string
	switch s.Kind {
	case SchemeTenant:
		pk = key
	case SchemeBucketed:
		pk = s.bucketPartition(key, Bucket(s.hashedText(e), s.Buckets))
	default:
		pk = s.prefix(key) + e.PartitionKey
	}
	if err := edm.ValidateKeyPart("PartitionKey", pk); err != nil {
		return "", fmt.Errorf("PartitionKey %q of key scheme %q: %w", pk, s.Kind, err)
	}
	return pk, nil
}

// Partition is the inverse of PartitionKey: it returns the application's own partition value of a stored entity ("" for
// tenant and bucketed). An entity that is not where the scheme puts it is an error that names its key.
func (s KeyScheme) Partition(key string, e *edm.Entity) (string, error) {
	if s.keepsPartition() {
		value, ok := strings.CutPrefix(e.PartitionKey, s.prefix(key))
		if !ok {
			return "", fmt.Errorf("entity (%q, %q): its PartitionKey does not begin with %q", e.PartitionKey, e.RowKey, s.prefix(key))
		}
		return value, nil
	}
	logical := edm.Entity{RowKey: e.RowKey, Properties: e.Properties}
	want, err := s.PartitionKey(key, &logical)
	if err != nil {
		return "", fmt.Errorf("entity (%q, %q): %w", e.PartitionKey, e.RowKey, err)
	}
	if e.PartitionKey != want {
		return "", fmt.Errorf("entity (%q, %q): key scheme %q would put it into partition %q", e.PartitionKey, e.RowKey, s.Kind, want)
	}
	return "", nil
}

// Partitions returns all PartitionKeys that the scheme gives a tenant, in order, where they can be enumerated: tenant
// and bucketed. It returns nil for the others.
func (s KeyScheme) Partitions(key string) []string {
	switch s.Kind {
	case SchemeTenant:
		return []string{key}
	case SchemeBucketed:
		all := make([]string, s.Buckets)
		for i := range all {
			all[i] = s.bucketPartition(key, i)
		}
		return all
	default:
		return nil
	}
}

// Bucket returns the number of the bucket of a text: CRC-32 (IEEE 802.3) of its UTF-8 bytes, modulo buckets. It is
// frozen: applications in other languages compute it too, and stored entities lie where it says.
func Bucket(text string, buckets int) int {
	return int(crc32.ChecksumIEEE([]byte(text)) % uint32(buckets))
}

// keepsPartition says whether the application has a partition value of its own under the scheme.
func (s KeyScheme) keepsPartition() bool { return s.Kind == SchemePrefixed || s.Kind == SchemeNative }

// prefix is what stands before the application's own partition value.
func (s KeyScheme) prefix(key string) string {
	if s.Kind == SchemePrefixed {
		return key + s.Separator
	}
	return ""
}

// bucketPartition returns KEY sep N with N in decimal, as wide as the greatest bucket number but at least two digits, so
// that the order of texts is the order of numbers.
func (s KeyScheme) bucketPartition(key string, bucket int) string {
	width := max(2, len(strconv.Itoa(s.Buckets-1)))
	return fmt.Sprintf("%s%s%0*d", key, s.Separator, width, bucket)
}

func (s KeyScheme) hashedText(e *edm.Entity) string {
	if s.BucketProperty == "" {
		return e.RowKey
	}
	v, ok := e.Get(s.BucketProperty)
	if !ok {
		return ""
	}
	return v.String()
}
