package tableserver

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/aztenancy/terraform-provider-aztenancy/internal/edm"
	"github.com/aztenancy/terraform-provider-aztenancy/internal/tableserver/store"
)

// snapshotFormat names the form of a snapshot, which is lines of JSON:
//
//	{"format":"aztenancy tableserver snapshot 1","account":"home"}
//	{"table":"Orders","policies":[{"id":"p","expiry":"2027-06-30T00:00:00Z","permission":"r"}]}
//	{"entity":{"PartitionKey":"p","RowKey":"r","Timestamp":"…",…}}            as the service answers it; of the table above
//	{"properties":"<StorageServiceProperties>…","tables":1,"entities":1}      the end, without which it is torn
const snapshotFormat = "aztenancy tableserver snapshot 1"

// maxSnapshotLine is far above an entity of 1 MiB whose text is all escapes.
const maxSnapshotLine = 16 << 20

type snapshotLine struct {
	Format     string           `json:"format,omitempty"`
	Account    string           `json:"account,omitempty"`
	Table      string           `json:"table,omitempty"`
	Policies   []snapshotPolicy `json:"policies,omitempty"`
	Entity     json.RawMessage  `json:"entity,omitempty"`
	Properties string           `json:"properties,omitempty"`
	Tables     *int             `json:"tables,omitempty"`
	Entities   *int             `json:"entities,omitempty"`
}

type snapshotPolicy struct {
	ID         string     `json:"id"`
	Start      *time.Time `json:"start,omitempty"`
	Expiry     *time.Time `json:"expiry,omitempty"`
	Permission string     `json:"permission,omitempty"`
}

// Snapshot writes everything that an account holds, as of one moment.
func (s *Server) Snapshot(ctx context.Context, account string, to io.Writer) error {
	w := bufio.NewWriterSize(to, 64<<10)
	out := json.NewEncoder(w)
	out.SetEscapeHTML(false)
	if err := out.Encode(snapshotLine{Format: snapshotFormat, Account: account}); err != nil {
		return err
	}
	var tables, entities int
	var buffer []byte
	properties, err := s.store.Dump(ctx, account, func(t store.Table) error {
		tables++
		line := snapshotLine{Table: t.Name}
		for _, p := range t.Policies {
			line.Policies = append(line.Policies, snapshotPolicy(p))
		}
		return out.Encode(line)
	}, func(e *edm.Entity) error {
		entities++
		buffer = append(buffer[:0], `{"entity":`...)
		buffer = edm.AppendEntity(buffer, e, edm.MinimalMetadata, edm.Annotations{}, nil)
		_, err := w.Write(append(buffer, "}\n"...))
		return err
	})
	if err != nil {
		return fmt.Errorf("snapshot of account %s: %w", account, err)
	}
	if err := out.Encode(snapshotLine{Properties: string(properties), Tables: &tables, Entities: &entities}); err != nil {
		return err
	}
	return w.Flush()
}

// Reset removes everything that an account holds.
func (s *Server) Reset(ctx context.Context, account string) error {
	im, err := s.store.NewImport(ctx, account)
	if err != nil {
		return err
	}
	return im.Replace(nil)
}

// errSnapshot is what is wrong with a snapshot, rather than with the server.
type errSnapshot struct{ err error }

func (e *errSnapshot) Error() string { return e.err.Error() }

// Unwrap returns the fault.
func (e *errSnapshot) Unwrap() error { return e.err }

// Restore puts a snapshot in the place of everything that an account holds, Timestamps and ETags with it. It is all or
// nothing: a snapshot that is torn or wrong changes nothing. The snapshot may be of another account.
func (s *Server) Restore(ctx context.Context, account string, from io.Reader) error {
	im, err := s.store.NewImport(ctx, account)
	if err != nil {
		return err
	}
	properties, err := readSnapshot(ctx, im, from)
	if err != nil {
		return errors.Join(fmt.Errorf("restore account %s, nothing is changed: %w", account, err), im.Discard())
	}
	return im.Replace(properties)
}

func readSnapshot(ctx context.Context, im *store.Import, from io.Reader) (properties []byte, err error) {
	lines := bufio.NewScanner(from)
	lines.Buffer(make([]byte, 0, 64<<10), maxSnapshotLine)
	tables, entities, number, ended := 0, 0, 0, false
	fault := func(err error) error { return &errSnapshot{fmt.Errorf("line %d: %w", number, err)} }
	for lines.Scan() {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		number++
		var line snapshotLine
		if err := json.Unmarshal(lines.Bytes(), &line); err != nil {
			return nil, fault(err)
		}
		switch {
		case number == 1 && line.Format != snapshotFormat:
			return nil, fault(fmt.Errorf("the format is %q, not %q", line.Format, snapshotFormat))
		case number == 1:
		case ended:
			return nil, fault(errors.New("something comes after the end"))
		case line.Entity != nil:
			entities++
			if err := putEntity(im, line.Entity); err != nil {
				return nil, fault(err)
			}
		case line.Table != "":
			tables++
			if err := createTable(im, line); err != nil {
				return nil, fault(err)
			}
		case line.Tables == nil || line.Entities == nil || *line.Tables != tables || *line.Entities != entities:
			return nil, fault(fmt.Errorf("%d tables and %d entities came, which is not what the end says", tables, entities))
		default:
			ended = true
			if line.Properties != "" {
				properties = []byte(line.Properties)
			}
		}
	}
	if err := lines.Err(); err != nil {
		return nil, fault(err)
	}
	if !ended {
		return nil, fault(errors.New("the snapshot ends early"))
	}
	return properties, checkProperties(properties)
}

func checkProperties(text []byte) error {
	var p serviceProperties
	if text == nil {
		return nil
	}
	if err := parseXML(text, &p); err != nil {
		return &errSnapshot{fmt.Errorf("service properties: %w", err)}
	}
	return nil
}

func createTable(im *store.Import, line snapshotLine) error {
	if err := edm.ValidateTableName(line.Table); err != nil {
		return err
	}
	policies := make([]store.Policy, len(line.Policies))
	for i, p := range line.Policies {
		policies[i] = store.Policy(p)
	}
	if len(policies) > maxPolicies {
		return fmt.Errorf("table %s has %d policies, more than %d", line.Table, len(policies), maxPolicies)
	}
	return im.CreateTable(line.Table, policies)
}

// putEntity reads an entity with its keys in it, and a Timestamp if it has one.
func putEntity(im *store.Import, text []byte) error {
	e, present, err := edm.ParseEntity(text)
	if err != nil {
		return err
	}
	if !present.PartitionKey || !present.RowKey {
		return errors.New("PartitionKey or RowKey is missing")
	}
	if err := e.Validate(); err != nil {
		return err
	}
	if err := im.Put(e); err != nil {
		return fmt.Errorf("entity (%q, %q): %w", e.PartitionKey, e.RowKey, err)
	}
	return nil
}
