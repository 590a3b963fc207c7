package tenantctl

import (
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/aztenancy/terraform-provider-aztenancy/internal/catalog"
	"github.com/aztenancy/terraform-provider-aztenancy/internal/migration"
	"github.com/aztenancy/terraform-provider-aztenancy/internal/tablestorage"
	"github.com/aztenancy/terraform-provider-aztenancy/internal/tenantctl/ui"
)

const statusHelp = `Say where a tenant is, what its moves did and wait for, and which command goes on. Without TENANT: all moves that have not
ended, of all tenants.

EXIT STATUS
  0    done
  1    error
  2    the command line or the configuration is wrong
  5    the service is unreachable or busy; try again later
  130  interrupted`

// runningResult is the JSON result of status without a tenant.
type runningResult struct {
	Migrations []runningMigration `json:"migrations"`
}

type runningMigration struct {
	Tenant string `json:"tenant"`
	migration.MigrationStatus
}

func newStatusCommand(env *environment) *cobra.Command {
	return &cobra.Command{
		Use:     "status [TENANT]",
		Short:   "Say where a tenant is and what its moves wait for; without TENANT, all moves under way",
		Long:    statusHelp,
		Example: "  tenantctl status contoso",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return runStatusOfAll(cmd.Context(), env)
			}
			return runStatus(cmd.Context(), env, args[0])
		},
	}
}

func runStatus(ctx context.Context, env *environment, tenant string) error {
	services, err := env.open()
	if err != nil {
		return err
	}
	status, err := services.engine(migration.Discard).Status(ctx, tenant)
	if err != nil {
		return err
	}
	return write(env, status, func(w io.Writer) error { return writeStatus(w, status) })
}

// writeStatus writes one tenant's state for people.
func writeStatus(w io.Writer, s *migration.Status) error {
	d := newDescription("Tenant %s is %s, in model %s, epoch %d.", s.TenantID, s.State, s.Model, s.Epoch)
	for _, logical := range slices.Sorted(maps.Keys(s.Placement)) {
		p := s.Placement[logical]
		d.add(logical, "%v, keys %s", p, p.Range)
	}
	if err := d.write(w); err != nil {
		return err
	}
	for _, m := range s.Migrations {
		d := newDescription("\nMigration %s from %s to %s: %s.", m.ID, m.From, m.To, m.State)
		d.add("copied", "%s of %s", ui.Count(m.Copied), ui.Plural(m.Total, "entity"))
		d.add("started", "%s", stamp(m.Started))
		d.add("updated", "%s", stamp(m.Updated))
		if m.Owner != "" {
			d.add("mover", "%s, until %s", m.Owner, stamp(m.Expires))
		}
		for _, step := range m.Steps {
			d.add(fmt.Sprintf("step %d", step.Seq), "%s %s %s %s", stamp(step.Time), step.Kind, step.Name, step.Detail)
		}
		d.add("next", "%s", m.Next)
		if err := d.write(w); err != nil {
			return err
		}
	}
	return nil
}

func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }

func runStatusOfAll(ctx context.Context, env *environment) error {
	services, err := env.open()
	if err != nil {
		return err
	}
	ctx = tablestorage.WithCorrelation(ctx, "", "status")
	records, err := services.catalog.Migrations(ctx, "")
	if err != nil {
		return fmt.Errorf("read the migrations: %w", err)
	}
	result := runningResult{Migrations: []runningMigration{}}
	engine := services.engine(migration.Discard)
	for _, r := range records {
		if !r.Ended.IsZero() {
			continue
		}
		m, err := statusOf(ctx, engine, r)
		if err != nil {
			return err
		}
		result.Migrations = append(result.Migrations, m)
	}
	return write(env, result, func(w io.Writer) error { return writeRunning(w, result.Migrations) })
}

// statusOf asks the mover what it says about one migration.
func statusOf(ctx context.Context, engine *migration.Engine, r catalog.MigrationRecord) (runningMigration, error) {
	status, err := engine.Status(ctx, r.TenantID)
	if err != nil {
		return runningMigration{}, fmt.Errorf("read the state of tenant %q: %w", r.TenantID, err)
	}
	for _, m := range status.Migrations {
		if m.ID == r.ID {
			m.Steps = nil
			return runningMigration{r.TenantID, m}, nil
		}
	}
	// It was deleted between the two reads.
	return runningMigration{r.TenantID, migration.MigrationStatus{ID: r.ID, State: r.State, From: r.From, To: r.To}}, nil
}

func writeRunning(w io.Writer, running []runningMigration) error {
	if len(running) == 0 {
		_, err := fmt.Fprintln(w, "No tenant is moving.")
		return err
	}
	t := ui.Table{Header: []string{"TENANT", "STATE", "FROM", "TO", "COPIED", "TOTAL", "MOVER", "NEXT"}, Right: map[int]bool{4: true, 5: true}}
	for _, m := range running {
		owner := m.Owner
		if owner == "" {
			owner = "none"
		}
		t.Rows = append(t.Rows, []string{m.Tenant, m.State, m.From, m.To, ui.Count(m.Copied), ui.Count(m.Total), owner, m.Next})
	}
	return t.Write(w)
}
