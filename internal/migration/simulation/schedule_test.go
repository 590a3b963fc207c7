package simulation

import (
	"math/rand/v2"
	"slices"
	"strings"
	"time"
)

// act takes one step of the schedule: one call meets its fate, a mover is killed, started or held back, or the clock runs.
func (w *world) act(calls []*call) {
	now := time.Now()
	var due, dangling []*call
	for _, c := range calls {
		switch {
		case c.gone && c.op.query.Has("tables") && now.Sub(c.born) >= dropAtMost:
			w.net.handle(c, lost)
			return
		case c.gone && c.last:
		case c.gone:
			dangling = append(dangling, c)
		case c.from.isWriter() && now.Sub(c.born) >= atMost:
			w.net.handle(c, []fate{delivered, lost}[w.dice.IntN(2)])
			return
		case c.from.held.After(now):
		default:
			due = append(due, c)
		}
	}
	switch {
	case len(dangling) > 0 && w.dice.IntN(12) == 0:
		c := pick(w.dice, dangling)
		w.net.handle(c, []fate{delivered, delivered, lost}[w.dice.IntN(3)])
	case len(due) > 0 && w.faulted < w.most && w.dice.Float64() < w.faults:
		w.faulted++
		w.disturb(pick(w.dice, due))
	case len(due) > 0:
		w.deliver(pick(w.dice, due))
	default:
		w.net.idle(time.Second)
	}
}

// deliver lets a call arrive, unless the schedule has something else for it.
func (w *world) deliver(c *call) {
	if c.from.isWriter() {
		w.net.handle(c, delivered)
		return
	}
	w.moved++
	if f := w.at[w.moved]; f != nil {
		f(w, c)
		return
	}
	w.net.handle(c, delivered)
}

// disturb does one thing that a network, a service or an operator may do at any time.
func (w *world) disturb(c *call) {
	fates := []fate{lost, doubtful, busy, failed}
	if c.from.isWriter() {
		w.net.handle(c, pick(w.dice, fates))
		return
	}
	switch n := w.dice.IntN(10); {
	case n == 0 && w.kills > 0:
		w.kills--
		w.killMover(c.from)
	case n == 1 && w.rivals > 0:
		w.rivals--
		w.net.note("a rival starts", &call{from: c.from})
		w.startMover()
	case n == 2 && w.holds > 0:
		w.holds--
		w.net.note("is held back", &call{from: c.from})
		c.from.held = time.Now().Add(time.Duration(1+w.dice.IntN(60)) * time.Second)
	default:
		if mayBeLate(c.op) {
			fates = append(fates, late, late)
		}
		c.last = w.dice.IntN(2) == 0
		w.net.handle(c, pick(w.dice, fates))
	}
}

// mayBeLate says whether a request may be carried out long after its client gave it up.
func mayBeLate(o operation) bool { return o.writes() }

// dropAtMost is for how long a request to drop a table may be on its way. The service cannot drop on a condition, so this is the one
// request against which there is no guard but time: the catalog keeps the name unused for longer.
const dropAtMost = 10 * time.Minute

// killMover kills a mover and starts another on what is left of its work.
func (w *world) killMover(p *process) {
	w.net.note("is killed", &call{from: p})
	w.net.kill(p, w.dice)
	w.startMover()
}

func (p *process) isWriter() bool { return !strings.HasPrefix(p.name, "mover") }

func pick[T any](dice *rand.Rand, list []T) T { return list[dice.IntN(len(list))] }

// tail is the end of what happened.
func (w *world) tail(n int) string {
	const width = 900
	var b strings.Builder
	for _, line := range w.net.trace[max(0, len(w.net.trace)-n):] {
		b.WriteString(line[:min(len(line), width)] + "\n")
	}
	return b.String()
}

// has says whether a word is in the trace, for tests that a schedule did what it is for.
func (w *world) has(word string) bool {
	return slices.ContainsFunc(w.net.trace, func(s string) bool { return strings.Contains(s, word) })
}
