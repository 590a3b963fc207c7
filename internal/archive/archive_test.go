package archive

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/aztenancy/terraform-provider-aztenancy/internal/edm"
)

// same compares everything of two entities: ETag and Timestamp, and every value by its bits.
func same(a, b *edm.Entity) bool {
	return a.Key() == b.Key() && a.ETag == b.ETag && a.Timestamp.Equal(b.Timestamp) &&
		bytes.Equal(edm.AppendCanonical(nil, a.Key(), a), edm.AppendCanonical(nil, b.Key(), b))
}

func readAll(t *testing.T, a *Archive) []*edm.Entity {
	t.Helper()
	var list []*edm.Entity
	for e, err := range a.Entities(t.Context(), "orders") {
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, e)
	}
	return list
}

func TestArchiveGivesBackEveryEntityAsItWas(t *testing.T) {
	for _, n := range []int{0, 1, few, few + 1} {
		list := orders(t, bucketed, "contoso", n)
		folder := NewFolder(filepath.Join(t.TempDir(), "new", "folder"))
		a := keep(t, folder, placement(bucketed, "contoso"), list)
		got := readAll(t, a)
		if !slices.EqualFunc(list, got, same) {
			t.Errorf("%d entities became %d, or differ", len(list), len(got))
		}
		if chunks := len(a.Manifest.Tables[0].Chunks); chunks != (n+few-1)/few {
			t.Errorf("%d entities in %d chunks", n, chunks)
		}
		r, err := a.Check(t.Context(), silent{})
		if err != nil || r.Entities != int64(n) {
			t.Errorf("check: %+v, %v", r, err)
		}
		again, err := Open(t.Context(), NewFolder(folder.path))
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(a.Manifest, again.Manifest); d != "" {
			t.Error(d)
		}
	}
}

func TestAnyValueSurvives(t *testing.T) {
	value := rapid.OneOf(
		rapid.Map(rapid.String(), edm.StringValue),
		rapid.Map(rapid.Bool(), edm.BooleanValue),
		rapid.Map(rapid.Int32(), edm.Int32Value),
		rapid.Map(rapid.Int64(), edm.Int64Value),
		rapid.Map(rapid.Float64(), edm.DoubleValue),
		rapid.Map(rapid.SampledFrom([]float64{math.NaN(), math.Inf(1), math.Inf(-1), math.Copysign(0, -1), 5e-324, 1e300, 3}), edm.DoubleValue),
		rapid.Map(rapid.Int64Range(504911232000000000, 3155378975999999999), edm.TicksValue), // 1601 to 9999
		rapid.Map(rapid.SliceOfN(rapid.Byte(), 16, 16), func(b []byte) edm.Value { return edm.GUIDValue([16]byte(b)) }),
		rapid.Map(rapid.SliceOf(rapid.Byte()), edm.BinaryValue),
	)
	place := placement(bucketed, "k")
	rapid.Check(t, func(rt *rapid.T) {
		e := orders(t, bucketed, "k", 1)[0]
		e.Properties = nil
		for name, v := range rapid.MapOf(rapid.StringMatching(`[A-Za-z_][A-Za-z0-9_]{0,9}`), value).Draw(rt, "properties") {
			e.Properties = append(e.Properties, edm.Property{Name: name, Value: v})
		}
		if got := readAll(t, keep(t, newMemory(), place, []*edm.Entity{e})); len(got) != 1 || !same(e, got[0]) {
			rt.Fatalf("%+v became %+v", e, got)
		}
	})
}

