package migration

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/aztenancy/terraform-provider-aztenancy/internal/archive"
	"github.com/aztenancy/terraform-provider-aztenancy/internal/catalog"
	"github.com/aztenancy/terraform-provider-aztenancy/internal/edm"
	"github.com/aztenancy/terraform-provider-aztenancy/internal/tablestorage"
	"github.com/aztenancy/terraform-provider-aztenancy/internal/tenancy"
)

// purge deletes what the migration left at its source. The tenant is bound to the migration meanwhile, so that no
// move can begin to the place that is being given back.
func (r *run) purge(ctx context.Context) error {
	if err := r.rebind(ctx); err != nil {
		return err
	}
	if err := r.leavePresentPlaces(ctx); err != nil {
		return err
	}
	err := r.walk(ctx, purge)
	if err == nil || r.j.state() == Switched && isVerdict(err) { // refused before anything was deleted: the tenant may still move
		err = errors.Join(err, r.letGo(ctx))
	}
	return err
}

// isVerdict says whether an error is what was found about the data.
func isVerdict(err error) bool {
	var stragglers *StragglersError
	var differences *DifferencesError
	var collision *CollisionError
	return errors.As(err, &stragglers) || errors.As(err, &differences) || errors.As(err, &collision)
}

// rebind makes the migration the tenant's again, unless another is.
func (r *run) rebind(ctx context.Context) error {
	m := r.j.migration()
	t, err := r.catalog.Tenant(ctx, m.TenantID)
	if err != nil {
		return fmt.Errorf("read tenant %q: %w", m.TenantID, err)
	}
	switch t.Migration {
	case m.ID:
		return nil
	case "":
		if err := r.j.confirm(ctx); err != nil {
			return err
		}
		return r.bind(ctx, t)
	default:
		return &RefusedError{Op: "purge", TenantID: m.TenantID, Reason: fmt.Sprintf("migration %s is under way", t.Migration),
			Way: "Finish or abort it first: see tenantctl status " + m.TenantID}
	}
}

// leavePresentPlaces takes out of a purge what the tenant has come back to: the source is its place again.
func (r *run) leavePresentPlaces(ctx context.Context) error {
	m := r.j.migration()
	t, err := r.catalog.Tenant(ctx, m.TenantID)
	if err != nil {
		return fmt.Errorf("read tenant %q: %w", m.TenantID, err)
	}
	var free []*tableMove
	for _, mv := range r.moves {
		if !isPresent(t.Placement, mv.source) {
			free = append(free, mv)
			continue
		}
		r.inUse = with(r.inUse, mv.logical)
		if err := r.remark(ctx, fmt.Sprintf("%s was left: the tenant has come back to it.", mv.source)); err != nil {
			return err
		}
	}
	r.moves = free
	return nil
}

// isPresent says whether a side overlaps a place where the tenant lives now.
func isPresent(p tenancy.Placement, s side) bool {
	for _, now := range p {
		if sameTable(now, s.place) && (now.Dedicated || now.Range.Overlaps(s.within)) {
			return true
		}
	}
	return false
}

// checkSeal refuses a purge before anything is deleted, where the source is not what was verified, is no longer only
// this migration's to delete, or may be the last copy.
func (r *run) checkSeal(ctx context.Context) error {
	if err := r.sourceIsFree(ctx); err != nil {
		return err
	}
	late, err := r.stragglers(ctx)
	if err != nil {
		return err
	}
	if late.written > 0 {
		r.found = late.examples
		return r.changed(late.examples, late.written+late.deleted)
	}
	if late.deleted > 0 {
		r.progress.Note(fmt.Sprintf("%d entities of the source were deleted after they were verified; the target has kept them.", late.deleted))
	}
	if err := r.targetHolds(ctx); err != nil {
		return err
	}
	return r.archiveSource(ctx)
}

// targetHolds verifies once more, after the switch, that the target has what the purge is about to delete. What was
// written at the target since the switch differs rightly. What is missing there was deleted by the tenant, or lost: only the
// operator can tell, so up to Options.AcceptMissing of it is let pass.
func (r *run) targetHolds(ctx context.Context) error {
	m := r.j.migration()
	v := newVerification(m)
	d := r.j.details()
	v.switched = d.TargetSealed
	for _, mv := range r.moves {
		c := v.comparison(mv, r.progress)
		if v.switched {
			c.base, c.seals = d.Sealed, r.chunks
		}
		if err := c.run(ctx, r.workers()); err != nil {
			return fmt.Errorf("compare %s with %s: %w", mv.source, mv.target, err)
		}
	}
	report := v.report()
	r.verified = report
	if report.Differing == 0 && report.Missing <= r.options.AcceptMissing {
		return nil
	}
	next := "Nothing was deleted. Explain every difference first: tenantctl verify " + m.TenantID
	if report.Differing == 0 {
		next = fmt.Sprintf("Nothing was deleted. Where the tenant has deleted the %d missing entities since the switch: tenantctl purge %s --accept-missing %d, with --archive or --no-archive as before",
			report.Missing, m.TenantID, report.Missing)
	}
	return &DifferencesError{TenantID: m.TenantID, Migration: m.ID, Verify: report, Next: next}
}

