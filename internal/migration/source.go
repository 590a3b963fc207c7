package migration

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"github.com/aztenancy/terraform-provider-aztenancy/internal/catalog"
	"github.com/aztenancy/terraform-provider-aztenancy/internal/edm"
	"github.com/aztenancy/terraform-provider-aztenancy/internal/tablestorage"
)

// sourceRow is a source entity as a scan of keys shows it.
type sourceRow struct {
	key  edm.Key
	etag string
}

// stretch is what a walk along the seal finds between the end of one of its chunks and the end of the next, or beyond
// the last.
type stretch struct {
	sealed    []sourceRow // as they were sealed
	strangers []sourceRow // written since: new, or in another version
	gone      int         // sealed entities that are not there in their sealed version and were not accounted for before
}

// deleted is how many sealed entities are gone for good, at least: a rewritten one counts as a stranger.
func (s stretch) deleted() int { return max(0, s.gone-len(s.strangers)) }

// walkSeal reads the keys and ETags of a span of the source beside its seal. Memory holds one chunk.
func (r *run) walkSeal(ctx context.Context, m *tableMove, s span, attempt int, visit func(context.Context, stretch) error) error {
	next, stop := iter.Pull2(m.sourceKeys(ctx, s))
	defer stop()
	row, err, more := next()
	take := func(until *edm.Key, most int) []sourceRow {
		var rows []sourceRow
		for more && err == nil && len(rows) < most && (until == nil || row.key.Compare(*until) <= 0) {
			rows = append(rows, row)
			row, err, more = next()
		}
		return rows
	}
	for chunk, cerr := range r.seal(ctx, m.logical, attempt, s.number) {
		if cerr != nil {
			return cerr
		}
		marks := marksOf(chunk.Keys)
		for left, strange := len(marks), 0; ; {
			// An unsealed stretch could be long; it is looked at piece by piece.
			rows := take(&chunk.After, 2*sealRows)
			if err != nil {
				return fmt.Errorf("read the source %s: %w", m.source, err)
			}
			last := !more || row.key.Compare(chunk.After) > 0
			var found stretch
			for _, x := range rows {
				if k := markOf(chunk.MigrationID, x.key, x.etag); marks[k] {
					delete(marks, k)
					found.sealed = append(found.sealed, x)
				} else {
					found.strangers = append(found.strangers, x)
				}
			}
			left -= len(found.sealed)
			if last {
				found.gone = max(0, left-strange)
			}
			strange += len(found.strangers)
			if verr := visit(ctx, found); verr != nil {
				return verr
			}
			if last {
				break
			}
		}
	}
	for more && err == nil {
		if verr := visit(ctx, stretch{strangers: take(nil, sealRows)}); verr != nil {
			return verr
		}
	}
	if err != nil {
		return fmt.Errorf("read the source %s: %w", m.source, err)
	}
	return nil
}

// sourceKeys yields keys and ETags of a span of the source, without what an earlier migration left there. A table that is gone has none.
func (m *tableMove) sourceKeys(ctx context.Context, s span) iter.Seq2[sourceRow, error] {
	return func(yield func(sourceRow, error) bool) {
		q := s.query(nil)
		q.Select = keysOnly
		for e, err := range m.source.table.Query(ctx, q) {
			if errors.Is(err, tablestorage.ErrTableNotFound) {
				return
			}
			if err != nil {
				yield(sourceRow{}, err)
				return
			}
			if isLeft(e.RowKey) {
				continue
			}
			if !yield(sourceRow{e.Key(), e.ETag}, nil) {
				return
			}
		}
	}
}

// settle looks for writes that reached the source past the freeze. They are reported, never merged: only the tenant's people
// can say what they mean.
func (r *run) settle(ctx context.Context) error {
	if r.j.details().Settled {
		return nil
	}
	late, err := r.stragglers(ctx)
	if err != nil {
		return err
	}
	return r.j.update(ctx, func(_ *catalog.Migration, d *detail) {
		d.Settled, d.Stragglings, d.Stragglers = true, late.written+late.deleted, nil
		for _, s := range late.examples[:min(kept, len(late.examples))] {
			s.Key = short(s.Key)
			d.Stragglers = append(d.Stragglers, s)
		}
	})
}

// lateWrites is how the source differs from its seal: entities written after they were verified, new ones among them,
// and sealed ones that are gone. There are at most MaxDifferences examples.
type lateWrites struct {
	examples         []Straggler
	written, deleted int64
}

func (l *lateWrites) add(logical string, x stretch) {
	for _, y := range x.strangers {
		l.example(Straggler{Logical: logical, Key: keyText(y.key), What: "written"})
	}
	if n := x.deleted(); n > 0 {
		l.example(Straggler{Logical: logical, What: fmt.Sprintf("deleted (%d)", n)})
	}
	l.written += int64(len(x.strangers))
	l.deleted += int64(x.deleted())
}

func (l *lateWrites) example(s Straggler) {
	if len(l.examples) < MaxDifferences {
		l.examples = append(l.examples, s)
	}
}

// stragglers compares the whole source with the seal.
func (r *run) stragglers(ctx context.Context) (late lateWrites, err error) {
	attempt := r.j.details().Sealed
	if attempt == 0 {
		return late, fmt.Errorf("migration %s has no seal", r.j.migration().ID)
	}
	r.progress.Total(r.j.migration().Total)
	for _, m := range r.moves {
		for _, s := range m.source.spans() {
			err := r.walkSeal(ctx, m, s, attempt, func(_ context.Context, x stretch) error {
				r.progress.Advance(int64(len(x.sealed)))
				late.add(m.logical, x)
				return nil
			})
			if err != nil {
				return late, err
			}
		}
	}
	return late, nil
}
