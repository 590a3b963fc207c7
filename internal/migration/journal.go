package migration

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/aztenancy/terraform-provider-aztenancy/internal/catalog"
)

// detailVersion is the version of detail that this code writes; a newer one is refused.
//
//	1  writes were held for the whole copy: in state copying the tenant is frozen
//	2  the copy runs while the tenant is written
const detailVersion = 2

// detail is what this package keeps in the migration's row besides the catalog's own columns.
type detail struct {
	Version      int             `json:"v"`
	Created      map[string]bool `json:"created,omitempty"`   // logical tables whose physical table this migration creates
	Attempt      int             `json:"verification"`        // number of the pass or verification under way or last done
	Proven       int             `json:"proven,omitempty"`    // number of the pass whose seals of both sides hold; 0: none
	Sealed       int             `json:"sealed,omitempty"`    // number of the verification whose seal of the source holds; 0: none
	Forgotten    int             `json:"forgotten,omitempty"` // seals and lists of attempts up to this one are deleted
	Passes       int             `json:"passes,omitempty"`    // that were completed
	LastPass     passResult      `json:"last_pass,omitzero"`
	Inserted     int64           `json:"inserted,omitempty"` // by completed passes, at the target
	Replaced     int64           `json:"replaced,omitempty"`
	Deleted      int64           `json:"deleted,omitempty"`
	Hold         bool            `json:"hold,omitempty"` // the operator wants to release the freeze himself
	Transactions int64           `json:"transactions"`
	Retries      int64           `json:"retries"`
	Bytes        int64           `json:"bytes"`
	FrozenAt     time.Time       `json:"frozen_at,omitzero"`
	ThawedAt     time.Time       `json:"thawed_at,omitzero"`
	FreezeUntil  time.Time       `json:"freeze_until,omitzero"`   // when the freeze is undone; zero: never
	FrozenEpoch  int64           `json:"frozen_epoch,omitempty"`  // the tenant's epoch under the freeze; 0: not known
	HeldBefore   float64         `json:"held_before,omitempty"`   // seconds of freezes that were undone
	TargetSealed bool            `json:"target_sealed,omitempty"` // that verification has sealed the target, too
	AbortedIn    string          `json:"aborted_in,omitempty"`    // state in which Abort found the migration
	Verify       *VerifyReport   `json:"verify,omitempty"`        // with few differences
	Settled      bool            `json:"settled,omitempty"`
	Stragglers   []Straggler     `json:"stragglers,omitempty"` // few
	Stragglings  int64           `json:"stragglings,omitempty"`
	Purged       int64           `json:"purged,omitempty"`
	Removed      int64           `json:"removed,omitempty"`
	ReverseUntil time.Time       `json:"reverse_until,omitzero"` // until then a purge needs to be told twice
	Archive      *archived       `json:"archive,omitempty"`      // of the source, made before anything of it was deleted
	Notes        []string        `json:"notes,omitempty"`
}

// passResult is what the last completed pass took.
type passResult struct {
	Seconds float64 `json:"seconds"`
	Changes int64   `json:"changes"`
	Whole   bool    `json:"whole,omitempty"` // it read both sides whole
}

// kept is how many differences and stragglers stand in the migration's row, whose columns are limited.
const kept = 5

// journal is a run's hold on its migration's row: every change goes through it, one at a time, as a compare-and-swap
// that only the holder of the lease can win. When the lease is lost it ends the run's context.
type journal struct {
	catalog *catalog.Catalog
	clock   func() time.Time
	ttl     time.Duration
	lose    context.CancelCauseFunc
	carry   func(*catalog.Migration, *detail) // is applied to every write of the row

	mu    gate
	rec   catalog.MigrationRecord
	d     detail
	valid time.Time // until when the lease is known to be ours, on the monotonic clock
	seq   int64     // of the last step row
}

// openJournal takes hold of a migration whose lease was just acquired.
func openJournal(ctx context.Context, e *Engine, rec catalog.MigrationRecord, lose context.CancelCauseFunc) (*journal, error) {
	d, err := decodeDetail(rec.Migration)
	if err != nil {
		return nil, err
	}
	log, err := e.Catalog.Steps(ctx, rec.ID)
	if err != nil {
		return nil, fmt.Errorf("read the log of migration %s: %w", rec.ID, err)
	}
	if d.Version == 1 && (rec.State == Copying || rec.State == Verifying) {
		// An earlier version froze the tenant before it copied, and removed the guards only when it had verified. What it has not
		// copied is copied by the last pass.
		rec.State = Syncing
	}
	d.Version = detailVersion
	j := &journal{mu: newGate(), catalog: e.Catalog, clock: e.clock, ttl: e.leaseTTL(), lose: lose, rec: rec, d: d, valid: time.Now().Add(e.leaseTTL())}
	if n := len(log); n > 0 {
		j.seq = log[n-1].Seq
	}
	return j, nil
}

