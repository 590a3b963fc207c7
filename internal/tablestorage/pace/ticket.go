package pace

import (
	"context"
	"errors"
	"time"
)

// Waits of one request that is refused again and again.
const (
	firstRetry = 100 * time.Millisecond
	lastRetry  = 5 * time.Second // the flows slow down too
	Patience   = 5 * time.Minute // that a request waits for an answer other than a refusal, pauses and tokens apart
)

// ErrRefused ends the tries of a request that the service kept refusing for longer than Patience.
var ErrRefused = errors.New("the service kept refusing")

// Ticket is one request's leave to be sent, for one try. It is not safe for concurrent use. Every ticket must be done.
type Ticket struct {
	p         *Pacer
	r         Request
	partition *flow
	tokens    int // taken for the present try, not yet spoken for by an answer
	slot      bool
	sent      time.Time
	tries     int // sent
	refusals  int // in a row
	wait      time.Duration
	waited    time.Duration // after those refusals
}

// Answer is how the service answered one try.
type Answer struct {
	Refused    bool          // throttled, or timed out at the service
	Status     int           // HTTP status, for messages
	ByAccount  bool          // the service says that it is the account's limit
	RetryAfter time.Duration // 0: none
	Failed     bool          // no answer, or an error that says nothing of the load
}

// Begin waits until the request may be sent. The error is the context's.
func (p *Pacer) Begin(ctx context.Context, r Request) (*Ticket, error) {
	p.mu.Lock()
	if r.Page {
		r.Entities = p.account(r.Account).pages.expect(r.Entities)
	}
	t := &Ticket{p: p, r: r, partition: p.partitions.enter(r, p.now())}
	p.mu.Unlock()
	if err := t.admit(ctx); err != nil {
		t.leave()
		return nil, err
	}
	return t, nil
}

// admit takes tokens of the partition, of the account and of the operator's rate, in this order, and then a slot: what must
// wait longest is waited for first, with nothing in hand that others could use.
func (t *Ticket) admit(ctx context.Context) error {
	p, k := t.p, t.r.Kind
	p.mu.Lock()
	a := p.account(t.r.Account)
	queue := []*flow{t.partition, a.flows[k], p.total[k]}
	p.mu.Unlock()
	for i, f := range queue {
		if err := p.queue(ctx, f, t.r.Entities); err != nil {
			t.giveBack(queue[:i])
			return err
		}
	}
	s := p.slots[k]
	err := p.await(ctx, s.turn, func(now time.Time) time.Duration {
		if s.most > 0 && s.taken >= s.most {
			return recheck
		}
		s.taken++
		t.slot, t.tokens, t.sent = true, t.r.Entities, now
		a.counts[k].Requests++
		a.counts[k].Entities += int64(t.r.Entities)
		return 0
	})
	if err != nil {
		t.giveBack(queue)
	}
	return err
}

// queue takes tokens of one flow.
func (p *Pacer) queue(ctx context.Context, f *flow, n int) error {
	p.mu.Lock()
	f.waiting++
	p.mu.Unlock()
	err := p.await(ctx, f.turn, func(now time.Time) time.Duration { return f.take(n, now) })
	p.mu.Lock()
	f.waiting--
	p.mu.Unlock()
	return err
}

func (t *Ticket) giveBack(flows []*flow) {
	t.p.mu.Lock()
	defer t.p.mu.Unlock()
	for _, f := range flows {
		f.give(t.r.Entities)
	}
}

// Sent says that a try is being sent. Tries beyond the one that was admitted, which are a retry policy's that waits by
// itself, are on debt.
func (t *Ticket) Sent() {
	t.p.mu.Lock()
	defer t.p.mu.Unlock()
	if t.tries++; t.tokens == 0 {
		t.each(func(f *flow) { f.give(-t.r.Entities) })
		c := &t.p.account(t.r.Account).counts[t.r.Kind]
		c.Requests++
		c.Entities += int64(t.r.Entities)
	}
	t.tokens = 0
	t.sent = t.p.now()
}

