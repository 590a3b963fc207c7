package migration

import (
	"context"
	"crypto/sha256"
	"fmt"
	"iter"

	"github.com/aztenancy/terraform-provider-aztenancy/internal/catalog"
	"github.com/aztenancy/terraform-provider-aztenancy/internal/edm"
	"github.com/aztenancy/terraform-provider-aztenancy/internal/tenancy"
)

// A seal says which entities of one side, in which version, were seen by an attempt: a pass of the catch-up or a verification.
// It is a list of chunks of at most sealRows entities in the side's order; each has the last key, and for each entity a
// mark of its key and ETag:
//
//	mark = first 16 bytes of SHA-256( MIGRATION 00 PartitionKey 00 RowKey 00 ETag )
//
// An ETag changes with every write, so an entity whose mark is in the seal is in the version that was sealed, and an
// entity whose mark is not there was written since. With marks instead of one sum a purge that was killed half-way
// can go on, because the rest of a chunk can still be recognised, and messages can name the entity.
//
// A complete attempt's seals prove this: where a source entity and its target partner both stand sealed, their contents were
// compared and were equal. The source's seal has every entity that was read; the target's has only those that were compared
// and found equal, so not those that the attempt wrote itself: the next attempt reads them back.
const (
	sealRows  = 1000
	markBytes = 16
)

type mark [markBytes]byte

func markOf(migration string, k edm.Key, etag string) (m mark) {
	sum := sha256.Sum256([]byte(migration + "\x00" + k.PartitionKey + "\x00" + k.RowKey + "\x00" + etag))
	copy(m[:], sum[:])
	return m
}

// sealer makes the seal of one span of a side.
type sealer struct {
	ctx  context.Context
	run  *run
	name string // of the seal
	rng  tenancy.KeyRange
	id   string // of the migration

	seq   int
	count int64
	last  edm.Key
	marks []byte
}

func (r *run) newSealer(ctx context.Context, name string, rng tenancy.KeyRange) *sealer {
	return &sealer{ctx: ctx, run: r, name: name, rng: rng, id: r.j.migration().ID}
}

// see takes the next entity of the span, or nil for its end.
func (s *sealer) see(e *edm.Entity) error {
	if e != nil {
		k := markOf(s.id, e.Key(), e.ETag)
		s.marks = append(s.marks, k[:]...)
		s.last = e.Key()
		s.count++
	}
	if s.count == 0 || (e != nil && s.count < sealRows) {
		return nil
	}
	c := catalog.Chunk{MigrationID: s.id, Logical: s.name, Number: s.seq,
		Range: s.rng, After: s.last, Started: true, Done: true, Count: s.count, Keys: s.marks}
	if err := s.run.catalog.PutChunks(s.ctx, c); err != nil {
		return fmt.Errorf("write the seal: %w", err)
	}
	s.seq++
	s.count, s.marks = 0, nil
	return nil
}

// sealName is the name under which the seal of one span of the source stands in the catalog. Each attempt has its own, so
// that a mover that was thought dead cannot write into the seal that a later one made.
func sealName(logical string, attempt, span int) string {
	return fmt.Sprintf("seal%04d|%s|%06d", attempt, logical, span)
}

// targetSealName is the same for a span of the target.
func targetSealName(logical string, attempt, span int) string {
	return fmt.Sprintf("there%04d|%s|%06d", attempt, logical, span)
}

// seal yields the chunks of a span's seal in source order.
func (r *run) seal(ctx context.Context, logical string, attempt, span int) iter.Seq2[catalog.Chunk, error] {
	return r.chunks(ctx, sealName(logical, attempt, span))
}

// chunks yields the migration's chunks of one name.
func (r *run) chunks(ctx context.Context, name string) iter.Seq2[catalog.Chunk, error] {
	return r.catalog.ChunksOf(ctx, r.j.migration().ID, name)
}

// recaller tells which entities of a span are as they were sealed. Memory holds one chunk.
type recaller struct {
	next  func() (catalog.Chunk, error, bool)
	stop  func()
	more  bool
	chunk catalog.Chunk
	marks map[mark]bool
}

// recall opens the seal of a span; of base 0 it is empty.
func (c *comparison) recall(ctx context.Context, name string) *recaller {
	if c.base == 0 {
		return &recaller{stop: func() {}}
	}
	next, stop := iter.Pull2(c.seals(ctx, name))
	return &recaller{next: next, stop: stop, more: true}
}

// has says whether an entity stands in the seal in its version. Entities must come in the order of their keys.
func (k *recaller) has(e *edm.Entity) (bool, error) {
	for k.more && (k.marks == nil || k.chunk.After.Compare(e.Key()) < 0) {
		var err error
		k.chunk, err, k.more = k.next()
		if err != nil {
			return false, fmt.Errorf("read the seal: %w", err)
		}
		k.marks = marksOf(k.chunk.Keys)
	}
	return k.more && k.marks[markOf(k.chunk.MigrationID, e.Key(), e.ETag)], nil
}

// marksOf reads the marks that stand one after the other.
func marksOf(b []byte) map[mark]bool {
	marks := make(map[mark]bool, len(b)/markBytes)
	for ; len(b) >= markBytes; b = b[markBytes:] {
		marks[mark(b[:markBytes])] = true
	}
	return marks
}

// checkpointKey names the checkpoint of one lane.
type checkpointKey struct {
	logical string
	lane    int
}

// checkpoints reads how far the copy has come.
func (r *run) checkpoints(ctx context.Context) (map[checkpointKey]catalog.Chunk, error) {
	out := map[checkpointKey]catalog.Chunk{}
	for _, m := range r.moves {
		for c, err := range r.catalog.ChunksOf(ctx, r.j.migration().ID, m.logical) {
			if err != nil {
				return nil, fmt.Errorf("read the checkpoints: %w", err)
			}
			out[checkpointKey{m.logical, c.Number}] = c
		}
	}
	return out, nil
}
