package store

import (
	"bytes"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/aztenancy/terraform-provider-aztenancy/internal/edm"
	"github.com/aztenancy/terraform-provider-aztenancy/internal/tableserver/keyspan"
)

// keyPart draws a PartitionKey or RowKey: often empty or short, with characters on both sides of the surrogates.
func keyPart(label string) *rapid.Generator[string] {
	return rapid.Custom(func(t *rapid.T) string {
		runes := rapid.SampledFrom([]rune{'a', 'b', 'B', ' ', 'ä', 0xFF5E, 0x1F600, 0x10FFFF, 0xE000, 0xD7FF, 0x0100})
		return string(rapid.SliceOfN(runes, 0, 4).Draw(t, label))
	})
}

func drawKey(t *rapid.T, label string) edm.Key {
	return edm.Key{PartitionKey: keyPart("pk").Draw(t, label+" pk"), RowKey: keyPart("rk").Draw(t, label+" rk")}
}

func drawValue(t *rapid.T) edm.Value {
	switch rapid.IntRange(1, 8).Draw(t, "type") {
	case 1:
		return edm.StringValue(rapid.String().Draw(t, "string"))
	case 2:
		return edm.BooleanValue(rapid.Bool().Draw(t, "boolean"))
	case 3:
		return edm.Int32Value(rapid.Int32().Draw(t, "int32"))
	case 4:
		return edm.Int64Value(rapid.Int64().Draw(t, "int64"))
	case 5:
		return edm.DoubleValue(rapid.OneOf(rapid.Float64(), rapid.SampledFrom([]float64{
			math.NaN(), math.Inf(1), math.Inf(-1), math.Copysign(0, -1)})).Draw(t, "double"))
	case 6:
		return edm.TicksValue(rapid.Int64Range(504911232000000000, 3155378975999999999).Draw(t, "ticks"))
	case 7:
		return edm.GUIDValue([16]byte(rapid.SliceOfN(rapid.Byte(), 16, 16).Draw(t, "guid")))
	default:
		return edm.BinaryValue(rapid.SliceOf(rapid.Byte()).Draw(t, "binary"))
	}
}

func drawEntity(t *rapid.T, key edm.Key) *edm.Entity {
	e := &edm.Entity{PartitionKey: key.PartitionKey, RowKey: key.RowKey}
	for range rapid.IntRange(0, 4).Draw(t, "properties") {
		e.Set(rapid.SampledFrom([]string{"A", "a", "B", "Ölstand", "_x"}).Draw(t, "name"), drawValue(t))
	}
	return e
}

func TestEntityValueComesBackAsItWas(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		e := drawEntity(t, edm.Key{})
		ticks := rapid.Int64Range(0, math.MaxInt64/2).Draw(t, "timestamp")
		got, err := decodeEntityValue(encodeEntityValue(e, ticks))
		if err != nil {
			t.Fatal(err)
		}
		if !e.SameContent(got) || edm.Ticks(got.Timestamp) != ticks || got.ETag != edm.ETagOf(edm.TimeOfTicks(ticks)) {
			t.Fatalf("wrote %+v at %d, read %+v", e, ticks, got)
		}
	})
}

func FuzzDecodeEntityValue(f *testing.F) {
	e := &edm.Entity{Properties: []edm.Property{{Name: "a", Value: edm.StringValue("x")}, {Name: "g", Value: edm.GUIDValue([16]byte{1})},
		{Name: "d", Value: edm.DoubleValue(1.5)}, {Name: "b", Value: edm.BinaryValue([]byte{0})}, {Name: "i", Value: edm.Int64Value(-1)},
		{Name: "t", Value: edm.TicksValue(504911232000000000)}, {Name: "y", Value: edm.BooleanValue(true)}}}
	f.Add(encodeEntityValue(e, 638000000000000000))
	f.Add(encodeEntityValue(&edm.Entity{}, 0))
	f.Add([]byte{1, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x01})
	f.Add([]byte{2, 0, 0, 0, 0, 0, 0, 0, 0, 0})
	f.Fuzz(func(t *testing.T, b []byte) {
		e, err := decodeEntityValue(b)
		if err != nil {
			return
		}
		// What decodes encodes to something that decodes to the same: varints may be longer than needed in b.
		again, err := decodeEntityValue(encodeEntityValue(e, edm.Ticks(e.Timestamp)))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(e.Properties, again.Properties, cmp.AllowUnexported(edm.Value{})); diff != "" {
			t.Fatal(diff)
		}
	})
}

