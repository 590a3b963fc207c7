package tenantctl

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/aztenancy/terraform-provider-aztenancy/internal/catalog"
	"github.com/aztenancy/terraform-provider-aztenancy/internal/fleet"
	"github.com/aztenancy/terraform-provider-aztenancy/internal/migration"
	"github.com/aztenancy/terraform-provider-aztenancy/internal/tablestorage"
)

const evacuateHelp = `Move many tenants: all that have a place in a table (--from), or those that a file names (--plan). Each is moved as by tenantctl
migrate, several at a time, within limits that hold over all processes and machines that take part. The list is kept in the
catalog under a name; further processes, on any machine, share the work with: tenantctl work NAME. What a process that died
had under way is taken over by another when its lease has run out.

The same command goes on where it was: tenants that are moved are left alone, moves under way are resumed, failed ones are
tried again, and the flags of this time hold. Ctrl-C begins no other move, lets those that hold a tenant's writes end, and stops
the others at a safe point.

The file of --plan is CSV with the columns tenant, to and, if wanted, account, or, where its name ends in .hcl, HCL:

  tenant "contoso" {
    to      = "own-account"
    account = "premium"
  }

EXIT STATUS
  0    every tenant on the list is moved and verified
  1    refused, with the reason and the way out; nothing was changed
  2    the command line, the file or the configuration is wrong
  4    incomplete; the same command goes on
  5    the service is unreachable or busy; try again later
  6    something was written to a source while writes were held
  8    stopped, because moves failed; the same command tries them again
  9    nothing to do
  130  interrupted at a safe point; the same command goes on`

type evacuateOptions struct {
	targetOptions
	From     string
	Plan     string
	Name     string
	Status   bool
	NoWork   bool
	Limits   fleet.Limits
	Move     migrateOptions
	Parallel int
}

func (o *evacuateOptions) addFlags(f *pflag.FlagSet) {
	o.targetOptions.addFlags(f)
	o.Move.paceOptions.addFlags(f)
	f.StringVar(&o.From, "from", "", "move all tenants of `ACCOUNT/TABLE`; home is the home account")
	f.StringVar(&o.Plan, "plan", "", "move the tenants of a CSV or HCL `FILE`, in its order; --to and --account where it names none")
	f.StringVar(&o.Name, "name", "", "`NAME` of the evacuation in the catalog (default: after the table, or the file)")
	f.BoolVar(&o.Status, "status", false, "only say where the named evacuation stands, or all of them")
	f.BoolVar(&o.NoWork, "declare-only", false, "only write the list, for tenantctl work")
	f.StringVar(&o.Limits.Canary, "canary", "", "`TENANT` that has to be moved before any other is begun")
	f.IntVar(&o.Limits.PerTable, "max-per-table", 0, "tenants under way out of one source table at a time; 0 is no limit")
	f.IntVar(&o.Limits.PerAccount, "max-per-account", 0, "tenants under way into one storage account at a time; 0 is no limit")
	f.IntVar(&o.Limits.Frozen, "max-frozen", 1, "tenants whose writes are held at a time")
	f.IntVar(&o.Limits.Failures, "max-failures", 1, "failed moves after which no other is begun")
	f.DurationVar(&o.Move.Drain, "drain", 0, "`TIME` to wait after writes are held, for applications that read the catalog only so often")
	f.DurationVar(&o.Move.MaxFreeze, "max-freeze", migration.DefaultMaxFreeze, "longest `TIME` for which a tenant's writes may be held; 0 is no limit")
	f.DurationVar(&o.Move.Reverse, "reverse-window", 0, "`TIME` after the switch for which purge keeps the source unless told twice, such as 24h")
	f.IntVar(&o.Move.Workers, "workers", migration.DefaultWorkers, "key ranges of one tenant that are worked on at the same time")
	f.IntVar(&o.Parallel, "parallel", fleet.DefaultParallel, "tenants that this process moves at a time")
}

// settings are those of each move.
func (o *evacuateOptions) settings() fleet.Settings {
	m := o.Move.options()
	return fleet.Settings{Workers: m.Workers, MaxFreeze: m.MaxFreeze, Drain: m.Drain, ReverseWindow: m.ReverseWindow}
}

func newEvacuateCommand(env *environment) *cobra.Command {
	var o evacuateOptions
	cmd := &cobra.Command{
		Use:     "evacuate {--from ACCOUNT/TABLE --to MODEL | --plan FILE | --status [NAME]}",
		Short:   "Move many tenants, within limits, on any number of machines",
		Long:    evacuateHelp,
		Example: "  tenantctl evacuate --from home/Strikes --to own-table --name empty-pool --canary contoso",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			usage := func(text string) error { return &usageError{errors.New(text), cmd.CommandPath()} }
			switch {
			case o.Status:
				return runEvacuationStatus(cmd.Context(), env, args)
			case len(args) > 0:
				return usage("only --status takes an argument; --name names an evacuation")
			case (o.From == "") == (o.Plan == ""):
				return usage("give either --from ACCOUNT/TABLE or --plan FILE")
			case o.From != "" && o.Model == "":
				return usage("give --to MODEL")
			case o.Parallel < 1 || o.Limits.Frozen < 1 || o.Limits.Failures < 1 || o.Limits.PerTable < 0 || o.Limits.PerAccount < 0:
				return usage("--parallel, --max-frozen and --max-failures are at least 1, the other limits at least 0")
			}
			return runEvacuate(cmd.Context(), env, o)
		},
	}
	o.addFlags(cmd.Flags())
	return cmd
}

