package tableserver

import (
	"errors"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/aztenancy/terraform-provider-aztenancy/internal/edm"
	"github.com/aztenancy/terraform-provider-aztenancy/internal/tableserver/auth"
	"github.com/aztenancy/terraform-provider-aztenancy/internal/tableserver/batch"
	"github.com/aztenancy/terraform-provider-aztenancy/internal/tableserver/store"
)

// indexed is the refusal of one operation of a batch.
type indexed struct {
	index int
	err   error
}

func (e *indexed) Error() string { return strconv.Itoa(e.index) + ":" + e.err.Error() }

// Unwrap returns the refusal without its index.
func (e *indexed) Unwrap() error { return e.err }

// batch answers an entity group transaction. Its failure is an answer of one part within a 202; what concerns the
// request as a whole, such as its credentials, fails it directly.
func (c *call) batch() error {
	body, err := c.body()
	if err != nil {
		return err
	}
	req, err := batch.Parse(c.r.Header.Get("Content-Type"), body)
	if err != nil {
		f := fail("InvalidInput", "One of the request inputs is not valid.")
		f.detail = err.Error()
		return f
	}
	if req.Query {
		return c.batchQuery(req.Operations[0])
	}
	if c.secondary {
		return fail("InsufficientAccountPermissions", "Write operations to the secondary location are not allowed.")
	}
	parts, err := c.transaction(req.Operations)
	var at *indexed
	if errors.As(err, &at) {
		parts = []batch.Response{c.failedPart(at, req.Operations)}
	} else if err != nil {
		return err
	}
	return c.writeBatch(batch.AppendChangeSet(nil, c.id, parts))
}

func (c *call) writeBatch(body []byte) error {
	if err := c.beforeAnswer(); err != nil {
		return err
	}
	c.odataHeaders()
	c.set("Content-Type", "multipart/mixed; boundary="+batch.BatchBoundary(c.id))
	c.write(http.StatusAccepted, body)
	return nil
}

// transaction runs the operations together. An *indexed error is answered within the batch.
func (c *call) transaction(ops []batch.Operation) ([]batch.Response, error) {
	if len(ops) > batch.MaxOperations {
		return nil, &indexed{batch.MaxOperations - 1, &failure{status: http.StatusBadRequest, code: "InvalidInput", uncached: true,
			message: "The batch request operation exceeds the maximum 100 changes per change set."}}
	}
	changes, err := c.readChanges(ops)
	if err != nil {
		return nil, err
	}
	t, err := c.s.store.Table(c.r.Context(), c.account, changes[0].table)
	if err != nil {
		return nil, &indexed{0, uncached(err)}
	}
	group := make([]store.Operation, len(changes))
	for i, ch := range changes {
		if ch.invalid != nil {
			return nil, &indexed{i, ch.invalid}
		}
		group[i] = ch.operation
	}
	if err := c.admit(t.Name, changes[0].key.PartitionKey, len(group)); err != nil {
		return nil, refusedInBatch(err)
	}
	stored, err := c.s.store.Apply(c.r.Context(), t, group)
	var refused *store.OperationError
	if errors.As(err, &refused) {
		return nil, &indexed{refused.Index, refused.Err}
	}
	if err != nil {
		return nil, err
	}
	parts := make([]batch.Response, len(ops))
	for i, e := range stored {
		parts[i] = c.donePart(ops[i], changes[i], t.Name, e)
	}
	return parts, nil
}

// readChanges reads and authorizes the operations and sees to it that they form one entity group.
func (c *call) readChanges(ops []batch.Operation) ([]change, error) {
	changes := make([]change, len(ops))
	rows := make(map[string]bool, len(ops))
	for i, op := range ops {
		ch, err := c.readOperation(op)
		if err != nil {
			return nil, &indexed{i, err}
		}
		if err := c.grant.AllowEntities(ch.permission, ch.table); err != nil {
			return nil, err
		}
		if err := c.grant.AllowKey(ch.key); err != nil {
			return nil, err
		}
		switch first := changes[0]; {
		case i > 0 && (!strings.EqualFold(ch.table, first.table) || ch.key.PartitionKey != first.key.PartitionKey):
			return nil, &indexed{i, uncached(fail("CommandsInBatchActOnDifferentPartitions",
				"All commands in a batch must operate on same entity group."))}
		case rows[ch.key.RowKey]:
			return nil, &indexed{i, uncached(fail("InvalidDuplicateRow", "The batch request contains multiple changes with "+
				"same row key. An entity can appear only once in a batch request."))}
		}
		rows[ch.key.RowKey] = true
		changes[i] = ch
	}
	return changes, nil
}

// readOperation reads one operation of a change set.
func (c *call) readOperation(op batch.Operation) (change, error) {
	path, _, err := c.pathOf(op.URL)
	if err != nil {
		return change{}, err
	}
	at, err := parseInnerResource(path)
	if err != nil {
		return change{}, err
	}
	method := op.Method
	if tunnelled := op.Header.Get("X-HTTP-Method"); method == http.MethodPost && tunnelled != "" {
		method = tunnelled
	}
	known := at.kind == tableResource && method == http.MethodPost ||
		at.kind == entityResource && slices.Contains([]string{"PUT", "PATCH", "MERGE", "DELETE"}, method)
	if !known {
		return change{}, errInvalidInput
	}
	return readChange(method, at, http.Header(op.Header), op.Body)
}

// parseInnerResource is parseResource for a URL inside a batch, which the web front end does not see.
func parseInnerResource(path string) (resource, error) {
	at, err := parseResource(path)
	if errors.Is(err, errInvalidURL) {
		err = fail("OutOfRangeInput", "One of the request inputs is out of range.")
	}
	return at, err
}

