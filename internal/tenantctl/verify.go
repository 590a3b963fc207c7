package tenantctl

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/aztenancy/terraform-provider-aztenancy/internal/migration"
	"github.com/aztenancy/terraform-provider-aztenancy/internal/tenantctl/ui"
)

const verifyHelp = `Compare the source of the tenant's latest move, where it is still kept, with the target: every entity, every property, value and
type. Nothing is written. What was written at the target after the switch is counted apart and is no difference; what was deleted
there since cannot be told from what is missing.

EXIT STATUS
  0    equal
  1    error, or there is nothing to compare with: that is never taken for equal
  2    the command line or the configuration is wrong
  3    differences found
  5    the service is unreachable or busy; try again later
  130  interrupted`

func newVerifyCommand(env *environment) *cobra.Command {
	var o paceOptions
	cmd := &cobra.Command{
		Use:     "verify TENANT",
		Short:   "Compare a moved tenant's source and target, entity by entity",
		Long:    verifyHelp,
		Example: "  tenantctl verify contoso",
		Args:    oneTenant,
		RunE: func(cmd *cobra.Command, args []string) error {
			return runVerify(cmd.Context(), env, o, args[0])
		},
	}
	o.addFlags(cmd.Flags())
	return cmd
}

func runVerify(ctx context.Context, env *environment, o paceOptions, tenant string) error {
	work, err := env.startPaced(ctx, o)
	if err != nil {
		return err
	}
	defer work.Close()
	report, err := work.engine().Verify(ctx, tenant)
	work.Close()
	if report == nil {
		return err
	}
	writeErr := write(env, report, func(w io.Writer) error { return writeVerifyReport(w, report) })
	if err == nil && report.Result != migration.ResultEqual { // whatever the mover says, only equal is equal
		err = fmt.Errorf("verify tenant %q: %w", tenant, migration.ErrUnverified)
	}
	return errors.Join(err, writeErr)
}

// writeVerifyReport writes a verification for people.
func writeVerifyReport(w io.Writer, r *migration.VerifyReport) error {
	d := newDescription("Tenant %s: source and target are %s.", r.TenantID, r.Result)
	d.add("migration", "%s", r.Migration)
	d.add("level", "%s: every entity, property, value and type", r.Level)
	d.add("equal", "%s", ui.Plural(r.Equal, "entity"))
	if r.SinceSwitch > 0 {
		d.add("since then", "%s written at the target after the switch", ui.Plural(r.SinceSwitch, "entity"))
	}
	if r.Missing+r.Extra+r.Differing > 0 {
		d.add("missing", "%s in the source only", ui.Count(r.Missing))
		d.add("extra", "%s in the target only", ui.Count(r.Extra))
		d.add("differing", "%s in both, with other content", ui.Count(r.Differing))
	}
	for i, x := range r.Differences {
		if i == 10 {
			d.add("", "and more: --json lists up to %d", migration.MaxDifferences)
			break
		}
		d.add("", "%s", differenceText(x))
	}
	d.list("unverified", r.Unverified)
	d.add("took", "%s", ui.Duration(seconds(r.Seconds)))
	return d.write(w)
}

func differenceText(x migration.Difference) string {
	switch x.Kind {
	case migration.KindMissing:
		return strings.TrimSuffix(fmt.Sprintf("%s: %s is missing at the target: %s", x.Logical, x.Source, x.Reason), ": ")
	case migration.KindExtra:
		return fmt.Sprintf("%s: %s is only at the target", x.Logical, x.Target)
	default:
		return fmt.Sprintf("%s: %s differs in %v", x.Logical, x.Target, x.Properties)
	}
}
