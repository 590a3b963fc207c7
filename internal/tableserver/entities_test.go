package tableserver

import (
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"testing"
)

// newTable returns a client of a server that has a table named Tab.
func newTable(t testing.TB) *client {
	t.Helper()
	c := newClient(t)
	c.do("POST", "Tables", `{"TableName":"Tab"}`).want(t, 201, "")
	return c
}

var etagForm = regexp.MustCompile(`^W/"datetime'\d{4}-\d\d-\d\dT\d\d%3A\d\d%3A\d\d(\.\d{1,7})?Z'"$`)

func TestWritesFollowTheConditionTable(t *testing.T) { // reference §6 and §1.2
	const stale = `W/"datetime'2001-01-01T00%3A00%3A00Z'"`
	cases := []struct {
		method, ifMatch string
		exists          bool
		status          int
		code            string
	}{
		{"PUT", "", false, 204, ""}, {"PUT", "", true, 204, ""},
		{"PATCH", "", false, 204, ""}, {"MERGE", "", true, 204, ""},
		{"PUT", "*", false, 404, "ResourceNotFound"}, {"PUT", "*", true, 204, ""},
		{"MERGE", "*", false, 404, "ResourceNotFound"}, {"PATCH", "*", true, 204, ""},
		{"PUT", "current", true, 204, ""}, {"PATCH", "current", true, 204, ""}, {"DELETE", "current", true, 204, ""},
		{"PUT", stale, true, 412, "UpdateConditionNotSatisfied"}, {"MERGE", stale, true, 412, "UpdateConditionNotSatisfied"},
		{"DELETE", stale, true, 412, "UpdateConditionNotSatisfied"}, {"DELETE", stale, false, 404, "ResourceNotFound"},
		{"PUT", `W/"whatever"`, true, 412, "UpdateConditionNotSatisfied"},
		{"DELETE", "*", true, 204, ""}, {"DELETE", "*", false, 404, "ResourceNotFound"},
		{"DELETE", "test", true, 400, "InvalidInput"}, {"PUT", `"strong"`, true, 400, "InvalidInput"},
		{"DELETE", "", true, 400, "InvalidInput"},
	}
	for _, tc := range cases {
		t.Run(fmt.Sprintf("%s %s exists=%v", tc.method, tc.ifMatch, tc.exists), func(t *testing.T) {
			c := newTable(t)
			const at = "Tab(PartitionKey='p',RowKey='r')"
			condition := tc.ifMatch
			if tc.exists {
				a := c.do("POST", "Tab", `{"PartitionKey":"p","RowKey":"r","kept":1}`).want(t, 201, "")
				if condition == "current" {
					condition = a.header.Get("ETag")
				}
			}
			var headers []string
			if condition != "" {
				headers = []string{"If-Match", condition}
			}
			a := c.do(tc.method, at, `{"new":true}`, headers...).want(t, tc.status, tc.code)
			if tc.status != 204 {
				return
			}
			if etag := a.header.Get("ETag"); tc.method == "DELETE" && etag != "" || tc.method != "DELETE" && !etagForm.MatchString(etag) {
				t.Errorf("ETag %q", etag)
			}
			if tc.method == "DELETE" {
				c.do("GET", at, "").want(t, 404, "ResourceNotFound")
				return
			}
			got := c.do("GET", at, "").want(t, 200, `"new":true`)
			if merged := tc.method != "PUT" && tc.exists; strings.Contains(got.body, `"kept":1`) != merged {
				t.Errorf("after %s: %s", tc.method, got.body)
			}
		})
	}
}

func TestMergeIgnoresNullsAndReplaceDropsThem(t *testing.T) { // reference §2.4
	c := newTable(t)
	const at = "Tab(PartitionKey='p',RowKey='r')"
	c.do("PUT", at, `{"a":1,"b":2}`).want(t, 204, "")
	c.do("MERGE", at, `{"a":null,"c":null}`).want(t, 204, "")
	if got := c.do("GET", at, ""); !strings.Contains(got.body, `"a":1,"b":2}`) {
		t.Errorf("after merge: %s", got.body)
	}
	c.do("PUT", at, `{"a":null,"b":3}`).want(t, 204, "")
	if got := c.do("GET", at, ""); strings.Contains(got.body, `"a"`) {
		t.Errorf("after replace: %s", got.body)
	}
}

