package provider

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"

	"github.com/hashicorp/terraform-plugin-framework/datasource"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/resource"

	"github.com/aztenancy/terraform-provider-aztenancy/internal/access"
	"github.com/aztenancy/terraform-provider-aztenancy/internal/catalog"
	"github.com/aztenancy/terraform-provider-aztenancy/internal/migration"
	"github.com/aztenancy/terraform-provider-aztenancy/internal/tablestorage"
	"github.com/aztenancy/terraform-provider-aztenancy/internal/tenancy"
)

// session is what all resources of one configured provider share: the accounts, the catalog, and what was read of
// both. A refresh of a thousand tenants reads the catalog once. Terraform makes a new session for each walk over the
// configuration, so what was read is never older than the plan or apply that it serves; writes of this session
// correct it.
type session struct {
	// unknown names the values of the provider block that are not known yet. If there are any, nothing else is set.
	unknown []string

	accounts    *tablestorage.Accounts
	catalog     *catalog.Catalog
	provisioner *catalog.Provisioner
	issuer      *access.Issuer
	creator     *creator

	directory cached[*directory]
	tables    keyed[cached[tableNames]]                  // by account
	policies  keyed[cached[[]tablestorage.AccessPolicy]] // by account and table
	documents keyed[sync.Mutex]                          // by account and table: one writer of stored access policies at a time
	ensured   cached[struct{}]

	planned planned
}

func newSession(accounts *tablestorage.Accounts) *session {
	c := catalog.Open(accounts.Home(), accounts.CatalogTable())
	p := &catalog.Provisioner{Catalog: c, Accounts: accounts}
	return &session{accounts: accounts, catalog: c, provisioner: p, issuer: &access.Issuer{Catalog: c, Accounts: accounts},
		creator: &creator{many: p.CreateMany}}
}

// configured says whether the provider's configuration is known.
func (s *session) configured() bool { return s != nil && len(s.unknown) == 0 }

// engine returns a mover that reports to Terraform's log.
func (s *session) engine(ctx context.Context, tenantID string) *migration.Engine {
	return &migration.Engine{
		Catalog:  s.catalog,
		Accounts: s.accounts,
		Progress: newLogProgress(ctx, tenantID),
		Owner:    owner(),
	}
}

// owner names this process in leases and messages.
func owner() string {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown host"
	}
	return fmt.Sprintf("terraform on %s, process %d", host, os.Getpid())
}

// ensureCatalog creates the catalog's table if this session has not found it yet.
func (s *session) ensureCatalog(ctx context.Context) error {
	_, err := s.ensured.get(ctx, func(ctx context.Context) (struct{}, error) {
		return struct{}{}, s.catalog.Ensure(ctx)
	})
	return err
}

// lookup returns what the catalog holds. A catalog that does not exist holds nothing.
func (s *session) lookup(ctx context.Context) (*directory, error) {
	return s.directory.get(ctx, func(ctx context.Context) (*directory, error) {
		snapshot, err := s.catalog.Snapshot(ctx)
		if errors.Is(err, catalog.ErrNoCatalog) {
			return newDirectory(&catalog.Snapshot{}), nil
		}
		if err != nil {
			return nil, err // says that it is the catalog
		}
		return newDirectory(snapshot), nil
	})
}

// tableNames are the tables of an account: lower case, as the service compares them, to the name as stored.
type tableNames map[string]string

// table returns the name under which an account stores a table, and whether it has it.
func (s *session) table(ctx context.Context, account, name string) (stored string, ok bool, err error) {
	names, err := s.allTables(ctx, account)
	stored, ok = names[strings.ToLower(name)]
	return stored, ok, err
}

// allTables returns the tables of an account.
func (s *session) allTables(ctx context.Context, account string) (tableNames, error) {
	client, err := s.accounts.Client(account)
	if err != nil {
		return nil, err
	}
	return s.tables.get(account).get(ctx, func(ctx context.Context) (tableNames, error) {
		list, err := client.Tables(ctx, "")
		if err != nil {
			return nil, fmt.Errorf("list the tables of account %q: %w", account, err)
		}
		names := make(tableNames, len(list))
		for _, name := range list {
			names[strings.ToLower(name)] = name
		}
		return names, nil
	})
}

