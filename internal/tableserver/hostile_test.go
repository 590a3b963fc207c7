package tableserver

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"encoding/xml"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// dial opens a connection to the server and sends what was made of a signed request.
func (c *client) dial(r *http.Request, rest string) *bufio.Reader {
	c.t.Helper()
	conn, err := net.Dial("tcp", r.URL.Host)
	if err != nil {
		c.t.Fatal(err)
	}
	c.t.Cleanup(func() { _ = conn.Close() })
	var head bytes.Buffer
	head.WriteString(r.Method + " " + r.URL.RequestURI() + " HTTP/1.1\r\nHost: " + r.URL.Host + "\r\n")
	if err := r.Header.Write(&head); err != nil {
		c.t.Fatal(err)
	}
	if _, err := io.WriteString(conn, head.String()+rest); err != nil {
		c.t.Fatal(err)
	}
	if tcp, ok := conn.(*net.TCPConn); ok && strings.HasSuffix(rest, truncated) {
		if err := tcp.CloseWrite(); err != nil {
			c.t.Fatal(err)
		}
	}
	return bufio.NewReader(conn)
}

// truncated ends a body after which the connection is closed.
const truncated = `"PartitionKey":`

func TestTruncatedBodiesAreRefused(t *testing.T) {
	c := newTable(t)
	for name, framing := range map[string]string{
		"with a length": "Content-Length: 100\r\n\r\n{" + truncated,
		"in chunks":     "Transfer-Encoding: chunked\r\n\r\n64\r\n{" + truncated,
	} {
		t.Run(name, func(t *testing.T) {
			resp, err := http.ReadResponse(c.dial(c.request("POST", "Tab", ""), framing), nil)
			if err != nil {
				t.Fatal(err)
			}
			body, err := io.ReadAll(resp.Body)
			if err != nil || resp.StatusCode != 400 || !strings.Contains(string(body), `"InvalidInput"`) {
				t.Errorf("%d %s %v", resp.StatusCode, body, err)
			}
		})
	}
	c.do("GET", "Tab()", "").want(t, 200, `"value":[]`)
}

// endless counts what is read from it.
type endless struct{ read atomic.Int64 }

func (e *endless) Read(b []byte) (int, error) {
	for i := range b {
		b[i] = 'x'
	}
	e.read.Add(int64(len(b)))
	return len(b), nil
}

func TestHugeBodiesAreRefusedUnread(t *testing.T) { // reference §3: 4 MiB
	c := newTable(t)
	for name, length := range map[string]int64{"with a length": 100 << 20, "in chunks": -1} {
		t.Run(name, func(t *testing.T) {
			source := &endless{}
			r := c.request("POST", "Tab", "")
			r.Body, r.ContentLength = io.NopCloser(io.LimitReader(source, 100<<20)), length
			resp, err := http.DefaultClient.Do(r)
			if err == nil { // else the connection was cut while the client was still sending
				defer resp.Body.Close() //nolint:errcheck // only read
				body, _ := io.ReadAll(resp.Body)
				if resp.StatusCode != 413 || !strings.Contains(string(body), `"RequestBodyTooLarge"`) {
					t.Errorf("%d %s", resp.StatusCode, body)
				}
			}
			if n := source.read.Load(); n > 50<<20 {
				t.Errorf("%d bytes were taken", n)
			}
		})
	}
	c.do("GET", "Tab()", "").want(t, 200, `"value":[]`)
}

