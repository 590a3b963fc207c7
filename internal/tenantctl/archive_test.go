package tenantctl

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/aztenancy/terraform-provider-aztenancy/internal/archive"
	"github.com/aztenancy/terraform-provider-aztenancy/internal/migration"
	"github.com/aztenancy/terraform-provider-aztenancy/internal/tablestorage"
)

// clear deletes all entities of a table of the home account.
func (w *world) clear(table string) {
	w.t.Helper()
	for e, err := range w.accounts.Home().Table(table).Query(w.t.Context(), tablestorage.Query{}) {
		must(w.t, err)
		must(w.t, w.accounts.Home().Table(table).Delete(w.t.Context(), e.Key(), tablestorage.AnyETag))
	}
}

func (w *world) count(table string) (n int) {
	w.t.Helper()
	for _, err := range w.accounts.Home().Table(table).Query(w.t.Context(), tablestorage.Query{}) {
		must(w.t, err)
		n++
	}
	return n
}

func TestArchiveAndRestoreAcrossAMoveAndARekeying(t *testing.T) {
	w := importStrikes(t)
	o := w.mustRun(exitDone, "archive", "contoso", "--to", "kept")
	wants(t, o.stdout, "Tenant contoso is archived in ", "2 entities of homeacct/Strikes", "no consistent cut", "next", "tenantctl restore --from ")
	o = w.mustRun(exitDone, "archive", "--check", "kept", "--json")
	var checked archive.CheckReport
	decode(t, o.stdout, &checked)
	if checked.Entities != 2 || checked.Manifest.Tenant != "contoso" || checked.Manifest.Key != "Contoso Air*" || checked.Manifest.Tool != "tenantctl 0.0.0-test" || len(checked.Faults) != 0 {
		t.Errorf("%+v", checked)
	}
	eachLineIsJSON(t, o.stderr)

	w.mustRun(exitDone, "migrate", "contoso", "--to", "own-table")
	o = w.mustRun(exitDone, "restore", "--from", "kept") // identical already
	wants(t, o.stdout, "homeacct/Strikescontoso: 0 inserted, 2 there already, of 2 entities")
	w.clear("Strikescontoso")
	o = w.mustRun(exitDone, "restore", "--from", "kept", "--json")
	var result restoreResult
	decode(t, o.stdout, &result)
	if len(result.Tables) != 1 || result.Tables[0].Inserted != 2 || result.Tables[0].Table != "Strikescontoso" {
		t.Errorf("%+v", result)
	}
	eachLineIsJSON(t, o.stderr)
	w.mustRun(exitDone, "verify", "contoso")

	// Into another tenant's place, and to a table that is nobody's.
	w.tenant("clone", "")
	wants(t, w.mustRun(exitDone, "restore", "--from", "kept", "--tenant", "clone").stdout, "homeacct/Strikes: 2 inserted")
	wants(t, w.mustRun(exitDone, "restore", "--from", "kept", "--to-table", "strikes=premium/Look").stdout, "premiumacct/Look: 2 inserted")
	wants(t, w.mustRun(exitDone, "restore", "--from", "kept", "--to-table", "strikes=premium/Look").stdout, "premiumacct/Look: 0 inserted, 2 there already")
}

func TestRestoreRefusesWhatItMustNotTouch(t *testing.T) {
	w := importStrikes(t)
	w.mustRun(exitDone, "archive", "contoso", "--to", "kept")
	before := w.count("Strikes")
	for _, c := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"--tenant", "fabrikam"}, exitDifferences, "is not empty, and not what the archive holds"},
		{[]string{"--tenant", "nobody"}, exitError, "declare it, name another with --tenant"},
		{[]string{"--to-table", "strikes=Strikes"}, exitError, `tenant "contoso" has a claim there`},
		{[]string{"--to-table", "strikes=TenantCatalog"}, exitError, "it is the catalog"},
		{[]string{"--to-table", "strikes=x"}, exitUsage, "--to-table strikes=x"},
		{[]string{"--to-table", "orders=Look"}, exitError, `has no logical table "orders"`},
		{[]string{"--to-table", "strikes=elsewhere/Look"}, exitUsage, `account "elsewhere" is not configured`},
		{[]string{"--to-table", "strikes=Look", "--tenant", "fabrikam"}, exitUsage, "exclude each other"},
	} {
		o := w.runBoth(append([]string{"restore", "--from", "kept"}, c.args...)...)
		if o.code != c.code || !strings.Contains(o.stderr, c.want) {
			t.Errorf("%q ended with %d: %s", c.args, o.code, o.stderr)
		}
	}
	wants(t, w.mustRun(exitError, "restore", "--from", "nothing").stderr, "there is no archive")
	w.mustRun(exitUsage, "restore")
	if n := w.count("Strikes"); n != before {
		t.Errorf("%d entities, there were %d", n, before)
	}
	_, exists, err := w.accounts.Home().TableExists(t.Context(), "Look")
	if err != nil || exists {
		t.Errorf("a refused restore created a table: %v", err)
	}
	found, err := filepath.Glob("kept/strikes-*")
	must(t, err)
	must(t, os.Truncate(found[0], 30))
	wants(t, w.mustRun(exitDifferences, "restore", "--from", "kept").stderr, "is damaged: strikes-000000.ndjson.gz: it was truncated")
	o := w.mustRun(exitDifferences, "archive", "--check", "kept")
	wants(t, o.stdout, "is damaged", "strikes-000000.ndjson.gz: it was truncated: 30 of")
}

