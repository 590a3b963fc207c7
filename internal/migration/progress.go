package migration

// Progress hears what a run does. Its methods may be called by several goroutines at once and must not block.
type Progress interface {
	// Phase begins a phase: "plan", or the name of a step of the protocol such as "copying".
	Phase(name string)
	// Total says how many entities the phase will handle; less than 0 where that is not known.
	Total(entities int64)
	// Advance says that so many more entities are done.
	Advance(entities int64)
	// Waiting says why nothing moves at present; "" says that work goes on.
	Waiting(reason string)
	// Note is a remark for the operator, a full sentence.
	Note(text string)
}

// Discard is a Progress that hears nothing.
var Discard Progress = discard{}

type discard struct{}

func (discard) Phase(string)   {}
func (discard) Total(int64)    {}
func (discard) Advance(int64)  {}
func (discard) Waiting(string) {}
func (discard) Note(string)    {}
