package migration

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"github.com/aztenancy/terraform-provider-aztenancy/internal/archive"
	"github.com/aztenancy/terraform-provider-aztenancy/internal/catalog"
	"github.com/aztenancy/terraform-provider-aztenancy/internal/edm"
	"github.com/aztenancy/terraform-provider-aztenancy/internal/tablestorage"
)

// archived is the archive of a migration's source, as the migration's row remembers it.
type archived struct {
	Place    string `json:"place"`
	Digest   string `json:"digest"` // of its manifest, and so of all of it
	Entities int64  `json:"entities"`
}

func (a *archived) place() string {
	if a == nil {
		return ""
	}
	return a.Place
}

// archiveStore opens the place of this migration's archive; nil if none was asked for.
func (r *run) archiveStore() (archive.Store, error) {
	if r.options.ArchiveTo == "" {
		return nil, nil
	}
	place := archive.Below(r.options.ArchiveTo, r.j.migration().ID)
	return archive.OpenStore(place, r.engine.Accounts.OfStorage)
}

// archiveSource archives the source before anything of it is deleted, unless an earlier attempt has done so, and makes
// sure that the archive has every entity that is about to be deleted, in the version that was verified.
func (r *run) archiveSource(ctx context.Context) error {
	store, err := r.archiveStore()
	if err != nil || store == nil || len(r.moves) == 0 {
		return err
	}
	m := r.j.migration()
	a, err := archive.Open(ctx, store)
	switch {
	case errors.Is(err, archive.ErrNoArchive), errors.Is(err, archive.ErrIncomplete):
		a, err = r.writeArchive(ctx, store)
	case err == nil && (a.Manifest.Tenant != m.TenantID || a.Manifest.Migration != m.ID):
		return &RefusedError{TenantID: m.TenantID, Reason: fmt.Sprintf("%s holds the archive of migration %q of tenant %q", store, a.Manifest.Migration, a.Manifest.Tenant),
			Way: "Give another place"}
	}
	if err != nil {
		return fmt.Errorf("nothing was deleted: %w", err)
	}
	entities, err := r.archiveHolds(ctx, a)
	if err != nil {
		return fmt.Errorf("nothing was deleted: %w", err)
	}
	r.progress.Note(fmt.Sprintf("%d entities are archived in %s, and were read back.", entities, store))
	if err := r.at("archive: before record"); err != nil {
		return err
	}
	return r.j.update(ctx, func(_ *catalog.Migration, d *detail) {
		d.Archive = &archived{Place: store.String(), Digest: a.Manifest.Digest, Entities: entities}
	})
}

// writeArchive archives what the tenant claims at the source.
func (r *run) writeArchive(ctx context.Context, store archive.Store) (*archive.Archive, error) {
	m := r.j.migration()
	t, err := r.catalog.Tenant(ctx, m.TenantID)
	if err != nil {
		return nil, fmt.Errorf("read tenant %q: %w", m.TenantID, err)
	}
	var sources []archive.Source
	for _, mv := range r.moves {
		sources = append(sources, archive.Source{Logical: mv.logical, Placement: mv.source.place, Range: mv.source.within, Entities: mv.source.all(ctx)})
	}
	if err := r.at("archive: before writing"); err != nil {
		return nil, err
	}
	return archive.Write(ctx, store, archive.Manifest{Tool: r.engine.tool(), Tenant: m.TenantID, Key: t.Key, Model: m.From, Epoch: t.Epoch,
		Migration: m.ID, Cut: archive.CutSealed}, sources, r.progress)
}

// all yields every entity of the side, without what an earlier migration left there. A table that is gone has none: what was sealed there was deleted by hand.
func (s side) all(ctx context.Context) iter.Seq2[*edm.Entity, error] {
	return func(yield func(*edm.Entity, error) bool) {
		within := s.within
		for e, err := range s.table.Query(ctx, tablestorage.Query{Range: &within}) {
			if errors.Is(err, tablestorage.ErrTableNotFound) {
				return
			}
			if err == nil && isLeft(e.RowKey) {
				continue
			}
			if !yield(e, err) {
				return
			}
		}
	}
}

// archiveHolds walks along the seal and the archive, and counts the sealed entities that are still at the source; each must
// be in the archive.
func (r *run) archiveHolds(ctx context.Context, a *archive.Archive) (entities int64, err error) {
	r.progress.Phase("compare with the archive")
	r.progress.Total(a.Manifest.Entities())
	for _, mv := range r.moves {
		x := r.copiesIn(ctx, a, mv)
		for _, s := range mv.source.spans() {
			err := r.walkSeal(ctx, mv, s, r.j.details().Sealed, func(_ context.Context, found stretch) error {
				for _, row := range found.sealed {
					if err := x.has(row); err != nil {
						return err
					}
				}
				entities += int64(len(found.sealed))
				r.progress.Advance(int64(len(found.sealed)))
				return nil
			})
			if err != nil {
				x.stop()
				return entities, err
			}
		}
		x.stop()
	}
	return entities, nil
}

// copies reads the archive of one logical table beside its source. nil has everything: no archive was asked for.
type copies struct {
	archive *archive.Archive
	side    side
	next    func() (*edm.Entity, error, bool)
	stop    func()
	at      *edm.Entity // the last that was read
}

func (r *run) copiesIn(ctx context.Context, a *archive.Archive, mv *tableMove) *copies {
	c := &copies{archive: a, side: mv.source, stop: func() {}}
	if a != nil {
		c.next, c.stop = iter.Pull2(a.Entities(ctx, mv.logical))
	}
	return c
}

// has is an error unless the archive has the row in this very version. Rows must come in key order.
func (c *copies) has(row sourceRow) error {
	if c.archive == nil {
		return nil
	}
	for c.at == nil || c.at.Key().Compare(row.key) < 0 {
		e, err, more := c.next()
		if err != nil {
			return err
		}
		if !more {
			break
		}
		c.at = e
	}
	if c.at == nil || c.at.Key() != row.key || c.at.ETag != row.etag {
		return fmt.Errorf("entity %s of %s is not in archive %s as it was verified", keyText(row.key), c.side, c.archive)
	}
	return nil
}

// openArchive opens the archive without which nothing of the source may be deleted; nil if none was asked for.
func (r *run) openArchive(ctx context.Context) (*archive.Archive, error) {
	store, err := r.archiveStore()
	if err != nil {
		return nil, err
	}
	m, made := r.j.migration(), r.j.details().Archive
	switch {
	case store == nil && made != nil:
		return nil, r.remark(ctx, fmt.Sprintf("The rest was deleted without a look into the archive %s.", made.Place))
	case store == nil || len(r.moves) == 0:
		return nil, nil
	case made == nil:
		return nil, &RefusedError{TenantID: m.TenantID, Reason: "its purge began without an archive, so a part of the source may be gone already",
			Way: "Go on as it began: tenantctl purge " + m.TenantID + " --no-archive"}
	}
	a, err := archive.Open(ctx, store)
	if err == nil && a.Manifest.Digest != made.Digest {
		err = fmt.Errorf("%s is not the archive that was made before the first entity was deleted; that was %s", store, made.Place)
	}
	return a, err
}