func TestTableRecordComesBackAsItWas(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := Table{Name: "Orders", Created: rapid.Int64().Draw(t, "created"), account: 7, number: rapid.Uint32().Draw(t, "number")}
		for range rapid.IntRange(0, 5).Draw(t, "policies") {
			p := Policy{ID: rapid.String().Draw(t, "id"), Permission: rapid.String().Draw(t, "permission")}
			if rapid.Bool().Draw(t, "timed") {
				at := edm.TimeOfTicks(rapid.Int64Range(0, math.MaxInt64/2).Draw(t, "expiry"))
				p.Expiry = &at
			}
			want.Policies = append(want.Policies, p)
		}
		got, err := decodeTable(7, want.record())
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got, cmp.AllowUnexported(Table{})); diff != "" {
			t.Fatal(diff)
		}
	})
}

func FuzzDecodeTable(f *testing.F) {
	f.Add(Table{Name: "Orders", Policies: []Policy{{ID: "p", Permission: "r"}}}.record())
	f.Fuzz(func(_ *testing.T, b []byte) { _, _ = decodeTable(1, b) })
}

func TestStoredKeysKeepTheOrderOfCodeUnits(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := drawKey(t, "a"), drawKey(t, "b")
		tab := Table{account: 1, number: 2}
		ka, kb := appendEntityKey(nil, tab, a), appendEntityKey(nil, tab, b)
		if got, want := bytes.Compare(ka, kb), a.Compare(b); got != want {
			t.Fatalf("%q and %q: stored order %d, want %d", a, b, got, want)
		}
		var d keyDecoder
		if got, err := d.decode(ka); err != nil || got != a {
			t.Fatalf("%q came back as %q, %v", a, got, err)
		}
	})
}

func TestStoredBoundsEncloseEveryKeyOfTheirSpan(t *testing.T) {
	part := rapid.OneOf(keyPart("part"), rapid.SampledFrom([]string{"a\x00", "\x00", "a\x00b", "a\x01"}))
	bound := rapid.Custom(func(t *rapid.T) keyspan.Bound {
		k := edm.Key{PartitionKey: part.Draw(t, "pk"), RowKey: part.Draw(t, "rk")}
		return rapid.SampledFrom([]keyspan.Bound{keyspan.Start(), keyspan.End(), keyspan.BeforeKey(k), keyspan.AfterKey(k),
			keyspan.BeforePartition(k.PartitionKey), keyspan.AfterPartitionOf(k.PartitionKey)}).Draw(t, "bound")
	})
	rapid.Check(t, func(t *rapid.T) {
		span := keyspan.Span{From: bound.Draw(t, "from"), To: bound.Draw(t, "to")}
		k := drawKey(t, "key")
		tab := Table{account: 1, number: 2}
		stored := appendEntityKey(nil, tab, k)
		inside := bytes.Compare(boundKey(tab, span.From, down), stored) <= 0 && bytes.Compare(stored, boundKey(tab, span.To, up)) < 0
		exact := !hasNUL(span.From) && !hasNUL(span.To)
		if want := span.Contains(k); want && !inside || exact && inside != want {
			t.Fatalf("%q in %v is %v, in the stored bounds %v", k, span, want, inside)
		}
	})
}

func hasNUL(b keyspan.Bound) bool {
	return bytes.ContainsRune([]byte(b.Key.PartitionKey+b.Key.RowKey), 0)
}
