package tenancy

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/aztenancy/terraform-provider-aztenancy/internal/edm"
)

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

// IsWholeTable says whether the range holds all keys.
func (r KeyRange) IsWholeTable() bool { return r == WholeTable() }

// Contains says whether the range holds k.
func (r KeyRange) Contains(k edm.Key) bool { return r.First.Compare(k) <= 0 && !r.endsBefore(k) }

// Overlaps says whether a key lies in both ranges.
func (r KeyRange) Overlaps(o KeyRange) bool { return !r.endsBefore(o.First) && !o.endsBefore(r.First) }

// endsBefore says whether k lies past the end of the range.
func (r KeyRange) endsBefore(k edm.Key) bool {
	switch r.End {
	case EndTable:
		return false
	case EndPartition:
		return edm.CompareText(r.Last.PartitionKey, k.PartitionKey) < 0
	default:
		return r.Last.Compare(k) < 0
	}
}

// Validate checks the type's invariants.
func (r KeyRange) Validate() error {
	switch {
	case r.End > EndTable:
		return fmt.Errorf("key range with end %d: there is no such end", r.End)
	case r.End == EndTable && r.Last != edm.Key{}:
		return errors.New("key range to the end of the table has a last key")
	case r.End == EndPartition && r.Last.RowKey != "":
		return errors.New("key range to the end of a partition has a last RowKey")
	case r.endsBefore(r.First):
		return fmt.Errorf("key range %v ends before it begins", r)
	}
	return nil
}

// String returns the range as messages show it: `contoso|00` … `contoso|15`.
func (r KeyRange) String() string {
	switch {
	case r.IsWholeTable():
		return "the whole table"
	case r.End == EndTable:
		return showKey(r.First) + " … the end of the table"
	case r.End == EndPartition && r.First == r.Last:
		return "`" + r.First.PartitionKey + "`"
	default:
		return showKey(r.First) + " … " + showKey(r.Last)
	}
}

func showKey(k edm.Key) string {
	if k.RowKey == "" {
		return "`" + k.PartitionKey + "`"
	}
	return "`" + k.PartitionKey + "`/`" + k.RowKey + "`"
}

// rangeJSON is a KeyRange as the catalog's readers see it. The names and values are those of a SAS, so that an
// application can put them into one as they are:
//
//	{"spk":"contoso|00","epk":"contoso|15"}            a range of partitions
//	{"spk":"contoso|","epk":"contoso}","erk":""}       a prefix
//	{}                                                 the whole table
type rangeJSON struct {
	SPK string  `json:"spk,omitempty"`
	SRK string  `json:"srk,omitempty"`
	EPK *string `json:"epk,omitempty"` // nil: to the end of the table
	ERK *string `json:"erk,omitempty"` // nil: to the end of the partition
}

// MarshalJSON writes the range with the names that a SAS has for its ends.
func (r KeyRange) MarshalJSON() ([]byte, error) {
	j := rangeJSON{SPK: r.First.PartitionKey, SRK: r.First.RowKey}
	if r.End != EndTable {
		j.EPK = &r.Last.PartitionKey
	}
	if r.End == EndKey {
		j.ERK = &r.Last.RowKey
	}
	return json.Marshal(j)
}

// UnmarshalJSON reads what MarshalJSON writes.
func (r *KeyRange) UnmarshalJSON(b []byte) error {
	var j rangeJSON
	if err := json.Unmarshal(b, &j); err != nil {
		return err
	}
	out := KeyRange{First: edm.Key{PartitionKey: j.SPK, RowKey: j.SRK}, End: EndTable}
	if j.EPK != nil {
		out.Last.PartitionKey, out.End = *j.EPK, EndPartition
		if j.ERK != nil {
			out.Last.RowKey, out.End = *j.ERK, EndKey
		}
	} else if j.ERK != nil {
		return errors.New("key range has erk without epk")
	}
	if err := out.Validate(); err != nil {
		return err
	}
	*r = out
	return nil
}
