package tablestorage

import (
	"context"
	"net/http"

	"github.com/aztenancy/terraform-provider-aztenancy/internal/edm"
	"github.com/aztenancy/terraform-provider-aztenancy/internal/tablestorage/pace"
)

// AnyETag as the etag of a write means: whatever the entity's version, but it must exist.
const AnyETag = "*"

// Table is one physical table of an account. It is safe for concurrent use.
type Table struct {
	client *Client
	name   string
	pacer  *pace.Pacer // nil: requests are sent at once
}

// Table returns a handle; it sends nothing.
func (c *Client) Table(name string) *Table { return &Table{client: c, name: name} }

// Name returns the table's name as it was given.
func (t *Table) Name() string { return t.name }

// Client returns the client of the table's account.
func (t *Table) Client() *Client { return t.client }

// entityPath returns the path of an entity. Keys are empty, or hold quotes, percent signs, spaces and anything else
// that is legal: a quote is doubled, then all but unreserved characters are percent-encoded.
func (t *Table) entityPath(key edm.Key) string {
	return escape(t.name) + "(PartitionKey=" + quote(key.PartitionKey) + ",RowKey=" + quote(key.RowKey) + ")"
}

// Get reads one entity, with Timestamp and ETag. An absent one is ErrNotFound, an absent table ErrTableNotFound.
func (t *Table) Get(ctx context.Context, key edm.Key) (*edm.Entity, error) {
	r := t.paced(request{operation: "get entity", table: t.name, method: http.MethodGet, path: t.entityPath(key),
		want: []int{http.StatusOK}}, pace.Read, key.PartitionKey, 1)
	resp, err := t.client.do(ctx, r)
	if err != nil {
		return nil, err
	}
	e, _, err := edm.ParseEntity(resp.body)
	if err != nil {
		return nil, t.client.unreadable(r, err)
	}
	if e.ETag == "" {
		e.ETag = resp.header.Get("ETag")
	}
	return e, nil
}

// Insert adds an entity and returns its ETag. One that exists is ErrExists.
func (t *Table) Insert(ctx context.Context, e *edm.Entity) (etag string, err error) {
	return t.write(ctx, Operation{Kind: OpInsert, Entity: e})
}

// Replace overwrites an existing entity and returns its new ETag. The etag is one that was read, or AnyETag; "" is
// ErrNoETag, as the service would take it for an upsert. A stale one is ErrConditionNotMet, an absent entity
// ErrNotFound.
func (t *Table) Replace(ctx context.Context, e *edm.Entity, etag string) (newETag string, err error) {
	return t.write(ctx, Operation{Kind: OpReplace, Entity: e, ETag: etag})
}

// Merge writes the properties of e into an existing entity and keeps the others. The etag is as for Replace.
func (t *Table) Merge(ctx context.Context, e *edm.Entity, etag string) (newETag string, err error) {
	return t.write(ctx, Operation{Kind: OpMerge, Entity: e, ETag: etag})
}

// UpsertReplace inserts or overwrites an entity.
func (t *Table) UpsertReplace(ctx context.Context, e *edm.Entity) (etag string, err error) {
	return t.write(ctx, Operation{Kind: OpUpsertReplace, Entity: e})
}

// UpsertMerge inserts an entity or merges its properties into the one that is there.
func (t *Table) UpsertMerge(ctx context.Context, e *edm.Entity) (etag string, err error) {
	return t.write(ctx, Operation{Kind: OpUpsertMerge, Entity: e})
}

// Delete removes an entity. The etag is as for Replace.
func (t *Table) Delete(ctx context.Context, key edm.Key, etag string) error {
	e := &edm.Entity{PartitionKey: key.PartitionKey, RowKey: key.RowKey}
	_, err := t.write(ctx, Operation{Kind: OpDelete, Entity: e, ETag: etag})
	return err
}

// write runs one operation as a request of its own.
func (t *Table) write(ctx context.Context, op Operation) (etag string, err error) {
	k := op.Kind.wire()
	r := t.paced(request{operation: k.words, table: t.name, method: k.method, path: t.operationPath(op), noContent: k.noContent,
		want: []int{http.StatusNoContent, http.StatusCreated}}, pace.Write, op.Entity.PartitionKey, 1)
	if k.conditional {
		if op.ETag == "" {
			e := t.client.describe(r)
			e.Err = ErrNoETag
			return "", e
		}
		r.ifMatch = op.ETag
	}
	if k.hasBody {
		r.contentType, r.body = jsonType, edm.AppendBody(nil, op.Entity)
	}
	resp, err := t.client.do(ctx, r)
	if err != nil {
		return "", err
	}
	return resp.header.Get("ETag"), nil
}
