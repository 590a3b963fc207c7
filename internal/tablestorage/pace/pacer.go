package pace

import (
	"cmp"
	"context"
	"sync"
	"time"
)

// Kind says which budget a request is of.
type Kind uint8

// Reads and writes have separate budgets, so that a verification does not slow a copy, nor the other way round.
const (
	Read Kind = iota
	Write
	kinds
)

// String returns "read" or "write".
func (k Kind) String() string { return [...]string{"read", "write"}[k] }

// Where the flows begin, in entities a second. The service's published targets are 20,000 for an account and 2,000 for a
// partition, of 1 KiB each (reference §9); a new table is on one server at first and had better be approached from below.
// A page that is read counts its entities too: the service promises nothing less (unconfirmed).
const (
	accountStart        = 5000
	partitionWriteStart = 2000
	partitionReadStart  = 10000
)

// recheck is the longest that a waiter sleeps before it looks again: rates change meanwhile.
const recheck = time.Second

// Request is what is about to be sent.
type Request struct {
	Account   string // storage account
	Table     string
	Partition string // PartitionKey, or where a range of them begins
	Kind      Kind
	Entities  int  // as the service counts them: operations of a transaction, entities of a page at most
	Page      bool // how many entities they are is known only afterwards: see Ticket.Actual
}

// Pacer holds back requests until their account, their partition and the operator let them go. It is safe for
// concurrent use. What waits for one partition holds no tokens of the account, so a hot partition does not hold the others
// back; and all queues are first come, first served.
type Pacer struct {
	now func() time.Time

	mu         sync.Mutex
	changed    chan struct{} // closed and made anew by every change that a waiter must see
	total      [kinds]*flow  // the operator's rate
	slots      [kinds]*slots
	accounts   map[string]*account
	partitions partitions
	pauses     []pauseReason
}

// account is what is known of one storage account.
type account struct {
	name     string
	flows    [kinds]*flow
	counts   [kinds]Counts
	refusals evidence
	pages    pages
	told     refusal // the last one, for the status line

	backingOff int    // requests that were refused and wait for their next try
	why        string // the flows are bound; ""

	neighbours neighbours
}

// slots bounds the requests under way.
type slots struct {
	most  int // 0: any number
	taken int
	turn  chan struct{}
}

type pauseReason struct{ by, reason string }

// New returns a pacer without a given rate. Now is its clock; nil is time.Now.
func New(now func() time.Time) *Pacer {
	if now == nil {
		now = time.Now
	}
	p := &Pacer{now: now, changed: make(chan struct{}), accounts: map[string]*account{}, partitions: newPartitions()}
	for k := range p.total {
		p.total[k] = newFlow(mostRate, now())
		p.slots[k] = &slots{turn: make(chan struct{}, 1)}
	}
	return p
}

// account returns what is known of an account. The caller holds mu.
func (p *Pacer) account(name string) *account {
	a := p.accounts[name]
	if a == nil {
		a = &account{name: name}
		for k := range a.flows {
			a.flows[k] = newFlow(accountStart, p.now())
		}
		p.accounts[name] = a
	}
	return a
}

// SetRate gives the rate that all reads together, and all writes together, keep to, in entities a second; 0 lifts it.
func (p *Pacer) SetRate(perSecond float64) {
	p.change(func(now time.Time) {
		for _, f := range p.total {
			f.bound(max(0, perSecond), now)
			f.set(cmp.Or(f.limit, mostRate), now)
		}
	})
}

// Rate returns the rate that was given, 0 without one.
func (p *Pacer) Rate() float64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.total[Read].limit
}

// SetWorkers bounds the reads, and the writes, that are under way at the same time; 0 lifts it.
func (p *Pacer) SetWorkers(n int) {
	p.change(func(time.Time) {
		for _, s := range p.slots {
			s.most = n
		}
	})
}

// Pause lets nothing more be sent until the same caller takes it back with an empty reason. The reason is a text that can
// stand behind "waiting for".
func (p *Pacer) Pause(by, reason string) {
	p.change(func(time.Time) {
		var kept []pauseReason
		for _, x := range p.pauses {
			if x.by != by {
				kept = append(kept, x)
			}
		}
		if reason != "" {
			kept = append(kept, pauseReason{by, reason})
		}
		p.pauses = kept
	})
}

// change makes a change and wakes those who wait.
func (p *Pacer) change(do func(now time.Time)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	do(p.now())
	p.wake()
}

// wake makes all waiters look again. The caller holds mu.
func (p *Pacer) wake() {
	close(p.changed)
	p.changed = make(chan struct{})
}

// await gives everybody who comes for the same a turn, in order, and calls ready, with the lock held, until it says that
// there is nothing to wait for.
func (p *Pacer) await(ctx context.Context, turn chan struct{}, ready func(now time.Time) time.Duration) error {
	select {
	case turn <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { <-turn }()
	for {
		p.mu.Lock()
		wait := recheck
		if len(p.pauses) == 0 {
			wait = ready(p.now())
		}
		changed := p.changed
		p.mu.Unlock()
		if wait <= 0 {
			return ctx.Err()
		}
		if err := sleep(ctx, min(wait, recheck), changed); err != nil {
			return err
		}
	}
}

// sleep ends after a time, when something changed, or with the context.
func sleep(ctx context.Context, d time.Duration, changed <-chan struct{}) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-changed:
	case <-ctx.Done():
		return ctx.Err()
	}
	return nil
}
