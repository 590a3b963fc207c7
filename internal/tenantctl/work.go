package tenantctl

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/aztenancy/terraform-provider-aztenancy/internal/fleet"
	"github.com/aztenancy/terraform-provider-aztenancy/internal/migration"
	"github.com/aztenancy/terraform-provider-aztenancy/internal/tablestorage"
)

const workHelp = `Take part in an evacuation that tenantctl evacuate has declared: take tenants of its list by lease and move them, within its limits,
until nothing is left to do. Run it on as many machines as you like, each with the same --config or environment. A tenant whose
worker died is taken over when its lease has run out, and its move goes on where it was.

EXIT STATUS
  0    every tenant on the list is moved and verified
  1    error, such as an evacuation that is not there
  2    the command line or the configuration is wrong
  4    incomplete; the same command goes on
  5    the service is unreachable or busy; try again later
  6    something was written to a source while writes were held
  8    the evacuation is stopped, because moves failed; tenantctl evacuate tries them again
  9    nothing to do: it was done before
  130  interrupted at a safe point; the same command goes on`

// workOptions say how a process takes part in an evacuation.
type workOptions struct {
	paceOptions
	Parallel int
	Lease    time.Duration
}

func newWorkCommand(env *environment) *cobra.Command {
	var o workOptions
	cmd := &cobra.Command{
		Use:     "work EVACUATION",
		Short:   "Share the work of an evacuation with other machines",
		Long:    workHelp,
		Example: "  tenantctl work empty-pool",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if o.Parallel < 1 || o.Lease < time.Second {
				return &usageError{errors.New("--parallel is at least 1, and --lease at least 1s"), cmd.CommandPath()}
			}
			return runWork(cmd.Context(), env, args[0], o)
		},
	}
	o.addFlags(cmd.Flags())
	cmd.Flags().IntVar(&o.Parallel, "parallel", fleet.DefaultParallel, "tenants that this process moves at a time")
	cmd.Flags().DurationVar(&o.Lease, "lease", fleet.DefaultLeaseTTL, "`TIME` without a sign of life after which another takes over what this process moves")
	return cmd
}

func runWork(ctx context.Context, env *environment, name string, o workOptions) error {
	services, err := env.open()
	if err != nil {
		return err
	}
	ctx = tablestorage.WithCorrelation(ctx, "", "work")
	s, err := evacuationNamed(ctx, services.directory(), name)
	if err != nil {
		return err
	}
	if s.State == fleet.Done {
		return fmt.Errorf("evacuation %s: every tenant on its list is moved: %w", name, migration.ErrNothingToDo)
	}
	return work(ctx, env, name, o)
}

// work takes part in an evacuation and writes the summary. All its moves share one pacer, and so the tuning of one of
// them, which would be that of all, is not followed.
func work(ctx context.Context, env *environment, name string, o workOptions) error {
	o.untuned = true
	p, err := env.startPaced(ctx, o.paceOptions)
	if err != nil {
		return err
	}
	defer p.Close()
	w := fleet.Worker{Catalog: p.services.catalog, Mover: fleet.Engines(*p.engine()), Progress: p.progress, Temporary: isTemporary,
		Parallel: o.Parallel, LeaseTTL: o.Lease}
	s, err := w.Work(ctx, name)
	p.Close()
	if s == nil {
		return err
	}
	return errors.Join(judgeEvacuation(s, err), write(env, s, func(w io.Writer) error { return writeEvacuation(w, s) }))
}
