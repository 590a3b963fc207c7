package migration

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"sync"
	"time"

	"github.com/aztenancy/terraform-provider-aztenancy/internal/catalog"
	"github.com/aztenancy/terraform-provider-aztenancy/internal/edm"
)

// LevelFull is the level of a verification that compares every entity, every property and type.
const LevelFull = "full"

// verify proves source and target equal and seals both as they were seen. What was compared by a pass and was not written
// on either side since, by its ETag, is not read again; the rest is. Differences lift the freeze and lead back to catching up: until the
// switch the source is the truth, and the tenant need not wait for people.
func (r *run) verify(ctx context.Context) error {
	if err := r.stillFrozen(ctx); err != nil {
		return err
	}
	attempt, err := r.newAttempt(ctx)
	if err != nil {
		return err
	}
	v := newVerification(r.j.migration())
	r.progress.Total(r.j.migration().Total)
	for _, m := range r.moves {
		c := r.sealedComparison(v, m)
		c.onSource = func(s span) func(*edm.Entity) error {
			return r.newSealer(ctx, sealName(m.logical, attempt, s.number), s.rng).see
		}
		c.onTarget = func(s span) func(*edm.Entity) error {
			return r.newSealer(ctx, targetSealName(m.logical, attempt, s.number), s.rng).see
		}
		if err := c.run(ctx, r.workers()); err != nil {
			return err
		}
	}
	report := v.report()
	r.verified = report
	if report.Result != ResultEqual {
		if err := r.backToCatchingUp(ctx, report); err != nil {
			return err
		}
		m := r.j.migration()
		return &DifferencesError{TenantID: m.TenantID, Migration: m.ID, Verify: report, Next: r.next(m.State)}
	}
	return r.j.update(ctx, func(_ *catalog.Migration, d *detail) {
		d.Sealed, d.TargetSealed, d.Verify = attempt, true, report.brief()
	})
}

// sealedComparison compares whole what the seals of the last pass do not prove equal.
func (r *run) sealedComparison(v *verification, m *tableMove) *comparison {
	c := v.comparison(m, r.progress)
	c.base, c.seals = r.j.details().Proven, r.chunks
	if c.base == 0 {
		return c
	}
	c.selects = keysAnd(m)
	c.onPair = func(ctx context.Context, x pair) error {
		defer r.progress.Advance(1)
		if x.proven() {
			v.sealed()
			return nil
		}
		for _, y := range []struct {
			e    **edm.Entity
			side side
		}{{&x.source, m.source}, {&x.target, m.target}} {
			if *y.e == nil {
				continue
			}
			whole, err := find(ctx, y.side.table, (*y.e).Key())
			if err != nil {
				return fmt.Errorf("read %s: %w", y.side, err)
			}
			if whole == nil || whole.ETag != (*y.e).ETag { // and so the seal would be about another version
				v.moving(m, x)
				return nil
			}
			*y.e = whole
		}
		v.pair(m, x)
		return nil
	}
	return c
}

// verification gathers what comparisons find. It is safe for concurrent use.
type verification struct {
	start time.Time
	// switched says that the tenant lives at the target since, and that the comparison's base is the seal of the verification before
	// that: what does not stand in it was written at the target by the tenant. It goes by ETags, for the clocks of
	// a table's partitions differ.
	switched bool

	mu    sync.Mutex
	out   VerifyReport
	bytes int64
}

func newVerification(m catalog.Migration) *verification {
	return &verification{start: time.Now(), out: VerifyReport{TenantID: m.TenantID, Migration: m.ID, Level: LevelFull}}
}

// comparison returns a comparison of one logical table that reports here.
func (v *verification) comparison(m *tableMove, p Progress) *comparison {
	return &comparison{
		move: m,
		onPair: func(_ context.Context, x pair) error {
			v.pair(m, x)
			p.Advance(1)
			return nil
		},
		onStray: func(s *edm.Entity, reason error) {
			v.mu.Lock()
			defer v.mu.Unlock()
			v.add(Difference{Kind: KindMissing, Logical: m.logical, Source: keyText(s.Key()), Reason: reason.Error()})
		},
	}
}

// sealed counts a pair that was compared before and not written since.
func (v *verification) sealed() {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.out.Equal++
	v.out.Sealed++
}

// moving counts a pair that was written while it was looked at, although nobody should write.
func (v *verification) moving(m *tableMove, x pair) {
	v.mu.Lock()
	defer v.mu.Unlock()
	d := Difference{Kind: KindDiffers, Logical: m.logical, Target: keyText(x.at), Reason: "it was written while it was compared"}
	if x.source != nil {
		d.Source = keyText(x.source.Key())
	}
	v.add(d)
}

