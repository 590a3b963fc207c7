package tenantctl

import (
	"context"
	"errors"
	"io"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/aztenancy/terraform-provider-aztenancy/internal/migration"
)

const migrateHelp = `Move the tenant to another isolation model, and to another account where the model or --account says so.

The tenant is read and written as ever while its entities are copied, and while what it writes meanwhile is carried over, pass
after pass. Only then are its writes held (its state in the catalog is frozen; applications honour that), for a last pass and for
the comparison of every entity, property and type; what was compared before and was not written since is not read again. Then the
catalog names the new place. The source is left as it is until: tenantctl purge TENANT.

--max-freeze bounds how long writes are held: a freeze that would take longer is not begun, and one that does is undone; the
tenant is then written where it was. --hold-cutover catches up until somebody says: tenantctl release TENANT.

A move that was interrupted or killed goes on where it was when the same command is run again, on any machine. Until the
switch it can be undone with: tenantctl abort TENANT.

EXIT STATUS
  0    the tenant was moved and verified
  1    the move is refused, with the reason and the way out; nothing was changed
  2    the command line or the configuration is wrong
  3    source and target differ; the tenant is still at the source
  4    incomplete, also where writes would be held for too long; the same command finishes it
  5    another mover works on the tenant, or the service is unreachable or busy; try again later
  6    something was written to the source while writes were held
  9    nothing to do: the tenant is there already
  130  interrupted at a safe point; the same command goes on`

type migrateOptions struct {
	targetOptions
	paceOptions
	Workers   int
	Drain     time.Duration
	MaxFreeze time.Duration
	Reverse   time.Duration
	Hold      bool
	NoWait    bool
}

func (o *migrateOptions) addFlags(f *pflag.FlagSet) {
	o.targetOptions.addFlags(f)
	o.paceOptions.addFlags(f)
	o.addNeighbourFlag(f)
	f.IntVar(&o.Workers, "workers", migration.DefaultWorkers, "key ranges, or transactions of one, that are worked on at the same time")
	f.DurationVar(&o.Drain, "drain", 0, "`TIME` to wait after writes are held, for applications that read the catalog only so often")
	f.DurationVar(&o.MaxFreeze, "max-freeze", migration.DefaultMaxFreeze, "longest `TIME` for which writes may be held; 0 is no limit")
	f.DurationVar(&o.Reverse, "reverse-window", 0, "`TIME` after the switch for which purge keeps the source unless told twice, such as 24h")
	f.BoolVar(&o.Hold, "hold-cutover", false, "go on catching up until: tenantctl release TENANT")
	f.BoolVar(&o.NoWait, "no-wait", false, "end with status 5, rather than wait for the lease of a mover that may be dead to run out")
}

// options are the knobs of the run.
func (o *migrateOptions) options() migration.Options {
	limit := o.MaxFreeze
	switch limit {
	case 0:
		limit = migration.NoFreezeLimit
	case migration.DefaultMaxFreeze: // and so the drain comes on top of it
		limit = 0
	}
	return migration.Options{Workers: o.Workers, Drain: o.Drain, MaxFreeze: limit, ReverseWindow: o.Reverse, HoldCutover: o.Hold, DontWait: o.NoWait}
}

func newMigrateCommand(env *environment) *cobra.Command {
	var o migrateOptions
	cmd := &cobra.Command{
		Use:     "migrate TENANT --to MODEL",
		Short:   "Move a tenant to another isolation model, verified",
		Long:    migrateHelp,
		Example: "  tenantctl migrate contoso --to own-table",
		Args:    oneTenant,
		RunE: func(cmd *cobra.Command, args []string) error {
			return runEngine(cmd.Context(), env, args[0], o.paceOptions, reportTitle{"Tenant %s moved from %s to %s.", "Tenant %s is on its way from %s to %s."},
				func(ctx context.Context, e *migration.Engine) (*migration.Report, error) {
					return e.Run(ctx, args[0], o.target(), o.options())
				})
		},
	}
	o.addFlags(cmd.Flags())
	requireFlags(cmd, "to")
	return cmd
}

// runEngine runs an operation of the mover that ends with a report, and writes the report: also one of an operation that
// did not come to its end.
func runEngine(ctx context.Context, env *environment, tenant string, o paceOptions, title reportTitle,
	do func(context.Context, *migration.Engine) (*migration.Report, error)) error {
	work, err := env.startPaced(ctx, o)
	if err != nil {
		return err
	}
	defer work.Close()
	report, err := do(ctx, work.engine())
	work.Close()
	if report != nil {
		writeErr := write(env, report, func(w io.Writer) error { return writeMigrationReport(w, report, title.of(err)) })
		return errors.Join(classify(tenant, report, err), writeErr)
	}
	return err
}
