package tablestorage

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"

	"github.com/aztenancy/terraform-provider-aztenancy/internal/tablestorage/pace"
)

// paced says what a request costs, for the pacer of the table.
func (t *Table) paced(r request, kind pace.Kind, partition string, entities int) request {
	r.pacer = t.pacer
	r.cost = pace.Request{Account: t.client.AccountName(), Table: t.name, Partition: partition, Kind: kind, Entities: entities}
	return r
}

// sendPaced is sendOne under the request's pacer, if it has one. Refusals for being busy then are the pacer's to wait out:
// azcore's own waits know nothing of the other requests. What waits for the pacer has none of the client's slots, so that
// it does not hold back the catalog. The ticket is done, and nil without a pacer.
func (c *Client) sendPaced(ctx context.Context, r request, tries *attempts) (*http.Response, []byte, *pace.Ticket, error) {
	if r.pacer == nil {
		resp, body, err := c.sendOne(ctx, r, tries)
		return resp, body, nil, err
	}
	ticket, err := r.pacer.Begin(ctx, r.cost)
	if err != nil {
		return nil, nil, nil, notSentError{err}
	}
	defer ticket.Done()
	tries.ticket = ticket
	for {
		resp, body, err := c.sendOne(ctx, r, tries)
		var busy busyError
		if !errors.As(err, &busy) {
			return resp, body, ticket, err
		}
		err = ticket.Again(ctx)
		if errors.Is(err, pace.ErrRefused) {
			return busy.answer, busy.body, ticket, nil
		}
		if err != nil {
			return nil, nil, nil, err
		}
	}
}

// pacePolicy tells the pacer of each try of a paced request and its answer, and takes refusals for being busy away from
// azcore's retries.
type pacePolicy struct{}

func (pacePolicy) Do(req *policy.Request) (*http.Response, error) {
	var a *attempts
	if !req.OperationValue(&a) || a.ticket == nil {
		return req.Next()
	}
	a.ticket.Sent()
	resp, err := req.Next()
	if err != nil {
		a.ticket.Answered(pace.Answer{Failed: true})
		return resp, err
	}
	answer, body, err := judge(resp)
	if err != nil {
		return nil, fmt.Errorf("read the answer: %w", err)
	}
	a.ticket.Answered(answer)
	if answer.Refused {
		return nil, busyError{resp, body}
	}
	return resp, nil
}

// busyError is a refusal that a pacer waits out, with its answer.
type busyError struct {
	answer *http.Response
	body   []byte
}

func (e busyError) Error() string { return "the service is busy: " + e.answer.Status }
func (busyError) NonRetriable()   {}

// maxErrorBody is more than any error of the service is long.
const maxErrorBody = 64 << 10

// isBusy says whether an answer is a refusal for being busy. ServerBusy (503) is the service's throttling, and OperationTimedOut (500)
// what a partition does that has too much to do (Scalability and performance targets for Table storage); 429 is what front
// doors say.
func isBusy(status int, code string) bool {
	switch status {
	case http.StatusServiceUnavailable, http.StatusTooManyRequests:
		return true
	}
	return status == http.StatusInternalServerError && code == "OperationTimedOut"
}

// judge says what an answer means for the pace. The message of a ServerBusy tells the account's limits from others: "Operations
// per second is over the account limit." (Common REST API error codes). The body of an error can still be read afterwards.
func judge(resp *http.Response) (pace.Answer, []byte, error) {
	x := pace.Answer{Status: resp.StatusCode}
	if resp.StatusCode < http.StatusInternalServerError && resp.StatusCode != http.StatusTooManyRequests {
		return x, nil, nil
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxErrorBody))
	_ = resp.Body.Close()
	if err != nil {
		return x, nil, err
	}
	resp.Body = io.NopCloser(bytes.NewReader(body))
	code, message := parseErrorBody(body)
	if code == "" {
		code = resp.Header.Get("x-ms-error-code")
	}
	x.Refused = isBusy(resp.StatusCode, code)
	x.Failed = !x.Refused
	x.ByAccount = strings.Contains(strings.ToLower(message), "account limit")
	x.RetryAfter = retryAfter(resp.Header, time.Now())
	return x, body, nil
}

// retryAfter reads the header in the two forms of RFC 9110 §10.2.3 and the two in milliseconds that azcore knows.
func retryAfter(h http.Header, now time.Time) time.Duration {
	for name, unit := range map[string]time.Duration{"x-ms-retry-after-ms": time.Millisecond, "retry-after-ms": time.Millisecond, "Retry-After": time.Second} {
		if n, err := strconv.ParseInt(h.Get(name), 10, 32); err == nil && n > 0 {
			return time.Duration(n) * unit
		}
	}
	if at, err := http.ParseTime(h.Get("Retry-After")); err == nil && at.After(now) {
		return at.Sub(now)
	}
	return 0
}
