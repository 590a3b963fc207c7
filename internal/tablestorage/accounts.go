package tablestorage

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/aztenancy/terraform-provider-aztenancy/internal/tablestorage/pace"
	"github.com/aztenancy/terraform-provider-aztenancy/internal/tenancy"
)

// Accounts are the clients of all configured accounts, by the names that models and tenants use. The home account is
// always there. It is safe for concurrent use.
type Accounts struct {
	clients map[string]*Client
	names   []string
	catalog string
	pacer   *pace.Pacer // of the tables that At returns; nil: they are not paced
}

// NewAccounts checks every account of the configuration and makes its client. It sends nothing. The clients share one
// pool of connections.
func NewAccounts(cfg Config, o *ClientOptions) (*Accounts, error) {
	shared := ClientOptions{}
	if o != nil {
		shared = *o
	}
	shared.ReadOnly = shared.ReadOnly || cfg.ReadOnly
	if shared.Transport == nil {
		shared.Transport = newHTTPClient()
	}
	configs := map[string]AccountConfig{tenancy.HomeAccount: cfg.Home}
	for name, c := range cfg.Accounts {
		if name == "" || name == tenancy.HomeAccount {
			return nil, fmt.Errorf("account %q: this name means the home account; choose another for a further one", name)
		}
		configs[name] = c
	}
	a := &Accounts{clients: map[string]*Client{}, catalog: cmp.Or(cfg.CatalogTable, DefaultCatalogTable)}
	for _, name := range slices.Sorted(maps.Keys(configs)) {
		account, err := configs[name].Account()
		if err != nil {
			return nil, fmt.Errorf("account %q: %w", name, err)
		}
		if a.clients[name], err = NewClient(account, &shared); err != nil {
			return nil, fmt.Errorf("account %q: %w", name, err)
		}
		if name != tenancy.HomeAccount {
			a.names = append(a.names, name)
		}
	}
	return a, nil
}

// Client returns the client of a configured account; "" and "home" are the home account.
func (a *Accounts) Client(name string) (*Client, error) {
	if c, ok := a.clients[cmp.Or(name, tenancy.HomeAccount)]; ok {
		return c, nil
	}
	known := slices.Clone(a.Names())
	for i := range known {
		known[i] = fmt.Sprintf("%q", known[i])
	}
	return nil, fmt.Errorf("account %q is not configured: there is %s; add it to accounts", name, strings.Join(known, ", "))
}

// OfStorage returns the configured account with a storage account's own name.
func (a *Accounts) OfStorage(storage string) (Account, error) {
	for _, name := range a.Names() {
		if c := a.clients[name]; c.account.Name == storage {
			return c.account, nil
		}
	}
	return Account{}, fmt.Errorf("storage account %s is not configured: add it to accounts, so that its credential can be used", storage)
}

// Home returns the client of the home account.
func (a *Accounts) Home() *Client { return a.clients[tenancy.HomeAccount] }

// CatalogTable returns the name of the catalog's table.
func (a *Accounts) CatalogTable() string { return a.catalog }

// Names returns the names of the configured accounts: "home", then the others in order.
func (a *Accounts) Names() []string { return append([]string{tenancy.HomeAccount}, a.names...) }

// Locate returns the storage account's own name and the address of a table; it is a tenancy.Locator.
func (a *Accounts) Locate(account, table string) (storage, url string, err error) {
	c, err := a.Client(account)
	if err != nil {
		return "", "", err
	}
	return c.AccountName(), c.TableURL(table), nil
}

// At returns the table of a placement. A configuration in which the placement's account is another storage account than
// the one that the catalog names is an *OtherStorageError: what lies there is not the tenant's.
func (a *Accounts) At(p tenancy.TablePlacement) (*Table, error) {
	c, err := a.Client(p.Account)
	if err != nil {
		return nil, err
	}
	if c.AccountName() != p.Storage {
		return nil, &OtherStorageError{Account: p.Account, Configured: c.AccountName(), Recorded: p.Storage, Table: p.Table}
	}
	table := c.Table(p.Table)
	table.pacer = a.pacer
	return table, nil
}

// Paced returns the same accounts, but what is read and written in the tables that At returns waits for a pacer. What is asked
// of the catalog, and of tables as a whole, is not held back.
func (a *Accounts) Paced(p *pace.Pacer) *Accounts {
	paced := *a
	paced.pacer = p
	return &paced
}

// OtherStorageError says that an account of the configuration is not the storage account in which the catalog records a
// tenant's table.
type OtherStorageError struct {
	Account    string // the configuration's name
	Configured string // the storage account that it stands for
	Recorded   string // the storage account in the catalog
	Table      string
}

func (e *OtherStorageError) Error() string {
	return fmt.Sprintf("account %q is configured as storage account %s, but the catalog has table %s in %s: use the configuration with which it was declared",
		e.Account, e.Configured, e.Table, e.Recorded)
}
