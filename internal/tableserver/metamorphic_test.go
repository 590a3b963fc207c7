package tableserver

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// metamorphic sends random operations to a real server over HTTP and to the model, and compares each answer.
type metamorphic struct {
	outer *testing.T
	dir   string
	*client
	m     model
	last  time.Time // in the newest ETag seen
	etags []string
	stop  func()
}

// start runs the server on the folder, again and again.
func (x *metamorphic) start() {
	s, err := New(Options{Dir: x.dir})
	if err != nil {
		x.outer.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		x.outer.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Serve(ctx, l) }()
	x.stop = func() {
		cancel()
		if err := <-done; err != nil {
			x.outer.Fatal(err)
		}
		if err := s.Close(); err != nil {
			x.outer.Fatal(err)
		}
	}
	a := s.Accounts()[0]
	x.client = &client{t: x.outer, account: a, endpoint: s.Endpoint(l.Addr(), a.Name)}
}

func (x *metamorphic) restart(*rapid.T) {
	x.stop()
	x.start()
}

// TestServerDoesWhatTheModelDoes: -rapid.checks and -rapid.steps make it longer (make soak).
func TestServerDoesWhatTheModelDoes(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		x := &metamorphic{outer: t, dir: t.TempDir(), m: make(model)}
		x.start()
		defer func() { x.stop() }()
		rt.Repeat(map[string]func(*rapid.T){
			"create table": x.createTable,
			"delete table": x.deleteTable,
			"write":        x.write,
			"write more":   x.write,
			"transaction":  x.transaction,
			"transaction2": x.transaction,
			"point":        x.point,
			"query":        x.query,
			"query more":   x.query,
			"policies":     x.policies,
			"restart":      x.restart,
			"":             x.compareAll,
		})
	})
}

var (
	errorCode = regexp.MustCompile(`"code":"([A-Za-z]+)"|<(?:m:)?code>([A-Za-z]+)<`)
	etagOf    = regexp.MustCompile(`(?m)^ETag: (.*?)\r?$`)
)

// expect fails unless the answer has the status and, for a refusal, the code.
func expect(t *rapid.T, what string, a answer, status int, code string) {
	t.Helper()
	got := ""
	if m := errorCode.FindStringSubmatch(a.body); m != nil {
		got = m[1] + m[2]
	}
	if a.status != status || got != code {
		t.Fatalf("%s: got %d %s, want %d %s\n%s", what, a.status, got, status, code, a.body)
	}
}

func drawTable(t *rapid.T) string {
	return rapid.SampledFrom([]string{"Aaa", "aaa", "Bbb"}).Draw(t, "table")
}

func drawText(t *rapid.T, label string) string {
	return rapid.SampledFrom([]string{"", "a", "ab", "B", "o'x", "ä", "\uFF5E", "\U0001F600", "a b"}).Draw(t, label)
}

func drawKey(t *rapid.T) modelKey {
	return modelKey{rapid.SampledFrom([]string{"", "p", "pq", "\U0001F600"}).Draw(t, "pk"), drawText(t, "rk")}
}

func drawValue(t *rapid.T) modelValue {
	v := modelValue{kind: rapid.SampledFrom([]string{"Int32", "Int64", "Double", "Boolean", "String"}).Draw(t, "kind")}
	switch v.kind {
	case "String":
		v.text = drawText(t, "text")
	case "Boolean":
		v.num = float64(rapid.IntRange(0, 1).Draw(t, "bool"))
	case "Double":
		v.num = float64(rapid.IntRange(-4, 4).Draw(t, "halves")) / 2
	default:
		v.num = float64(rapid.IntRange(-2, 2).Draw(t, "number"))
	}
	return v
}

func drawProps(t *rapid.T) map[string]modelValue {
	props := make(map[string]modelValue)
	for range rapid.IntRange(0, 3).Draw(t, "properties") {
		props[rapid.SampledFrom([]string{"x", "y", "z"}).Draw(t, "name")] = drawValue(t)
	}
	return props
}

