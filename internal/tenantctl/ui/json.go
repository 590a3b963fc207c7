package ui

import (
	"encoding/json"
	"io"
	"time"
)

// JSONInterval is the least time between two progress objects of JSON.
const JSONInterval = time.Second

// progressLine is one object of the progress stream.
type progressLine struct {
	Time    string  `json:"time"` // RFC 3339, UTC
	Type    string  `json:"type"` // "progress"
	Phase   string  `json:"phase"`
	Done    int64   `json:"done"`
	Total   *int64  `json:"total,omitempty"` // left out when not known
	Rate    float64 `json:"rate"`            // entities a second, recent
	ETA     *int64  `json:"eta_seconds,omitempty"`
	Waiting string  `json:"waiting,omitempty"`
}

// noteLine is a remark or an error in the progress stream.
type noteLine struct {
	Time     string `json:"time"`
	Type     string `json:"type"` // "note", "warning" or "error"
	Text     string `json:"text"`
	ExitCode int    `json:"exit_code,omitempty"`
}

// JSON returns a Progress that writes one JSON object a line: {"type":"progress",…} at most once a second, and
// {"type":"note",…}.
func JSON(w io.Writer) Progress { return newJSON(w, JSONInterval, time.Now) }

func newJSON(w io.Writer, interval time.Duration, now func() time.Time) *reporter {
	return newReporter(interval, now,
		func(s Snapshot) { writeObject(w, s.line(now())) },
		func(text string) { writeObject(w, noteLine{Time: stamp(now()), Type: "note", Text: text}) })
}

func (s Snapshot) line(now time.Time) progressLine {
	l := progressLine{Time: stamp(now), Type: "progress", Phase: s.Phase, Done: s.Done, Rate: s.Rate, Waiting: s.Waiting}
	if s.Total >= 0 {
		l.Total = &s.Total
	}
	if s.ETA >= 0 {
		seconds := int64(s.ETA.Seconds() + 0.5)
		l.ETA = &seconds
	}
	return l
}

// WriteJSONError writes the last object of the stream of a command that was not successful.
func WriteJSONError(w io.Writer, text string, exitCode int) {
	writeObject(w, noteLine{Time: stamp(time.Now()), Type: "error", Text: text, ExitCode: exitCode})
}

// WriteJSONWarning writes a warning into the stream.
func WriteJSONWarning(w io.Writer, text string) {
	writeObject(w, noteLine{Time: stamp(time.Now()), Type: "warning", Text: text})
}

func stamp(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z") }

// writeObject writes one object and a line break in one write, so that lines of two writers do not mix.
func writeObject[T progressLine | noteLine](w io.Writer, object T) {
	line, err := json.Marshal(object)
	if err != nil { // no field of the two types can fail
		return
	}
	writeLine(w, string(line))
}
