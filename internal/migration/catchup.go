package migration

import (
	"context"
	"fmt"
	"time"

	"github.com/aztenancy/terraform-provider-aztenancy/internal/catalog"
)

// When catching up is over. A pass that found no more than fewChanges leaves a last pass that is short enough; one that
// took hardly less time than the one before will not get better.
const (
	fewChanges   = 100
	hardlyFaster = 0.8
)

// catchUp makes the target equal to the source, pass after pass, while the tenant is written.
func (r *run) catchUp(ctx context.Context) error {
	for before := (passResult{}); ; {
		if _, err := r.reconcile(ctx, "catch up"); err != nil {
			return err
		}
		last := r.j.details().LastPass
		slow := before.Seconds > 0 && !before.Whole && last.Seconds > hardlyFaster*before.Seconds
		if last.Changes <= fewChanges || slow {
			return nil
		}
		r.progress.Note(fmt.Sprintf("%d changes were carried over in %.1f s; catching up once more.", last.Changes, last.Seconds))
		before = last
	}
}

// releaseSignal is the control by which tenantctl release lets a migration go on to the freeze.
const releaseSignal = "release"

// The times between passes of a migration that holds: many times what a pass takes, so that the service is not kept busy.
const (
	holdShare = 10
	holdLeast = 10 * time.Second
	holdMost  = 5 * time.Minute
)

// holdOn waits for the operator's release, if he asked for it, and goes on catching up meanwhile. Then it looks whether the
// freeze would be too long.
func (r *run) holdOn(ctx context.Context) error {
	if r.j.details().Hold {
		if err := r.awaitRelease(ctx); err != nil {
			return err
		}
		if err := r.catchUp(ctx); err != nil {
			return err
		}
	}
	return r.predict(ctx)
}

// awaitRelease returns when the operator has released the migration.
func (r *run) awaitRelease(ctx context.Context) error {
	m := r.j.migration()
	r.progress.Waiting("the operator's word: tenantctl release " + m.TenantID)
	defer r.progress.Waiting("")
	poll := time.NewTicker(r.engine.pollTime())
	defer poll.Stop()
	for due := r.nextPass(); ; {
		_, released, err := r.catalog.Control(ctx, m.ID, releaseSignal)
		if err != nil {
			return fmt.Errorf("look for the release: %w", err)
		}
		if released {
			return r.at("hold: released")
		}
		if err := r.at("hold: waiting"); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-poll.C:
		}
		if time.Now().Before(due) {
			continue
		}
		if _, err := r.reconcile(ctx, "hold"); err != nil {
			return err
		}
		due = r.nextPass()
	}
}

func (r *run) nextPass() time.Time {
	took := time.Duration(r.j.details().LastPass.Seconds * float64(time.Second))
	return time.Now().Add(min(max(holdShare*took, holdLeast), holdMost))
}

// setHold records what the operator wants about the freeze. A release that was given before is taken back.
func (r *run) setHold(ctx context.Context) error {
	if !r.options.HoldCutover || r.j.details().Hold {
		return nil
	}
	if err := r.catalog.DeleteControl(ctx, r.j.migration().ID, releaseSignal); err != nil {
		return fmt.Errorf("take an earlier release back: %w", err)
	}
	return r.j.update(ctx, func(_ *catalog.Migration, d *detail) { d.Hold = true })
}

// sync makes the target equal to the source a last time, now that writes are held, and then takes away every mover's right
// to write to the target, this one's included: what is still on its way there can no longer be carried out.
func (r *run) sync(ctx context.Context) error {
	if err := r.stillFrozen(ctx); err != nil {
		return err
	}
	const most = 3 // passes: what one of them left, because it changed meanwhile, is the next one's
	for n := 1; ; n++ {
		p, err := r.reconcile(ctx, "sync")
		if err != nil {
			return err
		}
		if p.left.Load() == 0 || n == most {
			break
		}
	}
	return r.removeGuards(ctx, func(int64) bool { return true })
}
