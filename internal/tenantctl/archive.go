package tenantctl

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/aztenancy/terraform-provider-aztenancy/internal/archive"
	"github.com/aztenancy/terraform-provider-aztenancy/internal/catalog"
	"github.com/aztenancy/terraform-provider-aztenancy/internal/edm"
	"github.com/aztenancy/terraform-provider-aztenancy/internal/tablestorage"
	"github.com/aztenancy/terraform-provider-aztenancy/internal/tenancy"
	"github.com/aztenancy/terraform-provider-aztenancy/internal/tenantctl/ui"
)

const archiveHelp = `Write all entities of a tenant to an archive: a new or empty folder, or the address of a Blob container with or without a prefix, of
a storage account that is configured. Every file is read back, and its entities compared by digest with those that were read,
before the archive is complete. With --check: read a whole archive, and say whether it is what was written.

Entities are read one after the other. While the tenant's application writes, the archive is no consistent cut: of two entities
that were changed together it may have one before and the other after the change. The archive says so (cut: fuzzy).

An archive is not encrypted. Its files are for their owner alone (mode 0600), or whoever can read the container.

EXIT STATUS
  0    the archive is complete; with --check, it is what was written
  1    error; there is no archive
  2    the command line or the configuration is wrong
  3    with --check: the archive is damaged
  5    the service is unreachable or busy; try again later
  130  interrupted; the same command begins anew`

type archiveOptions struct{ To, Check string }

func (o *archiveOptions) addFlags(f *pflag.FlagSet) {
	f.StringVar(&o.To, "to", "", "`PLACE` of the archive: a new or empty folder, or the address of a Blob container")
	f.StringVar(&o.Check, "check", "", "read the archive at `PLACE`, in place of writing one")
}

// args wants TENANT and --to, or --check alone.
func (o *archiveOptions) args(_ *cobra.Command, args []string) error {
	switch {
	case o.Check != "" && (o.To != "" || len(args) > 0):
		return errors.New("--check takes neither TENANT nor --to")
	case o.Check != "":
		return nil
	case o.To == "":
		return errors.New("give --to PLACE, or --check PLACE")
	}
	return oneTenant(nil, args)
}

func newArchiveCommand(env *environment) *cobra.Command {
	var o archiveOptions
	cmd := &cobra.Command{
		Use:     "archive TENANT --to PLACE",
		Short:   "Write a tenant's entities to an archive, or check one",
		Long:    archiveHelp,
		Example: "  tenantctl archive contoso --to contoso.archive",
		Args:    o.args,
		RunE: func(cmd *cobra.Command, args []string) error {
			if o.Check != "" {
				return runCheckArchive(cmd.Context(), env, o.Check)
			}
			return runArchive(cmd.Context(), env, args[0], o.To)
		},
	}
	o.addFlags(cmd.Flags())
	return cmd
}

// archiveResult is the JSON result of a command that writes an archive.
type archiveResult struct {
	Archive  string            `json:"archive"`
	Manifest *archive.Manifest `json:"manifest"`
}

func runArchive(ctx context.Context, env *environment, tenant, place string) error {
	services, err := env.open()
	if err != nil {
		return err
	}
	ctx = tablestorage.WithCorrelation(ctx, tenant, "archive")
	store, err := archive.OpenStore(place, services.accounts.OfStorage)
	if err != nil {
		return &configError{err}
	}
	rec, err := services.catalog.Tenant(ctx, tenant)
	if err != nil {
		return err
	}
	if rec.State != tenancy.Active && rec.State != tenancy.Frozen {
		return fmt.Errorf("archive tenant %q: it is %s", tenant, rec.State)
	}
	sources, err := services.sources(ctx, rec)
	if err != nil {
		return err
	}
	progress := env.progress()
	defer progress.Close()
	a, err := archive.Write(ctx, store, archive.Manifest{Tool: services.tool, Tenant: rec.ID, Key: rec.Key, Model: rec.Model, Epoch: rec.Epoch, Cut: archive.CutFuzzy}, sources, progress)
	progress.Close()
	if err != nil {
		return fmt.Errorf("archive tenant %q: %w", tenant, err)
	}
	return write(env, archiveResult{a.String(), &a.Manifest}, func(w io.Writer) error {
		d := describeArchive(a.String(), &a.Manifest, "Tenant %s is archived in %s, and was read back.")
		d.add("next", "tenantctl restore --from %s", a)
		return d.write(w)
	})
}

