package throttle

import (
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// What a Limiter refuses.
var (
	ErrAccountBusy   = errors.New("the account is over its scale target")
	ErrPartitionBusy = errors.New("the partition is over its scale target")
)

// Partition names a partition of a table; letter case of the table does not count.
type Partition struct{ Account, Table, PartitionKey string }

// Limiter holds requests to Targets, which may change while it works. The zero of Targets lets everything through,
// at the cost of one atomic load. It is safe for concurrent use.
//
// Every account and partition has a balance of entities, which grows with time up to one second's worth. What comes
// while the balance is 1 or more is let in and taken from it, so that a batch of 100 is let in by a balance of 1 and
// then owes 99: over time no more than the target comes through, and no batch is too large to ever come through.
type Limiter struct {
	now     func() time.Time
	enabled atomic.Bool

	mu         sync.Mutex // guards the following
	targets    Targets
	accounts   map[string]*balance
	partitions map[Partition]*balance
	sweepAt    int // number of partitions at which those at rest are forgotten
}

// balance is what may still come; it may be negative.
type balance struct {
	entities float64
	at       time.Time
}

// minSweep keeps small maps from being swept at every new partition.
const minSweep = 1024

// NewLimiter returns a limiter that reads the time from now.
func NewLimiter(t Targets, now func() time.Time) *Limiter {
	l := &Limiter{now: now}
	l.SetTargets(t)
	return l
}

// SetTargets starts anew with other targets and full balances.
func (l *Limiter) SetTargets(t Targets) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.targets = t
	l.accounts, l.partitions, l.sweepAt = make(map[string]*balance), make(map[Partition]*balance), minSweep
	l.enabled.Store(t != Targets{})
}

// Targets returns what is in force.
func (l *Limiter) Targets() Targets {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.targets
}

// Enabled says whether anything is limited.
func (l *Limiter) Enabled() bool { return l.enabled.Load() }

// Account lets n entities into an account, or returns ErrAccountBusy and counts nothing. It is for what touches no
// partition.
func (l *Limiter) Account(account string, n int) error {
	if !l.Enabled() {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	b := l.account(account)
	if b.busy() {
		return ErrAccountBusy
	}
	b.take(n)
	return nil
}

// Take lets n entities into a partition and its account, or returns ErrAccountBusy or ErrPartitionBusy and counts
// nothing.
func (l *Limiter) Take(p Partition, n int) error {
	if !l.Enabled() {
		return nil
	}
	p.Table = strings.ToLower(p.Table)
	l.mu.Lock()
	defer l.mu.Unlock()
	account, partition := l.account(p.Account), l.partition(p)
	switch {
	case account.busy():
		return ErrAccountBusy
	case partition.busy():
		return ErrPartitionBusy
	}
	account.take(n)
	partition.take(n)
	return nil
}

// rounding is what adding up small times may lose of an entity.
const rounding = 1e-6

// busy says whether nothing more may come now; never so without a limit.
func (b *balance) busy() bool { return b != nil && b.entities < 1-rounding }

// take counts n entities; a nil balance is without limit.
func (b *balance) take(n int) {
	if b != nil {
		b.entities -= float64(n)
	}
}

// account returns the balance of an account as it is now; nil without a limit. The caller holds mu.
func (l *Limiter) account(name string) *balance {
	if l.targets.Account == 0 {
		return nil
	}
	b := l.accounts[name]
	if b == nil {
		b = &balance{entities: float64(l.targets.Account), at: l.now()}
		l.accounts[name] = b
	}
	b.grow(l.targets.Account, l.now())
	return b
}

// partition does the same for a partition.
func (l *Limiter) partition(p Partition) *balance {
	if l.targets.Partition == 0 {
		return nil
	}
	now := l.now()
	b := l.partitions[p]
	if b == nil {
		l.sweep(now)
		b = &balance{entities: float64(l.targets.Partition), at: now}
		l.partitions[p] = b
	}
	b.grow(l.targets.Partition, now)
	return b
}

// grow adds what the time since the last look brought. A clock that is set back brings nothing.
func (b *balance) grow(target int, now time.Time) {
	if d := now.Sub(b.at); d > 0 {
		b.entities = min(float64(target), b.entities+d.Seconds()*float64(target))
	}
	b.at = now
}

// sweep forgets the partitions whose balance is full: to forget one changes nothing, since a new one starts full. It
// waits until the map has doubled since, so that its cost is spread over the partitions that came.
func (l *Limiter) sweep(now time.Time) {
	if len(l.partitions) < l.sweepAt {
		return
	}
	for p, b := range l.partitions {
		if b.grow(l.targets.Partition, now); b.entities >= float64(l.targets.Partition) {
			delete(l.partitions, p)
		}
	}
	l.sweepAt = max(minSweep, 2*len(l.partitions))
}
