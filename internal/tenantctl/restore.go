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
	"github.com/spf13/pflag"

	"github.com/aztenancy/terraform-provider-aztenancy/internal/archive"
	"github.com/aztenancy/terraform-provider-aztenancy/internal/catalog"
	"github.com/aztenancy/terraform-provider-aztenancy/internal/edm"
	"github.com/aztenancy/terraform-provider-aztenancy/internal/tablestorage"
	"github.com/aztenancy/terraform-provider-aztenancy/internal/tenancy"
	"github.com/aztenancy/terraform-provider-aztenancy/internal/tenantctl/ui"
)

const restoreHelp = `Bring the entities of an archive back: to where the catalog says that the tenant lives now, with keys as its model makes them now,
or with --tenant to where another tenant lives. With --to-table the named logical tables, and no others, go to physical tables
of their own, created if absent, with the keys that they had; no tenant may have a claim there, and none needs to exist.

The archive is checked as a whole first, every key is mapped, and the target is looked at: unless it is empty, or holds nothing but
entities that are identical to the archive's, nothing is written. Entities are inserted, never overwritten, and compared at the
end. It may be interrupted and run again. Timestamps and ETags are new.

EXIT STATUS
  0    everything that the archive holds is there
  1    refused, or an error
  2    the command line or the configuration is wrong
  3    the archive is damaged or the target holds something else, and nothing was written; or they differ at the end
  4    incomplete; the same command finishes it
  5    the service is unreachable or busy; try again later
  130  interrupted at a safe point; the same command goes on`

type restoreOptions struct {
	From    string
	Tenant  string
	ToTable map[string]string
}

func (o *restoreOptions) addFlags(f *pflag.FlagSet) {
	f.StringVar(&o.From, "from", "", "`PLACE` of the archive: a folder, or an address below a Blob container")
	f.StringVar(&o.Tenant, "tenant", "", "restore into the place of tenant `ID`, in place of the archive's own")
	f.StringToStringVar(&o.ToTable, "to-table", nil, "restore `LOGICAL=TABLE` alone, to a TABLE or ACCOUNT/TABLE that is no tenant's")
}

func newRestoreCommand(env *environment) *cobra.Command {
	var o restoreOptions
	cmd := &cobra.Command{
		Use:     "restore --from PLACE",
		Short:   "Bring a tenant's entities back from an archive",
		Long:    restoreHelp,
		Example: "  tenantctl restore --from contoso.archive",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if len(o.ToTable) > 0 && o.Tenant != "" {
				return &usageError{errors.New("--tenant and --to-table exclude each other"), cmd.CommandPath()}
			}
			return runRestore(cmd.Context(), env, o)
		},
	}
	o.addFlags(cmd.Flags())
	requireFlags(cmd, "from")
	return cmd
}

// restoreResult is the JSON result of restore.
type restoreResult struct {
	Archive string             `json:"archive"`
	Tenant  string             `json:"tenant"`
	Tables  []archive.Restored `json:"tables"`
}

func runRestore(ctx context.Context, env *environment, o restoreOptions) error {
	store, err := env.openStore(o.From)
	if err != nil {
		return err
	}
	a, err := archive.Open(ctx, store)
	if err != nil {
		return err
	}
	services, err := env.open()
	if err != nil {
		return err
	}
	tenant := cmp.Or(o.Tenant, a.Manifest.Tenant)
	ctx = tablestorage.WithCorrelation(ctx, tenant, "restore")
	var plan restorePlan
	if len(o.ToTable) > 0 {
		plan, err = services.restoreToTables(ctx, a, o.ToTable)
	} else {
		plan, err = services.restoreToTenant(ctx, a, tenant)
	}
	if err != nil {
		return err
	}
	progress := env.progress()
	defer progress.Close()
	done, err := a.Restore(ctx, plan.targets, plan.still, progress)
	progress.Close()
	if done == nil {
		return err
	}
	if err != nil {
		err = &incompleteError{err}
	}
	writeErr := write(env, restoreResult{a.String(), tenant, done}, func(w io.Writer) error { return writeRestored(w, a, tenant, done, err) })
	return errors.Join(err, writeErr)
}

func writeRestored(w io.Writer, a *archive.Archive, tenant string, done []archive.Restored, err error) error {
	title := "Tenant %s is restored from %s: everything was compared."
	if err != nil {
		title = "Tenant %s is not restored from %s yet."
	}
	d := newDescription(title, tenant, a)
	for _, t := range done {
		d.add(t.Logical, "%s/%s: %s inserted, %s there already, of %s", t.Storage, t.Table, ui.Count(t.Inserted), ui.Count(t.Identical), ui.Plural(t.Entities, "entity"))
	}
	return d.write(w)
}

