package tenantctl

import (
	"context"
	"io"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/aztenancy/terraform-provider-aztenancy/internal/migration"
	"github.com/aztenancy/terraform-provider-aztenancy/internal/tenantctl/ui"
)

const planHelp = `Say what a move of the tenant to another isolation model would do: from where to where, how many entities and bytes, how many
transactions, how writes are held, and what stands against it. Nothing is written. The counts are exact: the plan reads the
tenant's entities once.

EXIT STATUS
  0    the move can start
  1    the move is refused, with the reason and the way out
  2    the command line or the configuration is wrong
  5    the service is unreachable or busy; try again later
  9    nothing to do: the tenant is there already
  130  interrupted`

// targetOptions say where a tenant shall go.
type targetOptions struct {
	Model   string
	Account string
}

func (o *targetOptions) addFlags(f *pflag.FlagSet) {
	f.StringVar(&o.Model, "to", "", "isolation `MODEL` to move to")
	f.StringVar(&o.Account, "account", "", "configured `NAME` of the account to move to (default: the model's)")
}

func (o targetOptions) target() migration.Target {
	return migration.Target{Model: o.Model, Account: o.Account}
}

func newPlanCommand(env *environment) *cobra.Command {
	var o targetOptions
	cmd := &cobra.Command{
		Use:     "plan TENANT --to MODEL",
		Short:   "Say what a move would do, without doing it",
		Long:    planHelp,
		Example: "  tenantctl plan contoso --to own-table",
		Args:    oneTenant,
		RunE: func(cmd *cobra.Command, args []string) error {
			return runPlan(cmd.Context(), env, o, args[0])
		},
	}
	o.addFlags(cmd.Flags())
	requireFlags(cmd, "to")
	return cmd
}

func runPlan(ctx context.Context, env *environment, o targetOptions, tenant string) error {
	services, err := env.open()
	if err != nil {
		return err
	}
	progress := env.progress()
	defer progress.Close()
	plan, err := services.engine(progress).Plan(ctx, tenant, o.target())
	progress.Close()
	if err != nil {
		return err
	}
	return write(env, plan, func(w io.Writer) error { return writePlan(w, plan, o) })
}

// writePlan writes a plan for people.
func writePlan(w io.Writer, p *migration.Plan, o targetOptions) error {
	d := newDescription("Tenant %s can move from %s to %s. Nothing was changed.", p.TenantID, p.From.Model, p.To.Model)
	for _, t := range p.Tables {
		how := string(t.MapClass) + " keys"
		switch {
		case t.Stays:
			how = "stays where it is"
		case t.CreatesTable:
			how += ", the table is created"
		}
		d.add(t.Logical, "%v -> %v: %s, %s in %s; %s", p.From.Tables[t.Logical], p.To.Tables[t.Logical], ui.Plural(t.Entities, "entity"), ui.Bytes(t.Bytes),
			ui.Plural(t.Partitions, "partition"), how)
	}
	d.add("entities", "%s, %s", ui.Count(p.Entities), ui.Bytes(p.Bytes))
	d.add("transactions", "%s, about %s in all", ui.Count(p.Transactions), ui.Plural(p.Requests, "request"))
	d.add("writes held", "by %s, for a last pass and the verification; the tenant is written as ever until then", p.Freeze)
	d.add("could write", "%s", p.CouldWrite)
	d.list("not moved", p.NotMoved)
	if p.Resumes != "" {
		d.add("resumes", "migration %s, which is in state %s", p.Resumes, p.ResumesInState)
	}
	d.add("next", "tenantctl migrate %s --to %s%s", p.TenantID, o.Model, accountFlag(o.Account))
	return d.write(w)
}

func accountFlag(account string) string {
	if account == "" {
		return ""
	}
	return " --account " + account
}
