package tablestorage

import (
	"bytes"
	"io"
	"net/http"
	"strings"
	"testing"
)

// earlyAnswer answers the first try before it has read the body, and goes on reading that while the second try runs, as
// net/http does.
type earlyAnswer struct {
	first  io.Reader
	second []byte
}

func (e *earlyAnswer) Do(r *http.Request) (*http.Response, error) {
	answer := &http.Response{StatusCode: http.StatusNoContent, Header: http.Header{"Etag": {`W/"1"`}}, Body: http.NoBody, Request: r}
	if e.first == nil {
		e.first, answer.StatusCode = r.Body, http.StatusServiceUnavailable
		return answer, nil
	}
	if _, err := io.CopyN(io.Discard, e.first, 5); err != nil {
		return nil, err
	}
	var err error
	e.second, err = io.ReadAll(r.Body)
	return answer, err
}

func TestTriesDoNotReadEachOthersBodies(t *testing.T) {
	transport := &earlyAnswer{}
	account := Account{Name: "acct", TableEndpoint: "http://127.0.0.1:1/acct", Credential: SharedKey{NewSecret(testKey)}}
	client, err := NewClient(account, &ClientOptions{Transport: transport, Retry: quickRetry})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := client.Table("Orders").Insert(t.Context(), anEntity); err != nil {
		t.Fatal(err)
	}
	if !bytes.HasPrefix(transport.second, []byte("{")) || !strings.HasSuffix(string(transport.second), "}") {
		t.Errorf("the second try sent %s", transport.second)
	}
}
