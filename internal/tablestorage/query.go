package tablestorage

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"net/http"
	"strconv"
	"strings"

	"github.com/aztenancy/terraform-provider-aztenancy/internal/edm"
	"github.com/aztenancy/terraform-provider-aztenancy/internal/tablestorage/pace"
	"github.com/aztenancy/terraform-provider-aztenancy/internal/tenancy"
)

// Query selects entities of a table.
type Query struct {
	Range    *tenancy.KeyRange // nil: the whole table
	Filter   string            // OData $filter, in addition to Range
	Select   []string          // properties to return; nil: all. Keys and Timestamp come only if named
	PageSize int               // entities a page, 1 to 1000; 0: the service's 1000
}

// MaxPageSize is the service's largest page (Query timeout and pagination).
const MaxPageSize = 1000

// Query returns the selected entities in key order, page after page, reading one page ahead. The sequence ends after
// the first error.
func (t *Table) Query(ctx context.Context, q Query) iter.Seq2[*edm.Entity, error] {
	return func(yield func(*edm.Entity, error) bool) {
		for page, err := range t.Pages(ctx, q) {
			if err != nil {
				yield(nil, err)
				return
			}
			for _, e := range page {
				if !yield(e, nil) {
					return
				}
			}
		}
	}
}

// Pages is Query by pages, while the next page is already being read. Pages without entities, which the service may
// send before the end, are left out.
func (t *Table) Pages(ctx context.Context, q Query) iter.Seq2[[]*edm.Entity, error] {
	return func(yield func([]*edm.Entity, error) bool) {
		ctx, cancel := context.WithCancel(ctx)
		next := t.readAhead(ctx, q, position{})
		defer func() {
			cancel()
			if next != nil {
				<-next // no goroutine outlives the loop
			}
		}()
		for next != nil {
			p := <-next
			next = nil
			if p.err != nil {
				yield(nil, p.err)
				return
			}
			if !p.next.isEnd() {
				next = t.readAhead(ctx, q, p.next)
			}
			if len(p.entities) > 0 && !yield(p.entities, nil) {
				return
			}
		}
	}
}

// position is where a query goes on: the continuation tokens of the last answer, percent-encoded, which are opaque.
type position struct{ partition, row string }

// isEnd says whether there is nothing more. One token alone goes on: NextRowKey may be missing.
func (p position) isEnd() bool { return p == position{} }

// page is one answer.
type page struct {
	entities []*edm.Entity
	next     position
	err      error
}

// readAhead reads a page in a goroutine of its own. The channel holds it, so that the goroutine ends unread or not.
func (t *Table) readAhead(ctx context.Context, q Query, at position) <-chan page {
	c := make(chan page, 1)
	go func() { c <- t.page(ctx, q, at) }()
	return c
}

// page reads the page at a position.
func (t *Table) page(ctx context.Context, q Query, at position) page {
	r := t.paced(request{operation: "query entities", table: t.name, method: http.MethodGet, path: escape(t.name) + "()",
		want: []int{http.StatusOK}}, pace.Read, q.begins(), cmp.Or(q.PageSize, MaxPageSize))
	r.cost.Page = true
	parameters, err := q.parameters()
	if err != nil {
		e := t.client.describe(r)
		e.Err = err
		return page{err: e}
	}
	r.query = joinQuery(parameters, param("NextPartitionKey", at.partition), param("NextRowKey", at.row))
	resp, err := t.client.do(ctx, r)
	if err != nil {
		return page{err: err}
	}
	p := page{next: position{
		partition: escape(resp.header.Get("x-ms-continuation-NextPartitionKey")),
		row:       escape(resp.header.Get("x-ms-continuation-NextRowKey")),
	}}
	if p.entities, err = edm.ParsePage(resp.body); err != nil {
		return page{err: t.client.unreadable(r, err)}
	}
	resp.ticket.Actual(len(p.entities))
	if !p.next.isEnd() && p.next == at {
		return page{err: t.client.unreadable(r, errStuck)}
	}
	return p
}

// begins is the PartitionKey at which the query begins.
func (q Query) begins() string {
	if q.Range == nil {
		return ""
	}
	return q.Range.First.PartitionKey
}

// parameters returns the query string of the first page.
func (q Query) parameters() (string, error) {
	var top string
	if q.PageSize != 0 {
		if q.PageSize < 1 || q.PageSize > MaxPageSize {
			return "", fmt.Errorf("page size %d: the service has 1 to %d", q.PageSize, MaxPageSize)
		}
		top = strconv.Itoa(q.PageSize)
	}
	return joinQuery(param("$filter", escape(q.filter())), param("$select", escape(strings.Join(q.Select, ","))),
		param("$top", top)), nil
}

// filter joins Range and Filter.
func (q Query) filter() string {
	if q.Range == nil {
		return q.Filter
	}
	within := q.Range.Filter()
	switch {
	case q.Filter == "":
		return within
	case within == "":
		return q.Filter
	}
	return "(" + within + ") and (" + q.Filter + ")"
}
