package tableserver

import (
	"bufio"
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"

	"github.com/aztenancy/terraform-provider-aztenancy/internal/edm"
	"github.com/aztenancy/terraform-provider-aztenancy/internal/tableserver/store"
)

// Seed names a file that fills a table which is not there yet.
type Seed struct {
	Account string // "" for the first
	Table   string
	// File is NDJSON (.ndjson, .jsonl), a line an entity in the form of an Insert Entity body; or CSV (.csv), whose
	// first line names the properties. A column P@type holds the types of the column P, as Storage Explorer writes it;
	// without one a property is text, and an empty field is none.
	File string
}

// seedReaders read the forms of a file by its extension.
var seedReaders = map[string]func(io.Reader, func(json.RawMessage) error) error{
	".ndjson": readNDJSON, ".jsonl": readNDJSON, ".csv": readCSV,
}

// ParseSeed reads [ACCOUNT/]TABLE=FILE.
func ParseSeed(text string) (Seed, error) {
	target, file, found := strings.Cut(text, "=")
	account, table, named := strings.Cut(target, "/")
	if !named {
		account, table = "", target
	}
	if !found || file == "" || named && account == "" {
		return Seed{}, fmt.Errorf("seed %q: give [ACCOUNT/]TABLE=FILE", text)
	}
	if err := edm.ValidateTableName(table); err != nil {
		return Seed{}, fmt.Errorf("seed %q: table %q: %w", text, table, err)
	}
	if seedReaders[strings.ToLower(filepath.Ext(file))] == nil {
		return Seed{}, fmt.Errorf("seed %q: the file's name ends in none of .ndjson, .jsonl and .csv", text)
	}
	return Seed{Account: account, Table: table, File: file}, nil
}

// seed fills a table, or leaves it as it is when it is there. The table appears whole or not at all.
func (s *Server) seed(ctx context.Context, seed Seed) error {
	account := seed.Account
	if account == "" {
		account = s.accounts[0].Name
	}
	if !s.serves(account) {
		return fmt.Errorf("seed %s: there is no account %s", seed.File, account)
	}
	switch _, err := s.store.Table(ctx, account, seed.Table); {
	case err == nil:
		s.log.Info("table is there already and is not seeded", slog.String("account", account), slog.String("table", seed.Table))
		return nil
	case !errors.Is(err, store.ErrTableNotFound):
		return err
	}
	f, err := os.Open(seed.File)
	if err != nil {
		return fmt.Errorf("seed table %s: %w", seed.Table, err)
	}
	defer f.Close() //nolint:errcheck // only read
	im, err := s.store.NewImport(ctx, account)
	if err != nil {
		return err
	}
	if err := im.CreateTable(seed.Table, nil); err != nil {
		return errors.Join(err, im.Discard())
	}
	entities := 0
	err = seedReaders[strings.ToLower(filepath.Ext(seed.File))](f, func(text json.RawMessage) error {
		entities++
		return putEntity(im, text)
	})
	if err != nil {
		return errors.Join(fmt.Errorf("seed table %s: %s: %w", seed.Table, seed.File, err), im.Discard())
	}
	if err := im.Add(); err != nil {
		return err
	}
	s.log.Info("seeded", slog.String("account", account), slog.String("table", seed.Table), slog.Int("entities", entities))
	return nil
}

// readNDJSON passes the lines on that are not blank.
func readNDJSON(from io.Reader, put func(json.RawMessage) error) error {
	lines := bufio.NewScanner(from)
	lines.Buffer(make([]byte, 0, 64<<10), maxSnapshotLine)
	number := 0
	for lines.Scan() {
		number++
		text := strings.TrimSpace(strings.TrimPrefix(lines.Text(), utf8BOM))
		if text == "" {
			continue
		}
		if err := put(json.RawMessage(text)); err != nil {
			return fmt.Errorf("line %d: %w", number, err)
		}
	}
	if err := lines.Err(); err != nil {
		return fmt.Errorf("line %d: %w", number+1, err)
	}
	return nil
}

const typeSuffix = "@type"

// readCSV makes each row into an entity's JSON.
func readCSV(from io.Reader, put func(json.RawMessage) error) error {
	rows := csv.NewReader(from)
	head, err := rows.Read()
	if err != nil {
		return fmt.Errorf("line 1: read the names of the columns: %w", err)
	}
	head[0] = strings.TrimPrefix(head[0], utf8BOM)
	typeOf, err := typeColumns(head)
	if err != nil {
		return fmt.Errorf("line 1: %w", err)
	}
	for {
		row, err := rows.Read()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err == nil {
			var e *edm.Entity
			if e, err = entityOfRow(head, typeOf, row); err == nil {
				err = put(edm.AppendBody(nil, e))
			}
		}
		if err != nil {
			line, _ := rows.FieldPos(0)
			return fmt.Errorf("line %d: %w", line, err)
		}
	}
}

// typeColumns returns for each column the one with its types, -1 for none.
func typeColumns(head []string) ([]int, error) {
	at := make(map[string]int, len(head))
	for i, name := range head {
		if _, twice := at[name]; twice || name == "" {
			return nil, fmt.Errorf("column %d has the name %q, which is empty or was there before", i+1, name)
		}
		at[name] = i
	}
	out := make([]int, len(head))
	for i, name := range head {
		if owner, is := strings.CutSuffix(name, typeSuffix); is {
			if _, found := at[owner]; !found {
				return nil, fmt.Errorf("column %q has the types of a column %q that is not there", name, owner)
			}
		}
		out[i] = -1
		if j, typed := at[name+typeSuffix]; typed {
			out[i] = j
		}
	}
	for _, name := range []string{"PartitionKey", "RowKey"} {
		if _, found := at[name]; !found {
			return nil, fmt.Errorf("there is no column %s", name)
		}
	}
	return out, nil
}

func entityOfRow(head []string, typeOf []int, row []string) (*edm.Entity, error) {
	e := &edm.Entity{}
	for i, name := range head {
		switch {
		case name == "PartitionKey":
			e.PartitionKey = row[i]
		case name == "RowKey":
			e.RowKey = row[i]
		case name == "Timestamp" || strings.HasSuffix(name, typeSuffix):
		case typeOf[i] >= 0 && row[typeOf[i]] != "":
			t, known := edm.ParseType(row[typeOf[i]])
			if !known {
				return nil, fmt.Errorf("column %s: there is no type %q", name, row[typeOf[i]])
			}
			v, err := edm.ParseValue(t, row[i])
			if err != nil {
				return nil, fmt.Errorf("column %s: %w", name, err)
			}
			e.Set(name, v)
		case row[i] != "":
			e.Set(name, edm.StringValue(row[i]))
		}
	}
	return e, nil
}
