package migration

import (
	"context"
	"fmt"
	"slices"
)

// The states of a migration.
const (
	Planned   = "planned"   // recorded; nothing else has been changed
	Freezing  = "freezing"  // the target's claim and tables are there
	Copying   = "copying"   // the tenant's writes are held
	Verifying = "verifying" // every source entity was acknowledged by the target
	Switching = "switching" // proven equal and sealed; no mover can write to the target any more
	Switched  = "switched"  // the catalog names the target; the source is still there
	Purging   = "purging"   // the source was found as it was sealed; it is being deleted
	Done      = "done"      // the source is gone
	Aborting  = "aborting"  // what was done is being undone
	Aborted   = "aborted"   // as if the migration had never begun
)

// command is what the operator asked for; it picks the steps that may run.
type command string

const (
	migrate command = "migrate"
	purge   command = "purge"
	abort   command = "abort"
)

// A step takes a migration from one state to the next: an intent row in the log, the effect, an outcome row, and the new state
// by compare-and-swap. A mover that is killed anywhere in between leaves the old state, and the step runs again:
// every effect is therefore written so that a second time does no harm.
type step struct {
	command command
	state   string // in which it runs
	next    string // to which it leads
	name    string
	effect  string // what it does, for the guide
	again   string // why it may be done twice
	do      func(*run, context.Context) error
}

var steps = []step{
	{migrate, Planned, Freezing, "prepare", "claims the target's key ranges and creates its dedicated tables",
		"a claim or a table that is there is left as it is", (*run).prepare},
	{migrate, Freezing, Copying, "freeze", "sets the tenant's state to frozen, epoch+1",
		"a tenant that is frozen for this migration is left so", (*run).freeze},
	{migrate, Copying, Verifying, "copy", "inserts every source entity at the target, range by range, with checkpoints",
		"an entity that is there already is read back and compared", (*run).copy},
	{migrate, Verifying, Switching, "verify", "reads both sides again, compares everything, seals the source, removes the guards",
		"it changes nothing but the seal and the guards", (*run).verify},
	{migrate, Switching, Switched, "switch", "names the target in the tenant's row and lifts the freeze, epoch+1: one compare-and-swap",
		"a tenant that is at the target is left there", (*run).switchOver},
	{migrate, Switched, Switched, "settle", "compares the source with the seal, to find writes that came past the freeze",
		"it reads", (*run).settle},
	{purge, Switched, Purging, "check", "compares the whole source with the seal and with the target; archives it, where an archive is asked for",
		"it reads; an archive that is there is read again", (*run).checkSeal},
	{purge, Purging, Done, "purge", "deletes the sealed source entities, each on condition of its sealed ETag, drops dedicated tables, releases the claim",
		"what is gone is gone", (*run).purgeSource},
	{abort, Aborting, Aborted, "undo", "removes what was copied, drops created tables, releases the target's claim, lifts the freeze",
		"what is gone is gone", (*run).undo},
}

// beforeSwitch are the states in which the source is the tenant's place and the migration can be aborted.
var beforeSwitch = []string{Planned, Freezing, Copying, Verifying, Switching}

// ended says whether nothing is left to do in a state.
func ended(state string) bool { return state == Done || state == Aborted }

// canAbort says whether a migration can be undone.
func canAbort(state string) bool { return state == Aborting || slices.Contains(beforeSwitch, state) }

// walk runs the command's steps from the migration's state on, until none is left.
func (r *run) walk(ctx context.Context, c command) error {
	for {
		state := r.j.state()
		i := slices.IndexFunc(steps, func(s step) bool { return s.command == c && s.state == state })
		if i < 0 {
			return nil
		}
		if err := r.take(ctx, steps[i]); err != nil {
			return err
		}
		if steps[i].next == state {
			return nil
		}
	}
}

// take runs one step.
func (r *run) take(ctx context.Context, s step) error {
	r.progress.Phase(s.name)
	r.progress.Total(-1)
	if err := r.at(s.name + ": before intent"); err != nil {
		return err
	}
	if err := r.j.log(ctx, "intent", s.name, s.effect); err != nil {
		return err
	}
	if err := r.at(s.name + ": after intent"); err != nil {
		return err
	}
	if err := s.do(r, ctx); err != nil {
		return fmt.Errorf("%s: %w", s.name, err)
	}
	if err := r.at(s.name + ": after effect"); err != nil {
		return err
	}
	if err := r.j.log(ctx, "outcome", s.name, r.outcome(s)); err != nil {
		return err
	}
	if err := r.at(s.name + ": after outcome"); err != nil {
		return err
	}
	if err := r.j.enter(ctx, s.next); err != nil {
		return err
	}
	return r.at(s.name + ": after " + s.next)
}
