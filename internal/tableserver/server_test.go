package tableserver

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"
)

// client is a signing client for one account of a server in this process.
type client struct {
	t        testing.TB
	account  Account
	endpoint string // path style, with a trailing slash
}

// answer is what came back; the body is read whole.
type answer struct {
	status int
	header http.Header
	body   string
}

func startServer(t testing.TB, o Options) (*Server, net.Addr) {
	t.Helper()
	s, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Serve(ctx, l) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s, l.Addr()
}

func newClient(t testing.TB) *client {
	t.Helper()
	s, addr := startServer(t, Options{InMemory: true})
	a := s.Accounts()[0]
	return &client{t: t, account: a, endpoint: s.Endpoint(addr, a.Name)}
}

// headers that a client sends when the test gives none of its own.
var minimal = []string{"Accept", "application/json;odata=minimalmetadata", "Content-Type", "application/json"}

// do sends a signed request to a path below the account. headers are names and values in turn.
func (c *client) do(method, path, body string, headers ...string) answer {
	c.t.Helper()
	return c.send(c.request(method, path, body, headers...))
}

func (c *client) request(method, path, body string, headers ...string) *http.Request {
	c.t.Helper()
	r, err := http.NewRequestWithContext(c.t.Context(), method, c.endpoint+path, strings.NewReader(body))
	if err != nil {
		c.t.Fatal(err)
	}
	r.Header.Set("x-ms-version", "2019-02-02")
	r.Header.Set("x-ms-date", time.Now().UTC().Format(http.TimeFormat))
	for _, list := range [][]string{minimal, headers} {
		for i := 0; i < len(list); i += 2 {
			if list[i+1] == "-" {
				r.Header.Del(list[i])
			} else {
				r.Header.Set(list[i], list[i+1])
			}
		}
	}
	c.sign(r)
	return r
}

// sign adds a SharedKeyLite signature (Authorize with Shared Key, REST reference).
func (c *client) sign(r *http.Request) {
	resource := "/" + c.account.Name + r.URL.EscapedPath()
	if comp := r.URL.Query().Get("comp"); comp != "" {
		resource += "?comp=" + comp
	}
	mac := hmac.New(sha256.New, c.account.Key)
	mac.Write([]byte(r.Header.Get("x-ms-date") + "\n" + resource))
	r.Header.Set("Authorization", "SharedKeyLite "+c.account.Name+":"+base64.StdEncoding.EncodeToString(mac.Sum(nil)))
}

func (c *client) send(r *http.Request) answer {
	c.t.Helper()
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		c.t.Fatal(err)
	}
	defer resp.Body.Close() //nolint:errcheck // read to its end below
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		c.t.Fatal(err)
	}
	return answer{resp.StatusCode, resp.Header, string(b)}
}

// want fails unless the answer has the status and its body holds the text.
func (a answer) want(t testing.TB, status int, text string) answer {
	t.Helper()
	if a.status != status || !strings.Contains(a.body, text) {
		t.Fatalf("got %d %s\nwant %d with %q", a.status, a.body, status, text)
	}
	return a
}

func TestInsertedEntityIsFoundByKeyAndByQuery(t *testing.T) {
	c := newClient(t)
	c.do("POST", "Tables", `{"TableName":"Orders"}`).want(t, 201, `"TableName":"Orders"`)
	a := c.do("POST", "Orders", `{"PartitionKey":"p","RowKey":"r","n":3,"x":1.0}`).want(t, 201, `"n":3,"x":1.0`)
	if a.header.Get("ETag") == "" || !strings.HasSuffix(a.header.Get("Location"), "Orders(PartitionKey='p',RowKey='r')") {
		t.Errorf("headers of an insert: %v", a.header)
	}
	c.do("GET", "Orders(PartitionKey='p',RowKey='r')", "").want(t, 200, `"RowKey":"r"`)
	c.do("GET", "Orders()?$filter=PartitionKey%20eq%20'p'", "").want(t, 200, `"value":[{"odata.etag"`)
}

// tableSAS is the query of a SAS that leaves everything to a stored access policy (Create a service SAS, REST
// reference: twelve lines from version 2015-04-05).
func tableSAS(a Account, table, policy string) string {
	text := "\n\n\n/table/" + a.Name + "/" + table + "\n" + policy + "\n\n\n2019-02-02\n\n\n\n"
	mac := hmac.New(sha256.New, a.Key)
	mac.Write([]byte(text))
	q := url.Values{"sv": {"2019-02-02"}, "tn": {table}, "si": {policy}, "sig": {base64.StdEncoding.EncodeToString(mac.Sum(nil))}}
	return q.Encode()
}
