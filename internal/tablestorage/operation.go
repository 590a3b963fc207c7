package tablestorage

import (
	"net/http"

	"github.com/aztenancy/terraform-provider-aztenancy/internal/edm"
)

// OpKind is what an operation does.
type OpKind uint8

// The kinds of operation.
const (
	OpInsert OpKind = iota + 1
	OpReplace
	OpMerge
	OpUpsertReplace
	OpUpsertMerge
	OpDelete
)

// Operation is one write. ETag is for OpReplace, OpMerge and OpDelete and must not be empty there: it is one that was
// read, or AnyETag. OpDelete looks only at the entity's key.
type Operation struct {
	Kind   OpKind
	Entity *edm.Entity
	ETag   string
}

// wireForm is how a kind of operation travels.
type wireForm struct {
	words       string // for errors
	method      string
	toTable     bool // the URL is the table's, not the entity's
	hasBody     bool
	noContent   bool // the answer would hold the entity if it were not asked to leave it out
	conditional bool // If-Match must be there; without it PUT and PATCH are upserts
}

// wireForms is the protocol of writes (Insert, Update, Merge, Insert Or Replace, Insert Or Merge, Delete Entity).
var wireForms = [...]wireForm{
	OpInsert:        {words: "insert entity", method: http.MethodPost, toTable: true, hasBody: true, noContent: true},
	OpReplace:       {words: "replace entity", method: http.MethodPut, hasBody: true, conditional: true},
	OpMerge:         {words: "merge entity", method: http.MethodPatch, hasBody: true, conditional: true},
	OpUpsertReplace: {words: "upsert entity", method: http.MethodPut, hasBody: true},
	OpUpsertMerge:   {words: "upsert entity", method: http.MethodPatch, hasBody: true},
	OpDelete:        {words: "delete entity", method: http.MethodDelete, conditional: true},
}

func (k OpKind) wire() wireForm { return wireForms[k] }

// String returns the kind in words: "insert entity".
func (k OpKind) String() string {
	if k == 0 || int(k) >= len(wireForms) {
		return "no operation"
	}
	return wireForms[k].words
}

// operationPath returns the path that the operation addresses.
func (t *Table) operationPath(op Operation) string {
	if op.Kind.wire().toTable {
		return escape(t.name)
	}
	return t.entityPath(op.Entity.Key())
}