func TestSlowClientsAreCutOff(t *testing.T) {
	s, err := New(Options{InMemory: true})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close() //nolint:errcheck // in memory
	h := s.httpServer()
	for name, limit := range map[string]time.Duration{"headers": h.ReadHeaderTimeout, "request": h.ReadTimeout, "answer": h.WriteTimeout, "idle": h.IdleTimeout} {
		if limit <= 0 || limit > 10*time.Minute {
			t.Errorf("%s: %v", name, limit)
		}
	}
	h.ReadTimeout, h.ReadHeaderTimeout = 50*time.Millisecond, 50*time.Millisecond // the same, sooner
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go h.Serve(l)   //nolint:errcheck // ends with Close
	defer h.Close() //nolint:errcheck // nothing is running any more
	c := &client{t: t, account: s.Accounts()[0], endpoint: s.Endpoint(l.Addr(), DevAccount)}
	resp, err := http.ReadResponse(c.dial(c.request("POST", "Tables", ""), "Content-Length: 100\r\n\r\n{"), nil)
	if err != nil || resp.StatusCode != 400 {
		t.Errorf("half a body: %v %v", resp, err)
	}
	if _, err := c.dial(c.request("GET", "Tables", ""), "x-never: ").ReadByte(); !errors.Is(err, io.EOF) {
		t.Errorf("half a header: %v", err)
	}
}

func TestOddInputIsRefusedInTheServicesWords(t *testing.T) {
	c := newTable(t)
	deep := strings.Repeat(`{"a":`, 100_000)
	long := strings.Repeat("x", 600<<10)
	for _, x := range []struct {
		name, method, path, body, headers string
		status                            int
		code                              string
	}{
		{"deep JSON", "POST", "Tab", deep, "", 400, "InvalidInput"},
		{"deep array", "POST", "Tab", strings.Repeat("[", 1<<20), "", 400, "InvalidInput"},
		{"deep JSON for a table", "POST", "Tables", deep, "", 400, "InvalidInput"},
		{"deep XML", "PUT", "Tab?comp=acl", strings.Repeat("<a>", 300_000), "", 400, "InvalidXmlDocument"},
		{"deep XML properties", "PUT", propertiesAt, strings.Repeat("<a>", 300_000), "", 400, "InvalidXmlDocument"},
		{"bad UTF-8", "POST", "Tab", "{\"PartitionKey\":\"\xff\",\"RowKey\":\"r\"}", "", 400, "InvalidInput"},
		{"half a surrogate", "POST", "Tab", `{"PartitionKey":"\ud800","RowKey":"r"}`, "", 400, "InvalidInput"},
		{"many members", "POST", "Tab", `{"PartitionKey":"p"` + strings.Repeat(`,"a@odata.type":"Edm.String"`, 1) + manyMembers(5000) + "}", "", 400, "TooManyProperties"},
		{"bad UTF-8 in a filter", "GET", "Tab()?$filter=%FF", "", "", 400, "InvalidInput"},
		{"huge filter", "GET", "Tab()?$filter=a%20eq%20'" + long + "'", "", "", 400, "The $filter has 614407 bytes; at most 524288 are read."},
		{"a name for a table in another letter case", "POST", "Tables", `{"tablename":"Abc"}`, "", 400, "PropertiesNeedValue"},
		{"a table named twice", "POST", "Tables", `{"TableName":"Abc","TableName":"Abd"}`, "", 400, "DuplicatePropertiesSpecified"},
		{"a number for a table", "POST", "Tables", `{"TableName":123}`, "", 400, "InvalidInput"},
		{"null for a table", "POST", "Tables", `{"TableName":null}`, "", 400, "PropertiesNeedValue"},
		{"a table named with a slash", "DELETE", "Tables('a%2Fb')", "", "", 404, "ResourceNotFound"},
		{"Atom", "POST", "Tab", "<entry/>", "application/atom+xml;type=entry", 415, "AtomFormatNotSupported"},
		{"a batch without parts", "POST", "$batch", "--b--", "multipart/mixed; boundary=b", 400, "InvalidInput"},
		{"a batch that is none", "POST", "$batch", "{}", "application/json", 400, "InvalidInput"},
		{"a batch of headers", "POST", "$batch", "--b\r\n" + strings.Repeat("a:b\r\n", 700_000), "multipart/mixed; boundary=b", 400, "InvalidInput"},
		{"a batch of parts", "POST", "$batch", "--b\r\nContent-Type: multipart/mixed; boundary=c\r\n\r\n" + strings.Repeat("--c\r\nContent-Type: application/http\r\n\r\nPUT /x HTTP/1.1\r\n\r\n", 60_000), "multipart/mixed; boundary=b", 202, `99:The batch request operation exceeds the maximum 100 changes per change set.`},
		{"parts of nothing", "POST", "$batch", strings.Repeat("--b\r\n", 800_000), "multipart/mixed; boundary=b", 400, "InvalidInput"},
		{"a token", "GET", "Tab()?NextPartitionKey=1!4!%00%00%00%00", "", "", 400, "InvalidInput"},
		{"a token of bad UTF-8", "GET", "Tab()?NextPartitionKey=1!4!_w--", "", "", 400, "InvalidInput"},
	} {
		t.Run(x.name, func(t *testing.T) {
			headers := []string{}
			if x.headers != "" {
				headers = append(headers, "Content-Type", x.headers)
			}
			c.do(x.method, x.path, x.body, headers...).want(t, x.status, x.code)
		})
	}
	c.do("GET", "Tab()", "").want(t, 200, `"value":[]`)
}

