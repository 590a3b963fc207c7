package tablestorage

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
)

// busyPartPolicy brings a transaction that was refused for being busy into the form of any other such refusal. Where the
// partition is at its limit, and not the account, the answer to the batch as a whole is 202 and the refusal is that of an
// operation within (unconfirmed; a client must take both). Nothing of the transaction was carried out, so trying again is as
// right as after a 503 outside, and those who retry look at the status alone.
type busyPartPolicy struct{}

func (busyPartPolicy) Do(req *policy.Request) (*http.Response, error) {
	resp, err := req.Next()
	if err != nil || resp.StatusCode != http.StatusAccepted || !strings.HasSuffix(req.Raw().URL.Path, "/$batch") {
		return resp, err
	}
	body, err := io.ReadAll(resp.Body)
	_ = resp.Body.Close()
	if err != nil {
		return nil, fmt.Errorf("read the answer: %w", err)
	}
	if part, busy := busyPart(resp.Header.Get("Content-Type"), body); busy {
		resp.StatusCode, resp.Status = part.status, fmt.Sprintf("%d %s", part.status, http.StatusText(part.status))
		resp.Header.Set("Content-Type", jsonType)
		body = part.body
	}
	resp.Body, resp.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	return resp, nil
}

// busyStatuses are how the status lines of refusals for being busy begin; most answers have none and need not be parsed.
var busyStatuses = [][]byte{[]byte("HTTP/1.1 503"), []byte("HTTP/1.1 429"), []byte("HTTP/1.1 500")}

// busyPart returns the refusal for being busy in an answer to a transaction, if there is one.
func busyPart(contentType string, body []byte) (partAnswer, bool) {
	for _, status := range busyStatuses {
		if !bytes.Contains(body, status) {
			continue
		}
		parts, err := parseTransaction(contentType, body)
		if err != nil {
			return partAnswer{}, false // for who reads it next to say
		}
		for _, p := range parts {
			if code, _ := parseErrorBody(p.body); isBusy(p.status, code) {
				return p, true
			}
		}
	}
	return partAnswer{}, false
}
