package simulation

import (
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/aztenancy/terraform-provider-aztenancy/internal/edm"
	"github.com/aztenancy/terraform-provider-aztenancy/internal/tableserver/batch"
	"github.com/aztenancy/terraform-provider-aztenancy/internal/tableserver/odata"
)

// service is a model of the table service: accounts, tables, entities, nothing else. Each request is carried out at one
// instant. ETags never repeat; Timestamps come from the clock of the entity's partition, which is skewed.
type service struct {
	tables   map[string]*table // by account and lower-cased name
	policies map[string][]byte // the ACL documents, likewise
	pageSize int               // entities a page, where the client asks for no fewer
	skew     func(partition string) time.Duration
	written  int64 // ETags given out
}

// table is one table.
type table struct {
	account, name string
	rows          map[edm.Key]*edm.Entity
}

func newService(pageSize int, skew func(string) time.Duration) *service {
	return &service{tables: map[string]*table{}, policies: map[string][]byte{}, pageSize: pageSize, skew: skew}
}

func tableKey(account, name string) string { return account + "/" + strings.ToLower(name) }

func (s *service) table(account, name string) *table { return s.tables[tableKey(account, name)] }

// get returns an entity, nil where there is none.
func (s *service) get(account, name string, k edm.Key) *edm.Entity {
	if t := s.table(account, name); t != nil {
		return t.rows[k]
	}
	return nil
}

// sorted returns the keys in the service's order.
func (t *table) sorted() []edm.Key { return slices.SortedFunc(maps.Keys(t.rows), edm.Key.Compare) }

// answer is what the service says to one request.
type answer struct {
	status int
	header map[string]string
	body   []byte
}

func refuse(status int, code string) answer {
	return answer{status: status, body: fmt.Appendf(nil, `{"odata.error":{"code":%q,"message":{"lang":"en-US","value":%q}}}`, code, code)}
}

var (
	tableNotFound    = refuse(http.StatusNotFound, "TableNotFound")
	resourceNotFound = refuse(http.StatusNotFound, "ResourceNotFound")
	entityExists     = refuse(http.StatusConflict, "EntityAlreadyExists")
	tableExists      = refuse(http.StatusConflict, "TableAlreadyExists")
	notMet           = refuse(http.StatusPreconditionFailed, "UpdateConditionNotSatisfied")
)

// operation is a request or a part of a batch, parsed.
type operation struct {
	method  string
	account string
	table   string // "" where the request is about the account
	key     *edm.Key
	query   url.Values
	ifMatch string
	body    []byte
	parts   []operation // of a batch
}

// parseOperation reads a request of the project's own client: path-style URLs and percent-encoded quotes.
func parseOperation(method, rawURL string, header http.Header, body []byte) (operation, error) {
	u, err := url.Parse(rawURL)
	if err != nil {
		return operation{}, err
	}
	account, path, _ := strings.Cut(strings.TrimPrefix(u.Path, "/"), "/")
	o := operation{method: method, account: account, query: u.Query(), ifMatch: header.Get("If-Match"), body: body}
	name, predicate, _ := strings.Cut(path, "(")
	o.table = name
	switch {
	case name == "$batch":
		o.table = ""
		return o, o.parseBatch(header.Get("Content-Type"), body)
	case name == "Tables" && predicate != "":
		o.table, o.query = unquote(strings.TrimSuffix(predicate, ")")), url.Values{"tables": {""}}
	case name == "Tables":
		o.table = ""
	case strings.HasPrefix(predicate, "PartitionKey="):
		pk, rk, _ := strings.Cut(strings.TrimSuffix(strings.TrimPrefix(predicate, "PartitionKey="), ")"), ",RowKey=")
		o.key = &edm.Key{PartitionKey: unquote(pk), RowKey: unquote(rk)}
	}
	return o, nil
}

func (o *operation) parseBatch(contentType string, body []byte) error {
	r, err := batch.Parse(contentType, body)
	if err != nil {
		return err
	}
	for _, part := range r.Operations {
		p, err := parseOperation(part.Method, part.URL, http.Header(part.Header), part.Body)
		if err != nil {
			return err
		}
		o.parts = append(o.parts, p)
	}
	return nil
}

func unquote(s string) string {
	return strings.ReplaceAll(strings.TrimSuffix(strings.TrimPrefix(s, "'"), "'"), "''", "'")
}

