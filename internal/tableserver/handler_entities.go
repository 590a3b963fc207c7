package tableserver

import (
	"errors"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/aztenancy/terraform-provider-aztenancy/internal/edm"
	"github.com/aztenancy/terraform-provider-aztenancy/internal/tableserver/keyspan"
	"github.com/aztenancy/terraform-provider-aztenancy/internal/tableserver/odata"
	"github.com/aztenancy/terraform-provider-aztenancy/internal/tableserver/store"
)

// writeEntity answers every verb that changes one entity.
func (c *call) writeEntity() error {
	body, err := c.body()
	if err != nil {
		return err
	}
	ch, err := readChange(c.method, c.resource, c.r.Header, body)
	if err != nil {
		return err
	}
	if err := c.grant.AllowEntities(ch.permission, ch.table); err != nil {
		return err
	}
	t, err := c.s.store.Table(c.r.Context(), c.account, ch.table)
	if err != nil {
		return err
	}
	if ch.invalid != nil {
		return ch.invalid
	}
	if err := c.grant.AllowKey(ch.key); err != nil {
		return err
	}
	answersWithBody := ch.operation.Kind == store.Insert && c.prefer != returnNoContent
	if answersWithBody && c.format.refusal != nil {
		return c.format.refusal
	}
	c.seen.Operation = entityOperations[ch.permission]
	if err := c.admit(t.Name, ch.key.PartitionKey, 1); err != nil {
		return err
	}
	stored, err := c.s.store.Apply(c.r.Context(), t, []store.Operation{ch.operation})
	if err != nil {
		return err
	}
	if e := stored[0]; e != nil {
		c.set("ETag", e.ETag)
	}
	if ch.operation.Kind != store.Insert {
		return c.writeNothing()
	}
	at := c.entityURL(t.Name, ch.key)
	c.set("Location", at)
	if !answersWithBody {
		c.set("DataServiceId", at)
		return c.writeNothing()
	}
	return c.writeJSON(http.StatusCreated, c.appendElement(nil, t.Name, stored[0], nil))
}

// getEntity answers a point read.
func (c *call) getEntity() error {
	if c.format.refusal != nil {
		return c.format.refusal
	}
	names, err := c.query.selected()
	if err != nil {
		return err
	}
	t, err := c.s.store.Table(c.r.Context(), c.account, c.resource.table)
	if err != nil {
		return err
	}
	if err := c.admit(t.Name, c.resource.key.PartitionKey, 1); err != nil {
		return err
	}
	e, err := c.s.store.Get(c.r.Context(), t, c.resource.key)
	if err != nil {
		return err
	}
	c.set("ETag", e.ETag)
	body := c.s.bodies.lend()
	defer c.s.bodies.giveBack(body)
	*body = c.appendElement(*body, t.Name, e, names)
	return c.writeJSON(http.StatusOK, *body)
}

// The bounds of a page besides its number of entities. A page that ends early bears a continuation token, as pages
// of the service may (Query timeout and pagination, REST reference); the bytes are ours and bound the memory.
const (
	maxPageTime  = 5 * time.Second
	maxPageBytes = 4 << 20
	timeEvery    = 256 // entities read between two looks at the time
)

// page collects the entities of one answer.
type page struct {
	body     []byte
	n, limit int
	read     int
	deadline time.Time
}

// full says whether the next entity belongs to the next page.
func (p *page) full() bool {
	if p.n >= p.limit || len(p.body) >= maxPageBytes {
		return true
	}
	p.read++
	return p.read%timeEvery == 0 && time.Now().After(p.deadline)
}

// queryEntities answers one page of a query.
func (c *call) queryEntities() error {
	if c.format.refusal != nil {
		return c.format.refusal
	}
	t, err := c.s.store.Table(c.r.Context(), c.account, c.resource.table)
	if err != nil {
		return err
	}
	names, err := c.query.selected()
	if err != nil {
		return err
	}
	limit, err := c.query.top()
	if err != nil {
		return err
	}
	filter, err := odata.Parse(c.query.get("$filter"))
	if err != nil {
		return err
	}
	from, err := c.startOfPage()
	if err != nil {
		return err
	}
	body := c.s.bodies.lend()
	defer c.s.bodies.giveBack(body)
	p := &page{body: *body, limit: limit, deadline: time.Now().Add(maxPageTime)}
	p.body = c.appendPageStart(p.body, t.Name)
	if limit > 0 {
		within := c.grant.Range().Intersect(keyspan.Span{From: from, To: keyspan.End()})
		next, err := c.fillPage(p, t, filter, within, names)
		if err != nil {
			return err
		}
		if next != nil {
			c.set("x-ms-continuation-NextPartitionKey", encodeToken(next.PartitionKey))
			c.set("x-ms-continuation-NextRowKey", encodeToken(next.RowKey))
		}
	}
	*body = append(p.body, "]}"...)
	return c.writeJSON(http.StatusOK, *body)
}

