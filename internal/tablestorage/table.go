package tablestorage

import (
	"context"
	"iter"

	"github.com/aztenancy/terraform-provider-aztenancy/internal/edm"
	"github.com/aztenancy/terraform-provider-aztenancy/internal/tenancy"
)

// AnyETag as the etag of a write means: whatever the entity's version, but it must exist.
const AnyETag = "*"

// Table is one physical table of an account. It is safe for concurrent use.
type Table struct {
	client *Client
	name   string
}

// Table returns a handle; it sends nothing.
func (c *Client) Table(name string) *Table { return &Table{c, name} }

// Name returns the table's name as it was given.
func (t *Table) Name() string { return t.name }

// Client returns the table's account.
func (t *Table) Client() *Client { return t.client }

// Get reads one entity, with Timestamp and ETag. An absent one is ErrNotFound, an absent table ErrTableNotFound.
func (t *Table) Get(ctx context.Context, key edm.Key) (*edm.Entity, error) {
	panic("under construction")
}

// Insert adds an entity. One that exists is ErrExists.
func (t *Table) Insert(ctx context.Context, e *edm.Entity) (etag string, err error) {
	panic("under construction")
}

// Replace overwrites an existing entity. The etag must not be empty: an ETag that was read, or AnyETag.
func (t *Table) Replace(ctx context.Context, e *edm.Entity, etag string) (newETag string, err error) {
	panic("under construction")
}

// Merge writes the named properties of an existing entity and keeps the others. The etag is as for Replace.
func (t *Table) Merge(ctx context.Context, e *edm.Entity, etag string) (newETag string, err error) {
	panic("under construction")
}

// UpsertReplace inserts or overwrites an entity.
func (t *Table) UpsertReplace(ctx context.Context, e *edm.Entity) (etag string, err error) {
	panic("under construction")
}

// UpsertMerge inserts an entity or merges its properties into the one that is there.
func (t *Table) UpsertMerge(ctx context.Context, e *edm.Entity) (etag string, err error) {
	panic("under construction")
}

// Delete removes an entity. The etag is as for Replace.
func (t *Table) Delete(ctx context.Context, key edm.Key, etag string) error {
	panic("under construction")
}

// Query selects entities of a table.
type Query struct {
	Range    *tenancy.KeyRange // nil: the whole table
	Filter   string            // OData $filter, in addition to Range
	Select   []string          // properties to return; nil: all. Keys and Timestamp come only if named
	PageSize int               // entities a page, 1 to 1000; 0: the service's 1000
}

// Query returns the selected entities in key order, page after page, reading one page ahead. The sequence ends after
// the first error.
func (t *Table) Query(ctx context.Context, q Query) iter.Seq2[*edm.Entity, error] {
	panic("under construction")
}

// Pages is Query by pages. Empty pages are left out.
func (t *Table) Pages(ctx context.Context, q Query) iter.Seq2[[]*edm.Entity, error] {
	panic("under construction")
}

// OpKind is what an operation of a transaction does.
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

// Operation is one write of an entity group transaction. ETag is for OpReplace, OpMerge and OpDelete and must not be
// empty there. OpDelete looks only at the entity's key.
type Operation struct {
	Kind   OpKind
	Entity *edm.Entity
	ETag   string
}

// Limits of an entity group transaction (Performing entity group transactions, REST reference).
const (
	MaxOperations = 100
	MaxBodyBytes  = 4 << 20
)

// Submit runs operations of one PartitionKey, each RowKey at most once, as one entity group transaction: all or
// nothing. It returns their new ETags in order, "" for a deletion. A refusal is an *Error whose Index names the
// operation.
func (t *Table) Submit(ctx context.Context, ops []Operation) (etags []string, err error) {
	panic("under construction")
}

// BatchWriter groups operations into entity group transactions. It is not safe for concurrent use.
type BatchWriter struct {
	// Acknowledged is called after each transaction that the service committed, with its operations and ETags.
	Acknowledged func(ops []Operation, etags []string)
	// Resolve, if set, is called with the operations of a refused transaction. It returns the operations to run
	// in their stead (none: they are dropped), or the error that Add or Flush shall return.
	Resolve func(ctx context.Context, ops []Operation, refused *Error) ([]Operation, error)
}

// NewBatchWriter returns a writer to the table.
func NewBatchWriter(t *Table) *BatchWriter { panic("under construction") }

// Add takes one operation; it may send transactions that are full.
func (w *BatchWriter) Add(ctx context.Context, op Operation) error { panic("under construction") }

// Flush sends everything that was added.
func (w *BatchWriter) Flush(ctx context.Context) error { panic("under construction") }

// BatchError is a transaction that the service did not commit, or of which it is unknown whether it did.
type BatchError struct {
	Operations []Operation
	Err        error
}

// Error returns the cause's text.
func (e *BatchError) Error() string { return e.Err.Error() }

// Unwrap returns the cause.
func (e *BatchError) Unwrap() error { return e.Err }
