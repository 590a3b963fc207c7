package pace

import (
	"math"
	"time"
)

// The law of a flow's rate. The figures are ours; measured with make bench-pacing.
const (
	doubling     = 250 * time.Millisecond // the rate doubles in this time, until the first refusal
	increase     = 0.01                   // afterwards it grows a second by this part of the rate that was refused
	patient      = 3 * time.Second        // and faster and faster when nothing is refused for longer
	leastCut     = 0.08                   // a refusal takes at least this part of the rate away, and more if more is refused
	mostCut      = 0.5
	judge        = 4                      // answers to what was sent since the last cut that the next cut needs
	recent       = 250 * time.Millisecond // how long an answer counts, about
	pressing     = 500 * time.Millisecond
	slowCut      = time.Second // at most once in this time is the rate cut for slowness alone
	leastRate    = 5.0         // entities a second, whatever is refused
	mostRate     = 1e7
	maxRetryWait = time.Minute // more than that no Retry-After is believed
)

// flow is what may go to one account, or to one partition, for reads or for writes: a bucket whose rate is increased
// additively and decreased multiplicatively. It grows only while it is what the work waits for, and an answer cuts it only
// if it is to a request that was sent since the last cut: one event is counted once. Its methods are called with the
// pacer's lock held.
type flow struct {
	bucket
	limit   float64 // the rate never grows beyond; 0: mostRate
	start   float64
	refused float64   // the rate at the last cut; 0: there was none, and the rate doubles
	cutAt   time.Time // of the last cut
	closed  time.Time // nothing before (Retry-After)
	pressed time.Time // when last something had to wait
	grown   time.Time // until when growth is accounted for
	hold    bool      // the answers are slow: no growth

	answers, refusals float64   // entities of requests sent since the last cut, the recent ones counting most
	judged            int       // those requests
	heard             time.Time // the last of them
	slow              slowness

	turn    chan struct{} // who waits for tokens; first come, first served
	waiting int           // how many do
	used    time.Time
}

func newFlow(start float64, now time.Time) *flow {
	return &flow{bucket: newBucket(start, now), start: start, grown: now, used: now, turn: make(chan struct{}, 1)}
}

// take is bucket.take with the growth that is due, and nothing while Retry-After says so.
func (f *flow) take(n int, now time.Time) time.Duration {
	f.used = now
	f.grow(now)
	if wait := f.closed.Sub(now); wait > 0 {
		return wait
	}
	wait := f.bucket.take(n, now)
	if wait > 0 {
		f.pressed = now
	}
	return wait
}

// grow increases the rate for the time since the last call, if the flow was what the work waited for.
func (f *flow) grow(now time.Time) {
	dt := now.Sub(f.grown)
	if dt <= 0 {
		return
	}
	f.grown = now
	if f.hold || !f.isPressed(now) {
		return
	}
	dt = min(dt, pressing)
	rate := f.rate
	if f.refused == 0 {
		rate *= math.Exp2(float64(dt) / float64(doubling))
	} else {
		quiet := now.Sub(f.cutAt) - patient
		rate += f.refused * increase * dt.Seconds() * math.Max(1, quiet.Seconds())
	}
	f.set(rate, now)
}

// isPressed says whether something had to wait for this flow just now.
func (f *flow) isPressed(now time.Time) bool {
	return !f.pressed.IsZero() && now.Sub(f.pressed) <= pressing
}

// set sets the rate within its bounds.
func (f *flow) set(rate float64, now time.Time) {
	most := mostRate
	if f.limit > 0 {
		most = f.limit
	}
	f.setRate(math.Max(math.Min(rate, most), math.Min(leastRate, most)), now)
}

// bound sets the limit; 0 lifts it.
func (f *flow) bound(limit float64, now time.Time) {
	f.grow(now)
	f.limit = limit
	f.set(f.rate, now)
}

// answer learns from an answer to n entities that were asked for at sent. What is not refused says how fast the service is.
func (f *flow) answer(n int, sent, now time.Time, refused bool) {
	f.grow(now)
	if sent.Before(f.cutAt) {
		return
	}
	fade := math.Exp(-float64(now.Sub(f.heard)) / float64(recent))
	f.heard = now
	f.answers = f.answers*fade + float64(n)
	f.refusals *= fade
	f.judged++
	if !refused {
		return
	}
	f.refusals += float64(n)
	switch {
	case f.refused == 0: // the rate was doubling
		f.cut(mostCut, now)
	case f.judged >= judge:
		f.cut(math.Min(mostCut, math.Max(leastCut, f.refusals/f.answers)), now)
	}
}

// cut takes a part of the rate away.
func (f *flow) cut(part float64, now time.Time) {
	f.refused = f.rate
	f.set(f.rate*(1-part), now)
	f.cutAt = now
	f.answers, f.refusals, f.judged = 0, 0, 0
}

// close keeps the flow shut for as long as the service asks.
func (f *flow) close(d time.Duration, now time.Time) {
	if until := now.Add(min(d, maxRetryWait)); until.After(f.closed) {
		f.closed = until
	}
}

// latency learns from the time that an answer took. Slowness alone never cuts the rate to less than a fifth of where it began:
// the cause may be on this side.
func (f *flow) latency(n int, took time.Duration, sent, now time.Time) {
	ratio := f.slow.observe(n, took, now)
	f.hold = ratio > 1
	if ratio > 2 && !sent.Before(f.cutAt) && now.Sub(f.cutAt) >= slowCut && f.rate*(1-leastCut) > f.start/5 {
		f.cut(leastCut, now)
	}
}