func decodeDetail(m catalog.Migration) (detail, error) {
	d := detail{Version: detailVersion}
	if len(m.Detail) == 0 {
		return d, nil
	}
	if err := json.Unmarshal(m.Detail, &d); err != nil {
		return d, fmt.Errorf("read migration %s: its detail column: %w", m.ID, err)
	}
	if d.Version > detailVersion {
		return d, fmt.Errorf("read migration %s: detail version %d: %w", m.ID, d.Version, catalog.ErrNewerSchema)
	}
	return d, nil
}

func (j *journal) state() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.rec.State
}

// migration returns the row as it was last written.
func (j *journal) migration() catalog.Migration {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.rec.Migration
}

// details returns the detail as it is now.
func (j *journal) details() detail {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.d
}

// note changes the detail in memory; the next update writes it.
func (j *journal) note(change func(*detail)) {
	j.mu.Lock()
	defer j.mu.Unlock()
	change(&j.d)
}

// update changes the row and renews the lease, or fails with ErrLeaseLost.
func (j *journal) update(ctx context.Context, change func(*catalog.Migration, *detail)) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	for {
		rec, d, start := j.rec, j.d, time.Now()
		if j.carry != nil {
			j.carry(&rec.Migration, &d)
		}
		if change != nil {
			change(&rec.Migration, &d)
		}
		rec.Lease.Expires = j.clock().Add(j.ttl)
		text, err := json.Marshal(d)
		if err != nil {
			return fmt.Errorf("write migration %s: %w", rec.ID, err)
		}
		rec.Detail = text
		written, err := j.catalog.UpdateMigration(ctx, rec)
		switch {
		case err == nil:
			j.rec, j.d, j.valid = written, d, start.Add(j.ttl)
			return nil
		case errors.Is(err, catalog.ErrChanged), errors.Is(err, catalog.ErrUnclear):
			// Either an earlier swap of ours whose answer was lost, or another mover.
			if err := j.adopt(ctx); err != nil {
				return err
			}
		default:
			return fmt.Errorf("write migration %s: %w", rec.ID, err)
		}
	}
}

// adopt reads the row again and takes its ETag, if the lease in it is still ours. Callers hold mu.
func (j *journal) adopt(ctx context.Context) error {
	now, err := j.catalog.Migration(ctx, j.rec.ID)
	if err != nil {
		return fmt.Errorf("read migration %s again: %w", j.rec.ID, err)
	}
	if now.Lease.Owner != j.rec.Lease.Owner || now.Lease.Epoch != j.rec.Lease.Epoch {
		err := fmt.Errorf("migration %s: %w %s", j.rec.ID, ErrLeaseLost, now.Lease.Owner)
		j.lose(err)
		return err
	}
	j.rec.ETag = now.ETag
	return nil
}

// check says whether the lease is known to be ours at this moment, without asking the catalog.
func (j *journal) check() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if time.Now().After(j.valid) {
		return fmt.Errorf("migration %s: the lease was not renewed in time: %w", j.rec.ID, ErrLeaseLost)
	}
	return nil
}

// deadline is when the lease runs out if it is not renewed again.
func (j *journal) deadline() time.Time {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.valid
}

// confirm asks the catalog whether the lease is still ours.
func (j *journal) confirm(ctx context.Context) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.adopt(ctx)
}

// enter moves the migration to a state.
func (j *journal) enter(ctx context.Context, state string) error {
	return j.update(ctx, func(m *catalog.Migration, _ *detail) {
		m.State = state
		if ended(state) {
			m.Ended = j.clock().UTC()
		}
	})
}

// log appends a row to the migration's log.
func (j *journal) log(ctx context.Context, kind catalog.StepKind, name, text string) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	for {
		s := catalog.Step{MigrationID: j.rec.ID, Seq: j.seq + 1, Kind: kind, Name: name, Detail: text, Time: j.clock().UTC()}
		err := j.catalog.AppendStep(ctx, s)
		if err == nil {
			j.seq++
			return nil
		}
		if !errors.Is(err, catalog.ErrExists) {
			return fmt.Errorf("log %s of %s in migration %s: %w", kind, name, j.rec.ID, err)
		}
		// Written by us without an answer, or by another mover: whoever has the lease may go on.
		if err := j.adopt(ctx); err != nil {
			return err
		}
		j.seq++
	}
}

// keepAlive renews the lease until ctx ends; it ends the run when it cannot.
func (j *journal) keepAlive(ctx context.Context) {
	tick := time.NewTicker(j.ttl / 3)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if err := j.update(ctx, nil); err != nil && ctx.Err() == nil {
			if lost := j.check(); lost != nil || errors.Is(err, ErrLeaseLost) {
				j.lose(fmt.Errorf("renew the lease: %w", errors.Join(ErrLeaseLost, err)))
				return
			}
		}
	}
}

// release gives the lease back, so that the next run need not wait for its end.
func (j *journal) release(ctx context.Context) error {
	ttl := j.ttl
	j.ttl = 0
	defer func() { j.ttl = ttl }()
	return j.update(ctx, func(m *catalog.Migration, _ *detail) { m.Lease.Owner = "" })
}
