package pace

import (
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"
)

func TestZonesOfTheNeighboursLatency(t *testing.T) {
	const rate = 1000
	for name, c := range map[string]struct {
		before, ratio, want float64
	}{
		"well, not bound":       {0, 0.8, 0},
		"close, not bound":      {0, 0.9, 950},
		"beyond, not bound":     {0, 1.5, 500},
		"well: +1":              {800, 0.5, 850},
		"between: hold":         {800, 0.7, 800},
		"close: -1":             {800, 1, 750},
		"beyond: halve":         {800, 1.01, 400},
		"never less than least": {leastBound, 100, leastBound},
		"beyond what is used":   {3900, 1.01, 500},
		"far beyond: lift":      {3990, 0.1, 0},
	} {
		n := neighbours{bound: c.before, step: rate * neighbourStep}
		if n.judge(c.ratio, rate); n.bound != c.want {
			t.Errorf("%s: bound %v, want %v", name, n.bound, c.want)
		}
	}
}

// A shared table in which the neighbours' p99 grows with the rate of the work: the bound settles where they are well.
func TestTheWorkSettlesWhereTheNeighboursAreWell(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		enough := rapid.Float64Range(200, 20000).Draw(t, "rate at which the limit is met")
		var n neighbours
		rate := 20000.0
		over := 0
		for i := range 300 {
			ratio := rate / enough
			if n.judge(ratio, rate); n.bound > 0 {
				rate = min(n.bound, 20000)
			} else {
				rate = 20000
			}
			if i >= 100 && ratio > 1 {
				over++
			}
		}
		if over > 20 && enough < 20000 { // once in ten seconds it is tried
			t.Errorf("beyond the limit in %d of 200 judgements", over)
		}
		if rate < min(enough, 20000)/5 {
			t.Errorf("settled at %v/s of %v/s", rate, enough)
		}
	})
}

func TestTheStatusLineNamesTheNeighbours(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, s := New(nil), &service{latency: time.Millisecond}
		p.Neighbours("acct", "Orders", time.Millisecond, 50*time.Millisecond)
		load(t, p, s, 4, 4, 5*time.Second)
		p.Neighbours("acct", "Orders", 72*time.Millisecond, 50*time.Millisecond)
		before := s.total()
		var wg sync.WaitGroup
		wg.Go(func() { load(t, p, s, 4, 4, 10*time.Second) })
		time.Sleep(5 * time.Second)
		if got := p.Reason(); !strings.HasPrefix(got, "the neighbours in acct/Orders, whose p99 of 72ms is to stay below 50ms; at ") {
			t.Errorf("waiting for %q", got)
		}
		wg.Wait()
		if was, is := float64(before)/5, float64(s.total()-before)/10; is > 0.55*was {
			t.Errorf("%v/s, then %v/s", was, is)
		}
	})
}
