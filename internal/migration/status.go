package migration

import (
	"context"
	"fmt"
	"math"

	"github.com/aztenancy/terraform-provider-aztenancy/internal/catalog"
	"github.com/aztenancy/terraform-provider-aztenancy/internal/tenancy"
)

// Status says where the tenant is, and what its migrations did and wait for. It reads the catalog alone.
func (e *Engine) Status(ctx context.Context, tenantID string) (*Status, error) {
	t, err := e.tenant(ctx, tenantID)
	if err != nil {
		return nil, err
	}
	s := &Status{TenantID: t.ID, Model: t.Model, State: t.State, Epoch: t.Epoch, Placement: t.Placement, Migrations: []MigrationStatus{}}
	all, err := e.migrations(ctx, tenantID)
	if err != nil {
		return nil, err
	}
	for i, rec := range all {
		m := MigrationStatus{ID: rec.ID, State: rec.State, From: rec.From, To: rec.To, Copied: rec.Copied, Total: rec.Total,
			Started: rec.Created, Updated: rec.Updated, Next: next(rec.Migration, rec.State)}
		if rec.Lease.Owner != "" && rec.Lease.Expires.After(e.clock()) {
			m.Owner, m.Expires = rec.Lease.Owner, rec.Lease.Expires
		}
		if i == 0 {
			if m.Steps, err = e.log(ctx, rec.ID); err != nil {
				return nil, err
			}
		}
		s.Migrations = append(s.Migrations, m)
	}
	return s, nil
}

func (e *Engine) log(ctx context.Context, migration string) ([]StepStatus, error) {
	steps, err := e.Catalog.Steps(ctx, migration)
	if err != nil {
		return nil, fmt.Errorf("read the log of migration %s: %w", migration, err)
	}
	out := make([]StepStatus, len(steps))
	for i, s := range steps {
		out[i] = StepStatus{Seq: s.Seq, Kind: string(s.Kind), Name: s.Name, Detail: s.Detail, Time: s.Time}
	}
	return out, nil
}

// commands names the ways out of a migration that has not ended.
func commands(m catalog.Migration) string {
	again := fmt.Sprintf("tenantctl migrate %s --to %s", m.TenantID, m.To)
	for _, p := range m.Target {
		if p.Account != tenancy.HomeAccount {
			again += " --account " + p.Account
			break
		}
	}
	switch {
	case m.State == Purging:
		return fmt.Sprintf("tenantctl purge %s, with --archive or --no-archive as before", m.TenantID)
	case m.State == Aborting:
		return fmt.Sprintf("tenantctl abort %s", m.TenantID)
	case CanAbort(m.State):
		return fmt.Sprintf("%s (goes on), or tenantctl abort %s (undoes it)", again, m.TenantID)
	default:
		return again
	}
}

// next says in one sentence what to do about a migration in a state.
func next(m catalog.Migration, state string) string {
	switch state {
	case Switched:
		return fmt.Sprintf("The source is kept. Delete it when nobody needs it any more: tenantctl purge %s --archive FOLDER", m.TenantID)
	case Purging:
		return "A part of the source may be deleted. Next: " + commands(m)
	case Done, Aborted:
		return ""
	case Freezing, Syncing, Verifying, Switching:
		return "The tenant's writes are held until then. Next: " + commands(m)
	default:
		return "Next: " + commands(m)
	}
}

// next says what to do about the run's migration in a state.
func (r *run) next(state string) string { return next(r.j.migration(), state) }

// outcome is what the log says about a step that is done.
func (r *run) outcome(s step) string {
	d := r.j.details()
	switch s.name {
	case "copy":
		return fmt.Sprintf("%d entities are acknowledged by the target", r.copied.Load())
	case "catch up", "hold", "sync":
		return fmt.Sprintf("passes so far: %d; the last one carried %d changes over in %.1f s", d.Passes, d.LastPass.Changes, d.LastPass.Seconds)
	case "verify":
		return fmt.Sprintf("%d entities are equal in every property and type, %d of them by their seal", r.verified.Equal, r.verified.Sealed)
	case "settle":
		return fmt.Sprintf("%d stragglers", d.Stragglings)
	case "purge":
		return fmt.Sprintf("%d entities deleted", d.Purged)
	case "undo":
		return fmt.Sprintf("%d entities removed from the target", d.Removed)
	default:
		return "done"
	}
}

// report says what the run's migration has come to.
func (r *run) report() *Report {
	out := reportOf(r.j.migration(), r.j.details())
	if r.verified != nil {
		out.Verify = r.verified
	}
	if r.found != nil {
		out.Stragglers = r.found
	}
	return out
}

// reportOf says what the catalog knows about a migration.
func reportOf(m catalog.Migration, d detail) *Report {
	out := &Report{Migration: m.ID, TenantID: m.TenantID, State: m.State, From: Place{m.From, m.Source}, To: Place{m.To, m.Target},
		Entities: m.Copied, Bytes: d.Bytes, Transactions: d.Transactions, Retries: d.Retries,
		CaughtUp: CaughtUp{Passes: d.Passes, Inserted: d.Inserted, Replaced: d.Replaced, Deleted: d.Deleted}, Freeze: FreezeCatalogState, CouldWrite: couldWrite,
		Verify: d.Verify, Stragglers: d.Stragglers, StragglerCount: d.Stragglings, Purged: d.Purged, Archive: d.Archive.place(), ReverseUntil: d.ReverseUntil, Removed: d.Removed,
		Notes: d.Notes, Started: m.Created, Ended: m.Ended, Next: next(m, m.State)}
	if d.Verify != nil && d.Verify.Result == ResultEqual {
		out.Entities = d.Verify.Equal
	}
	if !d.FrozenAt.IsZero() && !d.ThawedAt.IsZero() {
		out.FreezeFor = d.ThawedAt.Sub(d.FrozenAt).Seconds()
	}
	out.FreezeFor = math.Round((out.FreezeFor+d.HeldBefore)*1000) / 1000
	out.NotVerified = []string{
		"that nobody could write to the source during the freeze: no write was tried, and the state in the catalog stops only who honours it",
	}
	if d.Verify == nil || d.Verify.Result != ResultEqual {
		out.NotVerified = append(out.NotVerified, "that source and target are equal")
	}
	if !d.Settled {
		out.NotVerified = append(out.NotVerified, "that nothing was written to the source past the freeze")
	}
	return out
}