func TestTunnelledMethodsAreTaken(t *testing.T) { // reference §1.2 and §8.4, X-HTTP-Method
	c := newTable(t)
	const at = "Tab(PartitionKey='p',RowKey='r')"
	c.do("POST", at, `{"a":1}`, "X-HTTP-Method", "MERGE").want(t, 204, "")
	c.do("POST", at, `{"a":1}`, "X-HTTP-Method", "BREW").want(t, 400, "XMethodIncorrectValue")
	c.do("PUT", at, `{"a":1}`, "X-HTTP-Method", "MERGE").want(t, 400, "XMethodNotUsingPost")
	c.do("POST", at, `{"a":1}`).want(t, 405, "MethodNotAllowed")
}

func TestInsertAnswersByPreference(t *testing.T) { // reference §1.4
	c := newTable(t)
	a := c.do("POST", "Tab", `{"PartitionKey":"p","RowKey":"1"}`).want(t, 201, `/$metadata#Tab/@Element"`)
	if a.header.Get("Preference-Applied") != "" || a.header.Get("DataServiceId") != "" || a.header.Get("Location") == "" {
		t.Errorf("no Prefer: %v", a.header)
	}
	a = c.do("POST", "Tab", `{"PartitionKey":"p","RowKey":"2"}`, "Prefer", "return-no-content").want(t, 204, "")
	at := c.endpoint + "Tab(PartitionKey='p',RowKey='2')"
	for name, want := range map[string]string{"Preference-Applied": "return-no-content", "DataServiceId": at, "Location": at} {
		if got := a.header.Get(name); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
	a = c.do("POST", "Tab", `{"PartitionKey":"p","RowKey":"2"}`, "Prefer", "return-no-content").want(t, 409, "EntityAlreadyExists")
	if a.header.Get("Preference-Applied") != "return-no-content" {
		t.Errorf("error with Prefer: %v", a.header)
	}
	a = c.do("POST", "Tab", `{"PartitionKey":"p","RowKey":"3"}`, "Prefer", "return-content").want(t, 201, "")
	if a.header.Get("Preference-Applied") != "return-content" {
		t.Errorf("return-content: %v", a.header)
	}
}

func TestInvalidEntitiesAreRefusedWithTheirCode(t *testing.T) { // reference §3 and §2.4
	c := newTable(t)
	many := func(n int) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, `,"p%d":%d`, i, i)
		}
		return b.String()
	}
	big := func(n int) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, `,"p%d":"%s"`, i, strings.Repeat("x", 32000))
		}
		return b.String()
	}
	cases := []struct{ name, body, code, text string }{
		{"no RowKey", `{"PartitionKey":"p"}`, "PropertiesNeedValue", "The values are not specified for all properties in the entity."},
		{"null PartitionKey", `{"PartitionKey":null,"RowKey":"r"}`, "PropertiesNeedValue", ""},
		{"slash in key", `{"PartitionKey":"a/b","RowKey":"r"}`, "OutOfRangeInput", "The 'PartitionKey' parameter of value 'a/b' is out of range."},
		{"long key", `{"PartitionKey":"` + strings.Repeat("k", 2048) + `","RowKey":"r"}`, "PropertyValueTooLarge", ""},
		{"253 properties", `{"PartitionKey":"p","RowKey":"r"` + many(253) + `}`, "TooManyProperties", "up to 252 properties"},
		{"long string", `{"PartitionKey":"p","RowKey":"r","s":"` + strings.Repeat("x", 32769) + `"}`, "PropertyValueTooLarge", "(64KB)"},
		{"more than 1 MiB", `{"PartitionKey":"p","RowKey":"r"` + big(17) + `}`, "EntityTooLarge", "(1MB)"},
		{"bad name", `{"PartitionKey":"p","RowKey":"r","a-b":1}`, "PropertyNameInvalid", ""},
		{"name twice", `{"PartitionKey":"p","RowKey":"r","a":1,"a":2}`, "DuplicatePropertiesSpecified", ""},
		{"date out of range", `{"PartitionKey":"p","RowKey":"r","d@odata.type":"Edm.DateTime","d":"1600-12-31T00:00:00Z"}`, "OutOfRangeInput", "The 'd' parameter of value '12/31/1600 00:00:00' is out of range."},
		{"not JSON", `{"PartitionKey":`, "InvalidInput", ""},
		{"deep nesting", `{"a":` + strings.Repeat("[", 100000) + `}`, "InvalidInput", ""},
		{"bad UTF-8", "{\"PartitionKey\":\"\xff\",\"RowKey\":\"r\"}", "InvalidInput", ""},
	}
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			c.do("POST", "Tab", tc.body).want(t, 400, `"code":"`+tc.code+`"`).want(t, 400, tc.text)
			c.do("GET", "Tab()", "").want(t, 200, `"value":[]`)
		})
	}
	c.do("PUT", "Tab(PartitionKey='p',RowKey='r')", `{"x":1`+many(251)+`}`).want(t, 204, "")
	c.do("MERGE", "Tab(PartitionKey='p',RowKey='r')", `{"y":1}`).want(t, 400, "TooManyProperties")
}

