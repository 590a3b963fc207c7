package ui

import (
	"io"
	"time"

	"github.com/schollz/progressbar/v3"
)

// barInterval is the least time between two drawings of a bar.
const barInterval = 100 * time.Millisecond

// Bar returns a Progress that draws a bar for each phase on a terminal: name, share, rate, time left, and the reason
// of a wait. Before a phase knows its total it is a spinner. Close wipes the bar, so that what remains on the
// terminal is the result.
func Bar(w io.Writer) Progress { return newBar(w, barInterval, time.Now) }

func newBar(w io.Writer, interval time.Duration, now func() time.Time) *reporter {
	b := &bar{w: w}
	r := newReporter(interval, now, b.show, b.note)
	r.end = b.wipe
	return r
}

// bar draws what a reporter shows; the reporter sees to it that one goroutine at a time does. Errors of drawing are
// dropped: a terminal that is gone must not stop the work.
type bar struct {
	w       io.Writer
	current *progressbar.ProgressBar
	phase   string
	total   int64
}

// show draws the state; a new phase has a new bar.
func (b *bar) show(s Snapshot) {
	if b.current == nil || b.phase != s.Phase || b.total != s.Total {
		b.wipe()
		b.phase, b.total = s.Phase, s.Total
		b.current = b.draw(s)
	}
	text := s.Phase
	if s.Waiting != "" {
		text += "; waiting for " + s.Waiting
	}
	b.current.Describe(text)
	_ = b.current.Set64(s.Done)
}

func (b *bar) draw(s Snapshot) *progressbar.ProgressBar {
	total := s.Total
	if total <= 0 {
		total = -1 // a spinner: a bar of nothing would be full at once
	}
	return progressbar.NewOptions64(total,
		progressbar.OptionSetWriter(b.w),
		progressbar.OptionSetDescription(s.Phase),
		progressbar.OptionSetWidth(24),
		progressbar.OptionShowCount(),
		progressbar.OptionShowIts(),
		progressbar.OptionSetItsString("entities"),
		progressbar.OptionSetPredictTime(true),
		progressbar.OptionSetElapsedTime(true),
		progressbar.OptionSpinnerType(14),
		progressbar.OptionSetSpinnerChangeInterval(0), // no goroutine of its own
	)
}

// note writes a line above the bar.
func (b *bar) note(text string) {
	if b.current != nil {
		_ = b.current.Clear()
	}
	writeLine(b.w, text)
}

// wipe removes the bar.
func (b *bar) wipe() {
	if b.current != nil {
		_ = b.current.Clear()
		b.current = nil
	}
}
