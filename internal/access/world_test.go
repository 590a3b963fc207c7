package access_test

import (
	"context"
	"errors"
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"

	"github.com/aztenancy/terraform-provider-aztenancy/internal/access"
	"github.com/aztenancy/terraform-provider-aztenancy/internal/acctest"
	"github.com/aztenancy/terraform-provider-aztenancy/internal/catalog"
	"github.com/aztenancy/terraform-provider-aztenancy/internal/edm"
	"github.com/aztenancy/terraform-provider-aztenancy/internal/tablestorage"
	"github.com/aztenancy/terraform-provider-aztenancy/internal/tenancy"
)

// failer is a *testing.T or *rapid.T.
type failer interface {
	Helper()
	Fatal(...any)
	Errorf(string, ...any)
}

func must(t failer, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// world is a table service, a catalog in it, and an issuer.
type world struct {
	t        failer
	ctx      context.Context
	server   *acctest.Server
	accounts *tablestorage.Accounts
	catalog  *catalog.Catalog
	issuer   *access.Issuer
}

const account = "home1"

func newWorld(t *testing.T, s *acctest.Server, catalogTable string) *world {
	t.Helper()
	return worldOn(t, t.Context(), s, catalogTable)
}

func worldOn(t failer, ctx context.Context, s *acctest.Server, catalogTable string) *world {
	t.Helper()
	accounts, err := tablestorage.NewAccounts(tablestorage.Config{CatalogTable: catalogTable,
		Home: tablestorage.AccountConfig{ConnectionString: s.ConnectionString(account)}}, nil)
	must(t, err)
	w := &world{t: t, ctx: ctx, server: s, accounts: accounts, catalog: catalog.Open(accounts.Home(), accounts.CatalogTable())}
	must(t, w.catalog.Ensure(ctx))
	w.issuer = &access.Issuer{Catalog: w.catalog, Accounts: accounts}
	return w
}

// shared declares a model on a shared table, which is created.
func (w *world) shared(name, table string, scheme tenancy.KeyScheme) {
	w.t.Helper()
	_, err := w.accounts.Home().CreateTable(w.ctx, table)
	must(w.t, err)
	w.model(tenancy.Model{Name: name, Kind: tenancy.SharedTable, Account: "home", Tables: map[string]string{"orders": table}, KeyScheme: scheme})
}

func (w *world) model(m tenancy.Model) {
	w.t.Helper()
	_, err := w.catalog.CreateModel(w.ctx, m)
	must(w.t, err)
}

// tenant creates a tenant, unless its keys belong to another one already.
func (w *world) tenant(id, key, model string) (rec catalog.TenantRecord, created bool) {
	w.t.Helper()
	p := &catalog.Provisioner{Catalog: w.catalog, Accounts: w.accounts}
	rec, err := p.Create(w.ctx, catalog.TenantSpec{ID: id, Key: key, Model: model})
	if errors.Is(err, catalog.ErrConflict) {
		return rec, false
	}
	must(w.t, err)
	return rec, true
}

// put writes an entity of a tenant where its scheme puts it, and returns its key.
func (w *world) put(p tenancy.TablePlacement, e *edm.Entity) edm.Key {
	w.t.Helper()
	pk, err := p.Scheme.PartitionKey(p.Key, e)
	must(w.t, err)
	e.PartitionKey = pk
	_, err = w.accounts.Home().Table(p.Table).UpsertReplace(w.ctx, e)
	must(w.t, err)
	return e.Key()
}

// issue returns the token of a tenant for the logical table orders.
func (w *world) issue(r access.Request) access.Token {
	w.t.Helper()
	g, err := w.issuer.Issue(w.ctx, r)
	must(w.t, err)
	if len(g.Tokens) != 1 {
		w.t.Fatal("tokens:", len(g.Tokens))
	}
	return g.Tokens[0]
}

// holder returns the table as the holder of a token sees it: with nothing but its connection string. It does not try again.
func holder(t failer, token access.Token) *tablestorage.Table {
	t.Helper()
	a, err := tablestorage.AccountConfig{ConnectionString: token.ConnectionString()}.Account()
	must(t, err)
	c, err := tablestorage.NewClient(a, &tablestorage.ClientOptions{Retry: policy.RetryOptions{MaxRetries: -1}})
	must(t, err)
	return c.Table(token.Placement.Table)
}
