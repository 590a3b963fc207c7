package tenantctl

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/aztenancy/terraform-provider-aztenancy/internal/migration"
)

const abortHelp = `Undo a move that has not switched yet: remove what it wrote to the target, give the target's key range back, and let the tenant be
written again where it is. Nothing is lost: until the switch the source is the truth.

EXIT STATUS
  0    undone
  1    refused, with the reason and the way out
  2    the command line or the configuration is wrong
  4    incomplete; the same command finishes it
  5    another mover works on the tenant, or the service is unreachable or busy; try again later
  9    nothing to do: the tenant is not moving
  130  interrupted at a safe point; the same command goes on`

func newAbortCommand(env *environment) *cobra.Command {
	return &cobra.Command{
		Use:     "abort TENANT",
		Short:   "Undo a move that has not switched yet",
		Long:    abortHelp,
		Example: "  tenantctl abort contoso",
		Args:    oneTenant,
		RunE: func(cmd *cobra.Command, args []string) error {
			return runEngine(cmd.Context(), env, args[0],
				reportTitle{"Tenant %s: its move from %s to %s is undone.", "Tenant %s: its move from %s to %s is not undone yet."},
				func(ctx context.Context, e *migration.Engine) (*migration.Report, error) {
					return e.Abort(ctx, args[0], migration.Options{})
				})
		},
	}
}
