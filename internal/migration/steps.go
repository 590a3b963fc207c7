package migration

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
)

// The states of a migration.
const (
	Planned    = "planned"     // recorded; nothing else has been changed
	Copying    = "copying"     // the target's claim and tables are there; the tenant is written as ever
	CatchingUp = "catching_up" // every source entity was at the target once
	Holding    = "holding"     // caught up; waits for the operator's release, where he asked for it
	Freezing   = "freezing"    // the tenant's writes are about to be held
	Syncing    = "syncing"     // they are held
	Verifying  = "verifying"   // the target was made equal a last time; no mover can write to it any more
	Switching  = "switching"   // proven equal and sealed
	Switched   = "switched"    // the catalog names the target; the source is still there
	Purging    = "purging"     // the source was found as it was sealed; it is being deleted
	Done       = "done"        // the source is gone
	Aborting   = "aborting"    // what was done is being undone
	Aborted    = "aborted"     // as if the migration had never begun
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
	held    bool   // the tenant's writes are held meanwhile: under the freeze's deadline
	effect  string // what it does, for the guide
	again   string // why it may be done twice
	do      func(*run, context.Context) error
}

var steps = []step{
	{migrate, Planned, Copying, "prepare", false, "claims the target's key ranges and creates its dedicated tables",
		"a claim or a table that is there is left as it is", (*run).prepare},
	{migrate, Copying, CatchingUp, "copy", false, "inserts every source entity at the target, with checkpoints, while the tenant is written as ever",
		"an entity that is there already is read back and compared", (*run).copy},
	{migrate, CatchingUp, Holding, "catch up", false, "compares both sides and makes the target equal, pass after pass, until little is left to do",
		"a pass goes by what both sides hold", (*run).catchUp},
	{migrate, Holding, Freezing, "hold", false, "where the operator asked for it, goes on catching up until he releases the freeze",
		"it waits", (*run).holdOn},
	{migrate, Freezing, Syncing, "freeze", true, "sets the tenant's state to frozen, epoch+1, and waits until writers have noticed",
		"a tenant that is frozen for this migration is left so", (*run).freeze},
	{migrate, Syncing, Verifying, "sync", true, "a last pass, then removes the guards",
		"a pass goes by what both sides hold", (*run).sync},
	{migrate, Verifying, Switching, "verify", true, "compares everything that was not compared in its present version, and seals both sides",
		"it changes nothing but the seal", (*run).verify},
	{migrate, Switching, Switched, "switch", false, "names the target in the tenant's row and lifts the freeze, epoch+1: one compare-and-swap",
		"a tenant that is at the target is left there", (*run).switchOver},
	{migrate, Switched, Switched, "settle", false, "compares the source with the seal, to find writes that came past the freeze",
		"it reads", (*run).settle},
	{purge, Switched, Purging, "check", false, "compares the whole source with the seal and with the target; archives it, where an archive is asked for",
		"it reads; an archive that is there is read again", (*run).checkSeal},
	{purge, Purging, Done, "purge", false, "deletes the sealed source entities, each on condition of its sealed ETag, drops dedicated tables, releases the claim",
		"what is gone is gone", (*run).purgeSource},
	{abort, Aborting, Aborted, "undo", false, "lifts the freeze, removes what was copied, drops created tables, releases the target's claim",
		"what is gone is gone", (*run).undo},
}

// beforeSwitch are the states in which the source is the tenant's place and the migration can be aborted.
var beforeSwitch = []string{Planned, Copying, CatchingUp, Holding, Freezing, Syncing, Verifying, Switching}

// ended says whether nothing is left to do in a state.
func ended(state string) bool { return state == Done || state == Aborted }

// CanAbort says whether a migration in this state can still be undone, or has still to be undone.
func CanAbort(state string) bool { return state == Aborting || slices.Contains(beforeSwitch, state) }

// holdsWrites says whether the tenant's writes may be held in a state.
func holdsWrites(state string) bool {
	return slices.Contains([]string{Freezing, Syncing, Verifying, Switching}, state)
}

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
	if err := r.perform(ctx, s); err != nil {
		if isVerdict(err) { // what a mover finds that has lost its lease is what its successor is doing
			err = cmp.Or(r.j.confirm(ctx), err)
		}
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

// perform does what the step is for: where writes are held, no longer than until the freeze's deadline.
func (r *run) perform(ctx context.Context, s step) error {
	if !s.held {
		return s.do(r, ctx)
	}
	if err := r.beginFreeze(ctx); err != nil {
		return err
	}
	held, cancel := r.untilThaw(ctx)
	defer cancel()
	err := s.do(r, held)
	if errors.Is(context.Cause(held), errHeldTooLong) && ctx.Err() == nil && err != nil {
		return r.undoFreeze(ctx)
	}
	return err
}
