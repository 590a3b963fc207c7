package batch

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"strings"
	"testing"
)

// The bodies that real clients send (reference §5.1 and §11).
const (
	goBody = "--batch_1\r\nContent-Type: multipart/mixed; boundary=changeset_2\r\n\r\n" +
		"--changeset_2\r\nContent-Transfer-Encoding: binary\r\nContent-Type: application/http\r\n\r\n" +
		"POST https://acct.table.core.windows.net/Orders HTTP/1.1\r\nAccept: application/json;odata=minimalmetadata\r\n" +
		"Content-Type: application/json\r\nDataServiceVersion: 3.0\r\nPrefer: return-no-content\r\n\r\n" +
		`{"PartitionKey":"p","RowKey":"1"}` + "\r\n" +
		"--changeset_2\r\nContent-Type: application/http\r\nContent-Transfer-Encoding: binary\r\nContent-ID: 7\r\n\r\n" +
		"DELETE https://acct.table.core.windows.net/Orders(PartitionKey='p',RowKey='2') HTTP/1.1\r\nIf-Match: *\r\n\r\n\r\n" +
		"--changeset_2--\r\n--batch_1--\r\n"
	queryBody = "--b\r\nContent-Type: application/http\r\nContent-Transfer-Encoding: binary\r\n\r\n" +
		"GET http://127.0.0.1:10002/devstoreaccount1/T()?$filter=PartitionKey%20eq%20'p' HTTP/1.1\r\nAccept: application/json\r\n\r\n" +
		"--b--"
)

func TestRealBodiesAreRead(t *testing.T) {
	cases := []struct{ name, body string }{
		{"CRLF", goBody},
		{"LF", strings.ReplaceAll(goBody, "\r\n", "\n")},
		{"preamble and epilogue", "This is a multipart message.\r\n" + goBody + "The end.\r\n"},
		{"no final dashes", strings.TrimSuffix(goBody, "--batch_1--\r\n")},
		{"no final boundary at all", strings.TrimSuffix(goBody, "--changeset_2--\r\n--batch_1--\r\n")},
		{"no blank line after the headers of DELETE", strings.Replace(goBody, "If-Match: *\r\n\r\n\r\n", "If-Match: *\r\n", 1)},
		{"header names in lower case", strings.ReplaceAll(goBody, "Content-Type", "content-type")},
		{"blanks behind a boundary", strings.Replace(goBody, "--changeset_2\r\n", "--changeset_2 \t\r\n", 1)},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			r, err := Parse(`multipart/mixed; boundary="batch_1"`, []byte(c.body))
			if err != nil {
				t.Fatal(err)
			}
			if r.Query || len(r.Operations) != 2 {
				t.Fatalf("got %+v", r)
			}
			post, del := r.Operations[0], r.Operations[1]
			if post.Method != "POST" || post.URL != "https://acct.table.core.windows.net/Orders" ||
				string(post.Body) != `{"PartitionKey":"p","RowKey":"1"}` || post.Header.Get("prefer") != "return-no-content" {
				t.Errorf("insert came as %+v", post)
			}
			if del.Method != "DELETE" || len(del.Body) != 0 || del.Header.Get("If-Match") != "*" || del.ContentID != "7" {
				t.Errorf("delete came as %+v", del)
			}
		})
	}
}

func TestSingleQueryIsRead(t *testing.T) {
	r, err := Parse("multipart/mixed; boundary=b", []byte(queryBody))
	if err != nil || !r.Query || len(r.Operations) != 1 || !strings.HasSuffix(r.Operations[0].URL, "eq%20'p'") {
		t.Errorf("got %+v, %v", r, err)
	}
}

