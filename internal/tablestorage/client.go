package tablestorage

import (
	"context"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"

	"github.com/aztenancy/terraform-provider-aztenancy/internal/tablestorage/sas"
)

// ClientOptions are what a client may be told besides its account. The zero value is right for production.
type ClientOptions struct {
	Transport policy.Transporter  // nil: an HTTP client with pooled connections
	Retry     policy.RetryOptions // zero fields: this package's defaults
	UserAgent string              // first word of the User-Agent; "" is "aztenancy"
}

// Client speaks the table protocol to one account. It is safe for concurrent use.
type Client struct{ account Account }

// NewClient returns a client of the account. It sends nothing.
func NewClient(a Account, o *ClientOptions) (*Client, error) { panic("under construction") }

// AccountName returns the storage account's name.
func (c *Client) AccountName() string { return c.account.Name }

// Endpoint returns the table endpoint, without a trailing slash.
func (c *Client) Endpoint() string { return c.account.TableEndpoint }

// TableURL returns the address of a table.
func (c *Client) TableURL(table string) string { return c.account.TableEndpoint + "/" + table }

// CanSignSAS says whether the client has the account key, which signing a SAS needs.
func (c *Client) CanSignSAS() bool { panic("under construction") }

// SignTableSAS returns the query string of a SAS on one table. It needs the account key.
func (c *Client) SignTableSAS(p sas.TableParams) (string, error) { panic("under construction") }

// Tables returns the names of the account's tables that begin with prefix in any letter case, as stored.
func (c *Client) Tables(ctx context.Context, prefix string) ([]string, error) {
	panic("under construction")
}

// CreateTable creates a table. created is false if a table of that name was there, in any letter case.
func (c *Client) CreateTable(ctx context.Context, name string) (created bool, err error) {
	panic("under construction")
}

// DeleteTable drops a table and all in it. A table that is not there is ErrTableNotFound.
func (c *Client) DeleteTable(ctx context.Context, name string) error { panic("under construction") }

// TableExists looks a table up in any letter case and returns its name as stored.
func (c *Client) TableExists(ctx context.Context, name string) (stored string, ok bool, err error) {
	panic("under construction")
}

// AccessPolicy is a stored access policy of a table. Permission holds letters of "raud".
type AccessPolicy struct {
	ID         string
	Start      *time.Time
	Expiry     *time.Time
	Permission string
}

// AccessPolicies returns the stored access policies of a table. Only the account key may ask.
func (c *Client) AccessPolicies(ctx context.Context, table string) ([]AccessPolicy, error) {
	panic("under construction")
}

// SetAccessPolicies replaces all stored access policies of a table. Only the account key may do it.
func (c *Client) SetAccessPolicies(ctx context.Context, table string, p []AccessPolicy) error {
	panic("under construction")
}
