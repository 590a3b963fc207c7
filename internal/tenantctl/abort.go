package tenantctl

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/aztenancy/terraform-provider-aztenancy/internal/migration"
)

const abortHelp = `Undo a move that has not switched yet: remove what it wrote to the target, give the target's key range back, and let the tenant be
written again where it is. Nothing is lost: until the switch the source is the truth.

Entities of the target's range that differ from the source are copies of what changed at the source since, or somebody else's;
the range was empty when the move claimed it. With any of them the command stops and asks for --clear-target or --keep-target.

EXIT STATUS
  0    undone
  1    refused, with the reason and the way out
  2    the command line or the configuration is wrong
  3    the target's range holds entities that differ from the source; the same command with one of the flags goes on
  4    incomplete; the same command finishes it
  5    another mover works on the tenant, or the service is unreachable or busy; try again later
  9    nothing to do: the tenant is not moving
  130  interrupted at a safe point; the same command goes on`

func newAbortCommand(env *environment) *cobra.Command {
	var clearTarget, keepTarget bool
	cmd := &cobra.Command{
		Use:     "abort TENANT",
		Short:   "Undo a move that has not switched yet",
		Long:    abortHelp,
		Example: "  tenantctl abort contoso",
		Args:    oneTenant,
		RunE: func(cmd *cobra.Command, args []string) error {
			return runEngine(cmd.Context(), env, args[0], paceOptions{untuned: true},
				reportTitle{"Tenant %s: its move from %s to %s is undone.", "Tenant %s: its move from %s to %s is not undone yet."},
				func(ctx context.Context, e *migration.Engine) (*migration.Report, error) {
					return e.Abort(ctx, args[0], migration.Options{Strays: strays(clearTarget, keepTarget)})
				})
		},
	}
	cmd.Flags().BoolVar(&clearTarget, "clear-target", false, "delete what differs from the source in the target's range, too")
	cmd.Flags().BoolVar(&keepTarget, "keep-target", false, "leave what differs from the source in the target's range where it is")
	cmd.MarkFlagsMutuallyExclusive("clear-target", "keep-target")
	return cmd
}

func strays(clearTarget, keepTarget bool) migration.Strays {
	switch {
	case clearTarget:
		return migration.ClearStrays
	case keepTarget:
		return migration.KeepStrays
	default:
		return ""
	}
}