// Every way of damage is found by a check, and named; nothing of a damaged file is handed out.
func TestDamageIsFoundAndNamed(t *testing.T) {
	first, second := chunkName("orders", 0), chunkName("orders", 1)
	edit := func(m *memory, change func(*Manifest), renew bool) {
		var man Manifest
		if err := json.Unmarshal(m.files[manifestName], &man); err != nil {
			t.Fatal(err)
		}
		change(&man)
		text, err := json.Marshal(man)
		if renew {
			text, err = man.encode()
		}
		if err != nil {
			t.Fatal(err)
		}
		m.files[manifestName] = text
	}
	cases := []struct {
		name   string
		damage func(*memory)
		file   string
		what   string
		open   bool // found when the archive is opened
	}{
		{"truncated", func(m *memory) { m.files[second] = m.files[second][:100] }, second, "truncated: 100 of", false},
		{"empty", func(m *memory) { m.files[first] = nil }, first, "truncated: 0 of", false},
		{"longer", func(m *memory) { m.files[first] = append(m.files[first], 0) }, first, "longer than", false},
		{"a bit", func(m *memory) { m.files[second][50] ^= 1 }, second, "its bytes were changed", false},
		{"missing", func(m *memory) { delete(m.files, second) }, second, "missing", false},
		{"exchanged", func(m *memory) { m.files[first], m.files[second] = m.files[second], m.files[first] }, first, "", false},
		{"added", func(m *memory) { m.files[chunkName("orders", 2)] = []byte("x") }, chunkName("orders", 2), "the manifest does not name it", false},
		{"manifest edited", func(m *memory) { edit(m, func(x *Manifest) { x.Tables[0].Entities-- }, false) }, manifestName, "its digest is", true},
		{"manifest with another field", func(m *memory) {
			m.files[manifestName] = bytes.Replace(m.files[manifestName], []byte(`"tool"`), []byte(`"more":1,"tool"`), 1)
		}, manifestName, "unknown field", true},
		{"manifest truncated", func(m *memory) { m.files[manifestName] = m.files[manifestName][:200] }, manifestName, "not JSON", true},
		{"manifest names a path", func(m *memory) {
			edit(m, func(x *Manifest) { x.Tables[0].Chunks[0].Name = "../../etc/passwd" }, true)
		}, manifestName, "names a file", true},
		{"manifest without a chunk", func(m *memory) {
			edit(m, func(x *Manifest) { x.Tables[0].Chunks = x.Tables[0].Chunks[:1] }, true)
		}, manifestName, "101 entities, its files 100", true},
		{"manifest with chunks exchanged", func(m *memory) {
			edit(m, func(x *Manifest) { slices.Reverse(x.Tables[0].Chunks) }, true)
		}, manifestName, "do not follow", true},
		{"manifest with another content", func(m *memory) {
			edit(m, func(x *Manifest) { x.Tables[0].Chunks[1].Content = x.Tables[0].Chunks[0].Content }, true)
		}, second, "not those of the source", false},
	}
	list := orders(t, bucketed, "contoso", few+1)
	whole := newMemory()
	keep(t, whole, placement(bucketed, "contoso"), list)
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			m := newMemory()
			for name, data := range whole.files {
				m.files[name] = slices.Clone(data)
			}
			c.damage(m)
			var fault *FaultError
			a, err := Open(t.Context(), m)
			if c.open {
				if !errors.As(err, &fault) || fault.File != c.file || !strings.Contains(fault.What, c.what) {
					t.Errorf("opened: %v", err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			r, err := a.Check(t.Context(), silent{})
			if !errors.As(err, &fault) || fault.File != c.file || !strings.Contains(fault.What, c.what) || len(r.Faults) == 0 {
				t.Errorf("checked: %v, %v", err, r.Faults)
			}
			handed := 0
			for e, err := range a.Entities(t.Context(), "orders") {
				if err != nil {
					break
				}
				if !same(e, list[handed]) {
					t.Fatalf("entity %d is %v", handed, e.Key())
				}
				handed++
			}
			if handed != 0 && handed != few && handed != len(list) {
				t.Errorf("%d entities were handed out", handed)
			}
		})
	}
}

func TestAnotherVersionIsRefusedWithItsNumber(t *testing.T) {
	m := newMemory()
	m.files[manifestName] = []byte(`{"format":2,"tool":"tenantctl 9.0","tables":"otherwise"}`)
	_, err := Open(t.Context(), m)
	var version *VersionError
	if !errors.As(err, &version) || !strings.Contains(err.Error(), `format 2 and was written by "tenantctl 9.0"; this version reads format 1`) {
		t.Error(err)
	}
}