// pair judges one key.
func (v *verification) pair(m *tableMove, x pair) {
	v.mu.Lock()
	defer v.mu.Unlock()
	s, t := x.source, x.target
	d := Difference{Logical: m.logical, Target: keyText(x.at)}
	if s != nil {
		d.Source = keyText(s.Key())
	}
	switch {
	case t == nil:
		d.Kind = KindMissing
	case s == nil:
		d.Kind = KindExtra
	case s.SameContent(t):
		v.out.Equal++
		v.bytes += int64(s.Size())
		return
	default:
		d.Kind, d.Properties = KindDiffers, s.Differences(t)
	}
	if t != nil && v.switched && !x.targetKnown {
		v.out.SinceSwitch++
		return
	}
	v.add(d)
}

// add counts a difference. Callers hold mu.
func (v *verification) add(d Difference) {
	switch d.Kind {
	case KindMissing:
		v.out.Missing++
	case KindExtra:
		v.out.Extra++
	case KindDiffers:
		v.out.Differing++
	}
	if len(v.out.Differences) < MaxDifferences {
		v.out.Differences = append(v.out.Differences, d)
	}
}

// report ends the verification.
func (v *verification) report() *VerifyReport {
	v.mu.Lock()
	defer v.mu.Unlock()
	out := v.out
	out.Seconds = time.Since(v.start).Seconds()
	switch {
	case out.Missing+out.Extra+out.Differing > 0:
		out.Result = ResultDifferent
	case len(out.Unverified) > 0:
		out.Result = ResultUnverified
	default:
		out.Result = ResultEqual
	}
	return &out
}

// brief is the report as it stands in the migration's row.
func (v *VerifyReport) brief() *VerifyReport {
	b := *v
	b.Differences = nil
	for _, d := range v.Differences[:min(kept, len(v.Differences))] {
		d.Source, d.Target, d.Reason = short(d.Source), short(d.Target), short(d.Reason)
		d.Properties = slices.Clone(d.Properties[:min(kept, len(d.Properties))])
		b.Differences = append(b.Differences, d)
	}
	return &b
}

// short cuts a text for the migration's row.
func short(s string) string {
	const most = 200
	r := []rune(s)
	if len(r) <= most {
		return s
	}
	return string(r[:most]) + "…"
}

// Verify compares the source of the tenant's latest migration, where it is still kept, with the target: every
// entity, every property and type. After the switch the tenant lives on at the target; entities that were written there
// since are counted apart, and entities that were deleted there since cannot be told from missing ones. A report
// with differences comes with a *DifferencesError, one without a source to compare with ErrUnverified.
func (e *Engine) Verify(ctx context.Context, tenantID string) (*VerifyReport, error) {
	if _, err := e.tenant(ctx, tenantID); err != nil {
		return nil, err
	}
	all, err := e.migrations(ctx, tenantID)
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(all, func(m catalog.MigrationRecord) bool { return !ended(m.State) && m.State != Purging })
	if i < 0 {
		reason := "no migration of this tenant still has its source"
		report := &VerifyReport{TenantID: tenantID, Level: LevelFull, Result: ResultUnverified, Unverified: []string{reason}}
		return report, fmt.Errorf("verify tenant %q: %w: %s", tenantID, ErrUnverified, reason)
	}
	return e.verifyMigration(ctx, all[i])
}

func (e *Engine) verifyMigration(ctx context.Context, rec catalog.MigrationRecord) (*VerifyReport, error) {
	d, err := decodeDetail(rec.Migration)
	if err != nil {
		return nil, err
	}
	moves, err := e.tableMoves(rec.Source, rec.Target)
	if err != nil {
		return nil, err
	}
	v := newVerification(rec.Migration)
	v.switched = rec.State == Switched && d.TargetSealed
	e.progress().Phase("verify")
	e.progress().Total(rec.Total)
	for _, m := range moves {
		c := v.comparison(m, e.progress())
		if v.switched {
			c.base, c.seals = d.Sealed, func(ctx context.Context, name string) iter.Seq2[catalog.Chunk, error] {
				return e.Catalog.ChunksOf(ctx, rec.ID, name)
			}
		}
		if err := c.run(ctx, DefaultWorkers); err != nil {
			return nil, fmt.Errorf("verify tenant %q: %w", rec.TenantID, err)
		}
	}
	report := v.report()
	if report.Result == ResultDifferent {
		return report, &DifferencesError{TenantID: rec.TenantID, Migration: rec.ID, Verify: report, Next: nextAfterVerify(rec.Migration)}
	}
	return report, nil
}

func nextAfterVerify(m catalog.Migration) string {
	if m.State != Switched {
		return fmt.Sprintf("Migration %s has not switched (state %s); %s", m.ID, m.State, next(m, m.State))
	}
	return "The tenant lives at the target since the switch: entities deleted there since count as missing. Do not purge before every difference is explained"
}