// uncached is the failure with the mark that it is answered without Cache-Control.
func uncached(err error) error {
	f := *failureOf(err)
	f.uncached = true
	return &f
}

// donePart is the answer to one operation that was done.
func (c *call) donePart(op batch.Operation, ch change, table string, e *edm.Entity) batch.Response {
	prefer := preferenceOf(http.Header(op.Header))
	p := batch.Response{Status: http.StatusNoContent}
	p.Header = append(p.Header, batch.Field{Name: "X-Content-Type-Options", Value: "nosniff"},
		batch.Field{Name: "Cache-Control", Value: "no-cache"})
	if ch.operation.Kind != store.Insert {
		p.Header = append(p.Header, batch.Field{Name: "DataServiceVersion", Value: "1.0;"})
		if e != nil {
			p.Header = append(p.Header, batch.Field{Name: "ETag", Value: e.ETag})
		}
		return p
	}
	if applied := prefer.applied(); applied != "" {
		p.Header = append(p.Header, batch.Field{Name: "Preference-Applied", Value: applied})
	}
	at := c.entityURL(table, ch.key)
	p.Header = append(p.Header, batch.Field{Name: "DataServiceVersion", Value: "3.0;"}, batch.Field{Name: "Location", Value: at})
	if prefer == returnNoContent {
		p.Header = append(p.Header, batch.Field{Name: "DataServiceId", Value: at}, batch.Field{Name: "ETag", Value: e.ETag})
		return p
	}
	inner := c.inner(op)
	p.Status = http.StatusCreated
	p.Header = append(p.Header, batch.Field{Name: "Content-Type", Value: inner.format.contentType()},
		batch.Field{Name: "ETag", Value: e.ETag})
	p.Body = inner.appendElement(nil, table, e, nil)
	return p
}

// failedPart is the one answer to a change set of which nothing was done.
func (c *call) failedPart(at *indexed, ops []batch.Operation) batch.Response {
	f := failureOf(at.err)
	c.seen.Status, c.seen.ErrorCode = f.status, f.code
	op := ops[min(at.index, len(ops)-1)]
	p := batch.Response{Status: f.status}
	p.Header = append(p.Header, batch.Field{Name: "X-Content-Type-Options", Value: "nosniff"})
	if !f.uncached {
		p.Header = append(p.Header, batch.Field{Name: "Cache-Control", Value: "no-cache"})
	}
	if preferenceOf(http.Header(op.Header)) == returnNoContent {
		p.Header = append(p.Header, batch.Field{Name: "Preference-Applied", Value: "return-no-content"})
	}
	inner := c.inner(op)
	p.Header = append(p.Header, batch.Field{Name: "DataServiceVersion", Value: "3.0;"},
		batch.Field{Name: "Content-Type", Value: inner.format.contentType()})
	p.Body = c.errorJSON(f, strconv.Itoa(at.index)+":")
	return p
}

// inner is the call as it would be if the operation had come alone, as far as formats go.
func (c *call) inner(op batch.Operation) *call {
	inner := *c
	inner.query = nil
	if _, raw, err := c.pathOf(op.URL); err == nil {
		if q, err := parseQuery(raw); err == nil {
			inner.query = q
		}
	}
	inner.format = formatOf(http.Header(op.Header), inner.query)
	return &inner
}

// batchQuery answers the single query that a batch may hold instead of a change set. What is wrong with it is answered
// within the 202, what the credentials do not allow is not.
func (c *call) batchQuery(op batch.Operation) error {
	r := c.r.Clone(c.r.Context())
	r.Method, r.Header, r.Body = op.Method, http.Header(op.Header), http.NoBody
	answer := &recorded{header: make(http.Header)}
	inner := &call{s: c.s, w: answer, r: r, id: c.id, account: c.account, base: c.base, grant: c.grant, seen: c.seen}
	permission, run, err := inner.readQuery(op.URL)
	if err == nil {
		if err := inner.allow(permission); err != nil {
			return err
		}
		err = run(inner)
	}
	if err != nil {
		inner.fail(err)
	}
	return c.writeBatch(batch.AppendQuery(nil, c.id, answer.part()))
}

// readQuery finds out what the single query of a batch asks for.
func (c *call) readQuery(rawURL string) (permission auth.Operation, run func(*call) error, err error) {
	c.format = formatOf(c.r.Header, nil)
	path, raw, err := c.pathOf(rawURL)
	if err != nil {
		return 0, nil, err
	}
	if c.query, err = parseQuery(raw); err != nil {
		return 0, nil, err
	}
	c.format = formatOf(c.r.Header, c.query)
	if c.resource, err = parseInnerResource(path); err != nil {
		return 0, nil, err
	}
	switch c.resource.kind {
	case tableResource:
		return auth.QueryEntities, (*call).queryEntities, nil
	case entityResource:
		return auth.GetEntity, (*call).getEntity, nil
	default:
		return 0, nil, errInvalidInput
	}
}

// recorded is an answer on its way into a batch.
type recorded struct {
	header http.Header
	status int
	body   []byte
}

func (w *recorded) Header() http.Header { return w.header }

func (w *recorded) WriteHeader(status int) { w.status = status }

func (w *recorded) Write(b []byte) (int, error) {
	w.body = append(w.body, b...)
	return len(b), nil
}

// part is the recorded answer with headers in the order of their names; how it is transferred is the batch's affair.
func (w *recorded) part() batch.Response {
	p := batch.Response{Status: w.status, Body: w.body}
	p.Header = append(p.Header, batch.Field{Name: "DataServiceVersion", Value: "3.0;"})
	for _, name := range slices.Sorted(maps.Keys(w.header)) {
		if name != "Transfer-Encoding" && name != "Content-Length" {
			p.Header = append(p.Header, batch.Field{Name: name, Value: w.header[name][0]})
		}
	}
	return p
}
