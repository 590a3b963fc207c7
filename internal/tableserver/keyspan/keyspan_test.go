package keyspan

import (
	"cmp"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/aztenancy/terraform-provider-aztenancy/internal/edm"
)

var texts = []string{"", "a", "ab", "b", "😀", "～"} // in the order of UTF-16 code units

// keys are all pairs of texts in their order.
func keys() []edm.Key {
	var all []edm.Key
	for _, pk := range texts {
		for _, rk := range texts {
			all = append(all, edm.Key{PartitionKey: pk, RowKey: rk})
		}
	}
	slices.SortFunc(all, edm.Key.Compare)
	return all
}

func genBound() *rapid.Generator[Bound] {
	return rapid.Custom(func(t *rapid.T) Bound {
		k := rapid.SampledFrom(keys()).Draw(t, "key")
		return rapid.SampledFrom([]Bound{BeforeKey(k), AfterKey(k), BeforePartition(k.PartitionKey),
			AfterPartitionOf(k.PartitionKey), Start(), End()}).Draw(t, "bound")
	})
}

// before counts the keys before a bound, straight from the meaning of its side.
func before(b Bound) int {
	n := 0
	for _, k := range keys() {
		switch b.Side {
		case Before:
			if k.Compare(b.Key) < 0 {
				n++
			}
		case After:
			if k.Compare(b.Key) <= 0 {
				n++
			}
		case AfterPartition:
			if edm.CompareText(k.PartitionKey, b.Key.PartitionKey) <= 0 {
				n++
			}
		case AfterAll:
			n++
		}
	}
	return n
}

func TestBoundsAreOrderedAsTheKeysBetweenThem(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := genBound().Draw(t, "a"), genBound().Draw(t, "b")
		if order := cmp.Compare(before(a), before(b)); order != 0 && a.Compare(b) != order {
			t.Fatalf("%s compares with %s as %d, want %d", a, b, a.Compare(b), order)
		}
		if a.Compare(b) != -b.Compare(a) || (a.Compare(b) == 0) != (a == b) {
			t.Fatalf("the order of %s and %s is not one", a, b)
		}
	})
}

func TestSpanContainsTheKeysBetweenItsBounds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := Span{genBound().Draw(t, "from"), genBound().Draw(t, "to")}
		o := Span{genBound().Draw(t, "from2"), genBound().Draw(t, "to2")}
		for i, k := range keys() {
			want := before(s.From) <= i && i < before(s.To)
			if s.Contains(k) != want {
				t.Fatalf("%s contains %v: %v", s, k, !want)
			}
			if want && s.Empty() {
				t.Fatalf("%s is not empty", s)
			}
			if s.Intersect(o).Contains(k) != (s.Contains(k) && o.Contains(k)) {
				t.Fatalf("%v in %s and %s", k, s, o)
			}
		}
	})
}

func TestPointAndWhole(t *testing.T) {
	k := edm.Key{PartitionKey: "a", RowKey: "b"}
	for _, other := range keys() {
		if Point(k).Contains(other) != (other == k) || !Whole().Contains(other) {
			t.Errorf("wrong about %v", other)
		}
	}
	if !Whole().IsWhole() || Point(k).IsWhole() || !(Span{}).Empty() {
		t.Error("whole or empty is wrong")
	}
}
