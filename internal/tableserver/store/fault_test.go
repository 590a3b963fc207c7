package store

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"github.com/aztenancy/terraform-provider-aztenancy/internal/edm"
	"github.com/aztenancy/terraform-provider-aztenancy/internal/tableserver/keyspan"
)

// faulty is a disk in memory that forgets what was not synced, and whose operations fail as a test says.
type faulty struct {
	*errorfs.FS
	mem  *vfs.MemFS
	rule atomic.Pointer[func(errorfs.Op) error]
	free atomic.Uint64
}

func newFaulty() *faulty {
	f := &faulty{mem: vfs.NewCrashableMem()}
	f.FS = errorfs.Wrap(f.mem, errorfs.InjectorFunc(func(op errorfs.Op) error {
		if rule := f.rule.Load(); rule != nil {
			return (*rule)(op)
		}
		return nil
	}))
	f.free.Store(1 << 30)
	return f
}

func (f *faulty) GetDiskUsage(string) (vfs.DiskUsage, error) {
	return vfs.DiskUsage{AvailBytes: f.free.Load()}, nil
}

// failFrom lets operations fail from now on.
func (f *faulty) failFrom(rule func(errorfs.Op) error) { f.rule.Store(&rule) }

// crash returns what a power failure leaves: what was synced, and a part of the rest.
func (f *faulty) crash(percent int, seed uint64) vfs.FS {
	return f.mem.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: percent, RNG: rand.New(rand.NewPCG(seed, 1))})
}

// closeFailed closes a store whose disk failed; it says so again.
func closeFailed(t *testing.T, s *Store) {
	t.Helper()
	if err := s.Close(); !errors.Is(err, ErrFailed) {
		t.Errorf("close: %v", err)
	}
}

func number(pk, rk string, n int64) *edm.Entity {
	return &edm.Entity{PartitionKey: pk, RowKey: rk, Properties: []edm.Property{{Name: "n", Value: edm.Int64Value(n)}}}
}

func readNumber(s *Store, tab Table, pk, rk string) (int64, error) {
	e, err := s.Get(ctx, tab, edm.Key{PartitionKey: pk, RowKey: rk})
	if err != nil {
		return 0, err
	}
	v, _ := e.Get("n")
	return v.Int(), nil
}

func TestWriteWhoseSyncFailsIsNeverSeenAndStopsAllWrites(t *testing.T) {
	for name, kinds := range map[string][]errorfs.OpKind{
		"sync":  {errorfs.OpFileSync, errorfs.OpFileSyncData, errorfs.OpFileSyncTo},
		"write": {errorfs.OpFileWrite},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFaulty()
			s := open(t, Options{fs: f})
			tab := makeTable(t, s, "T")
			upsert(t, s, tab, number("p", "kept", 1))
			upsert(t, s, tab, number("p", "gone", 1))
			broken := errors.New("the cable is out")
			f.failFrom(func(op errorfs.Op) error {
				if isLog(op.Path) && slices.Contains(kinds, op.Kind) {
					return broken
				}
				return nil
			})
			_, err := s.Apply(ctx, tab, []Operation{
				{Kind: UpsertReplace, Entity: number("p", "kept", 2)}, {Kind: Insert, Entity: number("p", "new", 2)},
				{Kind: Delete, Entity: number("p", "gone", 0), IfMatch: "*"}})
			if !errors.Is(err, ErrFailed) || !errors.Is(err, broken) {
				t.Fatalf("write whose sync fails: %v", err)
			}
			f.failFrom(func(errorfs.Op) error { return nil }) // a sync that works after one that did not proves nothing
			seesOnlyAcknowledged(t, s, tab)
			if _, err := s.Apply(ctx, tab, []Operation{{Kind: Insert, Entity: number("p", "new", 3)}}); !errors.Is(err, ErrFailed) {
				t.Errorf("insert after the fault: %v", err)
			}
			for _, err := range []error{s.CreateTable(ctx, "acct", "U"), s.DeleteTable(ctx, "acct", "T"), s.CreateTable(ctx, "acct", "T"),
				s.SetProperties(ctx, "acct", nil), s.SetPolicies(ctx, "acct", "T", nil), s.Healthy(ctx)} {
				if !errors.Is(err, ErrFailed) {
					t.Errorf("change after the fault: %v", err)
				}
			}
			after := f.crash(0, 1)
			closeFailed(t, s)
			s = open(t, Options{fs: after})
			defer closeStore(t, s)
			seesOnlyAcknowledged(t, s, tab)
			upsert(t, s, tab, number("p", "new", 4))
		})
	}
}