func (x *metamorphic) drawOp(t *rapid.T, table string, k modelKey) modelOp {
	op := modelOp{method: rapid.SampledFrom([]string{"POST", "PUT", "MERGE", "DELETE"}).Draw(t, "method"), key: k}
	if op.method != "DELETE" {
		op.props = drawProps(t)
	}
	if op.method == "POST" {
		return op
	}
	choices := []string{"*"}
	if op.method != "DELETE" {
		choices = append(choices, "")
	}
	if tab := x.m[strings.ToLower(table)]; tab != nil && tab.rows[k].etag != "" {
		choices = append(choices, tab.rows[k].etag)
	}
	if len(x.etags) > 0 {
		choices = append(choices, x.etags[len(x.etags)/2])
	}
	op.ifMatch = rapid.SampledFrom(choices).Draw(t, "condition")
	return op
}

// stored records the ETag that a write answered with: never seen before, and newer than all.
func (x *metamorphic) stored(t *rapid.T, table string, op modelOp, etag string) {
	if op.method == "DELETE" {
		if etag != "" {
			t.Fatalf("a delete answers with the ETag %s", etag)
		}
		return
	}
	text := strings.TrimSuffix(strings.TrimPrefix(strings.ReplaceAll(etag, "%3A", ":"), `W/"datetime'`), `'"`)
	if when, err := time.Parse(time.RFC3339Nano, text); err != nil || !when.After(x.last) {
		t.Fatalf("ETag %s comes after %s: %v", etag, x.last, err)
	} else {
		x.last, x.etags = when, append(x.etags, etag)
	}
	rows := x.m[strings.ToLower(table)].rows
	e := rows[op.key]
	e.etag = etag
	rows[op.key] = e
}

func (op modelOp) headers() []string {
	if op.ifMatch == "" {
		return nil
	}
	return []string{"If-Match", op.ifMatch}
}

func (op modelOp) path(table string) string {
	if op.method == "POST" {
		return table
	}
	return op.key.path(table)
}

func (x *metamorphic) write(t *rapid.T) {
	table := drawTable(t)
	op := x.drawOp(t, table, drawKey(t))
	a := x.do(op.method, op.path(table), op.body(), op.headers()...)
	_, status, code := x.m.apply(table, []modelOp{op})
	expect(t, op.method+" "+op.path(table), a, status, code)
	if code == "" {
		x.stored(t, table, op, a.header.Get("ETag"))
	}
}

func (x *metamorphic) transaction(t *rapid.T) {
	table, pk := drawTable(t), drawKey(t).pk
	var ops []modelOp
	var parts []string
	for range rapid.IntRange(1, 5).Draw(t, "operations") {
		k := modelKey{pk, drawText(t, "rk")}
		if slices.ContainsFunc(ops, func(op modelOp) bool { return op.key == k }) {
			continue
		}
		op := x.drawOp(t, table, k)
		ops = append(ops, op)
		parts = append(parts, part(op.method, x.endpoint+op.path(table), op.body(), op.headers()...))
	}
	a := x.submit(parts...)
	index, status, code := x.m.apply(table, ops)
	answers := strings.Split(a.body, "HTTP/1.1 ")[1:]
	if a.status != 202 || code != "" && len(answers) != 1 || code == "" && len(answers) != len(ops) {
		t.Fatalf("transaction of %d, want %d %s at %d: got %d\n%s", len(ops), status, code, index, a.status, a.body)
	}
	if code != "" {
		if !strings.HasPrefix(answers[0], fmt.Sprint(status)) || !strings.Contains(answers[0], `"`+code+`"`) ||
			!strings.Contains(answers[0], fmt.Sprintf(`"value":"%d:`, index)) {
			t.Fatalf("want %d %s at %d: got %s", status, code, index, answers[0])
		}
		return
	}
	for i, op := range ops {
		want := map[string]string{"POST": "201"}[op.method]
		if want == "" {
			want = "204"
		}
		etag := ""
		if m := etagOf.FindStringSubmatch(answers[i]); m != nil {
			etag = m[1]
		}
		if !strings.HasPrefix(answers[i], want) {
			t.Fatalf("operation %d, %s: %s", i, op.method, answers[i])
		}
		x.stored(t, table, op, etag)
	}
}

func (x *metamorphic) createTable(t *rapid.T) {
	name := drawTable(t)
	a := x.do("POST", "Tables", `{"TableName":"`+name+`"}`)
	if x.m[strings.ToLower(name)] != nil {
		expect(t, "create "+name, a, 409, "TableAlreadyExists")
		return
	}
	expect(t, "create "+name, a, 201, "")
	x.m[strings.ToLower(name)] = &modelTable{name: name, rows: make(map[modelKey]modelEntity)}
}

