package archive

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"iter"
	"time"

	"github.com/aztenancy/terraform-provider-aztenancy/internal/edm"
	"github.com/aztenancy/terraform-provider-aztenancy/internal/tenancy"
)

// Limits of a chunk, and so of the memory that writing and reading take. An entity has at most 1 MiB, which are at most
// about 4 MiB of JSON.
const (
	maxChunkEntities = 10_000
	maxChunkBytes    = 8 << 20
	maxLine          = 16 << 20
	maxStored        = maxChunkBytes + maxLine + maxLine/64 // gzip of what cannot be compressed is hardly longer
	maxManifest      = 256 << 20
)

// Progress hears what is done. Its methods must not block.
type Progress interface {
	Phase(name string)
	Total(entities int64) // less than 0 where that is not known
	Advance(entities int64)
	Note(text string)
}

// Source is one logical table to be archived. Entities yields it in key order.
type Source struct {
	Logical   string
	Placement tenancy.TablePlacement
	Range     tenancy.KeyRange
	Entities  iter.Seq2[*edm.Entity, error]
}

// Write makes an archive of the sources; m says what stands in its manifest besides them. Each file is read back, and the
// entities in it compared by digest with those that the source gave, before the manifest is written. Where there is an archive
// already it is an ErrExists; the rest of one that was not finished is removed.
func Write(ctx context.Context, s Store, m Manifest, sources []Source, p Progress) (*Archive, error) {
	return write(ctx, s, m, sources, p, maxChunkEntities)
}

// write is Write with chunks of at most that many entities.
func write(ctx context.Context, s Store, m Manifest, sources []Source, p Progress, most int64) (*Archive, error) {
	old, err := leftovers(ctx, s)
	if err != nil {
		return nil, err
	}
	for _, name := range old {
		if err := s.Remove(ctx, name); err != nil {
			return nil, fmt.Errorf("remove %s, left of an archive that was not finished, from %s: %w", name, s, err)
		}
	}
	m.Format, m.Created, m.Tables = FormatVersion, time.Now().UTC().Truncate(time.Millisecond), []Table{}
	p.Phase("archive")
	p.Total(-1)
	for _, src := range sources {
		t, err := writeTable(ctx, s, src, p, most)
		if err != nil {
			return nil, fmt.Errorf("archive logical table %q: %w", src.Logical, err)
		}
		m.Tables = append(m.Tables, t)
	}
	a := &Archive{store: s, Manifest: m}
	if err := a.readBack(ctx, p); err != nil {
		return nil, err
	}
	text, err := a.Manifest.encode()
	if err != nil {
		return nil, err
	}
	if err := s.Put(ctx, manifestName, text); err != nil {
		return nil, fmt.Errorf("write %s of archive %s: %w", manifestName, s, err)
	}
	// What counts is what can be read.
	return Open(ctx, s)
}

// readBack reads every chunk again.
func (a *Archive) readBack(ctx context.Context, p Progress) error {
	p.Phase("read back")
	p.Total(a.Manifest.Entities())
	for _, t := range a.Manifest.Tables {
		for _, c := range t.Chunks {
			if _, err := a.chunk(ctx, c); err != nil {
				return fmt.Errorf("read back what was written: %w", err)
			}
			p.Advance(c.Entities)
		}
	}
	return nil
}

func writeTable(ctx context.Context, s Store, src Source, p Progress, most int64) (Table, error) {
	t := Table{Logical: src.Logical, Placement: src.Placement, Range: src.Range, Chunks: []Chunk{}}
	w := newChunkWriter()
	flush := func() error {
		c, data, err := w.close(chunkName(src.Logical, len(t.Chunks)))
		if err != nil {
			return err
		}
		if err := s.Put(ctx, c.Name, data); err != nil {
			return fmt.Errorf("write %s of archive %s: %w", c.Name, s, err)
		}
		t.Chunks = append(t.Chunks, c)
		t.Entities += c.Entities
		t.Bytes += c.Bytes
		p.Advance(c.Entities)
		w = newChunkWriter()
		return nil
	}
	var last *edm.Key
	for e, err := range src.Entities {
		if err != nil {
			return t, fmt.Errorf("read %s/%s: %w", src.Placement.Storage, src.Placement.Table, err)
		}
		k := e.Key()
		if !src.Range.Contains(k) {
			return t, fmt.Errorf("the service returned the key %q for a query of %v", k, src.Range)
		}
		if last != nil && last.Compare(k) >= 0 {
			return t, fmt.Errorf("the service returned the key %q after %q", k, *last)
		}
		last = &k
		if err := w.add(e); err != nil {
			return t, err
		}
		if w.c.Entities >= most || w.c.Bytes >= maxChunkBytes {
			if err := flush(); err != nil {
				return t, err
			}
		}
	}
	if w.c.Entities == 0 {
		return t, nil
	}
	return t, flush()
}

// chunkWriter makes one chunk in memory.
type chunkWriter struct {
	c       Chunk
	file    bytes.Buffer
	zip     *gzip.Writer
	content hash.Hash
	line    []byte
}

func newChunkWriter() *chunkWriter {
	w := &chunkWriter{content: sha256.New()}
	w.zip = gzip.NewWriter(&w.file)
	return w
}

func (w *chunkWriter) add(e *edm.Entity) error {
	w.line = append(edm.AppendEntity(w.line[:0], e, edm.FullMetadata, edm.Annotations{}, nil), '\n')
	if _, err := w.zip.Write(w.line); err != nil {
		return err
	}
	w.c.Bytes += int64(len(w.line))
	w.line = edm.AppendCanonical(w.line[:0], e.Key(), e)
	w.content.Write(w.line)
	if w.c.Entities == 0 {
		w.c.First = e.Key()
	}
	w.c.Last = e.Key()
	w.c.Entities++
	return nil
}

func (w *chunkWriter) close(name string) (Chunk, []byte, error) {
	if err := w.zip.Close(); err != nil {
		return w.c, nil, err
	}
	w.c.Name, w.c.Stored, w.c.SHA256 = name, int64(w.file.Len()), hexSum(w.file.Bytes())
	w.c.Content = hex.EncodeToString(w.content.Sum(nil))
	return w.c, w.file.Bytes(), nil
}