// String is the same for the same request, however often it is sent.
func (o operation) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s/%s", o.method, o.account, o.table)
	if o.key != nil {
		fmt.Fprintf(&b, "(%s,%s)", o.key.PartitionKey, o.key.RowKey)
	}
	if len(o.query) > 0 {
		b.WriteString("?" + o.query.Encode())
	}
	if o.ifMatch != "" {
		b.WriteString(" if " + o.ifMatch)
	}
	for _, p := range o.parts {
		b.WriteString(" [" + p.String() + "]")
	}
	if len(o.parts) == 0 && len(o.body) > 0 {
		b.WriteString(" " + string(o.body))
	}
	return b.String()
}

// writes says whether the operation may change something.
func (o operation) writes() bool { return o.method != http.MethodGet }

// do carries an operation out.
func (s *service) do(o operation) answer {
	switch {
	case len(o.parts) > 0:
		return s.transaction(o)
	case o.query.Has("comp"):
		return s.policy(o)
	case o.query.Has("tables"):
		return s.dropTable(o)
	case o.table == "" && o.method == http.MethodPost:
		return s.createTable(o)
	case o.table == "":
		return s.listTables(o)
	case o.method == http.MethodGet && o.key == nil:
		return s.page(o)
	case o.method == http.MethodGet:
		return s.read(o)
	}
	a, undo := s.write(o)
	if a.status >= 400 {
		undo()
	}
	return a
}

func (s *service) createTable(o operation) answer {
	_, rest, _ := strings.Cut(string(o.body), `"TableName":"`)
	name, _, _ := strings.Cut(rest, `"`)
	if s.table(o.account, name) != nil {
		return tableExists
	}
	s.tables[tableKey(o.account, name)] = &table{account: o.account, name: name, rows: map[edm.Key]*edm.Entity{}}
	return answer{status: http.StatusNoContent}
}

func (s *service) dropTable(o operation) answer {
	if s.table(o.account, o.table) == nil {
		return resourceNotFound
	}
	delete(s.tables, tableKey(o.account, o.table))
	delete(s.policies, tableKey(o.account, o.table))
	return answer{status: http.StatusNoContent}
}

func (s *service) listTables(o operation) answer {
	f, err := odata.ParseTableFilter(o.query.Get("$filter"))
	if err != nil {
		return refuse(http.StatusBadRequest, "InvalidInput")
	}
	var names []string
	for _, k := range slices.Sorted(maps.Keys(s.tables)) {
		if t := s.tables[k]; t.account == o.account && f.Matches(t.name) {
			names = append(names, fmt.Sprintf(`{"TableName":%q}`, t.name))
		}
	}
	return answer{status: http.StatusOK, body: []byte(`{"value":[` + strings.Join(names, ",") + `]}`)}
}

func (s *service) policy(o operation) answer {
	key := tableKey(o.account, o.table)
	if s.tables[key] == nil {
		return tableNotFound
	}
	if o.method == http.MethodGet {
		return answer{status: http.StatusOK, body: s.policies[key]}
	}
	s.policies[key] = o.body
	return answer{status: http.StatusNoContent}
}

func (s *service) read(o operation) answer {
	t := s.table(o.account, o.table)
	if t == nil {
		return tableNotFound
	}
	e := t.rows[*o.key]
	if e == nil {
		return resourceNotFound
	}
	return answer{status: http.StatusOK, header: map[string]string{"ETag": e.ETag},
		body: edm.AppendEntity(nil, e, edm.MinimalMetadata, edm.Annotations{}, nil)}
}

func (s *service) page(o operation) answer {
	t := s.table(o.account, o.table)
	if t == nil {
		return tableNotFound
	}
	f, err := odata.Parse(o.query.Get("$filter"))
	if err != nil {
		return refuse(http.StatusBadRequest, "InvalidInput")
	}
	var fields []string
	if sel := o.query.Get("$select"); sel != "" {
		fields = strings.Split(sel, ",")
	}
	from := edm.Key{PartitionKey: o.query.Get("NextPartitionKey"), RowKey: o.query.Get("NextRowKey")}
	most := s.pageSize
	if n, err := strconv.Atoi(o.query.Get("$top")); err == nil && n < most {
		most = n
	}
	a, n := answer{status: http.StatusOK, header: map[string]string{}, body: []byte(`{"value":[`)}, 0
	for _, k := range t.sorted() {
		if k.Compare(from) < 0 || !f.Matches(t.rows[k]) {
			continue
		}
		if n == most {
			a.header["x-ms-continuation-NextPartitionKey"], a.header["x-ms-continuation-NextRowKey"] = k.PartitionKey, k.RowKey
			break
		}
		if n++; n > 1 {
			a.body = append(a.body, ',')
		}
		a.body = edm.AppendEntity(a.body, t.rows[k], edm.MinimalMetadata, edm.Annotations{}, fields)
	}
	a.body = append(a.body, "]}"...)
	return a
}
