package tablestorage

// Accounts are the clients of all configured accounts.
type Accounts struct{}

// NewAccounts checks every account of the configuration and makes its client. It sends nothing.
func NewAccounts(cfg Config, o *ClientOptions) (*Accounts, error) { panic("under construction") }

// Client returns the client of a configured account; "" and "home" are the home account.
func (a *Accounts) Client(name string) (*Client, error) { panic("under construction") }

// Home returns the client of the home account.
func (a *Accounts) Home() *Client { panic("under construction") }

// CatalogTable returns the name of the catalog's table.
func (a *Accounts) CatalogTable() string { panic("under construction") }

// Names returns the names of the configured accounts: "home", then the others in order.
func (a *Accounts) Names() []string { panic("under construction") }

// Locate returns the storage account's own name and the address of a table; it is a tenancy.Locator.
func (a *Accounts) Locate(account, table string) (storage, url string, err error) {
	panic("under construction")
}
