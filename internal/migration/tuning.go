package migration

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/aztenancy/terraform-provider-aztenancy/internal/catalog"
	"github.com/aztenancy/terraform-provider-aztenancy/internal/tablestorage/pace"
)

// tuningInterval is how often a mover looks for a new tuning.
const tuningInterval = 2 * time.Second

// followTuning keeps the pacer as the operator wants it until ctx ends. A catalog that cannot be read changes nothing: whether
// the mover may go on is for its lease to say.
func (r *run) followTuning(ctx context.Context) {
	p := r.engine.Pacer
	if p == nil {
		return
	}
	given := p.Rate()
	m := r.j.migration()
	defer func() {
		p.Pause(pausedByTuning, "")
		p.SetRate(given)
		p.SetWorkers(0)
	}()
	ticker := time.NewTicker(tuningInterval)
	defer ticker.Stop()
	var seen int64
	for {
		if t, err := r.catalog.Tuning(ctx, m.ID); err == nil && t.Changes != seen {
			seen = t.Changes
			tune(p, t.Tuning, given, m.TenantID)
			r.progress.Note(fmt.Sprintf("Tuned: %s.", TuningText(t.Tuning)))
		}
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

const pausedByTuning = "tuning"

// tune brings a pacer to a tuning.
func tune(p *pace.Pacer, t catalog.Tuning, given float64, tenantID string) {
	p.SetRate(given)
	if t.Rate > 0 {
		p.SetRate(float64(t.Rate))
	}
	p.SetWorkers(t.Workers)
	reason := ""
	if t.Paused {
		reason = "tenantctl tune " + tenantID + " resume"
	}
	p.Pause(pausedByTuning, reason)
}

// TuningText says a tuning in words.
func TuningText(t catalog.Tuning) string {
	parts := []string{"rate as started", "workers as started", "not paused"}
	if t.Rate > 0 {
		parts[0] = fmt.Sprintf("%d entities/s", t.Rate)
	}
	if t.Workers > 0 {
		parts[1] = fmt.Sprintf("%d requests at a time", t.Workers)
	}
	if t.Paused {
		parts[2] = "paused"
	}
	return strings.Join(parts, ", ")
}

// TuneReport is what Tune did.
type TuneReport struct {
	Migration string `json:"migration"`
	TenantID  string `json:"tenant"`
	State     string `json:"state"`
	Rate      int64  `json:"rate,omitempty"`    // entities a second; left out: as the mover was started
	Workers   int    `json:"workers,omitempty"` // left out: as the mover was started
	Paused    bool   `json:"paused"`
	Changes   int64  `json:"changes"`
	Owner     string `json:"owner,omitempty"` // the mover that runs at present
}

// Tune changes the tuning of a migration, named by its id or by its tenant's, and says what it is then. The mover that runs it
// follows within a few seconds; if none does, the next one will. Errors: *RefusedError where there is nothing to tune.
func (e *Engine) Tune(ctx context.Context, name string, change func(*catalog.Tuning)) (*TuneReport, error) {
	m, err := e.tunable(ctx, name)
	if err != nil {
		return nil, err
	}
	const tries = 5
	for try := 1; ; try++ {
		rec, err := e.Catalog.Tuning(ctx, m.ID)
		if err != nil {
			return nil, err
		}
		before := rec.Tuning
		if change(&rec.Tuning); rec.Tuning != before {
			rec, err = e.Catalog.SetTuning(ctx, rec)
		}
		if errors.Is(err, catalog.ErrChanged) && try < tries {
			continue
		}
		if err != nil {
			return nil, err
		}
		t := &TuneReport{Migration: m.ID, TenantID: m.TenantID, State: m.State, Rate: rec.Rate, Workers: rec.Workers, Paused: rec.Paused, Changes: rec.Changes}
		if m.Lease.Expires.After(e.clock()) {
			t.Owner = m.Lease.Owner
		}
		return t, nil
	}
}

// tunable finds a migration that has not ended by its id or by its tenant's.
func (e *Engine) tunable(ctx context.Context, name string) (catalog.Migration, error) {
	all, err := e.Catalog.Migrations(ctx, "")
	if err != nil {
		return catalog.Migration{}, fmt.Errorf("read the migrations: %w", err)
	}
	var found catalog.Migration
	for _, m := range all {
		if m.ID != name && m.TenantID != name {
			continue
		}
		if m.ID == name || found.ID == "" || !ended(m.State) && m.Created.After(found.Created) {
			found = m.Migration
		}
		if m.ID == name {
			break
		}
	}
	switch {
	case found.ID == "":
		return found, &RefusedError{Op: "tune", TenantID: name, Reason: "there is no migration and no tenant with a migration of that name",
			Way: "tenantctl status lists the moves under way"}
	case ended(found.State):
		return found, &RefusedError{Op: "tune", TenantID: found.TenantID, Reason: fmt.Sprintf("migration %s has ended (%s)", found.ID, found.State),
			Way: "tenantctl status lists the moves under way"}
	}
	return found, nil
}
