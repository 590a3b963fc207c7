package tablestorage

import (
	"bytes"
	"context"
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
	if err := c.slots.enter(ctx); err != nil {
		e := c.describe(r)
		e.Err = err
		return nil, e
	}
	defer c.slots.leave()
	resp, ticket, err := c.sendPaced(ctx, r, tries)
	if err != nil {
		return nil, c.noAnswer(ctx, r, err, tries)
	}
	body, err := runtime.Payload(resp)
	if err != nil {
		tries.uncertain = true
		return nil, c.noAnswer(ctx, r, err, tries)
	}
	if !slices.Contains(r.want, resp.StatusCode) {
		return nil, c.refusal(r, resp, body, tries)
	}
	return &response{header: resp.Header, body: body, ticket: ticket}, nil
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