func (r *run) changed(found []Straggler, count int64) error {
	m := r.j.migration()
	return &StragglersError{TenantID: m.TenantID, Migration: m.ID, Count: count, Examples: found,
		Next: "Look at these entities; write to the target what the tenant needs of them, then delete them at the source by hand, or leave the source in place"}
}

// sourceIsFree says whether the source still is claimed by the tenant.
func (r *run) sourceIsFree(ctx context.Context) error {
	m := r.j.migration()
	t, err := r.catalog.Tenant(ctx, m.TenantID)
	if err != nil {
		return fmt.Errorf("read tenant %q: %w", m.TenantID, err)
	}
	for _, want := range claims(m.Source, t.Tenant, r.sourceLogical) {
		held, err := r.catalog.Claims(ctx, want.Storage, want.Table)
		if err != nil {
			return fmt.Errorf("read the claims on %s/%s: %w", want.Storage, want.Table, err)
		}
		if !slices.ContainsFunc(held, func(c tenancy.Claim) bool { return c.TenantID == want.TenantID && c.Range == want.Range }) {
			return fmt.Errorf("tenant %q no longer claims %v in %s/%s, so what is there may be another's", m.TenantID, want.Range, want.Storage, want.Table)
		}
	}
	return nil
}

// purgeSource deletes what the seal names, drops the source's dedicated tables, and releases the claim. It may have
// been killed at any point before: what is gone already is no longer there to be deleted.
func (r *run) purgeSource(ctx context.Context) error {
	m := r.j.migration()
	a, err := r.openArchive(ctx)
	if err != nil {
		return err
	}
	r.progress.Total(m.Total)
	for _, mv := range r.moves {
		if err := r.purgeTable(ctx, a, mv); err != nil {
			return fmt.Errorf("%s: %w", mv.source, err)
		}
	}
	for _, mv := range r.moves {
		if err := r.sweep(ctx, mv.source); err != nil {
			return err
		}
		if err := r.sourceIsEmpty(ctx, mv); err != nil {
			return err
		}
	}
	t, err := r.catalog.Tenant(ctx, m.TenantID)
	if err != nil {
		return fmt.Errorf("read tenant %q: %w", m.TenantID, err)
	}
	for _, mv := range r.moves {
		if err := r.dropSource(ctx, mv, t); err != nil {
			return err
		}
	}
	return r.release(ctx, m.Source, t, r.sourceLogical)
}

// sourceIsEmpty looks once more before the range is given back: an entity that was inserted behind the deletion must not
// become part of the next tenant's range.
func (r *run) sourceIsEmpty(ctx context.Context, mv *tableMove) error {
	within := mv.source.place.Range
	for e, err := range mv.source.table.Query(ctx, tablestorage.Query{Range: &within, PageSize: 1, Select: keysOnly}) {
		if errors.Is(err, tablestorage.ErrTableNotFound) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("look whether %s is empty: %w", mv.source, err)
		}
		if isLeft(e.RowKey) {
			continue
		}
		return r.changed([]Straggler{{Logical: mv.logical, Key: keyText(e.Key()), What: "written"}}, 1)
	}
	return nil
}

// release gives the claims of some logical tables of a placement back.
func (r *run) release(ctx context.Context, p tenancy.Placement, t catalog.TenantRecord, logical func(string) bool) error {
	if err := r.at("claims: before release"); err != nil {
		return err
	}
	if err := r.catalog.Release(ctx, t.ID, claims(p, t.Tenant, logical)); err != nil {
		return fmt.Errorf("release claims: %w", err)
	}
	return r.at("claims: after release")
}

// purgeTable deletes the sealed entities of a logical table that are in the archive, if there is one.
func (r *run) purgeTable(ctx context.Context, a *archive.Archive, mv *tableMove) error {
	x := r.copiesIn(ctx, a, mv)
	defer func() { x.stop() }()
	for _, s := range mv.source.spans() {
		if err := r.purgeSpan(ctx, mv, s, x); err != nil {
			return err
		}
	}
	return nil
}

