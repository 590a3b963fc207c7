package tenantctl

import (
	"context"
	"io"

	"github.com/spf13/cobra"

	"github.com/aztenancy/terraform-provider-aztenancy/internal/migration"
)

const releaseHelp = `Let a move that holds before the freeze (tenantctl migrate --hold-cutover) go on: it catches up a last time, holds the tenant's
writes, verifies and switches. A mover that waits notices within a second or two; where none runs, the next migrate does.

EXIT STATUS
  0    released
  1    error
  2    the command line or the configuration is wrong
  5    the service is unreachable or busy; try again later
  9    nothing to do: the tenant has no move that holds
  130  interrupted`

func newReleaseCommand(env *environment) *cobra.Command {
	return &cobra.Command{
		Use:     "release TENANT",
		Short:   "Let a move that holds before the freeze go on",
		Long:    releaseHelp,
		Example: "  tenantctl release contoso",
		Args:    oneTenant,
		RunE: func(cmd *cobra.Command, args []string) error {
			return runRelease(cmd.Context(), env, args[0])
		},
	}
}

func runRelease(ctx context.Context, env *environment, tenant string) error {
	services, err := env.open()
	if err != nil {
		return err
	}
	status, err := services.engine(migration.Discard).Release(ctx, tenant)
	if err != nil {
		return err
	}
	return write(env, status, func(w io.Writer) error { return writeStatus(w, status) })
}
