package tablestorage

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"slices"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/runtime"

	"github.com/aztenancy/terraform-provider-aztenancy/internal/tablestorage/pace"
)

// Media types of requests and answers.
const (
	jsonMinimal = "application/json;odata=minimalmetadata"
	jsonType    = "application/json"
	xmlType     = "application/xml"
)

// request is one call of the service.
type request struct {
	operation   string // in words, for errors: "insert entity"
	table       string // for errors; "" where there is none
	method      string
	path        string // below the endpoint, percent-encoded, without a leading slash
	query       string // percent-encoded, without "?"
	accept      string // "" is JSON at minimalmetadata
	contentType string // of body
	body        []byte // nil: no body
	ifMatch     string
	version     string // "" is serviceVersion
	// changesNothing marks a POST that only asks.
	changesNothing bool
	noContent      bool         // ask for an answer without a body
	want           []int        // statuses that are success
	pacer          *pace.Pacer  // nil: sent at once
	cost           pace.Request // for pacer
}

// response is a successful answer, read whole.
type response struct {
	header http.Header
	body   []byte
	ticket *pace.Ticket // nil: was not paced
}

// do sends a request, with retries, and returns its answer or an *Error.
func (c *Client) do(ctx context.Context, r request) (*response, error) {
	return c.doCounting(ctx, r, &attempts{})
}

// doCounting is do for callers that look at the tries.
func (c *Client) doCounting(ctx context.Context, r request, tries *attempts) (*response, error) {
	if c.readOnly && r.writes() {
		e := c.describe(r)
		e.Err = ErrReadOnly
		return nil, e
	}
	resp, body, ticket, err := c.sendPaced(ctx, r, tries)
	var unsent notSentError
	if errors.As(err, &unsent) && !tries.uncertain {
		e := c.describe(r)
		e.Err = unsent.error
		return nil, e
	}
	if err != nil {
		return nil, c.noAnswer(ctx, r, err, tries)
	}
	if !slices.Contains(r.want, resp.StatusCode) {
		return nil, c.refusal(r, resp, body, tries)
	}
	return &response{header: resp.Header, body: body, ticket: ticket}, nil
}

// notSentError is a request that was given up before it was sent.
type notSentError struct{ error }

func (e notSentError) Unwrap() error { return e.error }

// sendOne sends a request while it has one of the client's slots, and reads the answer whole.
func (c *Client) sendOne(ctx context.Context, r request, tries *attempts) (*http.Response, []byte, error) {
	if err := c.slots.enter(ctx); err != nil {
		return nil, nil, notSentError{err}
	}
	defer c.slots.leave()
	resp, err := c.send(ctx, r, tries)
	if err != nil {
		return nil, nil, err
	}
	body, err := runtime.Payload(resp)
	if err != nil {
		tries.uncertain = true
	}
	return resp, body, err
}

func (c *Client) send(ctx context.Context, r request, tries *attempts) (*http.Response, error) {
	target := c.account.TableEndpoint + "/" + r.path
	if r.query != "" {
		target += "?" + r.query
	}
	req, err := runtime.NewRequest(ctx, r.method, target)
	if err != nil {
		return nil, err
	}
	req.SetOperationValue(tries)
	h := req.Raw().Header
	h.Set("Accept", r.accept)
	if r.accept == "" {
		h.Set("Accept", jsonMinimal)
	}
	if r.accept != xmlType {
		h.Set("DataServiceVersion", "3.0")
		h.Set("MaxDataServiceVersion", "3.0;NetFx")
	}
	h.Set("x-ms-version", serviceVersion)
	if r.version != "" {
		h.Set("x-ms-version", r.version)
	}
	h.Set("x-ms-client-request-id", clientRequestID(ctx, r.operation))
	if r.ifMatch != "" {
		h.Set("If-Match", r.ifMatch)
	}
	if r.noContent {
		h.Set("Prefer", "return-no-content")
	}
	if r.body != nil {
		tries.body = r.body
		body := readSeekNopCloser{bytes.NewReader(r.body)}
		if err := req.SetBody(body, r.contentType); err != nil {
			return nil, err
		}
	}
	return c.pipeline.Do(req)
}

// readSeekNopCloser is a body in memory; there is nothing to close.
type readSeekNopCloser struct{ io.ReadSeeker }

func (readSeekNopCloser) Close() error { return nil }
