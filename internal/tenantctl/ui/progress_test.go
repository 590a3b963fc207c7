package ui

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// clock is a time that only the test moves.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

func newClock() *clock { return &clock{now: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)} }

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) add(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

func lines(b *bytes.Buffer) []string {
	return strings.Split(strings.TrimSuffix(b.String(), "\n"), "\n")
}

func TestLinesComeNoMoreOftenThanTheInterval(t *testing.T) {
	var out bytes.Buffer
	clock := newClock()
	p := newLines(&out, time.Hour, clock.Now) // an hour: the ticker never fires within the test
	p.Phase("copying")
	p.Total(10000)
	for range 100 {
		clock.add(time.Minute)
		p.Advance(60)
	}
	p.Close()
	want := []string{
		"copying: 3,600 of 10,000 (36 %), 1/s, 1 h 46 min left",
	}
	if got := lines(&out); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestAWaitIsShownWithItsReasonAlthoughNothingElseHappens(t *testing.T) {
	shown := make(chan Snapshot, 10)
	clock := newClock()
	p := newReporter(time.Millisecond, clock.Now, func(s Snapshot) { shown <- s }, func(string) {})
	defer p.Close()
	p.Phase("copying")
	<-shown
	p.Waiting("the lease of another mover to run out") // within the interval: not shown yet
	clock.add(time.Second)
	if s := <-shown; s.Waiting == "" || !strings.HasSuffix(s.String(), "; waiting for the lease of another mover to run out") {
		t.Errorf("got %q", s)
	}
}

func TestNotesAreShownAtOnceAndNothingAfterClose(t *testing.T) {
	var out bytes.Buffer
	p := newLines(&out, time.Hour, newClock().Now)
	p.Phase("plan")
	p.Note("one")
	p.Note("two")
	p.Close()
	p.Close()
	p.Phase("copying")
	p.Note("three")
	if got := lines(&out); !slices.Equal(got, []string{"one", "two"}) {
		t.Errorf("got %q", got)
	}
}

func TestJSONProgressIsOneObjectALine(t *testing.T) {
	var out bytes.Buffer
	clock := newClock()
	p := newJSON(&out, time.Second, clock.Now)
	p.Phase("copying")
	p.Total(100)
	clock.add(time.Second)
	p.Advance(50)
	p.Note(`a "note"`)
	p.Close()
	WriteJSONError(&out, "wrong", 3)
	var types []string
	for _, line := range lines(&out) {
		var o struct {
			Time       time.Time
			Type, Text string
			Phase      string
			Done       int64
			Total      *int64
			Rate       float64
			ETA        *int64 `json:"eta_seconds"`
			ExitCode   int    `json:"exit_code"`
		}
		if err := json.Unmarshal([]byte(line), &o); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		types = append(types, o.Type)
		if o.Done == 50 && (*o.Total != 100 || o.Rate != 50 || *o.ETA != 1) {
			t.Errorf("progress is %s", line)
		}
		if o.Type == "error" && o.ExitCode != 3 || o.Type == "note" && o.Text != `a "note"` || o.Time.IsZero() {
			t.Errorf("object is %s", line)
		}
	}
	if !slices.Equal(types, []string{"progress", "progress", "note", "error"}) {
		t.Errorf("types %q", types)
	}
}

func TestTheRateIsThatOfTheLastSeconds(t *testing.T) {
	var m Meter
	at := newClock().now
	m.Phase("copying", at)
	m.Total(100000)
	for range 1000 { // slow: 10/s for 1000 s
		at = at.Add(time.Second)
		m.Advance(10, at)
	}
	for range 20 { // then fast: 1000/s for 20 s
		at = at.Add(time.Second)
		m.Advance(1000, at)
	}
	s := m.Snapshot(at)
	if s.Rate < 990 || s.Rate > 1010 || s.ETA < 69*time.Second || s.ETA > 71*time.Second {
		t.Errorf("rate %v, time left %v", s.Rate, s.ETA) // 70,000 are left
	}
	if s = m.Snapshot(at.Add(time.Minute)); s.Rate > 20 {
		t.Errorf("a minute later, without work, the rate is %v", s.Rate)
	}
	if len(m.samples) > 2*maxSamples {
		t.Errorf("%d samples are kept", len(m.samples))
	}
}

func TestManyAdvancesAtOnceKeepFewSamples(t *testing.T) {
	var m Meter
	at := newClock().now
	m.Phase("copying", at)
	for range 100000 {
		at = at.Add(time.Millisecond)
		m.Advance(1, at)
	}
	if s := m.Snapshot(at); len(m.samples) > 2*maxSamples || s.Rate < 900 || s.Rate > 1100 {
		t.Errorf("%d samples, rate %v", len(m.samples), s.Rate)
	}
}

func TestTheBarShowsPhaseShareAndReason(t *testing.T) {
	var out bytes.Buffer
	clock := newClock()
	p := newBar(&out, time.Hour, clock.Now)
	p.Phase("copying")
	p.Total(200)
	clock.add(time.Hour)
	p.Advance(100)
	clock.add(time.Hour)
	p.Waiting("the service to be less busy")
	p.Note("a remark")
	p.Close()
	p.Phase("verifying")
	for _, want := range []string{"copying", "100/200", "waiting for the service to be less busy", "a remark\n"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is missing in %q", want, out.String())
		}
	}
	if strings.Contains(out.String(), "verifying") {
		t.Error("the bar draws after Close")
	}
}

func TestProgressMayBeUsedByManyGoroutines(t *testing.T) {
	for name, p := range map[string]Progress{"bar": Bar(&bytes.Buffer{}), "lines": Lines(&bytes.Buffer{}), "json": JSON(&bytes.Buffer{})} {
		t.Run(name, func(*testing.T) {
			var wg sync.WaitGroup
			for range 4 {
				wg.Go(func() {
					p.Phase("copying")
					p.Total(10)
					for range 100 {
						p.Advance(1)
						p.Waiting("x")
						p.Note("y")
					}
				})
			}
			wg.Wait()
			p.Close()
		})
	}
}

func TestNumbersReadWell(t *testing.T) {
	cases := []struct{ got, want string }{
		{Count(0), "0"}, {Count(999), "999"}, {Count(1000), "1,000"}, {Count(-1234567), "-1,234,567"}, {Count(-100), "-100"},
		{Plural(1, "row"), "1 row"}, {Plural(2, "entity"), "2 entities"}, {Plural(0, "row"), "0 rows"},
		{Duration(340 * time.Millisecond), "340 ms"}, {Duration(5200 * time.Millisecond), "5.2 s"}, {Duration(59 * time.Second), "59 s"},
		{Duration(125 * time.Second), "2 min 5 s"}, {Duration(192 * time.Minute), "3 h 12 min"},
		{Bytes(512), "512 B"}, {Bytes(1536), "1.5 KiB"}, {Bytes(5 << 20), "5.0 MiB"}, {Bytes(3 << 50), "3072.0 TiB"},
	}
	for _, c := range cases {
		if c.got != c.want {
			t.Errorf("got %q, want %q", c.got, c.want)
		}
	}
}

func TestTablesAlign(t *testing.T) {
	var out bytes.Buffer
	table := Table{Header: []string{"NAME", "N", "X"}, Right: map[int]bool{1: true}, Rows: [][]string{{"größe", "1,000", "a"}, {"b", "7", "c"}}}
	if err := table.Write(&out); err != nil {
		t.Fatal(err)
	}
	want := "NAME       N  X\ngröße  1,000  a\nb          7  c\n"
	if out.String() != want {
		t.Errorf("got\n%s\nwant\n%s", out.String(), want)
	}
}
