package tenantctl

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/aztenancy/terraform-provider-aztenancy/internal/tenantctl/ui"
)

// Process is what a command sees of the process that runs it.
type Process struct {
	Stdin    io.Reader
	Stdout   io.Writer
	Stderr   io.Writer
	Getenv   func(string) string
	Terminal bool   // standard error is a terminal
	Version  string // of the build
}

const rootHelp = `tenantctl loads tenants' data into Azure Table Storage and moves tenants between isolation models: a shared table,
a table of their own, an account of their own. Tenants and models are declared with the Terraform provider aztenancy.

ACCOUNTS
  The home account, which holds the catalog, is named by the environment: AZTENANCY_CONNECTION_STRING,
  AZURE_STORAGE_CONNECTION_STRING, or AZURE_STORAGE_ACCOUNT with AZURE_STORAGE_KEY or AZURE_STORAGE_SAS_TOKEN.
  --config FILE names it, and further accounts, with the attributes of the provider block, in HCL or JSON:

    connection_string = "UseDevelopmentStorage=true"
    accounts          = { premium = { account_name = "contosopremium", entra = {} } }

  The attributes are connection_string, account_name, account_key, sas_token, entra, endpoint, allow_http, max_concurrency,
  request_timeout and retry, for the home account and in each of accounts, and catalog_table and read_only. Keep a file that holds keys to yourself (chmod 600).

OUTPUT
  The result goes to standard output, everything else to standard error. With --json the result is one JSON object;
  progress, notes and the error are one JSON object a line.

EXIT STATUS
  0    done
  1    error
  2    the command line or the configuration is wrong
  3    differences found between source and target, or an archive is damaged
  4    incomplete; the same command finishes it
  5    the service is unreachable or busy; try again later
  6    something was written to a tenant whose writes were held
  8    stopped, because as many moves failed as were allowed to
  9    nothing to do
  130  interrupted at a safe point`

// Run runs one command line and returns its exit status. When ctx ends the command stops at a safe point.
func Run(ctx context.Context, p Process, args []string) int {
	// Errors in flags come before --json is read as a flag, and must be JSON all the same.
	env := &environment{process: p, stderr: &lockedWriter{w: p.Stderr}, json: slices.Contains(args, "--json")}
	root := newRootCommand(env)
	root.SetArgs(args)
	stop := context.AfterFunc(ctx, func() {
		env.say("stopping at a safe point; a second signal stops at once")
	})
	err := root.ExecuteContext(ctx)
	stop()
	code := exitCode(err)
	if err != nil {
		env.complain(err, code)
	}
	return code
}

func newRootCommand(env *environment) *cobra.Command {
	root := &cobra.Command{
		Use:           "tenantctl",
		Short:         "Load and move tenants in Azure Table Storage",
		Long:          rootHelp,
		Example:       "  tenantctl tenants\n  tenantctl migrate contoso --to own-table",
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return cmd.Help()
		},
	}
	root.SetIn(env.process.Stdin)
	root.SetOut(env.process.Stdout)
	root.SetErr(env.stderr)
	root.CompletionOptions.HiddenDefaultCmd = true
	root.PersistentFlags().StringVar(&env.configFile, "config", "", "accounts as in the provider block, HCL or JSON `FILE`")
	root.PersistentFlags().BoolVar(&env.json, "json", env.json, "write JSON: the result on standard output, progress as one object a line on standard error")
	root.AddCommand(
		newImportCommand(env),
		newTenantsCommand(env),
		newPlanCommand(env),
		newMigrateCommand(env),
		newEvacuateCommand(env),
		newWorkCommand(env),
		newReleaseCommand(env),
		newTuneCommand(env),
		newVerifyCommand(env),
		newStatusCommand(env),
		newPurgeCommand(env),
		newAbortCommand(env),
		newArchiveCommand(env),
		newRestoreCommand(env),
		newSASCommand(env),
		newValetCommand(env),
		newVersionCommand(env),
	)
	for _, cmd := range append(root.Commands(), root) {
		markUsageErrors(cmd)
	}
	return root
}

// usageError is a wrong command line. help is the command whose help shows the right one.
type usageError struct {
	err  error
	help string
}

func (e *usageError) Error() string { return fmt.Sprintf("%v; see: %s -h", e.err, e.help) }

func (e *usageError) Unwrap() error { return e.err }

// markUsageErrors makes the errors that cobra finds in flags and arguments usage errors.
func markUsageErrors(cmd *cobra.Command) {
	wrap := func(cmd *cobra.Command, err error) error {
		if err == nil {
			return nil
		}
		return &usageError{err, cmd.CommandPath()}
	}
	cmd.SetFlagErrorFunc(wrap)
	if args := cmd.Args; args != nil {
		cmd.Args = func(cmd *cobra.Command, given []string) error { return wrap(cmd, args(cmd, given)) }
	}
}

// requireFlags makes flags required. Cobra has that as well, but its error cannot be told from others.
func requireFlags(cmd *cobra.Command, names ...string) {
	cmd.PreRunE = func(cmd *cobra.Command, _ []string) error {
		for _, name := range names {
			flag := cmd.Flags().Lookup(name)
			if flag.Changed && flag.Value.String() != "" {
				continue
			}
			placeholder, _ := pflag.UnquoteUsage(flag)
			return &usageError{fmt.Errorf("give --%s %s", name, placeholder), cmd.CommandPath()}
		}
		return nil
	}
}

// oneTenant wants exactly the argument TENANT.
func oneTenant(_ *cobra.Command, args []string) error {
	switch {
	case len(args) == 0:
		return errors.New("name the TENANT")
	case len(args) > 1:
		return fmt.Errorf("one TENANT at a time, not %d arguments", len(args))
	}
	return nil
}

// complain writes the error of a command.
func (env *environment) complain(err error, code int) {
	if env.json {
		ui.WriteJSONError(env.stderr, err.Error(), code)
		return
	}
	_, _ = fmt.Fprintf(env.stderr, "tenantctl: %v\n", err)
}
