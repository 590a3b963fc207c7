package archive

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/aztenancy/terraform-provider-aztenancy/internal/edm"
	"github.com/aztenancy/terraform-provider-aztenancy/internal/tablestorage"
	"github.com/aztenancy/terraform-provider-aztenancy/internal/tenancy"
)

// Target is where a logical table of an archive is brought to. Range is what belongs to it there: it must be empty, or
// hold nothing but what the archive has.
type Target struct {
	Logical   string
	Placement tenancy.TablePlacement
	Range     tenancy.KeyRange
	Table     *tablestorage.Table
}

func (t Target) String() string {
	return fmt.Sprintf("table %s of storage account %s", t.Placement.Table, t.Placement.Storage)
}

// Restored is what was done to one target.
type Restored struct {
	Logical   string `json:"logical"`
	Storage   string `json:"storage"`
	Table     string `json:"table"`
	Entities  int64  `json:"entities"`  // of the archive, all of which are there now
	Inserted  int64  `json:"inserted"`  // by this run
	Identical int64  `json:"identical"` // were there already
}

// restore is one run.
type restore struct {
	archive *Archive
	still   func(context.Context) error
	p       Progress
}

// Restore brings logical tables of the archive to their targets: keys are mapped from the archive's key scheme to the
// target's, entities are inserted and never overwritten, and everything is compared at the end. still is asked before
// each transaction whether the targets still are what they were. It may be run again after any error.
//
// Before anything is written the whole archive is checked, every key is mapped, and the targets are looked at: *FaultError,
// *tenancy.MappingError, *ConflictError. After: *DifferencesError.
func (a *Archive) Restore(ctx context.Context, targets []Target, still func(context.Context) error, p Progress) ([]Restored, error) {
	r := &restore{archive: a, still: still, p: p}
	if _, err := a.Check(ctx, p); err != nil {
		return nil, err
	}
	tables := make([]*restoredTable, len(targets))
	for i, t := range targets {
		var err error
		if tables[i], err = r.prepare(ctx, t); err != nil {
			return nil, fmt.Errorf("restore logical table %q: %w", t.Logical, err)
		}
	}
	done := []Restored{}
	for _, t := range tables {
		err := r.fill(ctx, t)
		done = append(done, t.done)
		if err != nil {
			return done, fmt.Errorf("restore logical table %q: %w", t.Logical, err)
		}
	}
	return done, nil
}

// restoredTable is one logical table on its way.
type restoredTable struct {
	Target
	mapping *tenancy.Mapping
	want    content // what the target shall hold
	there   content // what it held at the beginning
	done    Restored
}

// prepare maps everything and looks at the target. It writes nothing.
func (r *restore) prepare(ctx context.Context, to Target) (*restoredTable, error) {
	from, ok := r.archive.Manifest.Table(to.Logical)
	if !ok {
		return nil, fmt.Errorf("archive %s has no logical table %q", r.archive, to.Logical)
	}
	src := from.Placement
	src.Storage, src.Table = "", "" // a file does not lie over the table that it was read from
	mapping, err := tenancy.NewMapping(src, to.Placement)
	if err != nil {
		return nil, err
	}
	t := &restoredTable{Target: to, mapping: mapping,
		done: Restored{Logical: to.Logical, Storage: to.Placement.Storage, Table: to.Placement.Table, Entities: from.Entities}}
	r.p.Phase("map keys")
	r.p.Total(from.Entities)
	for e, err := range r.archive.Entities(ctx, to.Logical) {
		if err != nil {
			return nil, err
		}
		mapped, err := t.mapped(e)
		if err != nil {
			return nil, err
		}
		t.want.add(mapped)
		r.p.Advance(1)
	}
	if t.there, err = t.read(ctx); err != nil {
		return nil, err
	}
	if t.there.count == 0 || t.there == t.want {
		return t, nil
	}
	found, err := r.compare(ctx, t)
	if err != nil {
		return nil, err
	}
	if extra := t.there.count - found.equal - found.differing; extra > 0 || found.differing > 0 {
		return nil, &ConflictError{Table: t.String(), Extra: extra, Differing: found.differing, Examples: found.examples}
	}
	return t, nil
}

// mapped returns an entity of the archive as it shall be at the target.
func (t *restoredTable) mapped(e *edm.Entity) (*edm.Entity, error) {
	k, err := t.mapping.Map(e)
	if err != nil {
		return nil, err
	}
	m := &edm.Entity{PartitionKey: k.PartitionKey, RowKey: k.RowKey, Properties: e.Properties}
	if !t.Range.Contains(k) {
		return nil, fmt.Errorf("entity %q would get the key %q, outside of %v", e.Key(), k, t.Range)
	}
	if err := m.Validate(); err != nil {
		return nil, fmt.Errorf("entity %q at the target: %w", e.Key(), err)
	}
	return m, nil
}

