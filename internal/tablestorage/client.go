package tablestorage

import (
	"fmt"
	"strings"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/runtime"

	"github.com/aztenancy/terraform-provider-aztenancy/internal/tablestorage/sas"
)

// serviceVersion is the x-ms-version of every request: new enough for Entra, old enough for every server.
const serviceVersion = "2020-12-06"

// ClientOptions are what a client may be told besides its account. The zero value is right for production.
type ClientOptions struct {
	Transport policy.Transporter  // nil: an HTTP client with pooled connections
	Retry     policy.RetryOptions // zero fields: the defaults of defaultRetry
	ReadOnly  bool                // every write is ErrReadOnly
	UserAgent string              // first word of the User-Agent; "" is "aztenancy"
}

// Client speaks the table protocol to one account. It is safe for concurrent use.
type Client struct {
	account  Account
	pipeline runtime.Pipeline
	slots    slots
	readOnly bool
	options  ClientOptions // with which it was made

	delegation delegation // of an Entra credential
}

// NewClient returns a client of the account. It sends nothing.
func NewClient(a Account, o *ClientOptions) (*Client, error) {
	if o == nil {
		o = &ClientOptions{}
	}
	name, endpoint, err := resolveEndpoint(a.Name, a.TableEndpoint, "")
	if err != nil {
		return nil, err
	}
	a.Name, a.TableEndpoint = name, endpoint
	if err := a.check(); err != nil {
		return nil, err
	}
	authorize, err := authorizer(a)
	if err != nil {
		return nil, err
	}
	transport := o.Transport
	if transport == nil {
		transport = newHTTPClient()
	}
	options := policy.ClientOptions{Retry: defaultRetry(a.Limits.retry(o.Retry)), Transport: discreetTransport{transport}}
	options.Telemetry.ApplicationID = o.UserAgent
	if o.UserAgent == "" {
		options.Telemetry.ApplicationID = "aztenancy"
	}
	return &Client{account: a, slots: newSlots(a.Limits.MaxConcurrency), readOnly: o.ReadOnly, options: *o, pipeline: runtime.NewPipeline("aztenancy", "v1", runtime.PipelineOptions{
		PerRetry: []policy.Policy{pacePolicy{}, authorize, attemptPolicy{}, busyPartPolicy{}},
	}, &options)}, nil
}

// AccountName returns the storage account's name.
func (c *Client) AccountName() string { return c.account.Name }

// Account returns the account, for services beside tables that its credential opens too.
func (c *Client) Account() Account { return c.account }

// Endpoint returns the table endpoint, without a trailing slash.
func (c *Client) Endpoint() string { return c.account.TableEndpoint }

// TableURL returns the address of a table.
func (c *Client) TableURL(table string) string { return c.account.TableEndpoint + "/" + table }

// CanSignSAS says whether the client has the account key, which signing a SAS and stored access policies need.
func (c *Client) CanSignSAS() bool {
	_, ok := c.account.Credential.(SharedKey)
	return ok
}

// SignTableSAS returns the query string of a SAS on one table; p.Account may be left empty. Without the account key
// the error is ErrNeedsAccountKey.
func (c *Client) SignTableSAS(p sas.TableParams) (string, error) {
	key, ok := c.account.Credential.(SharedKey)
	if !ok {
		return "", fmt.Errorf("sign a SAS for table %s of account %q: %w", p.Table, c.account.Name, ErrNeedsAccountKey)
	}
	p.Account = c.account.Name
	return sas.SignTable(p, key.Key.Reveal())
}

// SignAccountSAS returns the query string of an account SAS; p.Account may be left empty. Without the account key
// the error is ErrNeedsAccountKey.
func (c *Client) SignAccountSAS(p sas.AccountParams) (string, error) {
	key, ok := c.account.Credential.(SharedKey)
	if !ok {
		return "", fmt.Errorf("sign a SAS for account %q: %w", c.account.Name, ErrNeedsAccountKey)
	}
	p.Account = c.account.Name
	return sas.SignAccount(p, key.Key.Reveal())
}

// kindOf names a credential in messages.
func kindOf(c Credential) string {
	switch c.(type) {
	case SharedKey:
		return "account key"
	case SAS:
		return "SAS token"
	}
	return "Entra token"
}

// escape percent-encodes everything but unreserved characters (RFC 3986 §2.3). The form on the wire is the form that
// is signed, so nothing may be left for net/http to choose.
func escape(s string) string {
	const hex = "0123456789ABCDEF"
	var b strings.Builder
	b.Grow(len(s) + 8)
	for i := 0; i < len(s); i++ {
		c := s[i]
		if 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || strings.IndexByte("-._~", c) >= 0 {
			b.WriteByte(c)
			continue
		}
		b.WriteByte('%')
		b.WriteByte(hex[c>>4])
		b.WriteByte(hex[c&15])
	}
	return b.String()
}

// quote writes a text as an OData string literal: quotes doubled, then percent-encoded for a URL.
func quote(s string) string { return escape(QuoteLiteral(s)) }

// QuoteLiteral writes a text as a literal of an OData filter: between single quotes, with those that it holds doubled.
func QuoteLiteral(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }
