package archive

import (
	"context"
	"fmt"
	"io/fs"
	"iter"
	"maps"
	"math"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/aztenancy/terraform-provider-aztenancy/internal/edm"
	"github.com/aztenancy/terraform-provider-aztenancy/internal/tenancy"
)

type silent struct{}

func (silent) Phase(string)  {}
func (silent) Total(int64)   {}
func (silent) Advance(int64) {}
func (silent) Note(string)   {}

// memory is a Store in memory. Put asks put first, which may change what is kept or refuse it.
type memory struct {
	mu    sync.Mutex
	files map[string][]byte
	put   func(name string, data []byte) ([]byte, error)
}

func newMemory() *memory { return &memory{files: map[string][]byte{}} }

func (m *memory) String() string { return "memory" }

func (m *memory) Put(_ context.Context, name string, data []byte) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	data = slices.Clone(data)
	if m.put != nil {
		var err error
		if data, err = m.put(name, data); err != nil {
			return err
		}
	}
	m.files[name] = data
	return nil
}

func (m *memory) Get(_ context.Context, name string, max int64) ([]byte, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	data, ok := m.files[name]
	switch {
	case !ok:
		return nil, fs.ErrNotExist
	case int64(len(data)) > max:
		return nil, errTooLong
	}
	return data, nil
}

func (m *memory) List(context.Context) ([]string, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Sorted(maps.Keys(m.files)), nil
}

func (m *memory) Remove(_ context.Context, name string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.files, name)
	return nil
}

var bucketed = tenancy.KeyScheme{Kind: tenancy.SchemeBucketed, Separator: "|", Buckets: 4}

func placement(s tenancy.KeyScheme, key string) tenancy.TablePlacement {
	return tenancy.TablePlacement{Account: "home", Storage: "home1", Table: "Orders", URL: "http://127.0.0.1/home1/Orders",
		Scheme: s, Key: key, Range: s.Range(key)}
}

// orders makes n entities with a property of every type, where a scheme puts them, in key order.
func orders(t *testing.T, s tenancy.KeyScheme, key string, n int) []*edm.Entity {
	t.Helper()
	list := make([]*edm.Entity, n)
	for i := range list {
		e := &edm.Entity{RowKey: fmt.Sprintf("row-%05d", i), Timestamp: time.Date(2026, 1, 1, 0, 0, 0, i*100, time.UTC), Properties: []edm.Property{
			{Name: "Int64", Value: edm.Int64Value(int64(i) << 33)},
			{Name: "Int32", Value: edm.Int32Value(int32(-i))},
			{Name: "Double", Value: edm.DoubleValue(float64(i))},
			{Name: "NaN", Value: edm.DoubleValue(math.NaN())},
			{Name: "Infinite", Value: edm.DoubleValue(math.Inf(-1))},
			{Name: "Text", Value: edm.StringValue(fmt.Sprintf("it's \u2028 ☃ no. %d \U0001F600\n", i))},
			{Name: "Empty", Value: edm.StringValue("")},
			{Name: "Bool", Value: edm.BooleanValue(i%2 == 0)},
			{Name: "When", Value: edm.TicksValue(637500000000000000 + int64(i))},
			{Name: "Guid", Value: edm.GUIDValue([16]byte{byte(i), 2, 3})},
			{Name: "Bytes", Value: edm.BinaryValue([]byte{0, byte(i), 255})},
			{Name: "partitionkey", Value: edm.StringValue("of the application's own")},
		}}
		e.ETag = edm.ETagOf(e.Timestamp)
		pk, err := s.PartitionKey(key, e)
		if err != nil {
			t.Fatal(err)
		}
		e.PartitionKey = pk
		list[i] = e
	}
	slices.SortFunc(list, func(a, b *edm.Entity) int { return a.Key().Compare(b.Key()) })
	return list
}

func sequence(list []*edm.Entity) iter.Seq2[*edm.Entity, error] {
	return func(yield func(*edm.Entity, error) bool) {
		for _, e := range list {
			if !yield(e, nil) {
				return
			}
		}
	}
}

// few is how many entities a chunk holds in tests.
const few = 100

// keep archives a list as logical table orders.
func keep(t *testing.T, s Store, p tenancy.TablePlacement, list []*edm.Entity) *Archive {
	t.Helper()
	a, err := write(t.Context(), s, Manifest{Tool: "test", Tenant: "contoso", Key: p.Key, Model: "pool", Epoch: 2, Cut: CutFuzzy},
		[]Source{{"orders", p, p.Range, sequence(list)}}, silent{}, few)
	if err != nil {
		t.Fatal(err)
	}
	return a
}
