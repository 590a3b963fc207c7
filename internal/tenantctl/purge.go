package tenantctl

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/aztenancy/terraform-provider-aztenancy/internal/migration"
)

const purgeHelp = `Delete the source that the tenant's finished moves left in place, and give its key range and tables back. There is no way back from
that. It is refused while the tenant is moving, when the source is no longer what was verified (a write that came past the freeze
would be lost), and when the target no longer holds what the source has: --accept-missing lets pass what the tenant
itself has deleted since.

EXIT STATUS
  0    the source is gone
  1    refused, with the reason and the way out; nothing was deleted
  2    the command line or the configuration is wrong
  3    source and target differ; nothing was deleted
  4    incomplete; the same command finishes it
  5    another mover works on the tenant, or the service is unreachable or busy; try again later
  6    something was written to the source while writes were held
  9    nothing to do: no source is left
  130  interrupted at a safe point; the same command goes on`

func newPurgeCommand(env *environment) *cobra.Command {
	var o migration.Options
	cmd := &cobra.Command{
		Use:     "purge TENANT",
		Short:   "Delete what a finished move left at the source",
		Long:    purgeHelp,
		Example: "  tenantctl purge contoso",
		Args:    oneTenant,
		RunE: func(cmd *cobra.Command, args []string) error {
			return runEngine(cmd.Context(), env, args[0],
				reportTitle{"Tenant %s: the source of its move from %s to %s is gone.", "Tenant %s: the source of its move from %s to %s is not gone yet."},
				func(ctx context.Context, e *migration.Engine) (*migration.Report, error) {
					return e.Purge(ctx, args[0], o)
				})
		},
	}
	cmd.Flags().Int64Var(&o.AcceptMissing, "accept-missing", 0,
		"let up to `N` entities be missing at the target: the tenant deleted them since the switch")
	return cmd
}