// purgeSpan deletes the sealed entities of a span, each on condition of the ETag under which it was verified.
func (r *run) purgeSpan(ctx context.Context, mv *tableMove, s span, kept *copies) error {
	w := r.newDeleter(mv.source.table, func(n int64) { r.j.note(func(d *detail) { d.Purged += n }) })
	return r.walkSeal(ctx, mv, s, r.j.details().Sealed, func(ctx context.Context, x stretch) error {
		if len(x.strangers) > 0 {
			k := x.strangers[0].key
			return r.changed([]Straggler{{Logical: mv.logical, Key: keyText(k), What: "written"}}, int64(len(x.strangers)))
		}
		for _, row := range x.sealed {
			if !mv.source.within.Contains(row.key) {
				return fmt.Errorf("entity %s is outside of the tenant's range", keyText(row.key))
			}
			if err := kept.has(row); err != nil {
				return err
			}
			if err := w.Add(ctx, deletion(row.key, row.etag)); err != nil {
				return plain(err)
			}
		}
		return plain(w.Flush(ctx))
	})
}

func deletion(k edm.Key, etag string) tablestorage.Operation {
	return tablestorage.Operation{Kind: tablestorage.OpDelete, ETag: etag,
		Entity: &edm.Entity{PartitionKey: k.PartitionKey, RowKey: k.RowKey}}
}

// newDeleter returns a writer for conditional deletions. What is gone already was deleted by an earlier attempt.
func (r *run) newDeleter(t *tablestorage.Table, count func(int64)) *tablestorage.BatchWriter {
	w := tablestorage.NewBatchWriter(t)
	w.BeforeSend = func(context.Context) error {
		if err := r.at("delete: before transaction"); err != nil {
			return err
		}
		return r.j.check()
	}
	w.Acknowledged = func(ops []tablestorage.Operation, _ []string) {
		count(int64(len(ops)))
		r.progress.Advance(int64(len(ops)))
	}
	w.Resolve = func(_ context.Context, ops []tablestorage.Operation, refused *tablestorage.Error) ([]tablestorage.Operation, error) {
		if !errors.Is(refused, tablestorage.ErrNotFound) || refused.Index < 0 {
			return nil, refused
		}
		rest := append([]tablestorage.Operation(nil), ops[:refused.Index]...)
		return append(rest, ops[refused.Index+1:]...), nil
	}
	return w
}

// plain strips the operations from a writer's error.
func plain(err error) error {
	var b *tablestorage.BatchError
	if errors.As(err, &b) {
		return b.Err
	}
	return err
}

// dropSource drops a dedicated table of the source if nobody else has a part in it and nothing is left in it.
func (r *run) dropSource(ctx context.Context, mv *tableMove, t catalog.TenantRecord) error {
	if !mv.source.place.Dedicated {
		return nil
	}
	for _, p := range t.Placement {
		if sameTable(p, mv.source.place) {
			return nil
		}
	}
	return r.dropEmpty(ctx, mv.source, t.ID)
}

// dropEmpty drops a table that the tenant alone has claims on and that is empty; otherwise it leaves a note.
func (r *run) dropEmpty(ctx context.Context, s side, tenantID string) error {
	held, err := r.catalog.Claims(ctx, s.place.Storage, s.place.Table)
	if err != nil {
		return fmt.Errorf("read the claims on %s: %w", s, err)
	}
	for _, c := range held {
		if c.TenantID != tenantID {
			return r.remark(ctx, fmt.Sprintf("Table %s was left: tenant %q has a claim on it.", s, c.TenantID))
		}
	}
	if err := r.at("drop: before table"); err != nil {
		return err
	}
	// A mover that slept must not drop a table that is in use again: see catalog.DropTable.
	err = r.catalog.DropTable(ctx, s.table, tenantID, r.j.deadline(), r.j.confirm, s.mustBeEmpty)
	var holds *holdsError
	if errors.As(err, &holds) {
		return r.remark(ctx, fmt.Sprintf("Table %s was left: it holds %s and maybe more.", s, keyText(holds.key)))
	}
	if err != nil {
		return err
	}
	return r.at("drop: after table")
}

// holdsError says that a table which shall be dropped holds an entity.
type holdsError struct{ key edm.Key }

func (e *holdsError) Error() string { return fmt.Sprintf("it holds %s", keyText(e.key)) }

// mustBeEmpty is a *holdsError if the whole table of a side holds anything. An absent table is empty.
func (s side) mustBeEmpty(ctx context.Context) error {
	for e, err := range s.table.Query(ctx, tablestorage.Query{PageSize: 1, Select: keysOnly}) {
		if errors.Is(err, tablestorage.ErrTableNotFound) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("look whether %s is empty: %w", s, err)
		}
		if isLeft(e.RowKey) {
			continue
		}
		return &holdsError{e.Key()}
	}
	return nil
}

// remark notes something that the operator should read, in the report and in the migration's row.
func (r *run) remark(ctx context.Context, text string) error {
	r.progress.Note(text)
	return r.j.update(ctx, func(_ *catalog.Migration, d *detail) {
		if len(d.Notes) < 2*kept && !strings.Contains(strings.Join(d.Notes, "\n"), short(text)) {
			d.Notes = append(d.Notes[:len(d.Notes):len(d.Notes)], short(text))
		}
	})
}
