package tablestorage

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
)

// testKey is base64 of "a test key, not a secret".
const testKey = "YSB0ZXN0IGtleSwgbm90IGEgc2VjcmV0"

// answer is one canned response, or an error of the transport.
type answer struct {
	status int
	header map[string]string
	body   string
	err    error
}

// sent is one request that the transport saw.
type sent struct {
	method, url string
	header      http.Header
	body        string
}

// canned hands out answers in turn and keeps the requests. The last answer is repeated.
type canned struct {
	mu      sync.Mutex
	answers []answer
	sent    []sent
}

func (c *canned) Do(r *http.Request) (*http.Response, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := sent{method: r.Method, url: r.URL.String(), header: r.Header.Clone()}
	if r.Body != nil {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return nil, err
		}
		s.body = string(body)
	}
	c.sent = append(c.sent, s)
	a := c.answers[0]
	if len(c.answers) > 1 {
		c.answers = c.answers[1:]
	}
	if a.err != nil {
		return nil, a.err
	}
	resp := &http.Response{StatusCode: a.status, Status: http.StatusText(a.status), Proto: "HTTP/1.1", ProtoMajor: 1,
		ProtoMinor: 1, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(a.body)), Request: r,
		ContentLength: int64(len(a.body))}
	for name, value := range a.header {
		resp.Header.Set(name, value)
	}
	return resp, nil
}

// quickRetry retries without waiting.
var quickRetry = policy.RetryOptions{MaxRetries: 3, RetryDelay: time.Microsecond, MaxRetryDelay: time.Millisecond}

// cannedClient returns a client of an https account with an account key, and its transport.
func cannedClient(t testing.TB, answers ...answer) (*Client, *canned) {
	t.Helper()
	return cannedClientWith(t, SharedKey{NewSecret(testKey)}, answers...)
}

func cannedClientWith(t testing.TB, credential Credential, answers ...answer) (*Client, *canned) {
	t.Helper()
	transport := &canned{answers: answers}
	c, err := NewClient(Account{Name: "acct", TableEndpoint: "https://acct.table.core.windows.net", Credential: credential},
		&ClientOptions{Transport: transport, Retry: quickRetry})
	if err != nil {
		t.Fatal(err)
	}
	return c, transport
}

// jsonError is an OData error body.
func jsonError(code, message string) string {
	return `{"odata.error":{"code":"` + code + `","message":{"lang":"en-US","value":"` + message +
		`\nRequestId:fc611b9c-5002-0093-06c7-e3337f000000\nTime:2020-07-23T16:43:14.3010508Z"}}}`
}

// asError returns err as *Error, or fails.
func asError(t testing.TB, err error) *Error {
	t.Helper()
	var e *Error
	if !errors.As(err, &e) {
		t.Fatalf("%v (%T) is no *Error", err, err)
	}
	return e
}

// crlfText makes CRLF of LF.
func crlfText(s string) string {
	return string(bytes.ReplaceAll([]byte(s), []byte("\n"), []byte("\r\n")))
}

// blocking lets requests through up to a number, then keeps each until its context ends.
type blocking struct {
	inner   policy.Transporter
	from    int
	started chan struct{} // closed when the first is kept
	mu      sync.Mutex
	seen    int
}

func (b *blocking) Do(r *http.Request) (*http.Response, error) {
	b.mu.Lock()
	kept := b.seen >= b.from
	if b.seen == b.from {
		close(b.started)
	}
	b.seen++
	b.mu.Unlock()
	if !kept {
		return b.inner.Do(r)
	}
	<-r.Context().Done()
	return nil, r.Context().Err()
}