// read sums up what the target holds. An absent table holds nothing.
func (t *restoredTable) read(ctx context.Context) (content, error) {
	var c content
	for e, err := range t.Table.Query(ctx, tablestorage.Query{Range: &t.Range}) {
		if errors.Is(err, tablestorage.ErrTableNotFound) {
			return content{}, nil
		}
		if err != nil {
			return c, fmt.Errorf("read %s: %w", t.Target, err)
		}
		c.add(e)
	}
	return c, nil
}

// fill inserts what is missing and compares.
func (r *restore) fill(ctx context.Context, t *restoredTable) error {
	if t.there != t.want {
		if err := r.insert(ctx, t); err != nil {
			return err
		}
	} else {
		t.done.Identical = t.want.count
	}
	r.p.Phase("verify")
	r.p.Total(-1)
	now, err := t.read(ctx)
	if err != nil {
		return err
	}
	if now == t.want {
		return nil
	}
	found, err := r.compare(ctx, t)
	if err != nil {
		return err
	}
	return &DifferencesError{Table: t.String(), Missing: found.missing, Differing: found.differing,
		Extra: max(0, now.count-found.equal-found.differing), Examples: found.examples}
}

// insert writes the archive's entities. One that is there already must be identical: it may come from an earlier run.
func (r *restore) insert(ctx context.Context, t *restoredTable) error {
	r.p.Phase("restore")
	r.p.Total(t.want.count)
	w := tablestorage.NewBatchWriter(t.Table)
	w.BeforeSend = r.still
	w.Acknowledged = func(ops []tablestorage.Operation, _ []string) {
		t.done.Inserted += int64(len(ops))
		r.p.Advance(int64(len(ops)))
	}
	w.Resolve = func(ctx context.Context, ops []tablestorage.Operation, refused *tablestorage.Error) ([]tablestorage.Operation, error) {
		if !errors.Is(refused, tablestorage.ErrExists) || refused.Index < 0 || refused.Index >= len(ops) {
			return nil, refused
		}
		e := ops[refused.Index].Entity
		there, err := t.Table.Get(ctx, e.Key())
		if err != nil {
			return nil, err
		}
		if !there.SameContent(e) {
			return nil, &ConflictError{Table: t.String(), Differing: 1, Examples: []string{difference(e, there)}}
		}
		t.done.Identical++
		r.p.Advance(1)
		return append(ops[:refused.Index:refused.Index], ops[refused.Index+1:]...), nil
	}
	for e, err := range r.archive.Entities(ctx, t.Logical) {
		if err != nil {
			return err
		}
		m, err := t.mapped(e)
		if err != nil {
			return err
		}
		if err := w.Add(ctx, tablestorage.Operation{Kind: tablestorage.OpInsert, Entity: m}); err != nil {
			return plain(err)
		}
	}
	return plain(w.Flush(ctx))
}

// plain strips the operations from a writer's error.
func plain(err error) error {
	var b *tablestorage.BatchError
	if errors.As(err, &b) {
		return b.Err
	}
	return err
}

// comparison is how the target differs from the archive, of what the archive has.
type comparison struct {
	equal, missing, differing int64
	examples                  []string
}

// compareAtOnce is how many entities are looked up at the same time.
const compareAtOnce = 16

// compare looks every entity of the archive up at the target. It is for targets that hold a part of the archive or were
// found to differ: the order of keys there may be another one.
func (r *restore) compare(ctx context.Context, t *restoredTable) (comparison, error) {
	r.p.Phase("compare")
	r.p.Total(t.want.count)
	var mu sync.Mutex
	var found comparison
	all, gctx := errgroup.WithContext(ctx)
	all.SetLimit(compareAtOnce)
	for e, err := range r.archive.Entities(gctx, t.Logical) {
		if err == nil {
			e, err = t.mapped(e)
		}
		if err != nil {
			return found, cmp.Or(all.Wait(), err)
		}
		all.Go(func() error {
			there, err := t.Table.Get(gctx, e.Key())
			mu.Lock()
			defer mu.Unlock()
			switch {
			case errors.Is(err, tablestorage.ErrNotFound), errors.Is(err, tablestorage.ErrTableNotFound):
				found.missing++
			case err != nil:
				return fmt.Errorf("read %s: %w", t.Target, err)
			case there.SameContent(e):
				found.equal++
			default:
				found.differing++
				if len(found.examples) < maxExamples {
					found.examples = append(found.examples, difference(e, there))
				}
			}
			r.p.Advance(1)
			return nil
		})
	}
	err := all.Wait()
	slices.Sort(found.examples)
	return found, err
}

func difference(e, there *edm.Entity) string {
	return fmt.Sprintf("(%q, %q) differs in %v", e.PartitionKey, e.RowKey, there.Differences(e))
}