// isCatalog says whether a table of a storage account is the catalog's.
func (s *session) isCatalog(storage, table string) bool {
	return storage == s.accounts.Home().AccountName() && strings.EqualFold(table, s.accounts.CatalogTable())
}

// forgetTables is called after a write that changes the list of an account's tables.
func (s *session) forgetTables(account string) { s.tables.get(account).forget() }

// cached is a value that is read once and then shared, until it is forgotten. The zero value has not been read.
type cached[T any] struct {
	mu    sync.Mutex
	value T
	valid bool
}

// get returns the value. Callers that come while it is being read wait for that reading; an error is not kept.
func (c *cached[T]) get(ctx context.Context, read func(context.Context) (T, error)) (T, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.valid {
		return c.value, nil
	}
	value, err := read(ctx)
	if err != nil {
		return c.value, err
	}
	c.value, c.valid = value, true
	return value, nil
}

// forget makes the next get read again.
func (c *cached[T]) forget() {
	c.mu.Lock()
	defer c.mu.Unlock()
	var none T
	c.value, c.valid = none, false
}

// update replaces the value with what change makes of it, if it has been read. Values that were handed out must not
// change, so change returns another one.
func (c *cached[T]) update(change func(T) T) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.valid {
		c.value = change(c.value)
	}
}

// keyed holds one T for each key, a zero one from the moment that it is first asked for.
type keyed[T any] struct {
	mu     sync.Mutex
	values map[string]*T
}

func (k *keyed[T]) get(key string) *T {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.values == nil {
		k.values = make(map[string]*T)
	}
	v, ok := k.values[key]
	if !ok {
		v = new(T)
		k.values[key] = v
	}
	return v
}

// client is embedded by resources and data sources: it holds the session that Configure gave them.
type client struct{ session *session }

func (c *client) take(data any, diags *diag.Diagnostics) {
	if data == nil { // the provider is not configured yet: validation
		return
	}
	s, ok := data.(*session)
	if !ok {
		diags.AddError("The provider gave its resources something unexpected",
			fmt.Sprintf("A %T came where a session was due. This is a fault of the provider; please report it.", data))
		return
	}
	c.session = s
}

// ready returns the session for an operation that needs the accounts. Where it returns nil, the reason has been added.
func (c *client) ready(diags *diag.Diagnostics) *session {
	if c.session.configured() {
		return c.session
	}
	names := "(the provider was not configured at all)"
	if c.session != nil {
		names = strings.Join(c.session.unknown, ", ")
	}
	diags.AddError("The provider's configuration is not known yet",
		"These values of the provider block depend on something that does not exist yet: "+names+
			". Create that first, for example with `terraform apply -target=…`, or give the values as variables. "+
			"The provider does not fall back to environment variables or an emulator meanwhile, since that could be another account.")
	return nil
}

// resourceClient is a client that resources embed.
type resourceClient struct{ client }

// Configure takes the session.
func (c *resourceClient) Configure(_ context.Context, req resource.ConfigureRequest, resp *resource.ConfigureResponse) {
	c.take(req.ProviderData, &resp.Diagnostics)
}

// dataSourceClient is a client that data sources embed.
type dataSourceClient struct{ client }

// Configure takes the session.
func (c *dataSourceClient) Configure(_ context.Context, req datasource.ConfigureRequest, resp *datasource.ConfigureResponse) {
	c.take(req.ProviderData, &resp.Diagnostics)
}

// otherStorage says whether an account of a placement is configured as another storage account than the catalog names.
// An account that is not configured at all is no error here: whatever needs it says so.
func (s *session) otherStorage(p tenancy.Placement) error {
	for _, logical := range p.LogicalTables() {
		var other *tablestorage.OtherStorageError
		if _, err := s.accounts.At(p[logical]); errors.As(err, &other) {
			return other
		}
	}
	return nil
}
