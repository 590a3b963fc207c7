package tenantctl

import (
	"cmp"
	"context"
	"errors"
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
one request for each thousand entities. What cannot be counted is listed with the reason, and the command ends with an error.

EXIT STATUS
  0    done
  1    error
  2    the command line or the configuration is wrong
  5    the service is unreachable or busy; try again later
  130  interrupted`

// tenantsResult is the JSON result of tenants.
type tenantsResult struct {
	Tenants  []tenantResult `json:"tenants"`
	Entities *int64         `json:"entities,omitempty"` // with --count, where all tenants could be counted
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
	Entities  *int64                 `json:"entities,omitempty"` // with --count, where all tables could be counted
}

type tableResult struct {
	Account  string `json:"account"`
	Storage  string `json:"storage"`
	Table    string `json:"table"`
	URL      string `json:"url"`
	Entities *int64 `json:"entities,omitempty"`
	Error    string `json:"error,omitempty"` // why it could not be counted
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
	var uncounted error
	if count {
		progress := env.progress()
		defer progress.Close()
		uncounted = countTenants(ctx, services.accounts, progress, tenants, &result)
		progress.Close()
		if ctx.Err() != nil {
			return uncounted
		}
	}
	err = write(env, result, func(w io.Writer) error { return writeTenants(w, result, count) })
	return errors.Join(uncounted, err)
}

func newTenantResult(t catalog.TenantRecord) tenantResult {
	r := tenantResult{Tenant: t.ID, Key: t.Key, Model: t.Model, State: t.State, Epoch: t.Epoch, Migration: t.Migration,
		Labels: t.Labels, Tables: map[string]tableResult{}}
	for logical, p := range t.Placement {
		r.Tables[logical] = tableResult{Account: p.Account, Storage: p.Storage, Table: p.Table, URL: p.URL}
	}
	return r
}

// countTenants scans the ranges of all tenants, several at a time. A table that cannot be counted keeps no other from being
// counted: the result has the reason, and the error says how many tenants it concerns, with the first cause.
func countTenants(ctx context.Context, accounts *tablestorage.Accounts, progress ui.Progress, tenants []catalog.TenantRecord, result *tenantsResult) error {
	const scans = 8
	progress.Phase("counting")
	var group errgroup.Group
	group.SetLimit(scans)
	causes := make([]error, len(tenants))
	for i, t := range tenants {
		group.Go(func() error {
			causes[i] = countTenant(ctx, accounts, progress, t.Placement, &result.Tenants[i])
			return nil
		})
	}
	_ = group.Wait() // no goroutine returns an error
	if err := ctx.Err(); err != nil {
		return err
	}
	var sum int64
	var first error
	uncounted := 0
	for i, t := range result.Tenants {
		if causes[i] == nil {
			sum += *t.Entities
		} else if uncounted++; first == nil {
			first = fmt.Errorf("count the entities of tenant %q: %w", t.Tenant, causes[i])
		}
	}
	switch {
	case first == nil:
		result.Entities = &sum
		return nil
	case uncounted > 1:
		return fmt.Errorf("%w (and %s more)", first, ui.Plural(int64(uncounted-1), "tenant"))
	}
	return first
}

// countTenant counts the tables of one tenant, and returns the first reason why one could not be counted.
func countTenant(ctx context.Context, accounts *tablestorage.Accounts, progress ui.Progress, p tenancy.Placement, result *tenantResult) error {
	var all int64
	var first error
	for _, logical := range p.LogicalTables() {
		n, err := countRange(ctx, accounts, progress, p[logical])
		table := result.Tables[logical]
		if err == nil {
			table.Entities = &n
			all += n
		} else {
			table.Error = err.Error()
			first = cmp.Or(first, fmt.Errorf("%v: %w", p[logical], err))
		}
		result.Tables[logical] = table
	}
	if first == nil {
		result.Entities = &all
	}
	return first
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
func writeTenants(w io.Writer, result tenantsResult, counted bool) error {
	if len(result.Tenants) == 0 {
		_, err := fmt.Fprintln(w, "The catalog has no tenants. Declare them with the Terraform resource aztenancy_tenant.")
		return err
	}
	t := ui.Table{Header: []string{"TENANT", "KEY", "MODEL", "STATE", "EPOCH", "TABLES"}, Right: map[int]bool{4: true, 6: true}}
	if counted {
		t.Header = append(t.Header, "ENTITIES")
	}
	var reasons []string
	for _, tenant := range result.Tenants {
		row := []string{tenant.Tenant, tenant.Key, tenant.Model, string(tenant.State), ui.Count(tenant.Epoch), tablesText(tenant.Tables)}
		switch {
		case tenant.Entities != nil:
			row = append(row, ui.Count(*tenant.Entities))
		case counted:
			row = append(row, "unknown")
			reasons = append(reasons, uncountedText(tenant)...)
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
	if len(reasons) > 0 {
		text += "; not counted:\n  " + strings.Join(reasons, "\n  ")
	}
	_, err := fmt.Fprintf(w, "\n%s\n", text)
	return err
}

// uncountedText says which of a tenant's tables could not be counted, and why.
func uncountedText(t tenantResult) []string {
	var all []string
	for _, logical := range slices.Sorted(maps.Keys(t.Tables)) {
		if reason := t.Tables[logical].Error; reason != "" {
			all = append(all, fmt.Sprintf("%s, %s: %s", t.Tenant, logical, reason))
		}
	}
	return all
}

// tablesText names where each logical table is: "orders=home/Orders".
func tablesText(tables map[string]tableResult) string {
	parts := make([]string, 0, len(tables))
	for _, logical := range slices.Sorted(maps.Keys(tables)) {
		parts = append(parts, logical+"="+tables[logical].Account+"/"+tables[logical].Table)
	}
	return strings.Join(parts, " ")
}
