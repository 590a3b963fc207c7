package tenantctl

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/aztenancy/terraform-provider-aztenancy/internal/migration"
)

const purgeHelp = `Delete the source that the tenant's finished moves left in place, and give its key range and tables back. There is no way back from
that but an archive: --archive PLACE makes one first, in PLACE/MIGRATION, reads it back, and deletes only what it holds. PLACE is a
folder, or the address of a Blob container with or without a prefix, of a storage account that is configured.
--no-archive makes none.

It is refused while the tenant is moving, within the move's reverse window (--now TENANT gives the rest of that up), when the
source is no longer what was verified (a write that came past the freeze would be lost), and when the target no longer holds what
the source has: --accept-missing lets pass what the tenant itself has deleted since.

EXIT STATUS
  0    the source is gone
  1    refused, with the reason and the way out; nothing was deleted
  2    the command line or the configuration is wrong
  3    source and target differ, or the archive is damaged; nothing was deleted
  4    incomplete; the same command finishes it
  5    another mover works on the tenant, or the service is unreachable or busy; try again later
  6    something was written to the source while writes were held
  9    nothing to do: no source is left
  130  interrupted at a safe point; the same command goes on`

type purgeOptions struct {
	paceOptions
	Archive       string
	NoArchive     bool
	Now           string
	AcceptMissing int64
}

func (o *purgeOptions) addFlags(f *pflag.FlagSet) {
	o.paceOptions.addFlags(f)
	o.addNeighbourFlag(f)
	f.StringVar(&o.Archive, "archive", "", "archive the source below `PLACE` before anything is deleted: a folder, or a Blob container's address")
	f.BoolVar(&o.NoArchive, "no-archive", false, "delete without an archive")
	f.StringVar(&o.Now, "now", "", "delete within the reverse window; give the `TENANT` once more")
	f.Int64Var(&o.AcceptMissing, "accept-missing", 0, "let up to `N` entities be missing at the target: the tenant deleted them since the switch")
}

// check refuses what was not said, or not said twice.
func (o *purgeOptions) check(tenant string) error {
	switch {
	case o.Archive == "" && !o.NoArchive:
		return errors.New("say where the source shall be archived, with --archive PLACE, or that it shall not be, with --no-archive")
	case o.Archive != "" && o.NoArchive:
		return errors.New("--archive and --no-archive exclude each other")
	case o.Now != "" && o.Now != tenant:
		return fmt.Errorf("--now %s is not the tenant to be purged: that is %s", o.Now, tenant)
	}
	return nil
}

func newPurgeCommand(env *environment) *cobra.Command {
	var o purgeOptions
	cmd := &cobra.Command{
		Use:     "purge TENANT --archive PLACE",
		Short:   "Delete what a finished move left at the source",
		Long:    purgeHelp,
		Example: "  tenantctl purge contoso --archive purged",
		Args:    oneTenant,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := o.check(args[0]); err != nil {
				return &usageError{err, cmd.CommandPath()}
			}
			return runEngine(cmd.Context(), env, args[0], o.paceOptions,
				reportTitle{"Tenant %s: the source of its move from %s to %s is gone.", "Tenant %s: the source of its move from %s to %s is not gone yet."},
				func(ctx context.Context, e *migration.Engine) (*migration.Report, error) {
					return e.Purge(ctx, args[0], migration.Options{ArchiveTo: o.Archive, Now: o.Now != "", AcceptMissing: o.AcceptMissing})
				})
		},
	}
	o.addFlags(cmd.Flags())
	return cmd
}
