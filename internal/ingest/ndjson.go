package ingest

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// maxLineBytes bounds one NDJSON line. An entity holds 1 MiB at most (reference §3), but its JSON may be longer.
const maxLineBytes = 8 << 20

// ndjsonReader reads one JSON object a line. Blank lines are no rows.
type ndjsonReader struct {
	file    string
	lines   *bufio.Reader
	line    int64
	columns []string
	index   map[string]int // column name → position
	cells   []Cell
	seen    []int64 // by column: the last line that named it, to find names that stand twice
}

func newNDJSONReader(file string, r io.Reader) (*ndjsonReader, error) {
	buffered := bufio.NewReaderSize(r, 64<<10)
	if err := skipByteOrderMark(file, buffered); err != nil {
		return nil, err
	}
	return &ndjsonReader{file: file, lines: buffered, index: map[string]int{}}, nil
}

// Columns returns the names seen so far.
func (r *ndjsonReader) Columns() []string { return r.columns }

// Read returns the next object.
func (r *ndjsonReader) Read() (Record, error) {
	for {
		line, err := r.readLine()
		if err != nil {
			return Record{}, err
		}
		if len(bytes.TrimSpace(line)) == 0 {
			continue
		}
		if !utf8.Valid(line) {
			return Record{}, r.fault("", "the line is not UTF-8")
		}
		clear(r.cells)
		if err := r.parse(line); err != nil {
			return Record{}, err
		}
		return Record{Line: r.line, Cells: r.cells}, nil
	}
}

// readLine returns the next line, without a limit on how it ends: the last one needs no line break.
func (r *ndjsonReader) readLine() ([]byte, error) {
	var line []byte
	for {
		part, err := r.lines.ReadSlice('\n')
		line = append(line, part...)
		switch {
		case len(line) > maxLineBytes:
			r.line++
			return nil, r.fault("", fmt.Sprintf("the line is longer than %d MiB", maxLineBytes>>20))
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case errors.Is(err, io.EOF) && len(line) == 0:
			return nil, io.EOF
		case err != nil && !errors.Is(err, io.EOF):
			return nil, fmt.Errorf("read %s: %w", r.file, err)
		}
		r.line++
		return line, nil
	}
}

// parse reads one object into r.cells.
func (r *ndjsonReader) parse(line []byte) error {
	dec := json.NewDecoder(bytes.NewReader(line))
	open, err := dec.Token()
	if err != nil {
		return r.fault("", "the line is not JSON: "+err.Error())
	}
	if open != json.Delim('{') {
		return r.fault("", "the line holds no JSON object; NDJSON has one object a line")
	}
	for dec.More() {
		if err := r.parseMember(dec); err != nil {
			return err
		}
	}
	if _, err := dec.Token(); err != nil {
		return r.fault("", "the object does not end on its line: "+err.Error())
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return r.fault("", "text follows the object; NDJSON has one object a line")
	}
	return nil
}

// parseMember reads one name and its value.
func (r *ndjsonReader) parseMember(dec *json.Decoder) error {
	token, err := dec.Token()
	if err != nil {
		return r.fault("", "the line is not JSON: "+err.Error())
	}
	name, ok := token.(string)
	if !ok {
		return r.fault("", "the line is not JSON: a name must be a string")
	}
	var raw json.RawMessage
	if err := dec.Decode(&raw); err != nil {
		return r.fault(name, "the value is not JSON: "+err.Error())
	}
	i := r.column(name)
	if r.seen[i] == r.line {
		return r.fault(name, "the name stands twice in the object")
	}
	r.seen[i] = r.line
	cell, err := jsonCell(raw)
	if err != nil {
		return r.fault(name, err.Error())
	}
	r.cells[i] = cell
	return nil
}

// column returns the position of the named column, new or known.
func (r *ndjsonReader) column(name string) int {
	i, ok := r.index[name]
	if !ok {
		i = len(r.columns)
		r.index[name] = i
		r.columns = append(r.columns, name)
		r.cells = append(r.cells, Cell{})
		r.seen = append(r.seen, 0)
	}
	return i
}

// jsonCell classifies one JSON value.
func jsonCell(raw json.RawMessage) (Cell, error) {
	switch raw[0] {
	case 'n':
		return Cell{}, nil
	case 't', 'f':
		return Cell{Kind: CellBool, Text: string(raw)}, nil
	case '{', '[':
		var compact bytes.Buffer
		if err := json.Compact(&compact, raw); err != nil {
			return Cell{}, err
		}
		return Cell{Kind: CellNested, Text: compact.String()}, nil
	case '"':
		var s string
		if err := json.Unmarshal(raw, &s); err != nil {
			return Cell{}, err
		}
		if halfSurrogate(raw) {
			// encoding/json puts U+FFFD in the place of half a surrogate pair: the value would change unseen.
			return Cell{}, errors.New("the text holds half a surrogate pair, which is no character")
		}
		return Cell{Kind: CellString, Text: s}, nil
	default:
		return Cell{Kind: CellNumber, Text: string(raw)}, nil
	}
}

// halfSurrogate says whether a JSON string holds a \u escape of a surrogate without its partner.
func halfSurrogate(raw []byte) bool {
	for i := 0; i < len(raw)-1; i++ {
		if raw[i] != '\\' {
			continue
		}
		i++
		first, ok := unicodeEscape(raw[i:])
		if !ok || !utf16.IsSurrogate(first) {
			continue
		}
		if i+6 >= len(raw) || raw[i+5] != '\\' {
			return true
		}
		second, ok := unicodeEscape(raw[i+6:])
		if !ok || utf16.DecodeRune(first, second) == utf8.RuneError {
			return true
		}
		i += 10
	}
	return false
}

// unicodeEscape reads the uXXXX of an escape.
func unicodeEscape(s []byte) (rune, bool) {
	if len(s) < 5 || s[0] != 'u' {
		return 0, false
	}
	n, err := strconv.ParseUint(string(s[1:5]), 16, 16)
	return rune(n), err == nil
}

func (r *ndjsonReader) fault(column, reason string) error {
	return &RowError{File: r.file, Line: r.line, Column: column, Reason: reason}
}
