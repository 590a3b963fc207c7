package ingest

import (
	"bufio"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"unicode/utf8"
)

// csvReader reads RFC 4180 CSV with a header. Quoted cells may hold line breaks; encoding/csv turns a CRLF inside
// them into LF. Blank lines are no rows.
type csvReader struct {
	file    string
	csv     *csv.Reader
	columns []string
	cells   []Cell
}

// newCSVReader reads the header. A byte order mark before it is skipped.
func newCSVReader(file string, r io.Reader, delimiter rune) (*csvReader, error) {
	buffered := bufio.NewReaderSize(r, 64<<10)
	if err := skipByteOrderMark(file, buffered); err != nil {
		return nil, err
	}
	c := csv.NewReader(buffered)
	c.Comma = delimiter
	c.ReuseRecord = true
	cr := &csvReader{file: file, csv: c}
	header, err := c.Read()
	if errors.Is(err, io.EOF) {
		return nil, &RowError{File: file, Reason: "the file is empty; the first line must name the columns"}
	}
	if err != nil {
		return nil, cr.explain(err)
	}
	cr.columns = append(cr.columns, header...)
	cr.cells = make([]Cell, len(header))
	for i, name := range cr.columns {
		if !utf8.ValidString(name) {
			return nil, cr.notUTF8(1, fmt.Sprintf("column %d", i+1))
		}
	}
	return cr, nil
}

// skipByteOrderMark skips a UTF-8 mark and refuses UTF-16, which spreadsheets write under the name "Unicode text".
func skipByteOrderMark(file string, r *bufio.Reader) error {
	head, err := r.Peek(3)
	if err != nil && !errors.Is(err, io.EOF) {
		return fmt.Errorf("read %s: %w", file, err)
	}
	switch {
	case len(head) >= 2 && (head[0] == 0xFF && head[1] == 0xFE || head[0] == 0xFE && head[1] == 0xFF):
		return &RowError{File: file, Reason: "the file is UTF-16; convert it to UTF-8 (iconv -f UTF-16 -t UTF-8)"}
	case string(head) == "\uFEFF":
		_, err := r.Discard(3)
		return err
	}
	return nil
}

// Columns returns the header.
func (r *csvReader) Columns() []string { return r.columns }

// Read returns the next row.
func (r *csvReader) Read() (Record, error) {
	fields, err := r.csv.Read()
	if errors.Is(err, io.EOF) {
		return Record{}, io.EOF
	}
	if err != nil {
		return Record{}, r.explain(err)
	}
	line, _ := r.csv.FieldPos(0)
	for i, text := range fields {
		if !utf8.ValidString(text) {
			return Record{}, r.notUTF8(int64(line), r.columns[i])
		}
		r.cells[i] = Cell{}
		if text != "" {
			r.cells[i] = Cell{Kind: CellText, Text: text}
		}
	}
	return Record{Line: int64(line), Cells: r.cells}, nil
}

func (r *csvReader) notUTF8(line int64, column string) error {
	return &RowError{File: r.file, Line: line, Column: column,
		Reason: "the text is not UTF-8; convert the file (iconv -f WINDOWS-1252 -t UTF-8)"}
}

// explain turns an error of encoding/csv into one that names the file, the line and the way out.
func (r *csvReader) explain(err error) error {
	var p *csv.ParseError
	if !errors.As(err, &p) {
		return fmt.Errorf("read %s: %w", r.file, err)
	}
	e := &RowError{File: r.file, Line: int64(p.StartLine), Reason: p.Err.Error()}
	switch {
	case errors.Is(p.Err, csv.ErrFieldCount):
		e.Reason = fmt.Sprintf("the row's number of fields differs from the header's %d; "+
			"a cell that holds the delimiter must stand in quotes", len(r.columns))
	case errors.Is(p.Err, csv.ErrQuote):
		e.Reason = fmt.Sprintf("the quoted cell that ends on line %d, column %d, is followed by text or never ends; "+
			`a quote inside a quoted cell is written ""`, p.Line, p.Column)
	case errors.Is(p.Err, csv.ErrBareQuote):
		e.Reason = fmt.Sprintf(`a cell holds a quote but is not quoted (line %d, column %d); `+
			`write it in quotes, with "" for the quote`, p.Line, p.Column)
	}
	return e
}