func TestKeysInURLsAreReadAndRefused(t *testing.T) { // reference §1.1 and §3.1
	c := newTable(t)
	c.do("POST", "Tab", `{"PartitionKey":"O'Neil & co, (x)","RowKey":"100%"}`).want(t, 201, "")
	c.do("GET", "Tab(PartitionKey='O''Neil%20%26%20co,%20(x)',%20RowKey='100%25')", "").want(t, 200, `"RowKey":"100%"`)
	c.do("GET", "Tab(RowKey='100%25',PartitionKey=%27O%27%27Neil%20%26%20co,%20(x)%27)", "").want(t, 200, "")
	c.do("POST", "Tab", `{"PartitionKey":"","RowKey":""}`).want(t, 201, "")
	c.do("GET", "Tab(PartitionKey='',RowKey='')", "").want(t, 200, `"PartitionKey":""`)

	c.do("PUT", "Tab(PartitionKey='a%2Fb',RowKey='')", "{}").want(t, 400, "Bad Request - Error in query syntax.")
	c.do("PUT", "Tab(PartitionKey='a%23b',RowKey='')", "{}").want(t, 400, "One of the request inputs is out of range.")
	c.do("PUT", "Tab(PartitionKey='a%C2%80b',RowKey='')", "{}").want(t, 400, "OutOfRangeInput")
	a := c.do("PUT", "Tab(PartitionKey='a%01b',RowKey='')", "{}").want(t, 400, "Bad Request - Invalid URL")
	if a.header.Get("x-ms-request-id") != "" {
		t.Errorf("the front end answered with %v", a.header)
	}
	long := strings.Repeat("k", 2048)
	c.do("GET", "Tab(PartitionKey='"+long+"',RowKey='')", "").want(t, 404, "ResourceNotFound")
	c.do("DELETE", "Tab(PartitionKey='"+long+"',RowKey='')", "", "If-Match", "*").want(t, 404, "ResourceNotFound")
	c.do("PUT", "Tab(PartitionKey='"+long+"',RowKey='')", "{}").want(t, 400, "PropertyValueTooLarge")
	c.do("GET", "Tab(PartitionKey='a')", "").want(t, 400, "Error in query syntax")
}

func TestMissingTablesAreNamedByTheirCode(t *testing.T) { // reference §13 fact 5
	c := newClient(t)
	c.do("POST", "No", `{"PartitionKey":"p","RowKey":"r"}`).want(t, 404, "TableNotFound")
	c.do("PUT", "No(PartitionKey='p',RowKey='r')", `{}`).want(t, 404, "TableNotFound")
	c.do("GET", "No()", "").want(t, 404, "TableNotFound")
	c.do("GET", "No(PartitionKey='p',RowKey='r')", "").want(t, 404, "TableNotFound")
	c.do("GET", "No?comp=acl", "").want(t, 404, "<m:code>TableNotFound</m:code>")
	c.do("DELETE", "Tables('No')", "").want(t, 404, "ResourceNotFound")
}

