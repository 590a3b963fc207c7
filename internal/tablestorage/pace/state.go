package pace

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"
)

// sayFor is how long a reason is told after the last event.
const sayFor = 3 * time.Second

// refusal is the last one of an account.
type refusal struct {
	at      time.Time
	table   string
	status  int
	flow    *flow // that it was laid to
	account bool  // that is the account's
}

// Counts are what was sent of one kind to one account.
type Counts struct{ Entities, Requests, Refused int64 }

// Flow is the state of one account's reads or writes.
type Flow struct {
	Account string
	Kind    Kind
	Rate    float64 // entities a second that may be sent at present
	// Neighbours is the last p99 of the account's other tenants; 0: not looked at.
	Neighbours time.Duration
	Counts
}

// State is the state of a pacer at one moment.
type State struct {
	Flows      []Flow // in order of account, reads before writes
	Partitions int    // that are remembered
	Waiting    int    // requests that wait for tokens
	Paused     bool
	Reason     string // see Reason
}

// State returns the state at present.
func (p *Pacer) State() State {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := State{Partitions: p.partitions.order.Len(), Paused: len(p.pauses) > 0, Reason: p.reason(p.now())}
	for _, name := range slices.Sorted(maps.Keys(p.accounts)) {
		a := p.accounts[name]
		for k, f := range a.flows {
			s.Flows = append(s.Flows, Flow{Account: name, Kind: Kind(k), Rate: f.rate, Neighbours: a.neighbours.p99, Counts: a.counts[k]})
			s.Waiting += f.waiting
		}
	}
	for at := p.partitions.order.Front(); at != nil; at = at.Next() {
		s.Waiting += of(at).flow.waiting
	}
	for _, f := range p.total {
		s.Waiting += f.waiting
	}
	return s
}

// Reason says what holds the work back at present, in words that can stand behind "waiting for"; "" where nothing does.
func (p *Pacer) Reason() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.reason(p.now())
}

func (p *Pacer) reason(now time.Time) string {
	if len(p.pauses) > 0 {
		return p.pauses[0].reason
	}
	for _, name := range slices.Sorted(maps.Keys(p.accounts)) {
		a := p.accounts[name]
		if r := a.told; r.flow != nil && (now.Sub(r.at) < sayFor || r.flow.closed.After(now) || a.backingOff > 0) {
			where := name + "/" + r.table
			if !r.account {
				where = "a partition of " + where
			}
			return fmt.Sprintf("%s, which answers %d; at %s", where, r.status, perSecond(r.flow.rate))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(p.accounts)) {
		if a := p.accounts[name]; a.why != "" && pressedOf(a.flows[:], now) {
			return a.why
		}
	}
	for _, f := range p.total {
		if f.limit > 0 && pressedOf(p.total[:], now) {
			return "the given rate of " + perSecond(f.limit)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(p.accounts)) {
		for k, f := range p.accounts[name].flows {
			if f.hold && pressedOf([]*flow{f}, now) {
				return fmt.Sprintf("%s, whose answers to %ss are slow; at %s", name, Kind(k), perSecond(f.rate))
			}
		}
	}
	return ""
}

// pressedOf says whether something had to wait for one of the flows just now.
func pressedOf(flows []*flow, now time.Time) bool {
	for _, f := range flows {
		if f.waiting > 0 && !f.pressed.IsZero() && now.Sub(f.pressed) < sayFor {
			return true
		}
	}
	return false
}

// perSecond writes a rate: "1,450 entities/s".
func perSecond(rate float64) string {
	s := strconv.FormatInt(int64(rate+0.5), 10)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s + " entities/s"
}
