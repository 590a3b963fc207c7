package ui

import (
	"io"
	"sync"
	"time"
)

// Progress hears what a command does and shows it. It is a migration.Progress that must be closed. Its methods may be
// called by several goroutines at once.
type Progress interface {
	Phase(name string)
	Total(entities int64)
	Advance(entities int64)
	// Waiting says for what nothing moves: a text that can stand behind "waiting for"; "" says that work goes on.
	Waiting(reason string)
	Note(text string)
	// Close shows the last state and stops; nothing is shown after it.
	Close()
}

// reporter is a Progress that shows a snapshot at most once per interval: at once when the interval has passed since
// the last one, otherwise when it has. Notes are shown at once.
type reporter struct {
	interval time.Duration
	now      func() time.Time
	show     func(Snapshot)
	note     func(string)
	end      func() // if set, called by Close

	mu      sync.Mutex
	meter   Meter
	shown   time.Time // when the last snapshot was shown
	pending bool      // something happened since
	closed  bool
	stop    chan struct{}
	stopped chan struct{}
}

// newReporter starts a reporter; its goroutine ends with Close.
func newReporter(interval time.Duration, now func() time.Time, show func(Snapshot), note func(string)) *reporter {
	r := &reporter{interval: interval, now: now, show: show, note: note,
		stop: make(chan struct{}), stopped: make(chan struct{})}
	go r.run()
	return r
}

// run shows what no further event would show, such as the reason of a long wait.
func (r *reporter) run() {
	defer close(r.stopped)
	ticker := time.NewTicker(r.interval)
	defer ticker.Stop()
	for {
		select {
		case <-r.stop:
			return
		case <-ticker.C:
			r.update(func(now time.Time) bool { return r.meter.phase != "" })
		}
	}
}

// update changes the meter and shows it if change says that there is something to show and the interval has passed.
func (r *reporter) update(change func(now time.Time) bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return
	}
	now := r.now()
	r.pending = change(now) || r.pending
	if r.pending && (r.shown.IsZero() || now.Sub(r.shown) >= r.interval) {
		r.flush(now)
	}
}

// flush shows the meter's state. The caller holds mu.
func (r *reporter) flush(now time.Time) {
	r.shown, r.pending = now, false
	r.show(r.meter.Snapshot(now))
}

// Phase begins a phase.
func (r *reporter) Phase(name string) {
	r.update(func(now time.Time) bool { r.meter.Phase(name, now); return true })
}

// Total says how many entities the phase handles.
func (r *reporter) Total(n int64) {
	r.update(func(time.Time) bool { r.meter.Total(n); return false })
}

// Advance says that so many more are done.
func (r *reporter) Advance(n int64) {
	r.update(func(now time.Time) bool { r.meter.Advance(n, now); return true })
}

// Waiting says why nothing moves.
func (r *reporter) Waiting(reason string) {
	r.update(func(time.Time) bool { return r.meter.Waiting(reason) })
}

// Note shows a remark.
func (r *reporter) Note(text string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.closed {
		r.note(text)
	}
}

// Close stops the reporter.
func (r *reporter) Close() {
	r.mu.Lock()
	if r.closed {
		r.mu.Unlock()
		return
	}
	r.closed = true
	if r.end != nil {
		r.end()
	}
	r.mu.Unlock()
	close(r.stop)
	<-r.stopped
}

// Discard returns a Progress that shows nothing.
func Discard() Progress { return discard{} }

type discard struct{}

func (discard) Phase(string)   {}
func (discard) Total(int64)    {}
func (discard) Advance(int64)  {}
func (discard) Waiting(string) {}
func (discard) Note(string)    {}
func (discard) Close()         {}

// writeLine writes one line. A terminal or pipe that is gone must not stop the work.
func writeLine(w io.Writer, line string) { _, _ = io.WriteString(w, line+"\n") }