// Whatever file is the last that can be written, there is no archive then, and the next try makes it.
func TestArchiveThatCannotBeFinishedIsNone(t *testing.T) {
	list := orders(t, bucketed, "contoso", 2*few+1)
	place := placement(bucketed, "contoso")
	for writable := range 4 {
		dir := t.TempDir()
		folder := NewFolder(dir)
		n := 0
		folder.wrap = func(w io.Writer) io.Writer {
			if n++; n > writable {
				return fullDisk{w}
			}
			return w
		}
		_, err := write(t.Context(), folder, Manifest{}, []Source{{"orders", place, place.Range, sequence(list)}}, silent{}, few)
		if !errors.Is(err, syscall.ENOSPC) || !strings.Contains(err.Error(), "no space left on device") || !strings.Contains(err.Error(), dir) {
			t.Fatalf("after %d files: %v", writable, err)
		}
		entries, _ := os.ReadDir(dir)
		for _, e := range entries {
			if strings.HasSuffix(e.Name(), partial) || e.Name() == manifestName {
				t.Errorf("after %d files %s is left", writable, e.Name())
			}
		}
		_, err = Open(t.Context(), folder)
		if want := map[bool]error{true: ErrNoArchive, false: ErrIncomplete}[writable == 0]; !errors.Is(err, want) {
			t.Errorf("opened after %d files: %v", writable, err)
		}
		// A process that was killed leaves a file half-written.
		if err := os.WriteFile(filepath.Join(dir, chunkName("orders", 7)+partial), []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
		a := keep(t, NewFolder(dir), place, list)
		if _, err := a.Check(t.Context(), silent{}); err != nil {
			t.Error(err)
		}
		if entries, _ = os.ReadDir(dir); len(entries) != 4 {
			t.Errorf("%d files", len(entries))
		}
	}
}

// fullDisk takes half of what is written.
type fullDisk struct{ w io.Writer }

func (f fullDisk) Write(p []byte) (int, error) {
	n, err := f.w.Write(p[:len(p)/2])
	return n, errors.Join(err, &os.PathError{Op: "write", Path: "file", Err: syscall.ENOSPC})
}

func TestWhatCannotBeReadBackIsNoArchive(t *testing.T) {
	m := newMemory()
	m.put = func(name string, data []byte) ([]byte, error) {
		data[len(data)-1] ^= 1
		return data, nil
	}
	place := placement(bucketed, "contoso")
	_, err := Write(t.Context(), m, Manifest{}, []Source{{"orders", place, place.Range, sequence(orders(t, bucketed, "contoso", 3))}}, silent{})
	var fault *FaultError
	if !errors.As(err, &fault) || m.files[manifestName] != nil {
		t.Errorf("got %v", err)
	}
}

func TestPlaceThatIsTakenIsLeftAlone(t *testing.T) {
	place := placement(bucketed, "contoso")
	dir := t.TempDir()
	keep(t, NewFolder(dir), place, orders(t, bucketed, "contoso", 3))
	other := t.TempDir()
	if err := os.WriteFile(filepath.Join(other, "letter.txt"), []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{dir: "holds an archive", other: `holds "letter.txt"`} {
		before, _ := os.ReadDir(path)
		_, err := Write(t.Context(), NewFolder(path), Manifest{}, []Source{{"orders", place, place.Range, sequence(nil)}}, silent{})
		if !errors.Is(err, ErrExists) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
		if after, _ := os.ReadDir(path); len(after) != len(before) {
			t.Errorf("%s: %d files, there were %d", want, len(after), len(before))
		}
	}
}

func TestSourceThatFailsOrStraysEndsTheArchive(t *testing.T) {
	place := placement(bucketed, "contoso")
	list := orders(t, bucketed, "contoso", 3)
	stray := list[0].Clone()
	stray.PartitionKey = "fabrikam|00"
	broken := errors.New("connection reset")
	for name, seq := range map[string]func(yield func(*edm.Entity, error) bool){
		"connection reset":         func(yield func(*edm.Entity, error) bool) { _ = yield(list[0], nil) && yield(nil, broken) },
		"fabrikam":                 sequence([]*edm.Entity{stray}),
		"returned the key":         sequence([]*edm.Entity{list[1], list[0]}),
		fmt.Sprint(list[0].RowKey): sequence([]*edm.Entity{list[0], list[0]}),
	} {
		m := newMemory()
		_, err := Write(t.Context(), m, Manifest{}, []Source{{"orders", place, place.Range, seq}}, silent{})
		if err == nil || !strings.Contains(err.Error(), name) || m.files[manifestName] != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func FuzzManifest(f *testing.F) {
	m := Manifest{Format: 1, Tables: []Table{{Logical: "orders", Chunks: []Chunk{{Name: "orders-000000.ndjson.gz"}}}}}
	text, err := m.encode()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(text)
	f.Add([]byte(`{"format":1}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		m, err := decodeManifest("place", b)
		if err != nil {
			return
		}
		for _, tab := range m.Tables {
			for _, c := range tab.Chunks {
				if filepath.Base(c.Name) != c.Name {
					t.Errorf("name %q", c.Name)
				}
			}
		}
	})
}