func TestMetadataLevels(t *testing.T) { // reference §2.1
	c := newTable(t)
	a := c.do("POST", "Tab", `{"PartitionKey":"p","RowKey":"r","big@odata.type":"Edm.Int64","big":"9","d":3.0}`).want(t, 201, "")
	etag, err := json.Marshal(a.header.Get("ETag"))
	if err != nil {
		t.Fatal(err)
	}
	stamp := strings.ReplaceAll(strings.TrimSuffix(strings.TrimPrefix(a.header.Get("ETag"), `W/"datetime'`), `'"`), "%3A", ":")
	at := "Tab(PartitionKey='p',RowKey='r')"
	item := `"odata.etag":` + string(etag) + `,"PartitionKey":"p","RowKey":"r","Timestamp":"` + stamp + `","big@odata.type":"Edm.Int64","big":"9","d":3.0}`
	full := `"odata.type":"devstoreaccount1.Tab","odata.id":"` + c.endpoint + at + `","odata.etag":` + string(etag) + `,"odata.editLink":"` + at +
		`","PartitionKey":"p","RowKey":"r","Timestamp@odata.type":"Edm.DateTime","Timestamp":"` + stamp + `","big@odata.type":"Edm.Int64","big":"9","d":3.0}`
	cases := []struct{ path, accept, level, want string }{
		{at, "application/json", "minimalmetadata", `{"odata.metadata":"` + c.endpoint + `$metadata#Tab/@Element",` + item},
		{at, "application/json; odata=minimalmetadata", "minimalmetadata", `{"odata.metadata":"` + c.endpoint + `$metadata#Tab/@Element",` + item},
		{at, "application/json;odata=fullmetadata", "fullmetadata", `{"odata.metadata":"` + c.endpoint + `$metadata#Tab/@Element",` + full},
		{"Tab()", "application/json;odata=minimalmetadata", "minimalmetadata", `{"odata.metadata":"` + c.endpoint + `$metadata#Tab","value":[{` + item + `]}`},
		{"Tab", "application/json;odata=nometadata", "nometadata", `{"value":[{"PartitionKey":"p","RowKey":"r","Timestamp":"` + stamp + `","big":"9","d":3.0}]}`},
		{"Tab()?$format=application/json;odata=nometadata&$select=", "application/json;odata=fullmetadata", "nometadata", `{"value":[{"PartitionKey":"p","RowKey":"r","Timestamp":"` + stamp + `","big":"9","d":3.0}]}`},
		{at + "?$select=d,%20x", "application/json", "minimalmetadata", `{"odata.metadata":"` + c.endpoint + `$metadata#Tab/@Element&$select=d,%20x","odata.etag":` + string(etag) + `,"d":3.0,"x":null}`},
	}
	for _, tc := range cases {
		got := c.do("GET", tc.path, "", "Accept", tc.accept).want(t, 200, "")
		if got.body != tc.want {
			t.Errorf("GET %s as %s\n got %s\nwant %s", tc.path, tc.accept, got.body, tc.want)
		}
		if ct := got.header.Get("Content-Type"); ct != "application/json;odata="+tc.level+";streaming=true;charset=utf-8" {
			t.Errorf("Content-Type %q", ct)
		}
		if got.header.Get("Cache-Control") != "no-cache" || got.header.Get("X-Content-Type-Options") != "nosniff" || got.header.Get("DataServiceVersion") != "" {
			t.Errorf("headers %v", got.header)
		}
	}
}

