package throttle

import (
	"errors"
	"strconv"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// clock is a time that a test moves.
type clock struct{ t time.Time }

func (c *clock) now() time.Time          { return c.t }
func (c *clock) advance(d time.Duration) { c.t = c.t.Add(d) }

func start(t Targets) (*Limiter, *clock) {
	c := &clock{time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)}
	return NewLimiter(t, c.now), c
}

func TestPartitionBeyondItsTargetIsBusyAndRecoversWithTime(t *testing.T) {
	l, c := start(Azure())
	p := Partition{"home", "Orders", "contoso"}
	for i := range 20 { // 2,000 entities in batches of 100: reference §9
		if err := l.Take(p, 100); err != nil {
			t.Fatalf("batch %d: %v", i, err)
		}
	}
	if err := l.Take(p, 1); !errors.Is(err, ErrPartitionBusy) {
		t.Errorf("entity 2,001 of the second: %v", err)
	}
	if err := l.Take(Partition{"home", "ORDERS", "contoso"}, 1); !errors.Is(err, ErrPartitionBusy) {
		t.Errorf("the table's letter case tells partitions apart: %v", err)
	}
	if err := l.Take(Partition{"home", "Orders", "fabrikam"}, 1); err != nil {
		t.Errorf("another partition is busy too: %v", err)
	}
	c.advance(time.Second / 2)
	if err := l.Take(p, 1000); err != nil {
		t.Errorf("after half a second: %v", err)
	}
	if err := l.Take(p, 1); !errors.Is(err, ErrPartitionBusy) {
		t.Errorf("1,001 after half a second: %v", err)
	}
}

func TestAccountBeyondItsTargetIsBusyForEveryPartition(t *testing.T) {
	l, c := start(Targets{Account: 10})
	for i := range 10 {
		if err := l.Take(Partition{"home", "Orders", strconv.Itoa(i)}, 1); err != nil {
			t.Fatal(err)
		}
	}
	if err := l.Take(Partition{"home", "Orders", "new"}, 1); !errors.Is(err, ErrAccountBusy) {
		t.Errorf("got %v", err)
	}
	if err := l.Account("home", 1); !errors.Is(err, ErrAccountBusy) {
		t.Errorf("an operation on the account: %v", err)
	}
	if err := l.Account("other", 1); err != nil {
		t.Errorf("another account: %v", err)
	}
	c.advance(100 * time.Millisecond)
	if err := l.Account("home", 1); err != nil {
		t.Errorf("after a tenth of a second: %v", err)
	}
}

// Whatever comes and whenever, no more is let in than one second's worth, what the time brought, and one debt.
func TestNeverMoreThanTheTargetComesThrough(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		targets := Targets{rapid.IntRange(0, 50).Draw(t, "partition"), rapid.IntRange(0, 50).Draw(t, "account")}
		l, c := start(targets)
		let := map[string]int{}
		var elapsed time.Duration
		for range rapid.IntRange(1, 200).Draw(t, "requests") {
			d := time.Duration(rapid.IntRange(0, 500).Draw(t, "ms")) * time.Millisecond
			c.advance(d)
			elapsed += d
			pk := rapid.SampledFrom([]string{"a", "b"}).Draw(t, "pk")
			n := rapid.IntRange(1, 100).Draw(t, "n")
			if l.Take(Partition{"home", "t", pk}, n) == nil {
				let[pk] += n
				let[""] += n
			}
		}
		for key, target := range map[string]int{"a": targets.Partition, "b": targets.Partition, "": targets.Account} {
			if bound := float64(target)*(1+elapsed.Seconds()) + 99; target > 0 && float64(let[key]) > bound+1e-6 {
				t.Fatalf("%v: %d entities of %q in %v, at most %.1f", targets, let[key], key, elapsed, bound)
			}
		}
	})
}

func TestPartitionsAtRestAreForgotten(t *testing.T) {
	l, c := start(Targets{Partition: 10})
	for i := range 100 * minSweep {
		if i%minSweep == 0 {
			c.advance(time.Second)
		}
		if err := l.Take(Partition{"home", "t", strconv.Itoa(i)}, 1); err != nil {
			t.Fatal(err)
		}
	}
	if n := len(l.partitions); n > 4*minSweep {
		t.Errorf("%d partitions are remembered", n)
	}
}

func TestTargetsAreReadAndPrintedAlike(t *testing.T) {
	for text, want := range map[string]Targets{
		"azure": {2000, 20000}, "off": {}, "partition=5": {Partition: 5}, "account=7": {Account: 7}, "account=7,partition=5": {5, 7},
	} {
		got, err := Parse(text)
		again, err2 := Parse(got.String())
		if err != nil || err2 != nil || got != want || again != want {
			t.Errorf("%s: %v %v, %v %v", text, got, err, again, err2)
		}
	}
	for text, want := range map[string]string{
		"": `""`, "azur": "azure", "partition": "NAME=N", "partition=0": "1 or more", "partition=-5": "1 or more",
		"table=5": `no target "table"`, "account=1,account=2": "twice", "partition=5,": "NAME=N",
	} {
		if _, err := Parse(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func TestOffLetsEverythingThroughAndNewTargetsStartFull(t *testing.T) {
	l, _ := start(Targets{})
	p := Partition{"home", "t", "p"}
	if l.Enabled() || l.Take(p, 1<<30) != nil || l.Account("home", 1<<30) != nil {
		t.Error("limits without targets")
	}
	l.SetTargets(Targets{Partition: 1})
	if l.Take(p, 5) != nil || l.Take(p, 1) == nil {
		t.Error("the new target does not hold")
	}
	l.SetTargets(Targets{Partition: 1})
	if l.Take(p, 1) != nil {
		t.Error("new targets inherit a debt")
	}
}