func TestMalformedBatchesAreRefused(t *testing.T) {
	cases := []struct{ name, contentType, body string }{
		{"no boundary", "multipart/mixed", goBody},
		{"not multipart", "application/json; boundary=batch_1", goBody},
		{"no content type", "", goBody},
		{"another boundary", "multipart/mixed; boundary=other", goBody},
		{"empty body", "multipart/mixed; boundary=batch_1", ""},
		{"two change sets", "multipart/mixed; boundary=batch_1", strings.Replace(goBody, "--batch_1--", goBody, 1)},
		{"empty change set", "multipart/mixed; boundary=b", "--b\r\nContent-Type: multipart/mixed; boundary=c\r\n\r\n--c--\r\n--b--"},
		{"query in a change set", "multipart/mixed; boundary=batch_1", strings.Replace(goBody, "DELETE ", "GET ", 1)},
		{"write without a change set", "multipart/mixed; boundary=b", strings.Replace(queryBody, "GET ", "DELETE ", 1)},
		{"no request line", "multipart/mixed; boundary=batch_1", strings.Replace(goBody, " HTTP/1.1\r\nAccept", "\r\nAccept", 1)},
		{"header without colon", "multipart/mixed; boundary=batch_1", strings.Replace(goBody, "If-Match: *", "If-Match *", 1)},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			if r, err := Parse(c.contentType, []byte(c.body)); err == nil {
				t.Errorf("read as %+v", r)
			}
		})
	}
}

// Go's client reads answers with mime/multipart and http.ReadResponse (reference §5.3): so does this test.
func TestAnswersReadWithTheStandardLibrary(t *testing.T) {
	parts := []Response{
		{Status: 204, Header: []Field{{"ETag", `W/"x"`}, {"DataServiceVersion", "1.0;"}}},
		{Status: 409, Header: []Field{{"Content-Type", "application/json"}}, Body: []byte(`{"odata.error":{}}`)},
	}
	outer := multipart.NewReader(bytes.NewReader(AppendChangeSet(nil, "id", parts)), BatchBoundary("id"))
	set, err := outer.NextPart()
	if err != nil || set.Header.Get("Content-Type") != "multipart/mixed; boundary=changesetresponse_id" {
		t.Fatalf("change set: %v, %v", set, err)
	}
	inner := multipart.NewReader(set, ChangeSetBoundary("id"))
	for _, want := range parts {
		part, err := inner.NextPart()
		if err != nil {
			t.Fatal(err)
		}
		got, err := http.ReadResponse(bufio.NewReader(part), nil)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(got.Body)
		if err != nil || got.StatusCode != want.Status || string(body) != string(want.Body) {
			t.Errorf("got %d %q, %v; want %d %q", got.StatusCode, body, err, want.Status, want.Body)
		}
	}
	if _, err := inner.NextPart(); err != io.EOF {
		t.Errorf("after the last part: %v", err)
	}
}

func FuzzParse(f *testing.F) {
	f.Add("multipart/mixed; boundary=batch_1", []byte(goBody))
	f.Add("multipart/mixed; boundary=batch_1", []byte(strings.ReplaceAll(goBody, "\r\n", "\n")))
	f.Add("multipart/mixed; boundary=b", []byte(queryBody))
	f.Add("multipart/mixed; boundary=b", []byte("--b\n--b--"))
	f.Add("multipart/mixed; boundary=\"\"", []byte("--\n--\n"))
	f.Fuzz(func(t *testing.T, contentType string, body []byte) {
		r, err := Parse(contentType, body)
		if err != nil {
			return
		}
		if len(r.Operations) == 0 || r.Query && len(r.Operations) != 1 {
			t.Errorf("got %+v", r)
		}
		// What was read is read again from a body of our own making.
		var b strings.Builder
		fmt.Fprint(&b, "--o\r\nContent-Type: multipart/mixed; boundary=i\r\n\r\n")
		for _, op := range r.Operations {
			if r.Query || bytes.Contains(op.Body, []byte("--i")) || strings.ContainsAny(op.ContentID, "\r\n") {
				return
			}
			fmt.Fprintf(&b, "--i\r\nContent-Type: application/http\r\nContent-ID: %s\r\n\r\n%s %s HTTP/1.1\r\n\r\n%s\r\n", op.ContentID, op.Method, op.URL, op.Body)
		}
		again, err := Parse("multipart/mixed; boundary=o", []byte(b.String()+"--i--\r\n--o--\r\n"))
		if err != nil || len(again.Operations) != len(r.Operations) {
			t.Fatalf("%v for\n%s", err, b.String())
		}
		for i, op := range again.Operations {
			if want := r.Operations[i]; op.Method != want.Method || op.URL != want.URL || !bytes.Equal(op.Body, want.Body) {
				t.Errorf("operation %d came back as %+v, want %+v", i, op, want)
			}
		}
	})
}
