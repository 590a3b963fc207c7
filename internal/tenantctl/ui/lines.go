package ui

import (
	"fmt"
	"io"
	"strings"
	"time"
)

// LineInterval is the least time between two lines of Lines.
const LineInterval = 3 * time.Second

// Lines returns a Progress that writes plain lines, for logs and pipes. Each names the phase, how far it is and,
// when nothing moves, why. A command that is done within the interval writes none.
func Lines(w io.Writer) Progress { return newLines(w, LineInterval, time.Now) }

func newLines(w io.Writer, interval time.Duration, now func() time.Time) *reporter {
	r := newReporter(interval, now,
		func(s Snapshot) { writeLine(w, s.String()) },
		func(text string) { writeLine(w, text) })
	r.mu.Lock()
	defer r.mu.Unlock()
	r.shown = now()
	return r
}

// String returns the state as one line: "copying: 4,300 of 10,000 (43 %), 1,200/s, 5 s left".
func (s Snapshot) String() string {
	var b strings.Builder
	b.WriteString(s.Phase)
	switch {
	case s.Total >= 0:
		fmt.Fprintf(&b, ": %s of %s", Count(s.Done), Count(s.Total))
		if s.Total > 0 {
			fmt.Fprintf(&b, " (%d %%)", s.Done*100/s.Total)
		}
	case s.Done > 0:
		b.WriteString(": " + Count(s.Done))
	}
	if s.Rate >= 1 {
		fmt.Fprintf(&b, ", %s/s", Count(int64(s.Rate)))
	}
	switch {
	case s.Waiting != "":
		b.WriteString("; waiting for " + s.Waiting)
	case s.ETA >= 0 && s.Done < s.Total:
		fmt.Fprintf(&b, ", %s left", Duration(s.ETA))
	}
	return b.String()
}
