package catalog

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/aztenancy/terraform-provider-aztenancy/internal/edm"
	"github.com/aztenancy/terraform-provider-aztenancy/internal/tablestorage"
	"github.com/aztenancy/terraform-provider-aztenancy/internal/tenancy"
)

// StepKind is what a step of a migration's log tells.
type StepKind string

// The kinds of step.
const (
	StepIntent  StepKind = "intent"  // something is about to be done
	StepOutcome StepKind = "outcome" // it was done
)

// Step is one row of a migration's log, which only grows.
type Step struct {
	MigrationID string
	Seq         int64 // from 1, without gaps
	Kind        StepKind
	Name        string
	Detail      string
	Time        time.Time
}

// The beginnings of row keys in a migration's work partition.
const (
	chunkPrefix = "chunk|"
	stepPrefix  = "step|"
)

func encodeStep(s Step) (*edm.Entity, error) {
	w := newRow(workPrefix+s.MigrationID, fmt.Sprintf("%s%010d", stepPrefix, s.Seq))
	w.text("Kind", string(s.Kind))
	w.text("Name", s.Name)
	w.text("Detail", s.Detail)
	w.time("Time", s.Time)
	return w.finish(stepName(s))
}

func stepName(s Step) string { return fmt.Sprintf("step %d of migration %s", s.Seq, s.MigrationID) }

func decodeStep(r row) (Step, error) {
	s := Step{MigrationID: r.e.PartitionKey[len(workPrefix):], Kind: StepKind(r.text("Kind")), Name: r.text("Name"),
		Detail: r.text("Detail"), Time: r.time("Time")}
	if _, err := fmt.Sscanf(r.e.RowKey[len(stepPrefix):], "%d", &s.Seq); err != nil {
		r.fail("number of the step: %w", err)
	}
	return s, r.failure()
}

// AppendStep adds a step. Another step of that number is ErrExists: somebody else writes this log.
func (c *Catalog) AppendStep(ctx context.Context, s Step) error {
	if s.Seq < 1 {
		return fmt.Errorf("write %s: steps are numbered from 1", stepName(s))
	}
	e, err := encodeStep(s)
	if err != nil {
		return err
	}
	_, err = c.insert(ctx, stepName(s), e)
	return err
}

// Steps reads a migration's log in order.
func (c *Catalog) Steps(ctx context.Context, migrationID string) ([]Step, error) {
	return list(ctx, c, rowsOf(migrationID, stepPrefix), "", decodeStep)
}

// rowsOf is the range of the rows of a migration's work partition whose row keys begin with prefix.
func rowsOf(migrationID, prefix string) tenancy.KeyRange {
	next, _ := tenancy.Successor(prefix)
	pk := workPrefix + migrationID
	return tenancy.KeyRange{First: edm.Key{PartitionKey: pk, RowKey: prefix}, Last: edm.Key{PartitionKey: pk, RowKey: next}}
}

// Chunk is the checkpoint of one key range of a migration's source.
type Chunk struct {
	MigrationID string
	Logical     string // logical table
	Number      int    // from 0, in the order of ranges
	Range       tenancy.KeyRange
	After       edm.Key // last source key that the target acknowledged; meaningful if Started
	Started     bool
	Done        bool
	Count       int64           // entities up to After
	Keys        []byte          // digest of keys and ETags, once sealed
	Content     []byte          // digest of content, once verified on both sides
	Detail      json.RawMessage // package migration's own; at most MaxJSON UTF-16 code units
	Updated     time.Time
}

func encodeChunk(k Chunk) (*edm.Entity, error) {
	w := newRow(workPrefix+k.MigrationID, fmt.Sprintf("%s%s|%06d", chunkPrefix, k.Logical, k.Number))
	w.text("Logical", k.Logical)
	w.e.Set("Number", edm.Int32Value(int32(k.Number)))
	w.json("Range", k.Range)
	w.text("AfterPartitionKey", k.After.PartitionKey)
	w.text("AfterRowKey", k.After.RowKey)
	w.bool("Started", k.Started)
	w.bool("Done", k.Done)
	w.int64("Count", k.Count)
	w.bytes("Keys", k.Keys)
	w.bytes("Content", k.Content)
	if len(k.Detail) > 0 {
		w.json("Detail", k.Detail)
	}
	return w.finish(fmt.Sprintf("chunk %d of table %q of migration %s", k.Number, k.Logical, k.MigrationID))
}

func decodeChunk(r row) (Chunk, error) {
	k := Chunk{MigrationID: r.e.PartitionKey[len(workPrefix):], Logical: r.text("Logical"), Number: int(r.int("Number", edm.Int32)),
		After:   edm.Key{PartitionKey: r.text("AfterPartitionKey"), RowKey: r.text("AfterRowKey")},
		Started: r.bool("Started"), Done: r.bool("Done"), Count: r.int("Count", edm.Int64),
		Keys: r.bytes("Keys"), Content: r.bytes("Content"), Updated: r.time(colUpdated)}
	r.json("Range", &k.Range)
	if d := r.optionalText("Detail"); d != "" {
		k.Detail = json.RawMessage(d)
	}
	return k, r.failure()
}

// PutChunks writes chunks of one migration, new ones or known ones. Up to tablestorage.MaxOperations are one
// transaction. Writing the same again does no harm, so an unclear answer needs no more than that.
func (c *Catalog) PutChunks(ctx context.Context, chunks ...Chunk) error {
	w := tablestorage.NewBatchWriter(c.table)
	for _, k := range chunks {
		e, err := encodeChunk(k)
		if err != nil {
			return err
		}
		c.stamp(e)
		if err := w.Add(ctx, tablestorage.Operation{Kind: tablestorage.OpUpsertReplace, Entity: e}); err != nil {
			return fmt.Errorf("write the chunks of migration %s: %w", k.MigrationID, c.noCatalog(err))
		}
	}
	if err := w.Flush(ctx); err != nil {
		return fmt.Errorf("write chunks: %w", c.noCatalog(err))
	}
	return nil
}

// Chunks reads a migration's chunks in order of logical table and number.
func (c *Catalog) Chunks(ctx context.Context, migrationID string) ([]Chunk, error) {
	return list(ctx, c, rowsOf(migrationID, chunkPrefix), "", decodeChunk)
}

// deleteWork removes the log and the chunks of a migration, for as long as its row is the given record.
func (c *Catalog) deleteWork(ctx context.Context, rec MigrationRecord) error {
	r := partition(workPrefix + rec.ID)
	still := func(ctx context.Context) error {
		now, err := c.Migration(ctx, rec.ID)
		if err == nil && now.ETag != rec.ETag {
			err = fmt.Errorf("%s: %w", migrationName(rec.ID), ErrChanged)
		}
		return err
	}
	if err := deleteRange(ctx, c.table, r, still); err != nil {
		return fmt.Errorf("delete the log of migration %s: %w", rec.ID, err)
	}
	return nil
}