func manyMembers(n int) string {
	var b strings.Builder
	for i := range n {
		b.WriteString(`,"p` + string(rune('a'+i%26)) + strings.Repeat("x", i/26) + `":1`)
	}
	return b.String()
}

func TestEmptyAnswersHaveALength(t *testing.T) { // reference §1.4, recordings
	c := newTable(t)
	c.do("POST", "Tab", `{"PartitionKey":"p","RowKey":"r"}`).want(t, 201, "")
	r := c.dial(c.request("DELETE", "Tab(PartitionKey='p',RowKey='r')", "", "If-Match", "*"), "\r\n")
	head := ""
	for !strings.HasSuffix(head, "\r\n\r\n") {
		line, err := r.ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		head += line
	}
	if !strings.HasPrefix(head, "HTTP/1.1 204 ") || strings.Count(strings.ToLower(head), "content-length: 0\r\n") != 1 || strings.Contains(head, "chunked") {
		t.Errorf("%s", head)
	}
}

// FuzzRequest sends anything at all, with credentials, to the whole server: it must answer in the forms of
// reference §8, and log no error of its own.
func FuzzRequest(f *testing.F) {
	entity := `{"PartitionKey":"p","RowKey":"r","d":1.5,"i@odata.type":"Edm.Int64","i":"7"}`
	changes := "--b\r\nContent-Type: multipart/mixed; boundary=c\r\n\r\n--c\r\nContent-Type: application/http\r\n\r\n" +
		"POST /devstoreaccount1/Tab HTTP/1.1\r\nPrefer: return-no-content\r\n\r\n" + entity + "\r\n--c--\r\n--b--\r\n"
	query := "--b\r\nContent-Type: application/http\r\n\r\nGET /devstoreaccount1/Tab()?$filter=a%20eq%201 HTTP/1.1\r\nAccept: application/json\r\n\r\n--b--"
	for _, seed := range [][4]string{
		{"GET", "Tab()?$filter=PartitionKey%20eq%20'p'&$select=a,b&$top=2", "Accept: application/json;odata=fullmetadata", ""},
		{"GET", "Tab()?NextPartitionKey=1!4!cA--&NextRowKey=1!4!cg--", "Accept: application/json", ""},
		{"GET", "Tab(PartitionKey='p',RowKey='r')", "Accept: */*", ""},
		{"POST", "Tab", "Prefer: return-no-content", entity},
		{"PUT", "Tab(PartitionKey='p',RowKey='r')", "If-Match: W/\"x\"", entity},
		{"POST", "Tab(PartitionKey='p''%27',RowKey='')", "X-HTTP-Method: MERGE", entity},
		{"DELETE", "Tab(PartitionKey='p',RowKey='r')", "If-Match: *", ""},
		{"POST", "$batch", "Content-Type: multipart/mixed; boundary=b", changes},
		{"POST", "$batch", "Content-Type: multipart/mixed; boundary=b", query},
		{"GET", "Tables?$filter=TableName%20ge%20'a'&NextTableName=1!4!cA--", "Accept: application/json;odata=nometadata", ""},
		{"POST", "Tables", "Accept: application/json", `{"TableName":"Other"}`},
		{"DELETE", "Tables('Other')", "x-ms-version: 2026-06-06", ""},
		{"PUT", "Tab?comp=acl", "", "<SignedIdentifiers><SignedIdentifier><Id>i</Id></SignedIdentifier></SignedIdentifiers>"},
		{"PUT", propertiesAt, "", rules(rule("*", "GET", "a*", "b*", "1"))},
		{"OPTIONS", "Tab", "Origin: http://o\r\nAccess-Control-Request-Method: GET", ""},
		{"GET", "?restype=service&comp=stats", "x-ms-version: x", ""},
	} {
		f.Add(seed[0], seed[1], seed[2], []byte(seed[3]))
	}
	complaints := &complaints{}
	s, err := New(Options{InMemory: true, Logger: slog.New(complaints)})
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { _ = s.Close() })
	if err := s.store.CreateTable(f.Context(), DevAccount, "Tab"); err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, method, target, header string, body []byte) {
		text := method + " /devstoreaccount1/" + target + " HTTP/1.1\r\nHost: h\r\nx-ms-date: " + time.Now().UTC().Format(http.TimeFormat) + "\r\n" + header + "\r\n\r\n"
		r, err := http.ReadRequest(bufio.NewReader(strings.NewReader(text)))
		if err != nil {
			return // net/http answers for itself
		}
		r = r.WithContext(t.Context())
		r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
		c := &client{t: t, account: s.Accounts()[0]}
		c.sign(r)
		w := httptest.NewRecorder()
		s.Handler().ServeHTTP(w, r)
		if got := complaints.take(); got != "" {
			t.Fatalf("logged %s", got)
		}
		checkForm(t, w)
	})
}

