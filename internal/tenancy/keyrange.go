package tenancy

import "github.com/aztenancy/terraform-provider-aztenancy/internal/edm"

// End says how a KeyRange is closed.
type End uint8

const (
	// EndKey closes a range with the key Last, which is part of it.
	EndKey End = iota
	// EndPartition closes a range with all rows of the partition Last.PartitionKey; Last.RowKey is "".
	EndPartition
	// EndTable leaves a range open to the table's end; Last is zero.
	EndTable
)

// KeyRange is an interval of (PartitionKey, RowKey) pairs in ordinal order of UTF-16 code units, the order in which
// the service sorts and in which it reads a SAS. Both ends are part of it; First never sorts after the end.
// A tenant's range holds all of its keys and no key that another tenant of the same table can have: that is what
// claims guarantee, and what makes a SAS on it safe.
type KeyRange struct {
	First edm.Key // ("", "") is the table's start
	Last  edm.Key
	End   End
}

// WholeTable is the range of all keys.
func WholeTable() KeyRange { return KeyRange{End: EndTable} }
