package fleet

import (
	"fmt"
	"slices"
	"time"

	"github.com/aztenancy/terraform-provider-aztenancy/internal/catalog"
)

// maxAttempts is how often a move is begun that ends with something temporary, before it counts as failed.
const maxAttempts = 5

// outcome is how a run of a move ended.
type outcome string

const (
	wasMoved    outcome = "moved"
	wasViolated outcome = "violated"    // moved, but somebody wrote past the freeze
	hasFailed   outcome = "failed"      // a person has to look
	wasHindered outcome = "hindered"    // by something that goes away by itself: to be tried again, maxAttempts times
	wasBusy     outcome = "busy"        // another mover works on the tenant: to be tried again
	wasStopped  outcome = "interrupted" // at a safe point, because the worker stops: to be tried again at once
)

// stranded finds a tenant whose writes are held, or may be, while nobody works on it; -1 if there is none. It is to be finished
// before anything else, by whoever sees it, even when the evacuation is stopped or the worker has enough to do: it has
// its place under each limit already, and others may wait for that.
func (l *list) stranded(now time.Time) int {
	return slices.IndexFunc(l.moves, func(m move) bool {
		return m.Released && m.left(now) || m.State == Waiting && m.Held && !m.NotBefore.After(now)
	})
}

// left says whether the worker of a move under way is dead, or has been asleep for as long.
func (m move) left(now time.Time) bool { return m.State == Moving && !m.Lease.Expires.After(now) }

// next chooses the move to begin or to take over, or says for what it waits. Moves that a dead worker left behind come first.
func (l *list) next(now time.Time) (int, string) {
	if i := l.stranded(now); i >= 0 {
		return i, ""
	}
	if l.head.State != Running {
		return -1, ""
	}
	if i := slices.IndexFunc(l.moves, func(m move) bool { return m.left(now) }); i >= 0 {
		return i, ""
	}
	canary := l.index(l.d.Limits.Canary)
	if l.d.Limits.Canary != "" && (canary < 0 || !settled(l.moves[canary].State)) {
		if canary >= 0 && l.moves[canary].State == Waiting && !l.moves[canary].NotBefore.After(now) && l.fits(l.moves[canary]) == "" {
			return canary, ""
		}
		return -1, fmt.Sprintf("the canary, tenant %s", l.d.Limits.Canary)
	}
	wait := ""
	for i, m := range l.moves {
		if m.State != Waiting {
			continue
		}
		why := l.fits(m)
		if m.NotBefore.After(now) {
			why = fmt.Sprintf("tenant %s to be tried again: %s", m.TenantID, m.Error)
		}
		if why == "" {
			return i, ""
		}
		if wait == "" {
			wait = why
		}
	}
	return -1, wait
}

// settled says whether a move is made.
func settled(state string) bool { return state == Moved || state == Violated }

// fits says which limit keeps a waiting move from being begun; "" if none does.
func (l *list) fits(m move) string {
	limits := l.d.Limits
	for _, table := range m.Sources {
		if n := l.underWay(func(o move) bool { return slices.Contains(o.Sources, table) }); limits.PerTable > 0 && n >= limits.PerTable {
			return fmt.Sprintf("one of the %d tenants under way out of table %s", n, table)
		}
	}
	for _, account := range m.Targets {
		if n := l.underWay(func(o move) bool { return slices.Contains(o.Targets, account) }); limits.PerAccount > 0 && n >= limits.PerAccount {
			return fmt.Sprintf("one of the %d tenants under way into account %s", n, account)
		}
	}
	if m.Released && !m.Held && l.frozen() >= limits.Frozen {
		return fmt.Sprintf("the freeze of another tenant to end: tenant %s is to be frozen at once", m.TenantID)
	}
	return ""
}

// underWay counts the moves under way that match; also those whose worker is dead, or whose tenant's writes are held.
func (l *list) underWay(match func(move) bool) int {
	n := 0
	for _, m := range l.moves {
		if (m.State == Moving || m.Held) && match(m) {
			n++
		}
	}
	return n
}

