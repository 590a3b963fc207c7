package catalog

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/aztenancy/terraform-provider-aztenancy/internal/edm"
)

// tuningKey is the row key of a migration's tuning in its work partition: a control with columns of its own, which several operators
// may change.
const tuningKey = controlPrefix + "tuning"

// Tuning is what an operator tells a mover that may be running.
type Tuning struct {
	MigrationID string
	Rate        int64 // entities a second, reads and writes each; 0: as the mover was started
	Workers     int   // requests under way at the same time, reads and writes each; 0: as the mover was started
	Paused      bool
	Changes     int64 // how many there were, this one included; 0: there is no row yet
	Updated     time.Time
}

// TuningRecord is a tuning as it stands in the catalog.
type TuningRecord struct {
	Tuning
	ETag string // "": there is no row yet
}

func tuningName(id string) string { return "tuning of migration " + id }

func encodeTuning(t Tuning) (*edm.Entity, error) {
	w := newRow(workPrefix+t.MigrationID, tuningKey)
	w.int64("Rate", t.Rate)
	w.e.Set("Workers", edm.Int32Value(int32(t.Workers)))
	w.bool("Paused", t.Paused)
	w.int64("Changes", t.Changes)
	return w.finish(tuningName(t.MigrationID))
}

func decodeTuning(r row) (TuningRecord, error) {
	t := Tuning{MigrationID: r.e.PartitionKey[len(workPrefix):], Rate: r.int("Rate", edm.Int64), Workers: int(r.int("Workers", edm.Int32)),
		Paused: r.bool("Paused"), Changes: r.int("Changes", edm.Int64), Updated: r.time(colUpdated)}
	return TuningRecord{t, r.e.ETag}, r.failure()
}

// Tuning reads the tuning of a migration; where there is no row, it is one without anything.
func (c *Catalog) Tuning(ctx context.Context, migrationID string) (TuningRecord, error) {
	r, err := c.get(ctx, edm.Key{PartitionKey: workPrefix + migrationID, RowKey: tuningKey}, tuningName(migrationID))
	if errors.Is(err, ErrNotFound) && !errors.Is(err, ErrNoCatalog) {
		return TuningRecord{Tuning: Tuning{MigrationID: migrationID}}, nil
	}
	if err != nil {
		return TuningRecord{}, err
	}
	return decodeTuning(r)
}

// SetTuning writes a tuning that was read and changed; ErrChanged where another change came first.
func (c *Catalog) SetTuning(ctx context.Context, rec TuningRecord) (TuningRecord, error) {
	rec.Changes++
	e, err := encodeTuning(rec.Tuning)
	if err != nil {
		return TuningRecord{}, err
	}
	var etag string
	if rec.ETag == "" {
		if etag, err = c.insert(ctx, tuningName(rec.MigrationID), e); errors.Is(err, ErrExists) {
			err = fmt.Errorf("%w: %w", ErrChanged, err)
		}
	} else {
		etag, err = c.replace(ctx, tuningName(rec.MigrationID), e, rec.ETag)
	}
	if err != nil {
		return TuningRecord{}, err
	}
	return written(e, etag, decodeTuning)
}
