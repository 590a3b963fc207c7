package tableserver

import (
	"fmt"
	"strings"
	"testing"
)

// part is one operation of a change set.
func part(method, url, body string, headers ...string) string {
	var b strings.Builder
	b.WriteString("Content-Type: application/http\r\nContent-Transfer-Encoding: binary\r\n\r\n" + method + " " + url + " HTTP/1.1\r\n")
	for i := 0; i < len(headers); i += 2 {
		b.WriteString(headers[i] + ": " + headers[i+1] + "\r\n")
	}
	b.WriteString("Accept: application/json;odata=minimalmetadata\r\n\r\n" + body + "\r\n")
	return b.String()
}

func (c *client) submit(parts ...string) answer {
	var b strings.Builder
	b.WriteString("--batch_1\r\nContent-Type: multipart/mixed; boundary=changeset_1\r\n\r\n")
	for _, p := range parts {
		b.WriteString("--changeset_1\r\n" + p)
	}
	b.WriteString("--changeset_1--\r\n--batch_1--\r\n")
	return c.do("POST", "$batch", b.String(), "Content-Type", "multipart/mixed; boundary=batch_1")
}

func (c *client) insert(pk, rk string, headers ...string) string {
	return part("POST", c.endpoint+"Tab", fmt.Sprintf(`{"PartitionKey":%q,"RowKey":%q}`, pk, rk), headers...)
}

func TestTransactionAnswersEachPartInOrder(t *testing.T) { // reference §5.2
	c := newTable(t)
	c.do("POST", "Tab", `{"PartitionKey":"p","RowKey":"old"}`).want(t, 201, "")
	row := func(rk string) string { return c.endpoint + "Tab(PartitionKey='p',RowKey='" + rk + "')" }
	a := c.submit(
		c.insert("p", "1", "Prefer", "return-no-content"),
		part("PUT", row("2"), `{"n":1}`),
		part("POST", row("3"), `{"n":1}`, "X-HTTP-Method", "MERGE"),
		part("DELETE", "/devstoreaccount1/Tab(PartitionKey='p',RowKey='old')", "", "If-Match", "*"),
		c.insert("p", "4"),
	).want(t, 202, "")
	if !strings.HasPrefix(a.header.Get("Content-Type"), "multipart/mixed; boundary=batchresponse_") || a.header.Get("DataServiceVersion") != "" {
		t.Errorf("headers %v", a.header)
	}
	parts := strings.Split(a.body, "HTTP/1.1 ")[1:]
	wants := [][]string{
		{"204 No Content", "Preference-Applied: return-no-content", "DataServiceVersion: 3.0;", "DataServiceId: " + row("1"), "Location: " + row("1"), `ETag: W/"datetime'`},
		{"204 No Content", "DataServiceVersion: 1.0;", "ETag: "},
		{"204 No Content", "DataServiceVersion: 1.0;", "ETag: "},
		{"204 No Content", "DataServiceVersion: 1.0;"},
		{"201 Created", `"PartitionKey":"p","RowKey":"4"`, "ETag: "},
	}
	if len(parts) != len(wants) {
		t.Fatalf("%d parts in %s", len(parts), a.body)
	}
	for i, want := range wants {
		for _, text := range want {
			if !strings.Contains(parts[i], text) {
				t.Errorf("part %d lacks %q: %s", i, text, parts[i])
			}
		}
	}
	if strings.Contains(parts[3], "ETag") {
		t.Errorf("a delete has an ETag: %s", parts[3])
	}
	if got := keysOf(t, c.do("GET", "Tab()", "")); strings.Join(got, " ") != "p/1 p/2 p/3 p/4" {
		t.Errorf("stored %q", got)
	}
}