// frozen counts the tenants whose writes are held, or may be at any moment.
func (l *list) frozen() int {
	n := 0
	for _, m := range l.moves {
		if m.State == Moving && m.Released || m.Held {
			n++
		}
	}
	return n
}

// begin gives a move to a worker. The epoch of the lease tells this hold on it from every other.
func (l *list) begin(i int, owner string, now time.Time, ttl time.Duration) {
	m := &l.moves[i]
	if m.Held {
		m.Released, m.Held = true, false // it counts as frozen as before, now by being under way
	}
	m.State, m.NotBefore = Moving, time.Time{}
	m.Attempts++
	m.Lease = catalog.Lease{Owner: owner, Epoch: m.Lease.Epoch + 1, Expires: now.Add(ttl)}
	if m.Started.IsZero() {
		m.Started = now
	}
}

// mayFreeze says for what a move under way has to wait before its tenant's writes are held; "" if it may go on.
func (l *list) mayFreeze(i int) string {
	switch {
	case l.moves[i].Released:
		return ""
	case l.head.State != Running:
		return "the evacuation, which is " + l.head.State
	case l.frozen() >= l.d.Limits.Frozen:
		return "the freeze of another tenant to end"
	}
	return ""
}

// end records how a run of a move ended, and stops the evacuation where that is due.
func (l *list) end(i int, how outcome, r result, now time.Time) {
	m := &l.moves[i]
	m.Lease.Owner, m.Lease.Expires = "", time.Time{}
	m.result = r
	m.State, m.NotBefore = Waiting, time.Time{}
	switch how {
	case wasMoved:
		m.State, m.Ended, m.Held = Moved, now, false
	case wasViolated:
		m.State, m.Ended, m.Held = Violated, now, false
	case wasHindered:
		m.NotBefore = now.Add(time.Duration(m.Attempts) * retryAfter)
		if m.Attempts >= maxAttempts {
			m.State = Failed
		}
	case wasBusy:
		m.Attempts--
		m.NotBefore = now.Add(busyAfter)
	case wasStopped:
		m.Attempts--
	case hasFailed:
		m.State = Failed
	}
	l.review(m, now)
}

// After these times a move is tried again.
const (
	retryAfter = 5 * time.Second // and as much more with each attempt
	busyAfter  = 15 * time.Second
)

// review stops the evacuation when too much has failed, and ends it when nothing is left to do.
func (l *list) review(last *move, now time.Time) {
	if l.head.State == Declaring { // more may come
		return
	}
	failed, violated, open := l.count(Failed), l.count(Violated), l.count(Waiting)+l.count(Moving)
	failures := failed + violated - l.d.Acknowledged
	stop := func(format string, args ...any) {
		if l.head.State == Running {
			l.head.State, l.head.Reason = Stopped, fmt.Sprintf(format, args...)
		}
	}
	switch {
	case last.State == Failed && last.Held:
		stop("the move of tenant %s failed and its writes are still held", last.TenantID)
	case last.State == Failed && last.TenantID == l.d.Limits.Canary, last.State == Violated && last.TenantID == l.d.Limits.Canary:
		stop("the canary, tenant %s, is %s", last.TenantID, last.State)
	case failures >= l.d.Limits.Failures:
		stop("%d moves failed, and it stops after %d", failures, l.d.Limits.Failures)
	case open == 0 && failed > 0:
		stop("%d of %d moves failed", failed, len(l.moves)-l.count(LeftOut))
	}
	if open == 0 && failed == 0 {
		l.head.State, l.head.Reason, l.head.Ended = Done, "", now
	}
}

func (l *list) count(state string) int {
	n := 0
	for _, m := range l.moves {
		if m.State == state {
			n++
		}
	}
	return n
}

// over says whether no worker can do anything any more: it is done, or it is stopped and no tenant's writes wait for it.
func (l *list) over() bool {
	return l.head.State != Running && l.head.State != Declaring &&
		!slices.ContainsFunc(l.moves, func(m move) bool { return m.State == Moving && m.Released || m.State == Waiting && m.Held })
}
