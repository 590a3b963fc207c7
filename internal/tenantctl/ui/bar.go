package ui

import (
	"io"
	"sync"
	"time"

	"github.com/schollz/progressbar/v3"
)

// Bar returns a Progress that draws a bar for each phase on a terminal: name, share, rate, time left, and the reason
// of a wait. A finished bar is wiped, so that what remains on the terminal is the result.
func Bar(w io.Writer) Progress { return &bar{w: w} }

type bar struct {
	w io.Writer

	mu      sync.Mutex
	current *progressbar.ProgressBar
	phase   string
	closed  bool
}

// Phase wipes the bar and draws another.
func (b *bar) Phase(name string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return
	}
	b.wipe()
	b.phase = name
	b.current = progressbar.NewOptions64(-1,
		progressbar.OptionSetWriter(b.w),
		progressbar.OptionSetDescription(name),
		progressbar.OptionSetWidth(24),
		progressbar.OptionThrottle(100*time.Millisecond),
		progressbar.OptionShowCount(),
		progressbar.OptionShowIts(),
		progressbar.OptionSetItsString("entities"),
		progressbar.OptionSetPredictTime(true),
		progressbar.OptionClearOnFinish(),
		progressbar.OptionSpinnerType(14),
		progressbar.OptionSetSpinnerChangeInterval(0), // no goroutine of its own: the spinner turns as work is done
		progressbar.OptionSetElapsedTime(true),
		progressbar.OptionSetRenderBlankState(true),
	)
}

// Total turns the spinner into a bar.
func (b *bar) Total(n int64) {
	b.with(func(p *progressbar.ProgressBar) {
		if n > 0 {
			p.ChangeMax64(n)
		}
	})
}

// Advance moves the bar. A terminal that is gone must not stop the work, so errors of drawing are dropped.
func (b *bar) Advance(n int64) {
	b.with(func(p *progressbar.ProgressBar) { _ = p.Add64(n) })
}

// Waiting writes the reason before the bar.
func (b *bar) Waiting(reason string) {
	b.with(func(p *progressbar.ProgressBar) {
		text := b.phase
		if reason != "" {
			text += "; waiting: " + reason
		}
		p.Describe(text)
	})
}

// Note writes a line above the bar.
func (b *bar) Note(text string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return
	}
	if b.current != nil {
		_ = b.current.Clear()
	}
	writeLine(b.w, text)
	if b.current != nil {
		_ = b.current.RenderBlank()
	}
}

// Close wipes the bar.
func (b *bar) Close() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.wipe()
	b.closed = true
}

func (b *bar) with(do func(p *progressbar.ProgressBar)) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.current != nil && !b.closed {
		do(b.current)
	}
}

func (b *bar) wipe() {
	if b.current != nil {
		_ = b.current.Clear()
		_ = b.current.Exit()
		b.current = nil
	}
}
