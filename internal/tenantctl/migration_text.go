package tenantctl

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"time"

	"github.com/aztenancy/terraform-provider-aztenancy/internal/migration"
	"github.com/aztenancy/terraform-provider-aztenancy/internal/tenantctl/ui"
)

// reportTitle is the first line of a report: of an operation that is done, and of one that is not. Each takes the
// tenant, the model it comes from and the model it goes to.
type reportTitle struct{ done, notDone string }

func (t reportTitle) of(err error) string {
	if err == nil || errors.Is(err, migration.ErrNothingToDo) { // it was done before
		return t.done
	}
	return t.notDone
}

// classify adds to the error of an operation what decides the exit status: whether writes slipped past the freeze, and
// whether something begun is left to finish.
func classify(tenant string, r *migration.Report, err error) error {
	switch {
	case err == nil && r.StragglerCount > 0:
		return &freezeViolatedError{fmt.Errorf("tenant %q: %s reached the source past the freeze, and are not at the target; see the report",
			tenant, ui.Plural(r.StragglerCount, "write"))}
	case err == nil, as[*migration.RefusedError](err), as[*migration.CollisionError](err):
		return err
	default:
		return &incompleteError{err}
	}
}

// writeMigrationReport writes the report of a move, a purge or an abort for people.
func writeMigrationReport(w io.Writer, r *migration.Report, title string) error {
	d := newDescription(title, r.TenantID, r.From.Model, r.To.Model)
	d.add("migration", "%s, %s", r.Migration, r.State)
	for _, logical := range slices.Sorted(maps.Keys(r.To.Tables)) {
		d.add(logical, "%v -> %v", r.From.Tables[logical], r.To.Tables[logical])
	}
	d.add("entities", "%s, %s, in %s", ui.Count(r.Entities), ui.Bytes(r.Bytes), ui.Plural(r.Transactions, "transaction"))
	if r.Retries > 0 {
		d.add("sent again", "%s", ui.Plural(r.Retries, "transaction"))
	}
	if c := r.CaughtUp; c.Inserted+c.Replaced+c.Deleted > 0 {
		d.add("caught up", "%s inserted, %s replaced, %s deleted; passes: %d", ui.Count(c.Inserted), ui.Count(c.Replaced), ui.Count(c.Deleted), c.Passes)
	}
	if r.FreezeFor > 0 {
		d.add("writes held", "%s, by %s", ui.Duration(seconds(r.FreezeFor)), r.Freeze)
	}
	d.add("could write", "%s", r.CouldWrite)
	if r.Verify != nil {
		d.add("verified", "%s", verifyText(r.Verify))
	}
	d.list("not verified", r.NotVerified)
	if r.StragglerCount > 0 {
		d.add("past freeze", "%s", ui.Plural(r.StragglerCount, "write"))
	}
	if r.Purged > 0 {
		d.add("purged", "%s", ui.Plural(r.Purged, "entity"))
	}
	d.add("archive", "%s", r.Archive)
	if !r.ReverseUntil.IsZero() && r.State == migration.Switched {
		d.add("kept until", "%s", stamp(r.ReverseUntil))
	}
	if r.Removed > 0 {
		d.add("removed", "%s from the target", ui.Plural(r.Removed, "entity"))
	}
	d.list("note", r.Notes)
	d.add("next", "%s", r.Next)
	return d.write(w)
}

// verifyText sums a verification up in a line.
func verifyText(v *migration.VerifyReport) string {
	text := fmt.Sprintf("%s, %s: %s equal", v.Level, v.Result, ui.Count(v.Equal))
	if v.Sealed > 0 {
		text += fmt.Sprintf(" (%s compared while catching up and not written since)", ui.Count(v.Sealed))
	}
	if v.Missing+v.Extra+v.Differing > 0 {
		text += fmt.Sprintf(", %s missing at the target, %s only there, %s with other content", ui.Count(v.Missing), ui.Count(v.Extra), ui.Count(v.Differing))
	}
	if v.SinceSwitch > 0 {
		text += fmt.Sprintf(", %s written at the target since the switch", ui.Count(v.SinceSwitch))
	}
	return text
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }
