package tenantctl

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/aztenancy/terraform-provider-aztenancy/internal/catalog"
	"github.com/aztenancy/terraform-provider-aztenancy/internal/migration"
	"github.com/aztenancy/terraform-provider-aztenancy/internal/tenantctl/ui"
)

const tuneHelp = `Change the pace of a move or purge that may be running, on this machine or another: the mover follows within a few seconds, and
keeps to it until it is changed again; if none runs, the next one will. Without a change it says what holds.

CHANGES
  rate=N     entities a second that are read, and that are written, at most
  workers=N  requests under way at the same time, reads and writes each; no more than the mover was started with
  rate=0, workers=0   as the mover was started
  pause      send nothing more; the mover keeps its lease, and the tenant its state: a freeze ends at its --max-freeze all the same
  resume     go on

EXIT STATUS
  0    done
  1    refused: there is no such move, or it has ended
  2    the command line or the configuration is wrong
  5    the service is unreachable or busy; try again later
  130  interrupted`

func newTuneCommand(env *environment) *cobra.Command {
	return &cobra.Command{
		Use:     "tune MIGRATION|TENANT [rate=N] [workers=N] [pause|resume]",
		Short:   "Change the pace of a move while it runs, or pause it",
		Long:    tuneHelp,
		Example: "  tenantctl tune contoso rate=500 workers=2",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return errors.New("name the MIGRATION or its TENANT")
			}
			_, err := parseTuning(args[1:])
			return err
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			change, err := parseTuning(args[1:])
			if err != nil {
				return err
			}
			return runTune(cmd.Context(), env, args[0], change)
		},
	}
}

// parseTuning reads changes; of those to the same thing the last holds.
func parseTuning(args []string) (func(*catalog.Tuning), error) {
	var changes []func(*catalog.Tuning)
	for _, arg := range args {
		name, value, valued := strings.Cut(arg, "=")
		n, err := strconv.ParseInt(value, 10, 32)
		switch {
		case arg == "pause" || arg == "resume":
			changes = append(changes, func(t *catalog.Tuning) { t.Paused = arg == "pause" })
		case valued && (name == "rate" || name == "workers") && (err != nil || n < 0):
			return nil, fmt.Errorf("%s: it is a number from 0 to %d", arg, math.MaxInt32)
		case valued && name == "rate":
			changes = append(changes, func(t *catalog.Tuning) { t.Rate = n })
		case valued && name == "workers":
			changes = append(changes, func(t *catalog.Tuning) { t.Workers = int(n) })
		default:
			return nil, fmt.Errorf("%q: a change is rate=N, workers=N, pause or resume", arg)
		}
	}
	return func(t *catalog.Tuning) {
		for _, change := range changes {
			change(t)
		}
	}, nil
}

func runTune(ctx context.Context, env *environment, name string, change func(*catalog.Tuning)) error {
	services, err := env.open()
	if err != nil {
		return err
	}
	report, err := services.engine(migration.Discard).Tune(ctx, name, change)
	if err != nil {
		return err
	}
	return write(env, report, func(w io.Writer) error { return writeTuning(w, report) })
}

// writeTuning writes a tuning for people.
func writeTuning(w io.Writer, r *migration.TuneReport) error {
	pace := "going on"
	if r.Paused {
		pace = "paused"
	}
	d := newDescription("Migration %s of tenant %s (%s): %s.", r.Migration, r.TenantID, r.State, pace)
	rate, workers := "as the mover was started", "as the mover was started"
	if r.Rate > 0 {
		rate = ui.Count(r.Rate) + " entities/s"
	}
	if r.Workers > 0 {
		workers = ui.Plural(int64(r.Workers), "request") + " at a time"
	}
	d.add("rate", "%s", rate)
	d.add("workers", "%s", workers)
	mover := "none runs; the next one will keep to it"
	if r.Owner != "" {
		mover = r.Owner + ", which follows within a few seconds"
	}
	d.add("mover", "%s", mover)
	return d.write(w)
}