func seesOnlyAcknowledged(t *testing.T, s *Store, tab Table) {
	t.Helper()
	var got []string
	for e, err := range s.Scan(ctx, tab, keyspan.Whole()) {
		if err != nil {
			t.Fatal(err)
		}
		v, _ := e.Get("n")
		got = append(got, fmt.Sprint(e.RowKey, v.Int()))
	}
	if want := "gone1 kept1"; strings.Join(got, " ") != want {
		t.Errorf("a scan sees %v, want %s", got, want)
	}
	if n, err := readNumber(s, tab, "p", "kept"); n != 1 || err != nil {
		t.Errorf("a point read sees %d, %v", n, err)
	}
	if _, err := readNumber(s, tab, "p", "new"); !errors.Is(err, ErrNotFound) {
		t.Errorf("an insert that was not acknowledged is seen: %v", err)
	}
}

// Writers count up, each in a partition of its own; readers look at the same time. At a random operation the disk
// starts to fail. Whatever operation it is: what was read was or will be acknowledged, unless it is the last; what
// was acknowledged is readable after the fault, and after a power failure.
func TestNoFaultOfTheDiskLosesOrShowsTooMuch(t *testing.T) {
	for seed := range seeds(12) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) { runToFault(t, seed) })
	}
}

// seeds is how many runs a randomised test makes; SOAK_RUNS in the environment asks for more.
func seeds(usual uint64) uint64 {
	if n, err := strconv.ParseUint(os.Getenv("SOAK_RUNS"), 10, 64); err == nil {
		return n
	}
	return usual
}

func runToFault(t *testing.T, seed uint64) {
	rng := rand.New(rand.NewPCG(seed, 7))
	f := newFaulty()
	s := open(t, Options{fs: f})
	tab := makeTable(t, s, "T")
	countdown := atomic.Int64{}
	countdown.Store(rng.Int64N(400))
	once, noSpace := rng.IntN(2) == 0, rng.IntN(2) == 0
	f.failFrom(func(op errorfs.Op) error {
		left := countdown.Add(-1)
		if op.Kind.ReadOrWrite() != errorfs.OpIsWrite || op.Kind == errorfs.OpFileClose || left > 0 || once && left < -5 {
			return nil
		}
		if noSpace {
			return fmt.Errorf("%s: %w", op.Path, syscall.ENOSPC)
		}
		return fmt.Errorf("%s: %w", op.Path, syscall.EIO)
	})
	const writers = 4
	acknowledged, seen := make([]int64, writers), make([]int64, writers)
	pad := edm.Property{Name: "pad", Value: edm.StringValue(strings.Repeat("x", 30000))}
	var wg sync.WaitGroup
	for w := range writers {
		pk := fmt.Sprint(w)
		stop := make(chan struct{})
		wg.Go(func() {
			defer close(stop)
			for i := int64(1); i < 100; i++ {
				a, b := number(pk, "a", i), number(pk, "b", i)
				a.Properties = append(a.Properties, pad)
				if _, err := s.Apply(ctx, tab, []Operation{{Kind: UpsertReplace, Entity: a}, {Kind: UpsertReplace, Entity: b}}); err != nil {
					if !errors.Is(err, ErrFailed) {
						t.Error(err)
					}
					return
				}
				acknowledged[w] = i
			}
		})
		wg.Go(func() {
			for {
				if n, err := readNumber(s, tab, pk, "b"); err == nil {
					seen[w] = max(seen[w], n)
				} else if !errors.Is(err, ErrNotFound) {
					t.Error(err)
				}
				select {
				case <-stop:
					return
				default:
					runtime.Gosched()
				}
			}
		})
	}
	wg.Wait()
	check := func(s *Store, when string, more int64) {
		for w, want := range acknowledged {
			for _, rk := range []string{"a", "b"} {
				n, err := readNumber(s, tab, fmt.Sprint(w), rk)
				if want == 0 && errors.Is(err, ErrNotFound) {
					continue
				}
				if err != nil || n < want || n > want+more {
					t.Errorf("%s: partition %d, row %s is %d, %v; %d was acknowledged", when, w, rk, n, err, want)
				}
			}
			if seen[w] > want {
				t.Errorf("partition %d: %d was read, %d acknowledged", w, seen[w], want)
			}
		}
	}
	check(s, "after the fault", 0)
	f.failFrom(func(errorfs.Op) error { return nil })
	after := f.crash(int(seed%4)*33, seed)
	if err := s.Close(); err != nil && !errors.Is(err, ErrFailed) {
		t.Error(err)
	}
	s = open(t, Options{fs: after})
	defer closeStore(t, s)
	check(s, "after a power failure", 1)
}

