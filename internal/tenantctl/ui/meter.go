package ui

import "time"

// rateWindow is the time over which the rate is taken: recent, so that a pause shows, long enough to be steady.
const rateWindow = 10 * time.Second

// maxSamples bounds the window's memory; samples closer together than rateWindow/maxSamples are one.
const maxSamples = 50

// minRateSpan is the least time that says anything about a rate.
const minRateSpan = 500 * time.Millisecond

// Meter counts the work of one phase. It is not safe for concurrent use.
type Meter struct {
	phase   string
	began   time.Time
	total   int64 // less than 0: not known
	done    int64
	waiting string
	samples []sample // oldest first
}

type sample struct {
	at   time.Time
	done int64
}

// Snapshot is the state of the work at one moment.
type Snapshot struct {
	Phase   string
	Elapsed time.Duration // since the phase began
	Done    int64
	Total   int64         // less than 0: not known
	Rate    float64       // entities a second over the last seconds
	ETA     time.Duration // less than 0: not known
	Waiting string        // why nothing moves; "" when it does
}

// Phase begins a phase with an unknown total.
func (m *Meter) Phase(name string, now time.Time) {
	*m = Meter{phase: name, began: now, total: -1, samples: append(m.samples[:0], sample{at: now})}
}

// Total says how many entities the phase handles; less than 0 where that is not known.
func (m *Meter) Total(n int64) { m.total = n }

// Advance counts entities.
func (m *Meter) Advance(n int64, now time.Time) {
	m.done += n
	last := len(m.samples) - 1
	if last > 0 && now.Sub(m.samples[last-1].at) < rateWindow/maxSamples {
		m.samples[last] = sample{now, m.done}
	} else {
		m.samples = append(m.samples, sample{now, m.done})
	}
	m.forget(now)
}

// forget drops samples older than the window but for the newest of them, from which the rate is taken.
func (m *Meter) forget(now time.Time) {
	for len(m.samples) > 1 && now.Sub(m.samples[1].at) >= rateWindow {
		m.samples = m.samples[1:]
	}
}

// Waiting sets the reason why nothing moves and says whether it changed.
func (m *Meter) Waiting(reason string) bool {
	changed := m.waiting != reason
	m.waiting = reason
	return changed
}

// Snapshot returns the state now.
func (m *Meter) Snapshot(now time.Time) Snapshot {
	m.forget(now)
	s := Snapshot{Phase: m.phase, Elapsed: now.Sub(m.began), Done: m.done, Total: m.total, ETA: -1, Waiting: m.waiting}
	if len(m.samples) > 0 {
		if span := now.Sub(m.samples[0].at).Seconds(); span >= minRateSpan.Seconds() {
			s.Rate = float64(m.done-m.samples[0].done) / span
		}
	}
	if s.Rate > 0 && s.Total >= s.Done {
		s.ETA = time.Duration(float64(s.Total-s.Done) / s.Rate * float64(time.Second))
	}
	return s
}