// startOfPage reads the continuation tokens, which name the first key of the page.
func (c *call) startOfPage() (keyspan.Bound, error) {
	pk, rk := c.query.get("NextPartitionKey"), c.query.get("NextRowKey")
	if pk == "" && rk == "" {
		return keyspan.Start(), nil
	}
	var key edm.Key
	var err error
	if key.PartitionKey, err = decodeToken(pk); err != nil {
		return keyspan.Bound{}, err
	}
	if rk != "" { // Storage Explorer sends it empty
		if key.RowKey, err = decodeToken(rk); err != nil {
			return keyspan.Bound{}, err
		}
	}
	return keyspan.BeforeKey(key), nil
}

// fillPage appends matching entities until the page is full, and returns the key at which the next page starts.
func (c *call) fillPage(p *page, t store.Table, filter *odata.Filter, within keyspan.Span, names []string) (*edm.Key, error) {
	var spans []keyspan.Span
	for _, span := range filter.KeySpans() {
		if span = span.Intersect(within); !span.Empty() {
			spans = append(spans, span)
		}
	}
	passing, err := c.startPassage(t.Name, onlyPartition(spans))
	if err != nil {
		return nil, err
	}
	defer passing.end()
	for _, span := range spans {
		for e, err := range c.s.store.Scan(c.r.Context(), t, span) {
			if err != nil {
				return nil, err
			}
			if p.full() {
				key := e.Key()
				return &key, nil
			}
			if err := passing.over(e.Key()); errors.Is(err, errPageEnds) {
				key := e.Key()
				return &key, nil
			} else if err != nil {
				return nil, err
			}
			if !filter.Matches(e) {
				continue
			}
			if p.n > 0 {
				p.body = append(p.body, ',')
			}
			p.n++
			p.body = edm.AppendEntity(p.body, e, c.format.level, c.annotations(t.Name, e), names)
		}
	}
	return nil, nil
}

// appendPageStart writes what stands before the first entity.
func (c *call) appendPageStart(dst []byte, table string) []byte {
	if c.format.level == edm.NoMetadata {
		return append(dst, `{"value":[`...)
	}
	dst = append(dst, `{"odata.metadata":`...)
	dst = edm.AppendJSONString(dst, c.base+"$metadata#"+table+c.selectSuffix())
	return append(dst, `,"value":[`...)
}

// selectSuffix is what $select adds to a metadata URL: the client's text with %20 for spaces.
func (c *call) selectSuffix() string {
	if !c.query.has("$select") {
		return ""
	}
	return "&$select=" + strings.ReplaceAll(c.query.get("$select"), " ", "%20")
}

// appendElement writes a single entity.
func (c *call) appendElement(dst []byte, table string, e *edm.Entity, names []string) []byte {
	a := c.annotations(table, e)
	a.ODataMetadata = c.base + "$metadata#" + table + "/@Element" + c.selectSuffix()
	return edm.AppendEntity(dst, e, c.format.level, a, names)
}

// annotations are the addresses of an entity at full metadata.
func (c *call) annotations(table string, e *edm.Entity) edm.Annotations {
	if c.format.level != edm.FullMetadata {
		return edm.Annotations{}
	}
	link := string(appendEntityPath(nil, table, e.Key()))
	return edm.Annotations{ODataType: c.account + "." + table, ODataID: c.base + link, ODataEditLink: link}
}

// entityURL is the full address of an entity.
func (c *call) entityURL(table string, k edm.Key) string {
	return string(appendEntityPath([]byte(c.base), table, k))
}

// pathOf returns the escaped path and query of a URL inside a batch, below the account. Absolute and relative URLs
// come, and with path-style endpoints the account stands in both.
func (c *call) pathOf(raw string) (path, rawQuery string, err error) {
	u, err := url.Parse(raw)
	if err != nil {
		return "", "", errors.Join(errInvalidInput, err)
	}
	path = strings.TrimPrefix(u.EscapedPath(), "/")
	if u.Host != "" || strings.HasPrefix(raw, "/") {
		own, err := url.Parse(c.base)
		if err != nil {
			return "", "", err
		}
		prefix := strings.TrimPrefix(own.EscapedPath(), "/")
		path = strings.TrimPrefix(path, prefix)
	}
	return path, u.RawQuery, nil
}