func TestFullDiskRefusesWritesStaysReadableAndRecoversByItself(t *testing.T) {
	f := newFaulty()
	s := open(t, Options{fs: f, reserve: 100 << 20})
	defer closeStore(t, s)
	tab := makeTable(t, s, "T")
	upsert(t, s, tab, number("p", "r", 1))
	fill := func(bytes uint64) {
		f.free.Store(bytes)
		s.disk.checked = s.disk.checked.Add(-spaceEvery)
	}
	fill(99 << 20)
	_, err := s.Apply(ctx, tab, []Operation{{Kind: UpsertReplace, Entity: number("p", "r", 2)}})
	if !errors.Is(err, ErrFull) || !strings.Contains(err.Error(), "99 MiB are free, a write needs 100 MiB") {
		t.Errorf("write to a full disk: %v", err)
	}
	if err := s.CreateTable(ctx, "acct", "U"); !errors.Is(err, ErrFull) {
		t.Errorf("create table on a full disk: %v", err)
	}
	if n, err := readNumber(s, tab, "p", "r"); n != 1 || err != nil {
		t.Errorf("read on a full disk: %d, %v", n, err)
	}
	fill(100 << 20)
	upsert(t, s, tab, number("p", "r", 3))
}

// On a real file system that fills up for real: the writes end with an error, everything acknowledged is readable
// then and after a restart, and with space again the next write works.
func TestSmallFileSystemFillsUpAndGoesOn(t *testing.T) {
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=160m"); err != nil {
		t.Skipf("mount a small file system: %v; the same is tested with injected faults", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, 0); err != nil {
			t.Error(err)
		}
	})
	s := open(t, Options{Dir: dir + "/data"})
	tab := makeTable(t, s, "T")
	rng := rand.NewChaCha8([32]byte{1})
	rows := 0
	for {
		b := make([]byte, 60000)
		_, _ = rng.Read(b)
		e := number("p", fmt.Sprint(rows), int64(rows))
		e.Properties = append(e.Properties, edm.Property{Name: "pad", Value: edm.BinaryValue(b)})
		_, err := s.Apply(ctx, tab, []Operation{{Kind: Insert, Entity: e}})
		if errors.Is(err, ErrFull) {
			break
		}
		if err != nil || rows > 10000 {
			t.Fatalf("row %d: %v", rows, err)
		}
		rows++
	}
	all := func() {
		t.Helper()
		for i := range rows {
			if n, err := readNumber(s, tab, "p", fmt.Sprint(i)); err != nil || n != int64(i) {
				t.Fatalf("row %d is %d, %v", i, n, err)
			}
		}
	}
	all()
	closeStore(t, s)
	// Someone else takes the rest: now even the reserve is gone.
	ballast := dir + "/ballast"
	if err := os.WriteFile(ballast, make([]byte, 200<<20), 0o600); !errors.Is(err, syscall.ENOSPC) {
		t.Fatalf("fill the disk: %v", err)
	}
	if _, err := Open(Options{Dir: dir + "/data"}); !errors.Is(err, ErrFull) {
		t.Errorf("start on a disk without any space: %v", err)
	}
	if err := os.Truncate(ballast, 0); err != nil {
		t.Fatal(err)
	}
	s = open(t, Options{Dir: dir + "/data"})
	defer closeStore(t, s)
	all()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", syscall.MS_REMOUNT, "size=400m"); err != nil {
		t.Fatal(err)
	}
	s.disk.checked = s.disk.checked.Add(-spaceEvery)
	makeTable(t, s, "U")
	t.Logf("%d rows of 60,000 bytes", rows)
}

// Restarts come orderly or as a power failure, and the wall clock jumps as it likes; rows are deleted and made again.
func TestNoTimestampIsGivenTwice(t *testing.T) {
	for seed := range seeds(20) {
		rng := rand.New(rand.NewPCG(seed, 3))
		now := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
		var disk vfs.FS = vfs.NewCrashableMem()
		var last time.Time
		for range 5 {
			s := open(t, Options{fs: disk, Now: func() time.Time { return now }})
			if err := s.CreateTable(ctx, "acct", "T"); err != nil && !errors.Is(err, ErrTableExists) {
				t.Fatal(err)
			}
			tab, err := s.Table(ctx, "acct", "T")
			if err != nil {
				t.Fatal(err)
			}
			for range rng.IntN(20) {
				now = now.Add(time.Duration(rng.Int64N(int64(4*time.Second))) - 2*time.Second)
				e := upsert(t, s, tab, number("p", fmt.Sprint(rng.IntN(2)), 1))
				if !e.Timestamp.After(last) {
					t.Fatalf("seed %d: %v comes after %v", seed, e.Timestamp, last)
				}
				last = e.Timestamp
			}
			if rng.IntN(2) == 0 {
				mem, ok := disk.(*vfs.MemFS)
				if !ok {
					t.Fatal("not a disk in memory")
				}
				disk = mem.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: rng.IntN(100), RNG: rng})
			}
			closeStore(t, s)
			now = now.Add(time.Duration(rng.IntN(3)-2) * time.Hour)
		}
	}
}