// checkForm fails for an answer that no client of the service could read.
func checkForm(t *testing.T, w *httptest.ResponseRecorder) {
	t.Helper()
	body := w.Body.Bytes()
	kind := w.Header().Get("Content-Type")
	switch {
	case w.Code < 200 || w.Code > 599:
		t.Errorf("status %d", w.Code)
	case strings.HasPrefix(kind, "application/json"):
		var v struct {
			Error *struct{ Code string } `json:"odata.error"`
		}
		if err := json.Unmarshal(body, &v); err != nil || (v.Error != nil) != (w.Code >= 400) {
			t.Errorf("%d %s: %v", w.Code, body, err)
		}
	case strings.HasPrefix(kind, "application/xml"):
		var v struct {
			Code string `xml:"code"`
		}
		if err := xml.Unmarshal(bytes.TrimPrefix(body, []byte(utf8BOM)), &v); err != nil || (v.Code != "") != (w.Code >= 400) {
			t.Errorf("%d %s: %v", w.Code, body, err)
		}
	case w.Code >= 400 && !strings.HasPrefix(kind, "text/html"):
		t.Errorf("%d without an error in %q: %s", w.Code, kind, body)
	}
}

// complaints keeps the errors that the server logs.
type complaints struct {
	slog.Handler
	last atomic.Pointer[string]
}

func (*complaints) Enabled(_ context.Context, level slog.Level) bool { return level >= slog.LevelError }

func (c *complaints) Handle(_ context.Context, r slog.Record) error {
	text := r.Message
	r.Attrs(func(a slog.Attr) bool {
		text += " " + a.String()
		return true
	})
	c.last.Store(&text)
	return nil
}

func (c *complaints) take() string {
	if text := c.last.Swap(nil); text != nil {
		return *text
	}
	return ""
}
