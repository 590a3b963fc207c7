package keyspan

import (
	"cmp"
	"fmt"

	"github.com/aztenancy/terraform-provider-aztenancy/internal/edm"
)

// Side says where a Bound lies relative to its key.
type Side uint8

// The sides, in the order of their places for one PartitionKey.
const (
	// Before lies just before Key. The zero Bound is Before the key ("", ""): the start of the table.
	Before Side = iota
	// After lies just after Key.
	After
	// AfterPartition lies behind every key with Key.PartitionKey; Key.RowKey is "".
	AfterPartition
	// AfterAll lies behind every key; Key is zero.
	AfterAll
)

// Bound is a place in the order of (PartitionKey, RowKey) pairs: before a key, after it, behind a partition, or
// behind everything. It never stands on a key, so that an interval between two Bounds needs no open or closed ends.
type Bound struct {
	Key  edm.Key
	Side Side
}

// BeforeKey returns the place just before k.
func BeforeKey(k edm.Key) Bound { return Bound{Key: k} }

// AfterKey returns the place just after k.
func AfterKey(k edm.Key) Bound { return Bound{Key: k, Side: After} }

// BeforePartition returns the place before every key of a partition.
func BeforePartition(pk string) Bound { return Bound{Key: edm.Key{PartitionKey: pk}} }

// AfterPartitionOf returns the place behind every key of a partition.
func AfterPartitionOf(pk string) Bound {
	return Bound{Key: edm.Key{PartitionKey: pk}, Side: AfterPartition}
}

// Start returns the place before every key.
func Start() Bound { return Bound{} }

// End returns the place behind every key.
func End() Bound { return Bound{Side: AfterAll} }

// Compare returns -1, 0 or 1 as b lies before, at or after o.
func (b Bound) Compare(o Bound) int {
	if b.Side == AfterAll || o.Side == AfterAll {
		return cmp.Compare(b.Side/AfterAll, o.Side/AfterAll)
	}
	if c := edm.CompareText(b.Key.PartitionKey, o.Key.PartitionKey); c != 0 {
		return c
	}
	if b.Side == AfterPartition || o.Side == AfterPartition {
		return cmp.Compare(b.Side/AfterPartition, o.Side/AfterPartition)
	}
	return cmp.Or(edm.CompareText(b.Key.RowKey, o.Key.RowKey), cmp.Compare(b.Side, o.Side))
}

// String returns the place as a person reads it.
func (b Bound) String() string {
	switch b.Side {
	case AfterAll:
		return "end"
	case AfterPartition:
		return fmt.Sprintf("after %q", b.Key.PartitionKey)
	case After:
		return fmt.Sprintf("after (%q, %q)", b.Key.PartitionKey, b.Key.RowKey)
	default:
		return fmt.Sprintf("before (%q, %q)", b.Key.PartitionKey, b.Key.RowKey)
	}
}

// Span is the stretch of keys between two places. It is empty when To does not lie after From.
type Span struct{ From, To Bound }

// Whole returns the span of all keys.
func Whole() Span { return Span{From: Start(), To: End()} }

// Point returns the span that holds k alone.
func Point(k edm.Key) Span { return Span{From: BeforeKey(k), To: AfterKey(k)} }

// Empty says whether the span can hold no key.
func (s Span) Empty() bool { return s.From.Compare(s.To) >= 0 }

// IsWhole says whether the span holds every key.
func (s Span) IsWhole() bool { return s == Whole() }

// Contains says whether k lies in the span.
func (s Span) Contains(k edm.Key) bool {
	return s.From.Compare(BeforeKey(k)) <= 0 && AfterKey(k).Compare(s.To) <= 0
}

// Intersect returns the span of the keys that lie in both.
func (s Span) Intersect(o Span) Span {
	if o.From.Compare(s.From) > 0 {
		s.From = o.From
	}
	if o.To.Compare(s.To) < 0 {
		s.To = o.To
	}
	return s
}

// String returns both places.
func (s Span) String() string { return "[" + s.From.String() + ", " + s.To.String() + "]" }
