package catalog

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/aztenancy/terraform-provider-aztenancy/internal/edm"
	"github.com/aztenancy/terraform-provider-aztenancy/internal/tablestorage"
	"github.com/aztenancy/terraform-provider-aztenancy/internal/tenancy"
)

// DefaultTable is the name of the catalog's table unless another is configured.
const DefaultTable = "TenantCatalog"

// Catalog is the tenant directory. It is safe for concurrent use, by many processes too. It remembers the claims that it
// has read; every change of claims is checked by the service against what was remembered.
type Catalog struct {
	client *tablestorage.Client
	table  *tablestorage.Table
	now    func() time.Time

	mu     sync.Mutex
	claims map[string]*claimTable // by partition key
}

// Open returns a handle on the catalog in a table of the home account, DefaultTable for "". It sends nothing.
func Open(c *tablestorage.Client, table string) *Catalog {
	if table == "" {
		table = DefaultTable
	}
	return &Catalog{client: c, table: c.Table(table), now: time.Now, claims: map[string]*claimTable{}}
}

// Ensure creates the catalog's table unless it exists.
func (c *Catalog) Ensure(ctx context.Context) error {
	if _, err := c.client.CreateTable(ctx, c.table.Name()); err != nil {
		return fmt.Errorf("create the catalog: %w", err)
	}
	return nil
}

// String names the catalog in messages.
func (c *Catalog) String() string {
	return fmt.Sprintf("catalog table %s of storage account %s", c.table.Name(), c.client.AccountName())
}

// get reads one row; ErrNotFound, and ErrNoCatalog too where the table is absent.
func (c *Catalog) get(ctx context.Context, key edm.Key, what string) (row, error) {
	e, err := c.table.Get(ctx, key)
	switch {
	case errors.Is(err, tablestorage.ErrTableNotFound):
		return row{}, fmt.Errorf("%s: %w: %w", what, ErrNotFound, c.noCatalog(err))
	case errors.Is(err, tablestorage.ErrNotFound):
		return row{}, fmt.Errorf("%s is %w (%v)", what, ErrNotFound, c)
	case err != nil:
		return row{}, fmt.Errorf("read %s: %w", what, err)
	}
	return openRow(e)
}

// scan hands the rows of a range to take, in order.
func (c *Catalog) scan(ctx context.Context, r tenancy.KeyRange, filter string, take func(row) error) error {
	for e, err := range c.table.Query(ctx, tablestorage.Query{Range: &r, Filter: filter}) {
		if err != nil {
			return fmt.Errorf("read the catalog: %w", c.noCatalog(err))
		}
		opened, err := openRow(e)
		if err != nil {
			return err
		}
		if err := take(opened); err != nil {
			return err
		}
	}
	return nil
}

// noCatalog makes an absent table an ErrNoCatalog; other errors stay.
func (c *Catalog) noCatalog(err error) error {
	if !errors.Is(err, tablestorage.ErrTableNotFound) {
		return err
	}
	return fmt.Errorf("%w: %v does not exist; the first model that is declared creates it, unless account or table name are not the right ones", ErrNoCatalog, c)
}

func partition(pk string) tenancy.KeyRange {
	return tenancy.KeyScheme{Kind: tenancy.SchemeTenant}.Range(pk)
}

// Snapshot is the whole catalog without the steps and chunks of migrations.
type Snapshot struct {
	Models     []ModelRecord     // in order of name
	Tenants    []TenantRecord    // in order of id
	Claims     []tenancy.Claim   // in order of storage account, table and range
	Migrations []MigrationRecord // in order of id
}

// Snapshot reads the catalog in one scan. Rows that are changed meanwhile are seen before or after their change.
func (c *Catalog) Snapshot(ctx context.Context) (*Snapshot, error) {
	// The partitions that belong here sort together: claim|…, migration, model, tenant; work|… comes after.
	all := tenancy.KeyRange{First: edm.Key{PartitionKey: claimPrefix}, Last: edm.Key{PartitionKey: tenantPartition}, End: tenancy.EndPartition}
	s := &Snapshot{}
	err := c.scan(ctx, all, "", func(r row) error {
		var err error
		switch pk := r.e.PartitionKey; {
		case pk == modelPartition:
			s.Models, err = appendDecoded(s.Models, r, decodeModel)
		case pk == tenantPartition:
			s.Tenants, err = appendDecoded(s.Tenants, r, decodeTenant)
		case pk == migrationPartition:
			s.Migrations, err = appendDecoded(s.Migrations, r, decodeMigration)
		case isClaimRow(r):
			s.Claims, err = appendDecoded(s.Claims, r, decodeClaim)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return s, nil
}

func appendDecoded[T any](list []T, r row, decode func(row) (T, error)) ([]T, error) {
	v, err := decode(r)
	if err != nil {
		return nil, err
	}
	return append(list, v), nil
}
