package tablestorage

import (
	"context"
	"fmt"
	"net/http"

	"github.com/google/uuid"

	"github.com/aztenancy/terraform-provider-aztenancy/internal/edm"
	"github.com/aztenancy/terraform-provider-aztenancy/internal/tablestorage/pace"
)

// Limits of an entity group transaction (Performing entity group transactions, REST reference).
const (
	MaxOperations = 100
	MaxBodyBytes  = 4 << 20
)

// A transaction is sent as one multipart body. Everything but the operations has a fixed length, so that the length of
// the body is known while it is being filled:
//
//	--batch_UUID                                          head
//	Content-Type: multipart/mixed; boundary=changeset_UUID
//
//	--changeset_UUID                                      one operation
//	Content-Type: application/http
//	Content-Transfer-Encoding: binary
//
//	PUT https://ACCOUNT.table.core.windows.net/orders(PartitionKey='p',RowKey='r') HTTP/1.1
//	…headers
//
//	{"PartitionKey":"p",…}
//	--changeset_UUID--                                    tail
//	--batch_UUID--
type transaction struct {
	table *Table
	ops   []Operation
	// guards is how many of the first ops were put there by BatchWriter.Guard; err says why there is none.
	guards int
	err    error
	body   []byte
	batch  string // boundaries
	set    string
}

const (
	uuidBytes = 36
	crlf      = "\r\n"
)

// tailBytes is the length of the tail.
const tailBytes = len("--changeset_") + uuidBytes + len("--"+crlf) + len("--batch_") + uuidBytes + len("--"+crlf)

// newTransaction returns an empty transaction. Its boundaries are random, so that no entity can hold one.
func newTransaction(t *Table) *transaction {
	x := &transaction{table: t, batch: "batch_" + uuid.NewString(), set: "changeset_" + uuid.NewString()}
	x.body = append(x.body, "--"+x.batch+crlf+"Content-Type: multipart/mixed; boundary="+x.set+crlf+crlf...)
	return x
}

// add appends an operation. ok is false, and nothing is changed, if the transaction has no room for it.
func (x *transaction) add(op Operation) (ok bool, err error) {
	k := op.Kind.wire()
	if k.conditional && op.ETag == "" {
		return false, fmt.Errorf("%s: %w", op.Kind, ErrNoETag)
	}
	if len(x.ops) == MaxOperations {
		return false, nil
	}
	before := len(x.body)
	x.body = append(x.body, "--"+x.set+crlf+
		"Content-Type: application/http"+crlf+
		"Content-Transfer-Encoding: binary"+crlf+crlf+
		k.method+" "+x.table.client.account.TableEndpoint+"/"+x.table.operationPath(op)+" HTTP/1.1"+crlf+
		"Accept: "+jsonMinimal+crlf+
		"DataServiceVersion: 3.0"+crlf...)
	if k.hasBody {
		x.body = append(x.body, "Content-Type: "+jsonType+crlf...)
	}
	if k.noContent {
		x.body = append(x.body, "Prefer: return-no-content"+crlf...)
	}
	if k.conditional {
		x.body = append(x.body, "If-Match: "+op.ETag+crlf...)
	}
	x.body = append(x.body, crlf...)
	if k.hasBody {
		x.body = edm.AppendBody(x.body, op.Entity)
	}
	x.body = append(x.body, crlf...)
	if len(x.body)+tailBytes > MaxBodyBytes {
		x.body = x.body[:before]
		return false, nil
	}
	x.ops = append(x.ops, op)
	return true, nil
}

// payload returns the operations without the guard.
func (x *transaction) payload() []Operation { return x.ops[x.guards:] }

// size returns the length of the whole body.
func (x *transaction) size() int { return len(x.body) + tailBytes }

// send runs the transaction and returns its ETags. Without operations it sends nothing.
func (x *transaction) send(ctx context.Context) ([]string, error) {
	if len(x.ops) == 0 {
		return nil, nil
	}
	c := x.table.client
	r := x.table.paced(request{
		operation: "transaction", table: x.table.name, method: http.MethodPost, path: "$batch",
		contentType: "multipart/mixed; boundary=" + x.batch,
		body:        append(x.body[:len(x.body):len(x.body)], "--"+x.set+"--"+crlf+"--"+x.batch+"--"+crlf...),
		want:        []int{http.StatusAccepted, http.StatusOK},
	}, pace.Write, x.ops[0].Entity.PartitionKey, len(x.ops))
	tries := &attempts{}
	resp, err := c.doCounting(ctx, r, tries)
	if err != nil {
		return nil, err
	}
	answer, err := parseTransaction(resp.header.Get("Content-Type"), resp.body)
	if err != nil {
		e := c.unreadable(r, err)
		e.Retried = true // whatever it says, the service has answered
		return nil, e
	}
	return x.result(r, resp.header, answer, tries)
}

// result makes ETags or an error of an answer that could be read.
func (x *transaction) result(r request, h http.Header, parts []partAnswer, tries *attempts) ([]string, error) {
	c := x.table.client
	for i, p := range parts {
		if p.status < http.StatusBadRequest {
			continue
		}
		e := c.describe(r)
		e.Status, e.RequestID, e.Retried = p.status, h.Get("x-ms-request-id"), tries.uncertain
		e.Code, e.Message = parseErrorBody(p.body)
		e.Index, e.Message = indexOf(e.Message)
		if e.Index < 0 && (len(parts) > 1 || len(x.ops) == 1) {
			e.Index = i // a server that answers every part, or there is but one operation
		}
		if e.Index < 0 || e.Index >= len(x.ops) {
			e.Index = -1
		} else {
			e.Operation = x.ops[e.Index].Kind.String()
		}
		e.advice = c.advise(e, h)
		return nil, e
	}
	if len(parts) != len(x.ops) {
		e := c.unreadable(r, fmt.Errorf("%d parts for %d operations", len(parts), len(x.ops)))
		e.Retried = true
		return nil, e
	}
	etags := make([]string, len(parts))
	for i, p := range parts {
		etags[i] = p.etag
	}
	return etags, nil
}

// Submit runs operations of one PartitionKey, each RowKey at most once, as one entity group transaction: all or
// nothing. It returns their new ETags in order, "" for a deletion. A refusal is an *Error whose Index names the
// operation. No more than MaxOperations and MaxBodyBytes are sent: beyond that the error is ErrTooLarge.
func (t *Table) Submit(ctx context.Context, ops []Operation) (etags []string, err error) {
	x := newTransaction(t)
	for i, op := range ops {
		ok, err := x.add(op)
		if err == nil && ok {
			continue
		}
		e := t.client.describe(request{operation: "transaction", table: t.name})
		e.Index, e.Err = i, err
		if err == nil {
			e.Err = fmt.Errorf("%w: a transaction has at most %d operations and %d bytes", ErrTooLarge, MaxOperations, MaxBodyBytes)
		}
		return nil, e
	}
	return x.send(ctx)
}
