package edm_test

import (
	"bytes"
	"encoding/hex"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/aztenancy/terraform-provider-aztenancy/internal/edm"
)

// TestCanonicalFormIsFrozen pins the form byte by byte: digests are stored and must keep their meaning.
func TestCanonicalFormIsFrozen(t *testing.T) {
	e := &edm.Entity{PartitionKey: "not looked at"}
	e.Set("g", edm.GUIDValue([16]byte{0xAB, 15: 1}))
	e.Set("b", edm.BooleanValue(true))
	e.Set("i", edm.Int32Value(-2))
	e.Set("l", edm.Int64Value(-2))
	e.Set("d", edm.DoubleValue(1.5))
	e.Set("t", edm.TicksValue(1))
	e.Set("x", edm.BinaryValue([]byte{0}))
	e.Set("é", edm.StringValue("😀"))
	want := "01" + "0170" + "0172" + "08" +
		"0162" + "02" + "01" +
		"0164" + "05" + "3ff8000000000000" +
		"0167" + "07" + "ab000000000000000000000000000001" +
		"0169" + "03" + "fffffffe" +
		"016c" + "04" + "fffffffffffffffe" +
		"0174" + "06" + "0000000000000001" +
		"0178" + "08" + "0100" +
		"02c3a9" + "01" + "04f09f9880"
	if got := hex.EncodeToString(edm.AppendCanonical(nil, edm.Key{PartitionKey: "p", RowKey: "r"}, e)); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestDigestDoesNotDependOnTheOrderOfProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		e := entity().Draw(t, "entity")
		o := e.Clone()
		o.Properties = rapid.Permutation(o.Properties).Draw(t, "order")
		o.ETag, o.Timestamp = "other", o.Timestamp.Add(1000)
		if e.Digest(e.Key()) != o.Digest(e.Key()) {
			t.Fatal("other digest in other order")
		}
		if !e.SameContent(o) || len(e.Differences(o)) != 0 {
			t.Fatalf("differences %v in other order", e.Differences(o))
		}
	})
}

func TestDigestChangesWithAnyChange(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		e := entity().Draw(t, "entity")
		o := e.Clone()
		key, changed := e.Key(), ""
		switch kind := rapid.SampledFrom([]string{"key", "value", "remove", "add", "rename"}).Draw(t, "kind"); {
		case kind == "key":
			key = edm.Key{PartitionKey: text().Draw(t, "pk"), RowKey: text().Draw(t, "rk")}
		case len(o.Properties) == 0 || kind == "add":
			changed = propertyName().Filter(func(s string) bool { _, ok := e.Get(s); return !ok }).Draw(t, "name")
			o.Set(changed, value().Draw(t, "value"))
		default:
			i := rapid.IntRange(0, len(o.Properties)-1).Draw(t, "i")
			changed = o.Properties[i].Name
			switch kind {
			case "value":
				o.Properties[i].Value = value().Draw(t, "value")
			case "remove":
				o.Remove(changed)
			case "rename":
				o.Properties[i].Name = propertyName().Draw(t, "name")
				if slices.ContainsFunc(e.Properties, func(p edm.Property) bool { return p.Name == o.Properties[i].Name }) {
					t.Skip("no new name")
				}
			}
		}
		same := key == e.Key() && slices.Equal(e.Properties, o.Properties)
		if got := e.Digest(e.Key()) == o.Digest(key); got != same {
			t.Fatalf("digests equal: %v, want %v", got, same)
		}
		sameContent := slices.Equal(e.Properties, o.Properties)
		if got := e.SameContent(o); got != sameContent {
			t.Fatalf("same content: %v, want %v", got, sameContent)
		}
		if got := slices.Contains(e.Differences(o), changed); got == sameContent {
			t.Fatalf("differences %q, changed %q", e.Differences(o), changed)
		}
	})
}

// TestSameTextOfAnotherTypeIsADifference holds for every pair of types, whose bits may agree.
func TestSameTextOfAnotherTypeIsADifference(t *testing.T) {
	values := []edm.Value{
		edm.StringValue("\x00"), edm.BinaryValue([]byte{0}), edm.Int32Value(0), edm.Int64Value(0), edm.DoubleValue(0), edm.TicksValue(0),
		edm.BooleanValue(false), edm.GUIDValue([16]byte{}), edm.BinaryValue(make([]byte, 16)), edm.StringValue(string(make([]byte, 16))),
	}
	for i, v := range values {
		for j, w := range values {
			e, o := &edm.Entity{}, &edm.Entity{}
			e.Set("x", v)
			o.Set("x", w)
			if (e.Digest(edm.Key{}) == o.Digest(edm.Key{})) != (i == j) || e.SameContent(o) != (i == j) {
				t.Errorf("%v and %v: wrong answer", v.Type(), w.Type())
			}
		}
	}
}

func TestDifferencesAreSortedAndFromBothSides(t *testing.T) {
	e, o := &edm.Entity{}, &edm.Entity{}
	e.Set("z", edm.Int32Value(1))
	e.Set("same", edm.Int32Value(1))
	e.Set("b", edm.Int32Value(1))
	o.Set("a", edm.Int32Value(1))
	o.Set("b", edm.Int64Value(1))
	o.Set("same", edm.Int32Value(1))
	if got, want := e.Differences(o), []string{"a", "b", "z"}; !slices.Equal(got, want) {
		t.Errorf("differences %q, want %q", got, want)
	}
}

func TestNoCanonicalFormBeginsAnother(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := entity().Draw(t, "a"), entity().Draw(t, "b")
		x, y := edm.AppendCanonical(nil, a.Key(), a), edm.AppendCanonical(nil, b.Key(), b)
		if len(x) < len(y) && bytes.HasPrefix(y, x) {
			t.Fatalf("%x begins %x", x, y)
		}
	})
}
