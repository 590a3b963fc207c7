package ingest

import (
	"fmt"
	"strconv"
)

// CellKind says in which form a value stood in the file, and so which types it may have.
type CellKind uint8

const (
	// CellAbsent is an empty CSV cell, a JSON null or a name that the object leaves out: no property is written.
	CellAbsent CellKind = iota
	// CellText is a CSV cell with text. It may have any type.
	CellText
	// CellString is a JSON string. It is a DateTime, a Guid or a String, never a number; "" is a String.
	CellString
	// CellNumber is a JSON number; Text is its literal.
	CellNumber
	// CellBool is a JSON true or false.
	CellBool
	// CellNested is a JSON object or array; Text is its compact JSON. Only a declared String can hold it.
	CellNested
)

// Cell is one value of a row as it stood in the file.
type Cell struct {
	Kind CellKind
	Text string // UTF-8
}

// Record is one row. Cells stands in the order of Reader.Columns and may be shorter: what is missing is absent.
// It is valid until the next Read.
type Record struct {
	Line  int64 // 1-based line of the file on which the row begins
	Cells []Cell
}

// Cell returns the value of column i; absent when the row does not reach it.
func (r Record) Cell(i int) Cell {
	if i >= len(r.Cells) {
		return Cell{}
	}
	return r.Cells[i]
}

// Reader reads one pass over a file.
type Reader interface {
	// Columns returns the names of the columns seen so far in the order of their first appearance: for CSV the
	// header, complete from the start; for NDJSON complete only at the end.
	Columns() []string
	// Read returns the next row; io.EOF after the last; a *RowError for a row that cannot be read.
	Read() (Record, error)
}

// RowError says which row of the file cannot be imported, and why.
type RowError struct {
	File   string // as the user named it
	Line   int64  // 1-based; 0 when the error is about the file
	Column string // source name; "" when the error is about the row
	Value  string // the value that is wrong; meaningful when Column is set
	Reason string
}

// maxShownValue is the length in bytes at which a value in an error text is cut.
const maxShownValue = 80

// Error names file, line, column and value.
func (e *RowError) Error() string {
	where := e.File
	if e.Line > 0 {
		where += ":" + strconv.FormatInt(e.Line, 10)
	}
	if e.Column == "" {
		return where + ": " + e.Reason
	}
	if e.Value == "" {
		return fmt.Sprintf("%s: column %q: %s", where, e.Column, e.Reason)
	}
	return fmt.Sprintf("%s: column %q: value %s: %s", where, e.Column, shown(e.Value), e.Reason)
}

// shown quotes a value for an error text, cut to a readable length.
func shown(s string) string {
	if len(s) > maxShownValue {
		return strconv.Quote(s[:maxShownValue]) + "…"
	}
	return strconv.Quote(s)
}
