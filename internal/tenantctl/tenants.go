package tenantctl

import (
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"github.com/aztenancy/terraform-provider-aztenancy/internal/catalog"
	"github.com/aztenancy/terraform-provider-aztenancy/internal/tablestorage"
	"github.com/aztenancy/terraform-provider-aztenancy/internal/tenancy"
	"github.com/aztenancy/terraform-provider-aztenancy/internal/tenantctl/ui"
)

const tenantsHelp = `List the tenants of the catalog: where each is, and in which state.

With --count the entities of each tenant are counted. The service has no counters, so that reads the keys of all of them:
one request for each thousand entities.

EXIT STATUS
  0    done
  1    error
  2    the command line or the configuration is wrong
  5    the service is unreachable or busy; try again later
  130  interrupted`

// tenantsResult is the JSON result of tenants.
type tenantsResult struct {
	Tenants  []tenantResult `json:"tenants"`
	Entities *int64         `json:"entities,omitempty"` // with --count
}

type tenantResult struct {
	Tenant    string                 `json:"tenant"`
	Key       string                 `json:"key"`
	Model     string                 `json:"model"`
	State     tenancy.State          `json:"state"`
	Epoch     int64                  `json:"epoch"`
	Migration string                 `json:"migration,omitempty"`
	Labels    map[string]string      `json:"labels,omitempty"`
	Tables    map[string]tableResult `json:"tables"`             // by logical name
	Entities  *int64                 `json:"entities,omitempty"` // with --count
}

type tableResult struct {
	Account  string `json:"account"`
	Storage  string `json:"storage"`
	Table    string `json:"table"`
	URL      string `json:"url"`
	Entities *int64 `json:"entities,omitempty"`
}

func newTenantsCommand(env *environment) *cobra.Command {
	var count bool
	cmd := &cobra.Command{
		Use:     "tenants",
		Short:   "List the tenants: model, place, state, and with --count how many entities they have",
		Long:    tenantsHelp,
		Example: "  tenantctl tenants --count",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return runTenants(cmd.Context(), env, count)
		},
	}
	cmd.Flags().BoolVar(&count, "count", false, "count the entities of each tenant")
	return cmd
}

func runTenants(ctx context.Context, env *environment, count bool) error {
	services, err := env.open()
	if err != nil {
		return err
	}
	ctx = tablestorage.WithCorrelation(ctx, "", "tenants")
	tenants, err := services.catalog.Tenants(ctx)
	if err != nil {
		return fmt.Errorf("read the tenants: %w", err)
	}
	result := tenantsResult{Tenants: make([]tenantResult, len(tenants))}
	for i, t := range tenants {
		result.Tenants[i] = newTenantResult(t)
	}
	if count {
		progress := env.progress()
		defer progress.Close()
		if err := countTenants(ctx, services.accounts, progress, tenants, &result); err != nil {
			return err
		}
		progress.Close()
	}
	return write(env, result, func(w io.Writer) error { return writeTenants(w, result) })
}

func newTenantResult(t catalog.TenantRecord) tenantResult {
	r := tenantResult{Tenant: t.ID, Key: t.Key, Model: t.Model, State: t.State, Epoch: t.Epoch, Migration: t.Migration,
		Labels: t.Labels, Tables: map[string]tableResult{}}
	for logical, p := range t.Placement {
		r.Tables[logical] = tableResult{Account: p.Account, Storage: p.Storage, Table: p.Table, URL: p.URL}
	}
	return r
}

// countTenants scans the ranges of all tenants, several at a time.
func countTenants(ctx context.Context, accounts *tablestorage.Accounts, progress ui.Progress, tenants []catalog.TenantRecord, result *tenantsResult) error {
	const scans = 8
	progress.Phase("counting")
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(scans)
	for i, t := range tenants {
		group.Go(func() error {
			var all int64
			for logical, place := range t.Placement {
				n, err := countRange(ctx, accounts, progress, place)
				if err != nil {
					return fmt.Errorf("count the entities of tenant %q in %s/%s: %w", t.ID, place.Account, place.Table, err)
				}
				table := result.Tenants[i].Tables[logical]
				table.Entities = &n
				result.Tenants[i].Tables[logical] = table
				all += n
			}
			result.Tenants[i].Entities = &all
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	var sum int64
	for _, t := range result.Tenants {
		sum += *t.Entities
	}
	result.Entities = &sum
	return nil
}

func countRange(ctx context.Context, accounts *tablestorage.Accounts, progress ui.Progress, place tenancy.TablePlacement) (int64, error) {
	table, err := accounts.At(place)
	if err != nil {
		return 0, err
	}
	var n int64
	query := tablestorage.Query{Range: &place.Range, Select: []string{"PartitionKey"}}
	for page, err := range table.Pages(ctx, query) {
		if err != nil {
			return 0, err
		}
		n += int64(len(page))
		progress.Advance(int64(len(page)))
	}
	return n, nil
}

// writeTenants writes the table for people.
func writeTenants(w io.Writer, result tenantsResult) error {
	if len(result.Tenants) == 0 {
		_, err := fmt.Fprintln(w, "The catalog has no tenants. Declare them with the Terraform resource aztenancy_tenant.")
		return err
	}
	t := ui.Table{Header: []string{"TENANT", "KEY", "MODEL", "STATE", "EPOCH", "TABLES"}, Right: map[int]bool{4: true, 6: true}}
	if result.Entities != nil {
		t.Header = append(t.Header, "ENTITIES")
	}
	for _, tenant := range result.Tenants {
		row := []string{tenant.Tenant, tenant.Key, tenant.Model, string(tenant.State), ui.Count(tenant.Epoch), tablesText(tenant.Tables)}
		if tenant.Entities != nil {
			row = append(row, ui.Count(*tenant.Entities))
		}
		t.Rows = append(t.Rows, row)
	}
	if err := t.Write(w); err != nil {
		return err
	}
	text := ui.Plural(int64(len(result.Tenants)), "tenant")
	if result.Entities != nil {
		text += ", " + ui.Plural(*result.Entities, "entity")
	}
	_, err := fmt.Fprintf(w, "\n%s\n", text)
	return err
}

// tablesText names where each logical table is: "orders=home/Orders".
func tablesText(tables map[string]tableResult) string {
	parts := make([]string, 0, len(tables))
	for _, logical := range slices.Sorted(maps.Keys(tables)) {
		parts = append(parts, logical+"="+tables[logical].Account+"/"+tables[logical].Table)
	}
	return strings.Join(parts, " ")
}