func TestArchiveRefusals(t *testing.T) {
	w := importStrikes(t)
	must(t, os.Mkdir("taken", 0o700))
	must(t, os.WriteFile("taken/letter", nil, 0o600))
	for _, c := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"contoso"}, exitUsage, "give --to PLACE"},
		{[]string{"--to", "x"}, exitUsage, "name the TENANT"},
		{[]string{"contoso", "--check", "x"}, exitUsage, "neither TENANT nor --to"},
		{[]string{"contoso", "--to", "taken"}, exitError, `holds "letter"`},
		{[]string{"nobody", "--to", "x"}, exitError, "nobody"},
		{[]string{"contoso", "--to", "https://homeacct.blob.core.windows.net/c?sig=SECRET"}, exitUsage, "without a SAS"},
		{[]string{"contoso", "--to", "https://elsewhere.blob.core.windows.net/c"}, exitUsage, "storage account elsewhere is not configured"},
	} {
		o := w.runBoth(append([]string{"archive"}, c.args...)...)
		if o.code != c.code || !strings.Contains(o.stderr, c.want) || strings.Contains(o.stderr, "SECRET") {
			t.Errorf("%q ended with %d: %s", c.args, o.code, o.stderr)
		}
	}
	if _, err := os.Stat("x"); err == nil {
		t.Error("a refused archive left a folder")
	}
}

func TestPurgeMustBeToldOfTheArchiveAndTwiceWithinTheReverseWindow(t *testing.T) {
	w := importStrikes(t)
	w.mustRun(exitDone, "migrate", "contoso", "--to", "own-table", "--reverse-window", "24h")
	for _, c := range []struct {
		args []string
		code int
		want string
	}{
		{nil, exitUsage, "--no-archive"},
		{[]string{"--no-archive", "--archive", "purged"}, exitUsage, "exclude each other"},
		{[]string{"--archive", "purged", "--now", "fabrikam"}, exitUsage, "--now fabrikam is not the tenant"},
		{[]string{"--archive", "purged"}, exitError, "is kept until "},
	} {
		o := w.runBoth(append([]string{"purge", "contoso"}, c.args...)...)
		if o.code != c.code || !strings.Contains(o.stderr, c.want) {
			t.Errorf("%q ended with %d: %s", c.args, o.code, o.stderr)
		}
	}
	o := w.mustRun(exitDone, "purge", "contoso", "--archive", "purged", "--now", "contoso", "--json")
	var report migration.Report
	decode(t, o.stdout, &report)
	if report.Purged != 2 || filepath.Base(report.Archive) != report.Migration {
		t.Errorf("%+v", report)
	}
	wants(t, w.mustRun(exitDone, "archive", "--check", report.Archive).stdout, "sealed: the source of a move")
	w.clear("Strikescontoso")
	wants(t, w.mustRun(exitDone, "restore", "--from", report.Archive).stdout, "homeacct/Strikescontoso: 2 inserted")
}

// An archive that spans a move would hold a part of each place.
func TestArchiveOfATenantThatMovesAwayMeanwhileIsNone(t *testing.T) {
	w := importStrikes(t)
	rec, err := w.catalog.Tenant(t.Context(), "contoso")
	must(t, err)
	s := services{accounts: w.accounts, catalog: w.catalog}
	sources, err := s.sources(t.Context(), rec)
	must(t, err)
	w.mustRun(exitDone, "migrate", "contoso", "--to", "own-table")
	_, err = archive.Write(t.Context(), archive.NewFolder("kept"), archive.Manifest{}, sources, migration.Discard)
	if err == nil || !strings.Contains(err.Error(), "has moved") {
		t.Errorf("got %v", err)
	}
	if _, err := archive.Open(t.Context(), archive.NewFolder("kept")); err == nil {
		t.Error("there is an archive")
	}
}

// A tenant that came to be bound to a migration is not restored into: the move would leave a part behind.
func TestRestoreStopsWhenTheTenantBeginsToMove(t *testing.T) {
	w := importStrikes(t)
	w.mustRun(exitDone, "archive", "contoso", "--to", "kept")
	w.clear("Strikes")
	a, err := archive.Open(t.Context(), archive.NewFolder("kept"))
	must(t, err)
	plan, err := services{accounts: w.accounts, catalog: w.catalog}.restoreToTenant(t.Context(), a, "contoso")
	must(t, err)
	rec, err := w.catalog.Tenant(t.Context(), "contoso")
	must(t, err)
	rec.Migration = "contoso-000002"
	_, err = w.catalog.UpdateTenant(t.Context(), rec)
	must(t, err)
	if _, err := a.Restore(t.Context(), plan.targets, plan.still, migration.Discard); err == nil || !strings.Contains(err.Error(), "migration contoso-000002 is under way") {
		t.Errorf("got %v", err)
	}
	if n := w.count("Strikes"); n != 0 {
		t.Errorf("%d entities were written", n)
	}
}
