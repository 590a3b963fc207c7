package ingest

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// Format is how rows are written in a file.
type Format string

// The formats.
const (
	CSV    Format = "csv"
	NDJSON Format = "ndjson"
)

// FormatOf returns the format that the file's extension names: .csv, or .ndjson, .jsonl and .json.
func FormatOf(name string) (Format, error) {
	switch strings.ToLower(filepath.Ext(name)) {
	case ".csv":
		return CSV, nil
	case ".ndjson", ".jsonl", ".json":
		return NDJSON, nil
	}
	return "", &UsageError{fmt.Sprintf("the name %s does not say in which format the file is; say it with --format csv or --format ndjson", name)}
}

// Input is the file to import. It is read once per pass.
type Input struct {
	Name      string // for messages
	Format    Format
	Delimiter rune // between CSV cells; 0: a comma
	file      *os.File
	temporary bool
}

// OpenFile opens a file. Close must be called.
func OpenFile(path string, format Format) (*Input, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("open the file to import: %w", err)
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s is no regular file, and an import reads its file more than once; pass it on standard input (--file -)", path)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return &Input{Name: path, Format: format, file: f}, nil
}

// Spool copies a stream, which can be read only once, to a temporary file that only the user can read and that
// Close removes.
func Spool(r io.Reader, name string, format Format) (*Input, error) {
	f, err := os.CreateTemp("", "tenantctl-import-*") // made with mode 0600
	if err != nil {
		return nil, fmt.Errorf("make a temporary file for %s: %w", name, err)
	}
	in := &Input{Name: name, Format: format, file: f, temporary: true}
	if _, err := io.Copy(f, r); err != nil {
		return nil, errors.Join(fmt.Errorf("copy %s to a temporary file: %w", name, err), in.Close())
	}
	return in, nil
}

// Close closes the file.
func (in *Input) Close() error {
	err := in.file.Close()
	if in.temporary {
		err = errors.Join(err, os.Remove(in.file.Name()))
	}
	return err
}

// identity is what shows that a file was changed between two passes.
type identity struct {
	size  int64
	mtime int64 // ns
}

func (in *Input) identity() (identity, error) {
	info, err := in.file.Stat()
	if err != nil {
		return identity{}, fmt.Errorf("read %s: %w", in.Name, err)
	}
	return identity{info.Size(), info.ModTime().UnixNano()}, nil
}

// reader begins a pass.
func (in *Input) reader() (Reader, error) {
	if _, err := in.file.Seek(0, io.SeekStart); err != nil {
		return nil, fmt.Errorf("read %s: %w", in.Name, err)
	}
	switch in.Format {
	case CSV:
		delimiter := in.Delimiter
		if delimiter == 0 {
			delimiter = ','
		}
		return newCSVReader(in.Name, in.file, delimiter)
	case NDJSON:
		return newNDJSONReader(in.Name, in.file)
	default:
		return nil, &UsageError{fmt.Sprintf("%q is no format; use csv or ndjson", in.Format)}
	}
}
