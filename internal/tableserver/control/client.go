package control

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/aztenancy/terraform-provider-aztenancy/internal/tableserver/fault"
	"github.com/aztenancy/terraform-provider-aztenancy/internal/tableserver/throttle"
)

// Client steers a running server. It prints without its token. It is safe for concurrent use.
type Client struct {
	endpoint string
	token    string
	http     *http.Client
}

// NewClient returns a client of the server at an endpoint without an account, such as http://127.0.0.1:10002.
func NewClient(endpoint, token string) *Client {
	return &Client{endpoint: strings.TrimSuffix(endpoint, "/"), token: token, http: &http.Client{}}
}

// String names the server.
func (c *Client) String() string { return "control of " + c.endpoint }

// GoString names the server.
func (c *Client) GoString() string { return c.String() }

// Error is a refusal by the server.
type Error struct {
	Status  int
	Message string
}

func (e *Error) Error() string { return fmt.Sprintf("%d: %s", e.Status, e.Message) }

// Accounts returns the names of the server's accounts.
func (c *Client) Accounts(ctx context.Context) ([]string, error) {
	var out Accounts
	err := c.call(ctx, http.MethodGet, "accounts", nil, &out)
	return out.Accounts, err
}

// Reset removes everything that an account holds.
func (c *Client) Reset(ctx context.Context, account string) error {
	return c.call(ctx, http.MethodPost, "accounts/"+url.PathEscape(account)+"/reset", nil, nil)
}

// Snapshot copies what an account holds to a writer. When it returns an error the copy is of no use.
func (c *Client) Snapshot(ctx context.Context, account string, to io.Writer) error {
	resp, err := c.send(ctx, http.MethodGet, "accounts/"+url.PathEscape(account)+"/snapshot", nil)
	if err != nil {
		return err
	}
	_, err = io.Copy(to, resp.Body)
	return errors.Join(err, resp.Body.Close())
}

// Restore puts a snapshot in the place of what an account holds, or changes nothing.
func (c *Client) Restore(ctx context.Context, account string, from io.Reader) error {
	resp, err := c.send(ctx, http.MethodPut, "accounts/"+url.PathEscape(account)+"/snapshot", from)
	if err != nil {
		return err
	}
	return resp.Body.Close()
}

// SetFaults replaces the fault rules; none takes all away.
func (c *Client) SetFaults(ctx context.Context, seed uint64, rules ...string) error {
	return c.call(ctx, http.MethodPut, "faults", Faults{Rules: rules, Seed: seed}, nil)
}

// AddFaults puts rules behind those that are there.
func (c *Client) AddFaults(ctx context.Context, rules ...string) error {
	return c.call(ctx, http.MethodPost, "faults", Faults{Rules: rules}, nil)
}

// Faults returns the rules and what became of them.
func (c *Client) Faults(ctx context.Context) ([]fault.Report, error) {
	var out FaultReports
	err := c.call(ctx, http.MethodGet, "faults", nil, &out)
	return out.Rules, err
}

// SetScaleTargets holds accounts and partitions to targets; the zero value takes them away.
func (c *Client) SetScaleTargets(ctx context.Context, t throttle.Targets) error {
	return c.call(ctx, http.MethodPut, "scale-targets", t, nil)
}

// SetPolicyDelay sets the time until changed stored access policies count.
func (c *Client) SetPolicyDelay(ctx context.Context, d time.Duration) error {
	return c.call(ctx, http.MethodPut, "policy-delay", PolicyDelay{Delay: d.String()}, nil)
}

// Partitions returns the busiest partitions, busiest first.
func (c *Client) Partitions(ctx context.Context) ([]HotPartition, error) {
	var out Partitions
	err := c.call(ctx, http.MethodGet, "partitions", nil, &out)
	return out.Partitions, err
}

// call sends a body of JSON and reads one.
func (c *Client) call(ctx context.Context, method, path string, body, answer any) error {
	var from io.Reader
	if body != nil {
		text, err := json.Marshal(body)
		if err != nil {
			return err
		}
		from = bytes.NewReader(text)
	}
	resp, err := c.send(ctx, method, path, from)
	if err != nil {
		return err
	}
	if answer != nil {
		err = json.NewDecoder(resp.Body).Decode(answer)
	}
	return errors.Join(err, resp.Body.Close())
}

// send returns an answer that is no error; the caller closes its body.
func (c *Client) send(ctx context.Context, method, path string, body io.Reader) (*http.Response, error) {
	r, err := http.NewRequestWithContext(ctx, method, c.endpoint+Prefix+path, body)
	if err != nil {
		return nil, err
	}
	r.Header.Set("Authorization", "Bearer "+c.token)
	resp, err := c.http.Do(r)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode < http.StatusBadRequest {
		return resp, nil
	}
	text, err := io.ReadAll(io.LimitReader(resp.Body, 64<<10))
	problem := Problem{Error: strings.TrimSpace(string(text))}
	_ = json.Unmarshal(text, &problem) // the text is told as it is then
	return nil, errors.Join(&Error{resp.StatusCode, fmt.Sprintf("%s %s: %s", method, path, problem.Error)}, err, resp.Body.Close())
}