func TestFormatsThatDoNotExistAreRefused(t *testing.T) { // reference §1.3
	c := newTable(t)
	c.do("GET", "Tab()", "", "Accept", "application/atom+xml").want(t, 415, "AtomFormatNotSupported")
	c.do("GET", "Tab()", "", "Accept", "-").want(t, 415, "AtomFormatNotSupported")
	c.do("GET", "Tab()", "", "Accept", "application/json;odata=verbose").want(t, 415, "JsonFormatNotSupported")
	c.do("GET", "Tab()", "", "Accept", "*/*").want(t, 200, `"value":[]`)
	c.do("DELETE", "Tables('Tab')", "", "Accept", "-").want(t, 204, "")
}

func TestErrorsHaveTheFormOfTheirOperation(t *testing.T) { // reference §8
	c := newClient(t)
	a := c.do("GET", "No()", "").want(t, 404, `{"odata.error":{"code":"TableNotFound","message":{"lang":"en-US","value":"The table specified does not exist.\nRequestId:`)
	if a.header.Get("x-ms-error-code") != "" || !strings.Contains(a.body, a.header.Get("x-ms-request-id")+`\nTime:20`) {
		t.Errorf("JSON error: %v %s", a.header, a.body)
	}
	a = c.do("GET", "No()", "", "Accept", "*/*").want(t, 404, `<error xmlns="http://schemas.microsoft.com/ado/2007/08/dataservices/metadata"><code>TableNotFound</code><message xml:lang="en-US">`)
	if a.header.Get("Content-Type") != "application/xml;charset=utf-8" {
		t.Errorf("XML error: %v", a.header)
	}
	r := c.request("GET", "No()", "")
	r.Header.Set("Authorization", "SharedKeyLite devstoreaccount1:AAAA")
	a = c.send(r).want(t, 403, `<m:error xmlns:m="http://schemas.microsoft.com/ado/2007/08/dataservices/metadata"><m:code>AuthenticationFailed</m:code>`)
	if a.header.Get("x-ms-error-code") != "AuthenticationFailed" || a.header.Get("Content-Length") == "" {
		t.Errorf("authentication error: %v", a.header)
	}
	c.account.Name = "nobody"
	c.endpoint = strings.Replace(c.endpoint, "devstoreaccount1", "nobody", 1)
	c.do("GET", "Tables", "").want(t, 403, "AuthenticationFailed")
}

func TestHeadersOfEveryAnswer(t *testing.T) { // reference §1.4
	c := newClient(t)
	a := c.do("GET", "Tables", "", "x-ms-version", "2099-01-01", "x-ms-client-request-id", "abc").want(t, 200, "")
	for name, want := range map[string]string{"x-ms-version": "2099-01-01", "x-ms-client-request-id": "abc",
		"Server": "Windows-Azure-Table/1.0 Microsoft-HTTPAPI/2.0", "Content-Length": ""} {
		if got := a.header.Get(name); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
	if !regexp.MustCompile(`^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$`).MatchString(a.header.Get("x-ms-request-id")) {
		t.Errorf("x-ms-request-id is %q", a.header.Get("x-ms-request-id"))
	}
	c.do("GET", "Tables", "", "x-ms-version", "newest").want(t, 400, "InvalidHeaderValue")
}

func TestBodiesBeyondFourMiBAreRefused(t *testing.T) { // reference §3
	c := newTable(t)
	c.do("POST", "Tab", `{"PartitionKey":"`+strings.Repeat("x", 4<<20)+`"}`).want(t, 413, "RequestBodyTooLarge")
	r := c.request("POST", "Tab", strings.Repeat(" ", 5<<20))
	r.ContentLength = -1 // chunked
	c.send(r).want(t, 413, "RequestBodyTooLarge")
	c.do("POST", "Tab", `{"PartitionKey":"p","RowKey":"r"}`).want(t, 201, "")
}

func TestPanicInAHandlerIsAnsweredAndTheServerLives(t *testing.T) {
	at := route{tablesResource, "GET", ""}
	old := routes[at]
	routes[at] = operation{read: true, run: func(*call) error { panic("for the test") }}
	t.Cleanup(func() { routes[at] = old })
	c := newClient(t)
	c.do("GET", "Tables", "").want(t, http.StatusInternalServerError, "InternalError")
	c.do("GET", "Tables('x')", "").want(t, 404, "ResourceNotFound")
}
