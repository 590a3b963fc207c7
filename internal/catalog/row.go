package catalog

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/aztenancy/terraform-provider-aztenancy/internal/edm"
)

// schemaVersion is the version of the row layout in doc.go.
const schemaVersion = 1

// MaxJSON is the most that a JSON column can hold, in UTF-16 code units (64 KiB; Table service data model).
const MaxJSON = edm.MaxValueBytes / 2

// The columns that every row has.
const (
	colSchema  = "Schema"
	colWrite   = "Write"
	colUpdated = "Updated"
)

// Partitions, or their beginnings. Snapshot relies on their order.
const (
	claimPrefix        = "claim|"
	migrationPartition = "migration"
	modelPartition     = "model"
	tenantPartition    = "tenant"
	workPrefix         = "work|"
)

// row reads the columns of an entity. The first column that is missing or of another type is kept as the error.
type row struct {
	e   *edm.Entity
	err *error
}

// openRow checks the row's schema version.
func openRow(e *edm.Entity) (row, error) {
	v, ok := e.Get(colSchema)
	if !ok || v.Type() != edm.Int32 {
		return row{}, fmt.Errorf("catalog row (%q, %q) has no column %s: it was not written by aztenancy; remove it, or name another catalog table",
			e.PartitionKey, e.RowKey, colSchema)
	}
	if v.Int() > schemaVersion {
		return row{}, fmt.Errorf("catalog row (%q, %q) has schema %d, and this version knows schemas up to %d: it was %w",
			e.PartitionKey, e.RowKey, v.Int(), schemaVersion, ErrNewerSchema)
	}
	return row{e, new(error)}, nil
}

func (r row) failure() error { return *r.err }

func (r row) fail(format string, args ...any) {
	if *r.err == nil {
		*r.err = fmt.Errorf("catalog row (%q, %q): %w", r.e.PartitionKey, r.e.RowKey, fmt.Errorf(format, args...))
	}
}

// column returns a column's value, the zero Value if it may be absent and is.
func (r row) column(name string, t edm.Type, optional bool) edm.Value {
	v, ok := r.e.Get(name)
	switch {
	case !ok && optional:
	case !ok:
		r.fail("column %s is missing", name)
	case v.Type() != t:
		r.fail("column %s is %v, not %v", name, v.Type(), t)
		return edm.Value{}
	}
	return v
}

func (r row) text(name string) string         { return r.column(name, edm.String, false).Str() }
func (r row) optionalText(name string) string { return r.column(name, edm.String, true).Str() }
func (r row) int(name string, t edm.Type) int64 {
	return r.column(name, t, false).Int()
}
func (r row) bool(name string) bool { return r.column(name, edm.Boolean, false).Bool() }
func (r row) bytes(name string) []byte {
	if v := r.column(name, edm.Binary, true); !v.IsZero() {
		return v.Bytes()
	}
	return nil
}

// time reads a column that is absent for the zero time.
func (r row) time(name string) time.Time {
	if v := r.column(name, edm.DateTime, true); !v.IsZero() {
		return v.Time()
	}
	return time.Time{}
}

// json reads a JSON column into a pointer.
func (r row) json(name string, into any) {
	text := r.text(name)
	if *r.err != nil {
		return
	}
	if err := json.Unmarshal([]byte(text), into); err != nil {
		r.fail("column %s: %w", name, err)
	}
}

// rowWriter builds the columns of a row.
type rowWriter struct {
	e   *edm.Entity
	err error
}

func newRow(pk, rk string) *rowWriter {
	w := &rowWriter{e: &edm.Entity{PartitionKey: pk, RowKey: rk}}
	w.e.Set(colSchema, edm.Int32Value(schemaVersion))
	return w
}

func (w *rowWriter) text(name, s string)         { w.e.Set(name, edm.StringValue(s)) }
func (w *rowWriter) int64(name string, n int64)  { w.e.Set(name, edm.Int64Value(n)) }
func (w *rowWriter) bool(name string, b bool)    { w.e.Set(name, edm.BooleanValue(b)) }
func (w *rowWriter) optionalText(name, s string) { w.optional(name, s != "", edm.StringValue(s)) }
func (w *rowWriter) bytes(name string, b []byte) { w.optional(name, len(b) > 0, edm.BinaryValue(b)) }
func (w *rowWriter) time(name string, t time.Time) {
	w.optional(name, !t.IsZero(), edm.DateTimeValue(t))
}

func (w *rowWriter) optional(name string, present bool, v edm.Value) {
	if present {
		w.e.Set(name, v)
	}
}

func (w *rowWriter) json(name string, v any) {
	b, err := json.Marshal(v)
	if err != nil {
		w.err = errors.Join(w.err, fmt.Errorf("column %s: %w", name, err))
		return
	}
	if n := edm.UTF16Len(string(b)); n > MaxJSON {
		w.err = errors.Join(w.err, fmt.Errorf("column %s takes %d UTF-16 code units as JSON, of which a property holds %d: use fewer or shorter entries", name, n, MaxJSON))
		return
	}
	w.text(name, string(b))
}

// finish returns the entity, or the first reason why it cannot be written; what names it in the error.
func (w *rowWriter) finish(what string) (*edm.Entity, error) {
	if w.err == nil {
		w.err = w.e.Validate()
	}
	if w.err != nil {
		return nil, fmt.Errorf("write %s: %w", what, w.err)
	}
	return w.e, nil
}