func TestRefusedTransactionChangesNothing(t *testing.T) { // reference §5.3
	c := newTable(t)
	c.do("POST", "Tab", `{"PartitionKey":"p","RowKey":"x"}`).want(t, 201, "")
	row := c.endpoint + "Tab(PartitionKey='p',RowKey='none')"
	many := make([]string, 101)
	for i := range many {
		many[i] = c.insert("p", fmt.Sprint(i))
	}
	cases := []struct {
		name    string
		parts   []string
		status  string
		texts   []string
		noCache bool
	}{
		{"existing row", []string{c.insert("p", "1"), c.insert("p", "x", "Prefer", "return-no-content")}, "409 Conflict",
			[]string{`"code":"EntityAlreadyExists"`, "1:The specified entity already exists.", "Preference-Applied: return-no-content"}, true},
		{"row twice", []string{c.insert("p", "1"), c.insert("p", "1")}, "400 Bad Request",
			[]string{"InvalidDuplicateRow", "1:The batch request contains multiple changes with same row key."}, false},
		{"two partitions", []string{c.insert("p", "1"), c.insert("q", "1")}, "400 Bad Request",
			[]string{"CommandsInBatchActOnDifferentPartitions", "1:All commands in a batch must operate on same entity group."}, false},
		{"101 operations", many, "400 Bad Request", []string{"InvalidInput", "99:The batch request operation exceeds the maximum 100 changes per change set."}, false},
		{"missing table", []string{part("POST", c.endpoint+"None", `{"PartitionKey":"p","RowKey":"r"}`)}, "404 Not Found",
			[]string{"TableNotFound", "0:The table specified does not exist."}, false},
		{"missing entity", []string{c.insert("p", "1"), part("DELETE", row, "", "If-Match", "*")}, "404 Not Found",
			[]string{"ResourceNotFound", "1:The specified resource does not exist."}, true},
		{"another etag", []string{c.insert("p", "1"), part("PUT", c.endpoint+"Tab(PartitionKey='p',RowKey='x')", "{}", "If-Match", `W/"x"`)},
			"412 Precondition Failed", []string{"UpdateConditionNotSatisfied", "1:The update condition"}, true},
		{"bad key", []string{c.insert("p", "1"), c.insert("p", "a/b")}, "400 Bad Request", []string{"OutOfRangeInput", "1:The 'RowKey' parameter of value 'a/b'"}, true},
		{"control character in a URL", []string{part("PUT", c.endpoint+"Tab(PartitionKey='p',RowKey='%01')", "{}")}, "400 Bad Request", []string{"OutOfRangeInput", "0:"}, true},
		{"slash in a URL", []string{part("PUT", c.endpoint+"Tab(PartitionKey='p',RowKey='%2F')", "{}")}, "400 Bad Request", []string{"0:Bad Request - Error in query syntax."}, true},
		{"no keys", []string{part("POST", c.endpoint+"Tab", `{}`)}, "400 Bad Request", []string{"PropertiesNeedValue", "0:"}, true},
	}
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			a := c.submit(tc.parts...).want(t, 202, "HTTP/1.1 "+tc.status)
			for _, text := range tc.texts {
				a.want(t, 202, text)
			}
			if strings.Count(a.body, "HTTP/1.1 ") != 1 || strings.Contains(a.body, "Cache-Control") != tc.noCache {
				t.Errorf("got %s", a.body)
			}
			if got := keysOf(t, c.do("GET", "Tab()", "")); strings.Join(got, " ") != "p/x" {
				t.Errorf("stored %q", got)
			}
		})
	}
}

func TestMalformedBatchIsRefusedAsAWhole(t *testing.T) {
	c := newTable(t)
	c.do("POST", "$batch", "nonsense", "Content-Type", "multipart/mixed; boundary=x").want(t, 400, "InvalidInput")
	c.do("POST", "$batch", "", "Content-Type", "application/json").want(t, 400, "InvalidInput")
	c.do("GET", "$batch", "").want(t, 405, "MethodNotAllowed")
}

func TestBatchAnswersASingleQuery(t *testing.T) { // reference §5.1
	c := newTable(t)
	c.do("POST", "Tab", `{"PartitionKey":"p","RowKey":"x"}`).want(t, 201, "")
	query := func(path string) answer {
		return c.do("POST", "$batch", "--b\r\n"+part("GET", c.endpoint+path, "")+"--b--\r\n", "Content-Type", "multipart/mixed; boundary=b")
	}
	query("Tab(PartitionKey='p',RowKey='x')").want(t, 202, "HTTP/1.1 200 OK").want(t, 202, `"RowKey":"x"`)
	query("Tab()?$filter=RowKey%20eq%20'x'").want(t, 202, `"value":[{"odata.etag"`)
	query("Tab(PartitionKey='p',RowKey='y')").want(t, 202, "HTTP/1.1 404 Not Found").want(t, 202, "ResourceNotFound")
}

func FuzzParseResource(f *testing.F) {
	for _, s := range []string{"", "Tables", "Tables('x')", "$batch", "T()", "T(PartitionKey='a''b',RowKey='')", "T(RowKey='%F0%9F%98%80', PartitionKey='')", "T('", "T(PartitionKey='a'"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, path string) {
		r, err := parseResource(path)
		if err != nil || r.kind != entityResource || strings.ContainsAny(r.table, "%") {
			return
		}
		again, err := parseResource(string(appendEntityPath(nil, r.table, r.key)))
		if err != nil || again != r {
			t.Errorf("%q is %+v, and written again %+v, %v", path, r, again, err)
		}
	})
}
