package edm_test

import (
	"fmt"
	"testing"

	"github.com/aztenancy/terraform-provider-aztenancy/internal/edm"
)

// benchEntity is an entity of about 1 KiB, the size in which the service states its targets.
func benchEntity() *edm.Entity {
	e := &edm.Entity{PartitionKey: "contoso|07", RowKey: "2020-07-24-000000000000001234", Timestamp: edm.TimeOfTicks(637311980722506465)}
	e.ETag = edm.ETagOf(e.Timestamp)
	for i := range 4 {
		e.Set(fmt.Sprintf("Text%d", i), edm.StringValue("The quick brown fox jumps over the lazy dog, and back again."))
		e.Set(fmt.Sprintf("Count%d", i), edm.Int32Value(int32(i*1000)))
		e.Set(fmt.Sprintf("Total%d", i), edm.Int64Value(int64(i)<<40))
		e.Set(fmt.Sprintf("Ratio%d", i), edm.DoubleValue(float64(i)+0.1))
		e.Set(fmt.Sprintf("When%d", i), edm.TicksValue(637311980722506465))
	}
	return e
}

func BenchmarkAppendEntity(b *testing.B) {
	e := benchEntity()
	var buf []byte
	b.ReportAllocs()
	for b.Loop() {
		buf = edm.AppendEntity(buf[:0], e, edm.MinimalMetadata, edm.Annotations{}, nil)
	}
	b.SetBytes(int64(len(buf)))
}

func BenchmarkParseEntity(b *testing.B) {
	body := edm.AppendBody(nil, benchEntity())
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	for b.Loop() {
		if _, _, err := edm.ParseEntity(body); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkParsePage(b *testing.B) {
	body := []byte(`{"value":[`)
	for i := range 1000 {
		if i > 0 {
			body = append(body, ',')
		}
		body = edm.AppendEntity(body, benchEntity(), edm.MinimalMetadata, edm.Annotations{}, nil)
	}
	body = append(body, "]}"...)
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := edm.ParsePage(body); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkDigest(b *testing.B) {
	e := benchEntity()
	b.ReportAllocs()
	for b.Loop() {
		e.Digest(e.Key())
	}
}

func BenchmarkValidate(b *testing.B) {
	e := benchEntity()
	b.ReportAllocs()
	for b.Loop() {
		if err := e.Validate(); err != nil {
			b.Fatal(err)
		}
	}
}