// directory is what package fleet needs of the services.
func (s services) directory() fleet.Directory {
	return fleet.Directory{Catalog: s.catalog, Accounts: s.accounts}
}

func runEvacuate(ctx context.Context, env *environment, o evacuateOptions) error {
	services, err := env.open()
	if err != nil {
		return err
	}
	ctx = tablestorage.WithCorrelation(ctx, "", "evacuate")
	d := services.directory()
	v := fleet.Evacuation{Limits: o.Limits, Settings: o.settings()}
	if o.Plan != "" {
		v.Name, v.Entries, err = entriesOfFile(o.Plan, o.targetOptions)
	} else {
		v.Name, v.Entries, err = entriesOfTable(ctx, d, o.From, o.targetOptions)
	}
	if err != nil {
		return err
	}
	if o.Name != "" {
		v.Name = o.Name
	}
	if err := d.Declare(ctx, v); err != nil {
		if errors.Is(err, fleet.ErrNobody) {
			return fmt.Errorf("evacuate %s%s: %w: %w", o.From, o.Plan, err, migration.ErrNothingToDo)
		}
		return err
	}
	s, err := d.Status(ctx, v.Name)
	if err != nil {
		return err
	}
	if o.NoWork || s.State == fleet.Done {
		err := write(env, s, func(w io.Writer) error { return writeEvacuation(w, s) })
		if s.State == fleet.Done {
			return errors.Join(err, fmt.Errorf("evacuation %s: every tenant on its list is moved: %w", v.Name, migration.ErrNothingToDo))
		}
		return err
	}
	env.say(fmt.Sprintf("evacuation %s: %d of %d tenants are to be moved; other machines can share the work with: tenantctl work %s",
		v.Name, s.Tenants-s.Moved-s.Violated, s.Tenants, v.Name))
	return work(ctx, env, v.Name, workOptions{o.Move.paceOptions, o.Parallel, fleet.DefaultLeaseTTL})
}

// judgeEvacuation makes of a summary the error that decides the exit status.
func judgeEvacuation(s *fleet.Summary, err error) error {
	var violated error
	if s.Violated > 0 {
		violated = &freezeViolatedError{fmt.Errorf("evacuation %s: sources of %d tenants were written past the freeze; look at each: tenantctl status TENANT", s.Name, s.Violated)}
	}
	made := fmt.Sprintf("evacuation %s: %d of %d tenants are moved", s.Name, s.Moved+s.Violated, s.Tenants)
	switch {
	case err != nil:
		return errors.Join(&incompleteError{fmt.Errorf("%s; go on with: tenantctl work %s: %w", made, s.Name, err)}, violated)
	case s.State == fleet.Stopped:
		return errors.Join(&limitError{fmt.Errorf("%s; it stopped: %s. Look at the errors, then run the same evacuate again", made, s.Reason)}, violated)
	case s.State != fleet.Done:
		return errors.Join(&incompleteError{fmt.Errorf("%s; it is %s; go on with: tenantctl work %s", made, s.State, s.Name)}, violated)
	}
	return violated
}

func runEvacuationStatus(ctx context.Context, env *environment, names []string) error {
	services, err := env.open()
	if err != nil {
		return err
	}
	ctx = tablestorage.WithCorrelation(ctx, "", "evacuate")
	d := services.directory()
	if len(names) == 1 {
		s, err := evacuationNamed(ctx, d, names[0])
		if err != nil {
			return err
		}
		return write(env, s, func(w io.Writer) error { return writeEvacuation(w, s) })
	}
	if names, err = d.Names(ctx); err != nil {
		return err
	}
	all := evacuationsResult{Evacuations: []*fleet.Summary{}}
	for _, name := range names {
		s, err := d.Status(ctx, name)
		if err != nil {
			return err
		}
		all.Evacuations = append(all.Evacuations, s)
	}
	return write(env, all, func(w io.Writer) error { return writeEvacuations(w, all.Evacuations) })
}

// evacuationNamed says where an evacuation stands; the error for one that is not there says how to find those that are.
func evacuationNamed(ctx context.Context, d fleet.Directory, name string) (*fleet.Summary, error) {
	s, err := d.Status(ctx, name)
	if errors.Is(err, catalog.ErrNotFound) && !errors.Is(err, catalog.ErrNoCatalog) {
		return nil, fmt.Errorf("%w; tenantctl evacuate --status lists those that there are", err)
	}
	return s, err
}

// evacuationsResult is the JSON result of evacuate --status without a name.
type evacuationsResult struct {
	Evacuations []*fleet.Summary `json:"evacuations"`
}
