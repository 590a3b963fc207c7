package pace

import (
	"math/bits"
	"time"
)

// Answers are slow from slowAt on: slowTimes their running minimum and slowBeyond, which is what a machine may do to
// itself.
const (
	slowTimes  = 3
	slowBeyond = 150 * time.Millisecond
	minimumFor = time.Minute // a minimum is forgotten after twice this time: the service may have moved
)

// slowness compares how long answers take at present with their running minimum, for requests of about one size.
type slowness struct {
	sizes [8]struct{ mean, low, before time.Duration }
	since time.Time // of low
}

// observe returns how slow answers are at present: up to 1 is as usual, 2 is twice as slow as that.
func (s *slowness) observe(n int, took time.Duration, now time.Time) float64 {
	if s.since.IsZero() {
		s.since = now
	}
	if now.Sub(s.since) >= minimumFor {
		s.since = now
		for i := range s.sizes {
			s.sizes[i].before, s.sizes[i].low = s.sizes[i].low, 0
		}
	}
	x := &s.sizes[min(bits.Len(uint(max(n, 0))), len(s.sizes)-1)]
	if x.low == 0 || took < x.low {
		x.low = max(took, 1)
	}
	least := x.low
	if x.before > 0 {
		least = min(least, x.before)
	}
	if x.mean == 0 {
		x.mean = took
	}
	x.mean += (took - x.mean) / 8
	return float64(x.mean) / float64(slowTimes*least+slowBeyond)
}