func (x *metamorphic) deleteTable(t *rapid.T) {
	name := drawTable(t)
	a := x.do("DELETE", "Tables('"+name+"')", "")
	if x.m[strings.ToLower(name)] == nil {
		expect(t, "delete "+name, a, 404, "ResourceNotFound")
		return
	}
	expect(t, "delete "+name, a, 204, "")
	delete(x.m, strings.ToLower(name))
}

func (x *metamorphic) policies(t *rapid.T) {
	name := drawTable(t)
	var want []string
	body := "<SignedIdentifiers>"
	for i := range rapid.IntRange(0, 3).Draw(t, "policies") {
		p := rapid.SampledFrom([]string{"r", "raud", "a"}).Draw(t, "permission")
		want = append(want, fmt.Sprintf("id%d=%s", i, p))
		body += fmt.Sprintf("<SignedIdentifier><Id>id%d</Id><AccessPolicy><Permission>%s</Permission></AccessPolicy></SignedIdentifier>", i, p)
	}
	a := x.do("PUT", name+"?comp=acl", body+"</SignedIdentifiers>", "Content-Type", "application/xml")
	if x.m[strings.ToLower(name)] == nil {
		expect(t, "set policies of "+name, a, 404, "TableNotFound")
		return
	}
	expect(t, "set policies of "+name, a, 204, "")
	x.m[strings.ToLower(name)].policies = want
}

func (x *metamorphic) point(t *rapid.T) {
	name, k := drawTable(t), drawKey(t)
	a := x.do("GET", k.path(name), "")
	tab := x.m[strings.ToLower(name)]
	if tab == nil {
		expect(t, "get", a, 404, "TableNotFound")
		return
	}
	if _, found := tab.rows[k]; !found {
		expect(t, "get", a, 404, "ResourceNotFound")
		return
	}
	expect(t, "get", a, 200, "")
	if got, want := parseEntity(t, []byte(a.body)), tab.show(k, nil); got != want || a.header.Get("ETag") != tab.rows[k].etag {
		t.Fatalf("get %s:\n%s\nwant\n%s", k.path(name), got, want)
	}
}

func drawFilter(t *rapid.T, depth int) modelFilter {
	f := modelFilter{op: rapid.SampledFrom([]string{"eq", "ne", "lt", "le", "gt", "ge"}).Draw(t, "comparison")}
	if depth > 0 {
		f.op = rapid.SampledFrom([]string{f.op, "and", "or", "not", "and"}).Draw(t, "connective")
	}
	switch f.op {
	case "and", "or":
		f.of = []modelFilter{drawFilter(t, depth-1), drawFilter(t, depth-1)}
	case "not":
		f.of = []modelFilter{drawFilter(t, depth-1)}
	default:
		f.name = rapid.SampledFrom([]string{"PartitionKey", "RowKey", "x", "y", "z", "PartitionKey"}).Draw(t, "property")
		switch f.name {
		case "PartitionKey":
			f.literal = modelValue{kind: "String", text: drawKey(t).pk}
		case "RowKey":
			f.literal = modelValue{kind: "String", text: drawText(t, "literal")}
		default:
			f.literal = drawValue(t)
		}
	}
	return f
}

func (x *metamorphic) query(t *rapid.T) {
	name := drawTable(t)
	var filter *modelFilter
	if rapid.Bool().Draw(t, "filtered") {
		f := drawFilter(t, 2)
		filter = &f
	}
	var selected []string
	if rapid.Bool().Draw(t, "selected") {
		selected = rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"x", "y", "PartitionKey", "RowKey", "none"}), 1, 3, rapid.ID).Draw(t, "select")
	}
	top := rapid.IntRange(1, 7).Draw(t, "top")
	if x.m[strings.ToLower(name)] == nil {
		expect(t, "query", x.do("GET", name+"()", ""), 404, "TableNotFound")
		return
	}
	x.pages(t, x.m[strings.ToLower(name)], filter, selected, top)
}

