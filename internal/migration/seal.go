package migration

import (
	"context"
	"crypto/sha256"
	"fmt"
	"hash"
	"iter"

	"github.com/aztenancy/terraform-provider-aztenancy/internal/catalog"
	"github.com/aztenancy/terraform-provider-aztenancy/internal/edm"
)

// The seal says which entities, in which version, the verification proved to be at the target. It is a list of chunks of at most
// sealRows entities in source order; each has the last key, and for each entity a mark of its key and ETag:
//
//	mark = first 16 bytes of SHA-256( MIGRATION 00 PartitionKey 00 RowKey 00 ETag )
//
// An ETag changes with every write, so a source entity whose mark is in the seal is the one that was verified, and an
// entity whose mark is not there was written since. With marks instead of one sum a purge that was killed half-way
// can go on, because the rest of a chunk can still be recognised, and messages can name the entity.
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

// sealer makes the seal of one span of a logical table.
type sealer struct {
	ctx     context.Context
	run     *run
	move    *tableMove
	span    span
	attempt int
	id      string // of the migration

	seq     int
	count   int64
	last    edm.Key
	marks   []byte
	content hash.Hash
	buffer  []byte
}

func (r *run) newSealer(ctx context.Context, m *tableMove, s span, attempt int) *sealer {
	return &sealer{ctx: ctx, run: r, move: m, span: s, attempt: attempt, id: r.j.migration().ID, content: sha256.New()}
}

// see takes the next entity of the span, or nil for its end.
func (s *sealer) see(e *edm.Entity) error {
	if e != nil {
		k := markOf(s.id, e.Key(), e.ETag)
		s.marks = append(s.marks, k[:]...)
		s.buffer = edm.AppendCanonical(s.buffer[:0], e.Key(), e)
		s.content.Write(s.buffer)
		s.last = e.Key()
		s.count++
	}
	if s.count == 0 || (e != nil && s.count < sealRows) {
		return nil
	}
	c := catalog.Chunk{MigrationID: s.id, Logical: sealName(s.move.logical, s.attempt, s.span.number), Number: s.seq,
		Range: s.span.rng, After: s.last, Started: true, Done: true, Count: s.count, Keys: s.marks, Content: s.content.Sum(nil)}
	if err := s.run.catalog.PutChunks(s.ctx, c); err != nil {
		return fmt.Errorf("write the seal: %w", err)
	}
	s.seq++
	s.count, s.marks = 0, nil
	s.content.Reset()
	return nil
}

// sealName is the logical name under which the seal of one span stands in the catalog. Each verification has its own, so
// that a mover that was thought dead cannot write into the seal that a later one made.
func sealName(logical string, attempt, span int) string {
	return fmt.Sprintf("seal%04d|%s|%06d", attempt, logical, span)
}

// seal yields the chunks of a span's seal in source order.
func (r *run) seal(ctx context.Context, logical string, attempt, span int) iter.Seq2[catalog.Chunk, error] {
	return r.catalog.ChunksOf(ctx, r.j.migration().ID, sealName(logical, attempt, span))
}

// checkpointKey names the checkpoint of one span.
type checkpointKey struct {
	logical string
	span    int
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

// forgetCheckpoints makes the next copy begin at the beginning.
func (r *run) forgetCheckpoints(ctx context.Context) error {
	all, err := r.checkpoints(ctx)
	if err != nil {
		return err
	}
	for _, c := range all {
		c.Started, c.Done, c.Count, c.After = false, false, 0, edm.Key{}
		if err := r.catalog.PutChunks(ctx, c); err != nil {
			return fmt.Errorf("forget the checkpoints: %w", err)
		}
	}
	return nil
}
