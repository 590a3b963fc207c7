package pace

import (
	"fmt"
	"time"
)

// The zones of a neighbours' p99, as parts of its limit, and the steps of the bound. The law is that of a thermostat: +1 up to
// comfortable, nothing up to close, −1 up to the limit, halve beyond. The figures are ours.
const (
	comfortable   = 0.5
	closeTo       = 0.8
	neighbourStep = 0.05 // of the rate at which the neighbours suffered last
	leastBound    = 20   // entities a second
)

// neighbours is how an account's other tenants fare while it is worked on, and how far that bounds the work.
type neighbours struct {
	p99    time.Duration
	bound  float64 // 0: the work is not bound
	step   float64
	judged time.Time
	counts [kinds]Counts // then
}

// Neighbours says that the point reads of other tenants in a table take so long, 99 of 100 at most, and bounds the account's
// reads and its writes by the zone that this is in.
func (p *Pacer) Neighbours(storage, table string, p99, limit time.Duration) {
	p.change(func(now time.Time) {
		a := p.account(storage)
		n := &a.neighbours
		n.p99 = p99
		rate := a.rateSince(n.counts, now.Sub(n.judged))
		n.counts, n.judged = a.counts, now
		n.judge(float64(p99)/float64(limit), rate)
		for _, f := range a.flows {
			f.bound(n.bound, now)
		}
		a.why = ""
		if n.bound > 0 {
			a.why = fmt.Sprintf("the neighbours in %s/%s, whose p99 of %v is to stay below %v; at %s",
				storage, table, p99.Round(time.Millisecond/10), limit, perSecond(n.bound))
		}
	})
}

// rateSince is the greater of an account's rates of reading and writing.
func (a *account) rateSince(then [kinds]Counts, d time.Duration) float64 {
	most := 0.0
	for k := range then {
		most = max(most, float64(a.counts[k].Entities-then[k].Entities)/max(d, time.Second/10).Seconds())
	}
	return most
}

// judge moves the bound for a p99 of so many times its limit, while the work runs at a rate.
func (n *neighbours) judge(ratio, rate float64) {
	if n.bound == 0 {
		if ratio <= closeTo || rate == 0 {
			return
		}
		n.bound = rate
		n.step = max(1, rate*neighbourStep)
	}
	switch {
	case ratio > 1:
		suffered := max(leastBound, min(n.bound, rate))
		n.bound, n.step = max(leastBound, suffered/2), max(1, suffered*neighbourStep)
	case ratio > closeTo:
		n.bound = max(leastBound, n.bound-n.step)
	case ratio <= comfortable:
		n.bound += n.step
		if n.bound > 4*n.step/neighbourStep { // far beyond where they suffered last, and they do not
			n.bound = 0
		}
	}
}