// sources are the tenant's tables where the catalog says that they are. A table is only read to its end if the tenant has not
// moved away meanwhile: what it left may have been purged.
func (s services) sources(ctx context.Context, rec catalog.TenantRecord) ([]archive.Source, error) {
	var all []archive.Source
	for _, logical := range rec.Placement.LogicalTables() {
		tp := rec.Placement[logical]
		table, err := s.accounts.At(tp)
		if err != nil {
			return nil, err
		}
		within := claimed(tp)
		unmoved := func() error {
			now, err := s.catalog.Tenant(ctx, rec.ID)
			if err == nil && (!now.Placement.Equal(rec.Placement) || now.State == tenancy.Deleting) {
				err = fmt.Errorf("tenant %q has moved or is being deleted (it is %s, in model %s)", rec.ID, now.State, now.Model)
			}
			return err
		}
		all = append(all, archive.Source{Logical: logical, Placement: tp, Range: within,
			Entities: followedBy(table.Query(ctx, tablestorage.Query{Range: &within}), unmoved)})
	}
	return all, nil
}

// claimed is the range of a physical table that is the tenant's.
func claimed(tp tenancy.TablePlacement) tenancy.KeyRange {
	if tp.Dedicated {
		return tenancy.WholeTable()
	}
	return tp.Range
}

// followedBy yields a sequence, and at its end the error of last, if there is one.
func followedBy(entities iter.Seq2[*edm.Entity, error], last func() error) iter.Seq2[*edm.Entity, error] {
	return func(yield func(*edm.Entity, error) bool) {
		for e, err := range entities {
			if !yield(e, err) {
				return
			}
		}
		if err := last(); err != nil {
			yield(nil, err)
		}
	}
}

func runCheckArchive(ctx context.Context, env *environment, place string) error {
	store, err := env.openStore(place)
	if err != nil {
		return err
	}
	a, err := archive.Open(ctx, store)
	if err != nil {
		return err
	}
	progress := env.progress()
	defer progress.Close()
	report, err := a.Check(ctx, progress)
	progress.Close()
	writeErr := write(env, report, func(w io.Writer) error {
		title := "The archive of tenant %s in %s is what was written."
		if err != nil {
			title = "The archive of tenant %s in %s is damaged, or could not be read."
		}
		d := describeArchive(a.String(), &a.Manifest, title)
		d.add("good", "%s in %s", ui.Plural(report.Entities, "entity"), ui.Plural(int64(report.Files), "file"))
		d.list("fault", report.Faults)
		return d.write(w)
	})
	return errors.Join(err, writeErr)
}

// openStore opens a place. A folder needs no accounts.
func (env *environment) openStore(place string) (archive.Store, error) {
	store, err := archive.OpenStore(place, func(storage string) (tablestorage.Account, error) {
		services, err := env.open()
		if err != nil {
			return tablestorage.Account{}, err
		}
		return services.accounts.OfStorage(storage)
	})
	if err != nil {
		return nil, &configError{err}
	}
	return store, nil
}

// describeArchive describes an archive; title takes the tenant and the place.
func describeArchive(place string, m *archive.Manifest, title string) *description {
	d := newDescription(title, m.Tenant, place)
	d.add("made", "%s, by %s, format %d", stamp(m.Created), m.Tool, m.Format)
	d.add("migration", "%s", m.Migration)
	for _, t := range m.Tables {
		d.add(t.Logical, "%s of %s/%s, %s in %s", ui.Plural(t.Entities, "entity"), t.Placement.Storage, t.Placement.Table,
			ui.Bytes(t.Bytes), ui.Plural(int64(len(t.Chunks)), "file"))
	}
	if m.Cut == archive.CutSealed {
		d.add("cut", "sealed: the source of a move that was done, as it was verified")
	} else {
		d.add("cut", "fuzzy: entities were read one after the other; while writers are at work that is no consistent cut")
	}
	return d
}
