package migration

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
	"time"
)

var (
	// ErrNothingToDo says that the tenant already is where it shall go, or that nothing is left to purge or abort.
	ErrNothingToDo = errors.New("nothing to do")
	// ErrUnverified says that there was nothing to compare with; it comes with a report that says why.
	ErrUnverified = errors.New("unverified")
	// ErrLeaseLost says that another mover took the migration over; this run has stopped writing.
	ErrLeaseLost = errors.New("lease lost to another mover")
)

// RefusedError says why a move, a purge or an abort cannot start. Nothing was changed.
type RefusedError struct {
	Op       string // what was refused: "" is "move"
	TenantID string
	Reason   string   // what is wrong, naming the thing
	Way      string   // what to do about it
	Keys     []string // examples, where keys are the reason
	Err      error    // cause, if there is one
}

func (e *RefusedError) Error() string {
	s := fmt.Sprintf("%s tenant %q: %s", cmp.Or(e.Op, "move"), e.TenantID, e.Reason)
	if len(e.Keys) > 0 {
		s += ": " + strings.Join(e.Keys, ", ")
	}
	if e.Way != "" {
		s += ". " + e.Way
	}
	return s
}

// Unwrap returns the cause.
func (e *RefusedError) Unwrap() error { return e.Err }

// BusyError says that another mover holds the migration's lease.
type BusyError struct {
	TenantID  string
	Migration string
	Owner     string
	Expires   time.Time
}

func (e *BusyError) Error() string {
	return fmt.Sprintf("migration %s of tenant %q is being run by %s, whose lease lasts until %s; wait for it, or stop it and run again after that time",
		e.Migration, e.TenantID, e.Owner, e.Expires.UTC().Format(time.RFC3339))
}

// DifferencesError says that source and target are not equal.
type DifferencesError struct {
	TenantID  string
	Migration string
	Verify    *VerifyReport
	Next      string // the commands that go on from here
}

func (e *DifferencesError) Error() string {
	return fmt.Sprintf("tenant %q: %d entities differ between source and target. %s",
		e.TenantID, e.Verify.Missing+e.Verify.Extra+e.Verify.Differing, e.Next)
}

// FreezeLimitError says that the tenant's writes would be held, or were held, for longer than allowed. The tenant is
// written as before, at the source.
type FreezeLimitError struct {
	TenantID  string
	Migration string
	Limit     time.Duration
	Expected  time.Duration // how long the freeze would probably take; meaningful unless Undone
	Undone    bool          // the freeze was begun and undone
	Next      string        // the commands that go on from here
}

func (e *FreezeLimitError) Error() string {
	if e.Undone {
		return fmt.Sprintf("tenant %q: its writes were held for %s, as long as allowed, and the freeze was undone; nothing was switched. Allow more with --max-freeze, or choose a quieter time. %s",
			e.TenantID, e.Limit, e.Next)
	}
	return fmt.Sprintf("tenant %q: to hold its writes would take about %s, and %s is allowed; nothing was frozen. Allow more with --max-freeze, or choose a quieter time. %s",
		e.TenantID, e.Expected.Round(100*time.Millisecond), e.Limit, e.Next)
}

// CollisionError says that the target holds another entity under a key that the move needs.
type CollisionError struct {
	TenantID   string
	Table      string
	Key        string
	Properties []string // the names of the properties that differ
	Next       string   // the commands that go on from here
}

func (e *CollisionError) Error() string {
	s := fmt.Sprintf("tenant %q: table %s already holds a different entity %s", e.TenantID, e.Table, e.Key)
	if len(e.Properties) > 0 {
		s += fmt.Sprintf(" (differing properties: %s)", strings.Join(e.Properties, ", "))
	}
	return s + ". " + e.Next
}

// InterruptedError says that the run's context ended at a safe point. It unwraps to the context's error.
type InterruptedError struct {
	TenantID  string
	Migration string
	State     string
	Next      string // the command that goes on
	Cause     error
}

func (e *InterruptedError) Error() string {
	return fmt.Sprintf("migration %s of tenant %q stopped in state %s: %v. %s", e.Migration, e.TenantID, e.State, e.Cause, e.Next)
}

func (e *InterruptedError) Unwrap() error { return e.Cause }

// StragglersError says that somebody wrote to the source past the freeze, or after the switch. Nothing was merged.
type StragglersError struct {
	TenantID  string
	Migration string
	Count     int64
	Examples  []Straggler
	Next      string
}

func (e *StragglersError) Error() string {
	s := fmt.Sprintf("tenant %q: %d entities of the source were written or deleted after they were verified", e.TenantID, e.Count)
	for i, x := range e.Examples {
		if i == 3 {
			break
		}
		s += fmt.Sprintf("; %s: %s %s", x.Logical, x.What, x.Key)
	}
	return s + ". " + e.Next
}
