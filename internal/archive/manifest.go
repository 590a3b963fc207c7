package archive

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"regexp"
	"time"

	"github.com/aztenancy/terraform-provider-aztenancy/internal/edm"
	"github.com/aztenancy/terraform-provider-aztenancy/internal/tenancy"
)

// FormatVersion is the version of the format that this package writes, and the only one that it reads.
const FormatVersion = 1

// manifestName is the file that makes an archive complete.
const manifestName = "manifest.json"

// Manifest says what an archive holds:
//
//	manifest.json            this, with the digest of itself; written last
//	LOGICAL-000000.ndjson.gz the first chunk of a logical table, gzip of NDJSON
//	LOGICAL-000001.ndjson.gz …
//
// A line is one entity as the service answers it at full metadata, with all types, its Timestamp and its odata.etag, in
// the order of keys. Chunks hold at most maxChunkEntities, and are closed once they are longer than maxChunkBytes.
type Manifest struct {
	Format    int       `json:"format"`
	Tool      string    `json:"tool"` // name and version of the program that wrote it
	Tenant    string    `json:"tenant"`
	Key       string    `json:"key"`
	Model     string    `json:"model"`
	Epoch     int64     `json:"epoch"`               // of the tenant's row when it was written
	Migration string    `json:"migration,omitempty"` // whose source this is
	Cut       Cut       `json:"cut"`
	Created   time.Time `json:"created"`
	Tables    []Table   `json:"tables"`
	Digest    string    `json:"digest"` // SHA-256 of the manifest as compact JSON, with digest ""
}

// Cut says whether an archive's entities were all there at one moment.
type Cut string

// The cuts.
const (
	CutSealed Cut = "sealed" // nobody may write to what was archived: the source of a move that is done
	CutFuzzy  Cut = "fuzzy"  // entities were read one after the other while writers may have been at work
)

// Table is one logical table of an archive.
type Table struct {
	Logical   string                 `json:"logical"`
	Placement tenancy.TablePlacement `json:"placement"` // from where it was read
	Range     tenancy.KeyRange       `json:"range"`     // what was read
	Entities  int64                  `json:"entities"`
	Bytes     int64                  `json:"bytes"` // of NDJSON
	Chunks    []Chunk                `json:"chunks"`
}

// Chunk is one file of entities. Its range of keys lies behind that of the chunk before it.
type Chunk struct {
	Name     string  `json:"name"`
	Entities int64   `json:"entities"`
	Bytes    int64   `json:"bytes"`   // of NDJSON
	Stored   int64   `json:"stored"`  // of the file
	SHA256   string  `json:"sha256"`  // of the file
	Content  string  `json:"content"` // SHA-256 of the entities' canonical forms, one after the other
	First    edm.Key `json:"first"`
	Last     edm.Key `json:"last"`
}

// Entities is how many entities all tables have.
func (m *Manifest) Entities() (n int64) {
	for _, t := range m.Tables {
		n += t.Entities
	}
	return n
}

// Table returns a logical table of the archive.
func (m *Manifest) Table(logical string) (Table, bool) {
	for _, t := range m.Tables {
		if t.Logical == logical {
			return t, true
		}
	}
	return Table{}, false
}

var chunkPattern = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_-]{0,62}-[0-9]{6,}\.ndjson\.gz$`)

func chunkName(logical string, number int) string {
	return fmt.Sprintf("%s-%06d.ndjson.gz", logical, number)
}

// digest returns the digest of the manifest.
func (m Manifest) digest() (string, error) {
	m.Digest = ""
	text, err := json.Marshal(m)
	if err != nil {
		return "", err
	}
	return hexSum(text), nil
}

func hexSum(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

// encode returns the manifest's file, and sets its digest.
func (m *Manifest) encode() ([]byte, error) {
	var err error
	if m.Digest, err = m.digest(); err != nil {
		return nil, err
	}
	text, err := json.MarshalIndent(m, "", "  ")
	return append(text, '\n'), err
}

// decodeManifest reads a manifest's file. The version is looked at before anything else.
func decodeManifest(place string, text []byte) (*Manifest, error) {
	fault := func(format string, args ...any) error {
		return &FaultError{Place: place, File: manifestName, What: fmt.Sprintf(format, args...)}
	}
	var head struct {
		Format *int   `json:"format"`
		Tool   string `json:"tool"`
	}
	if err := json.Unmarshal(text, &head); err != nil {
		return nil, fault("it is not JSON: %v", err)
	}
	if head.Format == nil {
		return nil, fault("it names no format: it is no manifest of an archive")
	}
	if *head.Format != FormatVersion {
		return nil, &VersionError{Place: place, Format: *head.Format, Tool: head.Tool}
	}
	m := &Manifest{}
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(m); err != nil {
		return nil, fault("it was edited: %v", err)
	}
	want, err := m.digest()
	if err != nil {
		return nil, err
	}
	if m.Digest != want {
		return nil, fault("it was edited: its digest is %s, not %s", want, m.Digest)
	}
	if what := m.contradiction(); what != "" {
		return nil, fault("%s", what)
	}
	return m, nil
}

// contradiction says what in a manifest cannot be, "" if nothing.
func (m *Manifest) contradiction() string {
	names := map[string]bool{}
	for _, t := range m.Tables {
		var entities int64
		for i, c := range t.Chunks {
			switch {
			case !chunkPattern.MatchString(c.Name) || names[c.Name]:
				return fmt.Sprintf("it names a file %q", c.Name)
			case c.Stored < 0 || c.Stored > maxStored || c.Bytes > maxChunkBytes+maxLine || c.Entities < 1 || c.Entities > maxChunkEntities:
				return fmt.Sprintf("it gives file %s a size that no chunk has", c.Name)
			case i > 0 && t.Chunks[i-1].Last.Compare(c.First) >= 0:
				return fmt.Sprintf("the keys of file %s do not follow those of the file before it", c.Name)
			}
			names[c.Name] = true
			entities += c.Entities
		}
		if entities != t.Entities {
			return fmt.Sprintf("logical table %q has %d entities, its files %d", t.Logical, t.Entities, entities)
		}
	}
	return ""
}