// pages reads a query to its end: each page as full as it can be, in order, nothing twice.
func (x *metamorphic) pages(t *rapid.T, tab *modelTable, filter *modelFilter, selected []string, top int) {
	values := url.Values{"$top": {fmt.Sprint(top)}}
	if filter != nil {
		values.Set("$filter", filter.String())
	}
	if selected != nil {
		values.Set("$select", strings.Join(selected, ","))
	}
	left := tab.query(filter)
	for first := true; first || len(left) > 0; first = false {
		a := x.do("GET", tab.name+"()?"+strings.ReplaceAll(values.Encode(), "+", "%20"), "")
		expect(t, "query "+values.Encode(), a, 200, "")
		var page struct{ Value []json.RawMessage }
		if err := json.Unmarshal([]byte(a.body), &page); err != nil {
			t.Fatal(err)
		}
		if len(page.Value) != min(top, len(left)) {
			t.Fatalf("query %s: a page of %d where %d are left of top %d", values.Encode(), len(page.Value), len(left), top)
		}
		for i, raw := range page.Value {
			if got, want := parseEntity(t, raw), tab.show(left[i], selected); got != want {
				t.Fatalf("query %s:\n%s\nwant\n%s", values.Encode(), got, want)
			}
		}
		left = left[len(page.Value):]
		pk, rk := a.header.Get("x-ms-continuation-NextPartitionKey"), a.header.Get("x-ms-continuation-NextRowKey")
		if len(left) > 0 && pk == "" {
			t.Fatalf("query %s: no continuation, %d are left", values.Encode(), len(left))
		}
		values.Set("NextPartitionKey", pk)
		values.Set("NextRowKey", rk)
	}
}

// compareAll compares the tables, their policies and their whole content.
func (x *metamorphic) compareAll(t *rapid.T) {
	var list struct{ Value []struct{ TableName string } }
	if err := json.Unmarshal([]byte(x.do("GET", "Tables", "").body), &list); err != nil || len(list.Value) != len(x.m) {
		t.Fatalf("tables %v, %v; want %d", list.Value, err, len(x.m))
	}
	for _, listed := range list.Value {
		tab := x.m[strings.ToLower(listed.TableName)]
		if tab == nil || tab.name != listed.TableName {
			t.Fatalf("table %s is listed", listed.TableName)
		}
		x.pages(t, tab, nil, nil, 1000)
		a := x.do("GET", tab.name+"?comp=acl", "")
		expect(t, "get policies", a, 200, "")
		var got []string
		for _, m := range regexp.MustCompile(`<Id>(.*?)</Id>.*?<Permission>(.*?)</Permission>`).FindAllStringSubmatch(a.body, -1) {
			got = append(got, m[1]+"="+m[2])
		}
		if !slices.Equal(got, tab.policies) {
			t.Fatalf("policies of %s: %v, want %v", tab.name, got, tab.policies)
		}
	}
}

// parseEntity writes an entity of an answer as modelTable.show does.
func parseEntity(t *rapid.T, raw []byte) string {
	var fields map[string]any
	d := json.NewDecoder(strings.NewReader(string(raw)))
	d.UseNumber()
	if err := d.Decode(&fields); err != nil {
		t.Fatalf("%v in %s", err, raw)
	}
	var out []string
	for name, v := range fields {
		if strings.HasPrefix(name, "odata.") || strings.Contains(name, "@") || name == "Timestamp" {
			continue
		}
		kind, _ := fields[name+"@odata.type"].(string)
		out = append(out, name+"="+parseValue(t, strings.TrimPrefix(kind, "Edm."), v))
	}
	slices.Sort(out)
	return fmt.Sprint(fields["odata.etag"], " ", strings.Join(out, " "))
}

func parseValue(t *rapid.T, kind string, v any) string {
	switch v := v.(type) {
	case nil:
		return "null"
	case bool:
		return modelValue{kind: "Boolean", num: map[bool]float64{true: 1}[v]}.String()
	case json.Number:
		f, err := v.Float64()
		if err != nil {
			t.Fatal(err)
		}
		if kind = "Int32"; strings.ContainsAny(v.String(), ".eE") {
			kind = "Double"
		}
		return modelValue{kind: kind, num: f}.String()
	case string:
		if kind == "Int64" {
			return "Int64:" + v
		}
		return "String:" + v
	}
	t.Fatalf("%v is no value", v)
	return ""
}