// restorePlan is where to restore to, and what must hold for as long as that is written to.
type restorePlan struct {
	targets []archive.Target
	still   func(context.Context) error
}

// restoreToTenant plans a restore to where the tenant lives now, for as long as it lives there and does not move.
func (s services) restoreToTenant(ctx context.Context, a *archive.Archive, tenant string) (restorePlan, error) {
	rec, err := s.catalog.Tenant(ctx, tenant)
	if errors.Is(err, catalog.ErrNotFound) {
		err = fmt.Errorf("%w; declare it, name another with --tenant, or restore to tables of their own with --to-table", err)
	}
	if err != nil {
		return restorePlan{}, err
	}
	if err := atRest(rec); err != nil {
		return restorePlan{}, fmt.Errorf("restore tenant %q: %w", tenant, err)
	}
	plan := restorePlan{still: func(ctx context.Context) error {
		now, err := s.catalog.Tenant(ctx, tenant)
		if err == nil {
			err = atRest(now)
		}
		if err == nil && !now.Placement.Equal(rec.Placement) {
			err = fmt.Errorf("it has moved to model %s", now.Model)
		}
		if err != nil {
			return fmt.Errorf("restore tenant %q: %w", tenant, err)
		}
		return nil
	}}
	for _, t := range a.Manifest.Tables {
		tp, ok := rec.Placement[t.Logical]
		if !ok {
			return plan, fmt.Errorf("restore tenant %q: its model %s has no logical table %q, which the archive holds: restore that to a table of its own with --to-table %s=TABLE",
				tenant, rec.Model, t.Logical, t.Logical)
		}
		table, err := s.accounts.At(tp)
		if err != nil {
			return plan, err
		}
		plan.targets = append(plan.targets, archive.Target{Logical: t.Logical, Placement: tp, Range: claimed(tp), Table: table})
	}
	return plan, nil
}

// atRest says why a tenant cannot be written to now.
func atRest(rec catalog.TenantRecord) error {
	switch {
	case rec.Migration != "":
		return fmt.Errorf("migration %s is under way: finish or abort it first: see tenantctl status %s", rec.Migration, rec.ID)
	case rec.State != tenancy.Active:
		return fmt.Errorf("it is %s", rec.State)
	}
	return nil
}

// restoreToTables plans a restore to tables that are no tenant's. They are created before the first transaction.
func (s services) restoreToTables(ctx context.Context, a *archive.Archive, to map[string]string) (restorePlan, error) {
	var plan restorePlan
	for _, logical := range slices.Sorted(maps.Keys(to)) {
		from, ok := a.Manifest.Table(logical)
		if !ok {
			return plan, fmt.Errorf("archive %s has no logical table %q", a, logical)
		}
		account, name, found := strings.Cut(to[logical], "/")
		if !found {
			account, name = tenancy.HomeAccount, to[logical]
		}
		if err := edm.ValidateTableName(name); err != nil {
			return plan, &configError{fmt.Errorf("--to-table %s=%s: %w", logical, to[logical], err)}
		}
		client, err := s.accounts.Client(account)
		if err != nil {
			return plan, &configError{err}
		}
		tp := from.Placement
		tp.Account, tp.Storage, tp.Table, tp.URL = account, client.AccountName(), name, client.TableURL(name)
		if client == s.accounts.Home() && strings.EqualFold(name, s.accounts.CatalogTable()) {
			return plan, fmt.Errorf("restore to table %s: it is the catalog", name)
		}
		plan.targets = append(plan.targets, archive.Target{Logical: logical, Placement: tp, Range: tenancy.WholeTable(), Table: client.Table(name)})
	}
	unclaimed := func(ctx context.Context) error {
		for _, t := range plan.targets {
			held, err := s.catalog.Claims(ctx, t.Placement.Storage, t.Placement.Table)
			if err != nil && !errors.Is(err, catalog.ErrNoCatalog) {
				return err
			}
			if len(held) > 0 {
				return fmt.Errorf("restore to %s: tenant %q has a claim there: choose another table", t, held[0].TenantID)
			}
		}
		return nil
	}
	created := false
	plan.still = func(ctx context.Context) error {
		if err := unclaimed(ctx); err != nil || created {
			return err
		}
		for _, t := range plan.targets {
			if _, err := t.Table.Client().CreateTable(ctx, t.Table.Name()); err != nil {
				return fmt.Errorf("create %s: %w", t, err)
			}
		}
		created = true
		return nil
	}
	return plan, unclaimed(ctx)
}