// each calls do for the flows that the request belongs to. The caller holds mu.
func (t *Ticket) each(do func(*flow)) {
	do(t.partition)
	do(t.p.account(t.r.Account).flows[t.r.Kind])
	do(t.p.total[t.r.Kind])
}

// Answered learns from the answer to the try that was sent last.
func (t *Ticket) Answered(x Answer) {
	p := t.p
	p.mu.Lock()
	defer p.mu.Unlock()
	now := p.now()
	a := p.account(t.r.Account)
	if x.Failed {
		return
	}
	if !x.Refused {
		t.refusals, t.waited = 0, 0
		t.partition.answer(t.r.Entities, t.sent, now, false)
		a.flows[t.r.Kind].answer(t.r.Entities, t.sent, now, false)
		a.flows[t.r.Kind].latency(t.r.Entities, now.Sub(t.sent), t.sent, now)
		return
	}
	t.wait = max(min(firstRetry<<min(t.refusals, 16), lastRetry), x.RetryAfter)
	t.refusals++
	a.counts[t.r.Kind].Refused++
	blamed := t.partition
	growing := a.flows[t.r.Kind].isPressed(now) && !t.partition.isPressed(now)
	isAccount := a.refusals.blamesAccount(x.ByAccount, growing, t.r, p.partitions.active(t.r, now), now)
	if isAccount {
		blamed = a.flows[t.r.Kind]
	}
	blamed.answer(t.r.Entities, t.sent, now, true)
	if x.RetryAfter > 0 {
		blamed.close(x.RetryAfter, now)
		p.wake()
	}
	a.told = refusal{at: now, table: t.r.Table, status: x.Status, flow: blamed, account: isAccount}
}

// Again waits until the request that was refused may be sent once more: as long as the service asks, longer after each
// refusal, and then for tokens like a new one. After Patience the error is ErrRefused.
func (t *Ticket) Again(ctx context.Context) error {
	t.freeSlot()
	wait := min(t.wait, maxRetryWait)
	if t.waited += wait; t.waited > Patience {
		return ErrRefused
	}
	t.backOff(1)
	err := sleep(ctx, wait, nil)
	t.backOff(-1)
	if err != nil {
		return err
	}
	return t.admit(ctx)
}

// backOff counts the requests of the account that wait for their next try.
func (t *Ticket) backOff(n int) {
	t.p.mu.Lock()
	defer t.p.mu.Unlock()
	t.p.account(t.r.Account).backingOff += n
}

// Done ends the request.
func (t *Ticket) Done() {
	t.freeSlot()
	t.leave()
}

// Actual says how many entities a page had, which is known only when it was read: what was taken too much is given back, what
// was not taken is a debt. It may be called after Done, and on nil.
func (t *Ticket) Actual(entities int) {
	if t == nil {
		return
	}
	t.p.mu.Lock()
	defer t.p.mu.Unlock()
	a, k := t.p.account(t.r.Account), t.r.Kind
	a.pages.learn(entities)
	unused := t.r.Entities - entities
	t.each(func(f *flow) { f.give(unused) })
	a.counts[k].Entities -= int64(unused)
	if unused > 0 {
		t.p.wake()
	}
}

// pages is how many entities the pages of an account have at present. Many key ranges end within their first page, and what
// is taken for a page keeps others waiting until it is given back.
type pages struct {
	mean  float64
	known bool
}

// learn takes one page into account.
func (p *pages) learn(entities int) {
	if !p.known {
		p.mean, p.known = float64(entities), true
	}
	p.mean += (float64(entities) - p.mean) / 8
}

// expect is how many entities to take for a page that may have so many.
func (p *pages) expect(most int) int {
	if !p.known {
		return most
	}
	return max(1, min(most, int(1.25*p.mean+1)))
}

func (t *Ticket) freeSlot() {
	t.p.mu.Lock()
	defer t.p.mu.Unlock()
	if !t.slot {
		return
	}
	t.slot = false
	s := t.p.slots[t.r.Kind]
	if s.taken--; s.most > 0 {
		t.p.wake()
	}
}

func (t *Ticket) leave() {
	t.p.mu.Lock()
	defer t.p.mu.Unlock()
	t.p.partitions.leave(t.r)
}
