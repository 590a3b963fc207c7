package archive

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"slices"
	"strings"

	"github.com/aztenancy/terraform-provider-aztenancy/internal/edm"
)

// Archive is a complete archive. Its entities are checked as they are read, not before.
type Archive struct {
	Manifest Manifest
	store    Store
}

// Open reads the manifest. Errors: ErrNoArchive, ErrIncomplete, *VersionError, *FaultError.
func Open(ctx context.Context, s Store) (*Archive, error) {
	text, err := s.Get(ctx, manifestName, maxManifest)
	if errors.Is(err, fs.ErrNotExist) {
		names, lerr := s.List(ctx)
		if slices.ContainsFunc(names, chunkPattern.MatchString) {
			return nil, fmt.Errorf("%s: %w", s, ErrIncomplete)
		}
		return nil, errors.Join(fmt.Errorf("%s: %w", s, ErrNoArchive), lerr)
	}
	if err != nil {
		return nil, fmt.Errorf("read %s of archive %s: %w", manifestName, s, err)
	}
	m, err := decodeManifest(s.String(), text)
	if err != nil {
		return nil, err
	}
	return &Archive{Manifest: *m, store: s}, nil
}

// String names the archive's place.
func (a *Archive) String() string { return a.store.String() }

// Entities yields the entities of a logical table in key order, each with the Timestamp and ETag that it had. Those of a
// chunk come only after the whole chunk was compared with its digests; a fault is a *FaultError.
func (a *Archive) Entities(ctx context.Context, logical string) iter.Seq2[*edm.Entity, error] {
	return func(yield func(*edm.Entity, error) bool) {
		t, ok := a.Manifest.Table(logical)
		if !ok {
			yield(nil, fmt.Errorf("archive %s has no logical table %q", a, logical))
			return
		}
		for _, c := range t.Chunks {
			entities, err := a.chunk(ctx, c)
			if err != nil {
				yield(nil, err)
				return
			}
			for _, e := range entities {
				if !yield(e, nil) {
					return
				}
			}
		}
	}
}

func (a *Archive) fault(file, format string, args ...any) error {
	return &FaultError{Place: a.String(), File: file, What: fmt.Sprintf(format, args...)}
}

// chunk reads a chunk and compares everything that the manifest says of it.
func (a *Archive) chunk(ctx context.Context, c Chunk) ([]*edm.Entity, error) {
	data, err := a.store.Get(ctx, c.Name, c.Stored)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, a.fault(c.Name, "it is missing")
	case errors.Is(err, errTooLong):
		return nil, a.fault(c.Name, "it is longer than the %d bytes that were written", c.Stored)
	case err != nil:
		return nil, fmt.Errorf("read %s of archive %s: %w", c.Name, a, err)
	case int64(len(data)) < c.Stored:
		return nil, a.fault(c.Name, "it was truncated: %d of %d bytes are left", len(data), c.Stored)
	}
	if sum := hexSum(data); sum != c.SHA256 {
		return nil, a.fault(c.Name, "its bytes were changed: its SHA-256 is %s, not %s", sum, c.SHA256)
	}
	entities, err := parseChunk(data, c)
	if err != nil {
		return nil, a.fault(c.Name, "%v", err)
	}
	return entities, nil
}

// parseChunk reads the entities of a chunk and compares their number, order and content with what the manifest says.
func parseChunk(data []byte, c Chunk) ([]*edm.Entity, error) {
	zip, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return nil, err
	}
	counted := &counter{r: io.LimitReader(zip, c.Bytes+1)}
	lines := bufio.NewScanner(counted)
	lines.Buffer(make([]byte, 64<<10), maxLine)
	content := sha256.New()
	entities := make([]*edm.Entity, 0, min(c.Entities, maxChunkEntities))
	var form []byte
	for lines.Scan() {
		n := len(entities)
		e, _, err := edm.ParseEntity(lines.Bytes())
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", n+1, err)
		}
		if n > 0 && entities[n-1].Key().Compare(e.Key()) >= 0 {
			return nil, fmt.Errorf("line %d: its key does not follow the one before it", n+1)
		}
		form = edm.AppendCanonical(form[:0], e.Key(), e)
		content.Write(form)
		entities = append(entities, e)
	}
	if err := lines.Err(); err != nil {
		return nil, err
	}
	n := len(entities)
	switch {
	case counted.n != c.Bytes:
		return nil, fmt.Errorf("it holds %d bytes of text, not %d", counted.n, c.Bytes)
	case int64(n) != c.Entities || n == 0:
		return nil, fmt.Errorf("it holds %d entities, not %d", n, c.Entities)
	case hex.EncodeToString(content.Sum(nil)) != c.Content:
		return nil, errors.New("its entities are not those of the source: their digest differs")
	case entities[0].Key() != c.First || entities[n-1].Key() != c.Last:
		return nil, errors.New("it begins or ends with another key than it should")
	}
	return entities, nil
}

// counter counts what is read.
type counter struct {
	r io.Reader
	n int64
}

func (c *counter) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.n += int64(n)
	return n, err
}

// CheckReport is what a check of an archive found.
type CheckReport struct {
	Archive  string    `json:"archive"`
	Manifest *Manifest `json:"manifest"`
	Files    int       `json:"files"`
	Entities int64     `json:"entities"` // that were read and are as they were written
	Bytes    int64     `json:"bytes"`    // of NDJSON, of these
	Faults   []string  `json:"faults"`   // "FILE: what is wrong", at most maxFaults
}

// maxFaults is how many faults a report holds.
const maxFaults = 100

// Check reads the whole archive. Where it is not what was written the error is the first *FaultError, and the report has all.
func (a *Archive) Check(ctx context.Context, p Progress) (*CheckReport, error) {
	p.Phase("check")
	p.Total(a.Manifest.Entities())
	r := &CheckReport{Archive: a.String(), Manifest: &a.Manifest, Faults: []string{}}
	var first error
	note := func(err error) error {
		var f *FaultError
		if !errors.As(err, &f) {
			return err
		}
		if first == nil {
			first = err
		}
		if len(r.Faults) < maxFaults {
			r.Faults = append(r.Faults, f.File+": "+f.What)
		}
		return nil
	}
	named := map[string]bool{}
	for _, t := range a.Manifest.Tables {
		for _, c := range t.Chunks {
			named[c.Name] = true
			_, err := a.chunk(ctx, c)
			if err := note(err); err != nil {
				return r, err
			}
			if err == nil {
				r.Files, r.Entities, r.Bytes = r.Files+1, r.Entities+c.Entities, r.Bytes+c.Bytes
			}
			p.Advance(c.Entities)
		}
	}
	names, err := a.store.List(ctx)
	if err != nil {
		return r, fmt.Errorf("look into %s: %w", a, err)
	}
	for _, name := range names {
		if chunkPattern.MatchString(strings.TrimSuffix(name, partial)) && !named[name] {
			_ = note(a.fault(name, "the manifest does not name it"))
		}
	}
	return r, first
}
