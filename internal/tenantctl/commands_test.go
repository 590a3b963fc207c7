package tenantctl

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/aztenancy/terraform-provider-aztenancy/internal/edm"
	"github.com/aztenancy/terraform-provider-aztenancy/internal/ingest"
	"github.com/aztenancy/terraform-provider-aztenancy/internal/migration"
	"github.com/aztenancy/terraform-provider-aztenancy/internal/tablestorage"
)

const tenantColumn = "Aircraft Airline Operator"

func importStrikes(t *testing.T) *world {
	t.Helper()
	w := newWorld(t)
	w.tenant("contoso", "Contoso Air*")
	w.tenant("fabrikam", "Fabrikam Air")
	w.file("strikes.csv", strikes)
	w.mustRun(exitDone, "import", "--file", "strikes.csv", "--table", "strikes", "--tenant-column", tenantColumn)
	return w
}

func TestEveryExampleWorksAsItStands(t *testing.T) {
	w := newWorld(t)
	w.tenant("contoso", "Contoso Air*")
	w.tenant("fabrikam", "Fabrikam Air")
	w.file("strikes.csv", strikes)
	// In the order of a tenant's life; abort comes when there is nothing left to undo.
	for _, step := range []struct {
		name string
		code int
	}{
		{"import", exitDone}, {"tenants", exitDone}, {"plan", exitDone}, {"migrate", exitDone}, {"verify", exitDone},
		{"status", exitDone}, {"archive", exitDone}, {"restore", exitDone}, {"purge", exitDone}, {"abort", exitNothingToDo}, {"version", exitDone},
	} {
		cmd := commandNamed(t, step.name)
		words := shellWords(t, cmd.Example)
		if words[0] != "tenantctl" || words[1] != step.name {
			t.Errorf("the example of %s is %q", step.name, cmd.Example)
		}
		if o := w.run(words[1:]...); o.code != step.code {
			t.Fatalf("%s ended with %d, want %d:\n%s%s", cmd.Example, o.code, step.code, o.stdout, o.stderr)
		}
	}
}

// commandNamed returns a command of the tree.
func commandNamed(t *testing.T, name string) *cobra.Command {
	t.Helper()
	for _, cmd := range newRootCommand(&environment{}).Commands() {
		if cmd.Name() == name {
			return cmd
		}
	}
	t.Fatalf("no command %s", name)
	return nil
}

// shellWords splits an example at spaces, but for those in quotes.
func shellWords(t *testing.T, s string) []string {
	t.Helper()
	var words []string
	for i, part := range strings.Split(strings.TrimSpace(s), `"`) {
		if i%2 == 1 {
			words = append(words, part)
		} else {
			words = append(words, strings.Fields(part)...)
		}
	}
	return words
}

func TestImportSaysWhatItDid(t *testing.T) {
	w := newWorld(t)
	w.tenant("contoso", "Contoso Air*")
	w.tenant("fabrikam", "Fabrikam Air")
	w.file("strikes.csv", strikes)
	args := []string{"import", "--file", "strikes.csv", "--table", "strikes", "--tenant-column", tenantColumn}
	o := w.mustRun(exitDone, args...)
	wants(t, o.stdout, "Cost Total $               CostTotal                Int32          0",
		"Speed IAS in knots         SpeedIASInKnots          Int32          1", "FlightDate",
		"contoso   Contoso Air*  home/Strikes     2         2         0          0",
		"written         4 (4 inserted, 0 replaced)", "duplicates      1 row equal to an earlier one; kept", "absent values   1 ")
	o = w.mustRun(exitDone, args...)
	wants(t, o.stdout, "unchanged       4 were there already", "written         0 (0 inserted, 0 replaced)")

	o = w.mustRun(exitDone, append(args, "--json")...)
	var report ingest.Report
	decode(t, o.stdout, &report)
	if report.Read != 4 || report.Unchanged != 4 || !report.Complete || report.Columns[3].Property != "CostTotal" {
		t.Errorf("report %+v", report)
	}
	eachLineIsJSON(t, o.stderr)
}

func TestImportReadsStandardInput(t *testing.T) {
	w := newWorld(t)
	w.tenant("contoso", "")
	environ := map[string]string{"AZTENANCY_CONNECTION_STRING": w.server.ConnectionString("homeacct")}
	o := w.runWith(t.Context(), environ, `{"who":"contoso","n":1}`+"\n"+`{"who":"contoso","n":"2"}`, "import", "--file", "-", "--format", "ndjson",
		"--table", "strikes", "--tenant-column", "who", "--row-key-column", "n", "--type", "n=Int64", "--rename", "who=Customer")
	if o.code != exitDone {
		t.Fatal(o)
	}
	wants(t, o.stdout, "Customer", "Int64 (declared)", "2 (2 inserted", `row keys        of the columns "n"`)
}

// decode reads the one JSON object of a result.
func decode[T any](t *testing.T, s string, v *T) {
	t.Helper()
	d := json.NewDecoder(strings.NewReader(s))
	d.DisallowUnknownFields()
	if err := d.Decode(v); err != nil {
		t.Fatalf("%v in %s", err, s)
	}
	if d.More() {
		t.Errorf("more than one object in %s", s)
	}
}

func eachLineIsJSON(t *testing.T, s string) {
	t.Helper()
	for line := range strings.Lines(s) {
		if !json.Valid([]byte(line)) {
			t.Errorf("no JSON: %s", line)
		}
	}
}

func TestTenantsAreListedWithTheirPlaceAndCounted(t *testing.T) {
	w := importStrikes(t)
	o := w.mustRun(exitDone, "tenants", "--count")
	wants(t, o.stdout, "TENANT    KEY           MODEL  STATE   EPOCH  TABLES                ENTITIES",
		"contoso   Contoso Air*  pool   active", "strikes=home/Strikes         2", "2 tenants, 4 entities")
	var result tenantsResult
	decode(t, w.mustRun(exitDone, "tenants", "--json").stdout, &result)
	if len(result.Tenants) != 2 || result.Tenants[0].Tables["strikes"].Storage != "homeacct" || result.Entities != nil {
		t.Errorf("result %+v", result)
	}
	decode(t, w.mustRun(exitDone, "tenants", "--count", "--json").stdout, &result)
	if *result.Entities != 4 || *result.Tenants[0].Tables["strikes"].Entities != 2 {
		t.Errorf("result %+v", result)
	}
}

func TestATenantMovesFromTheCommandLine(t *testing.T) {
	w := importStrikes(t)
	to := []string{"--to", "own-account", "--account", "premium"}
	o := w.mustRun(exitDone, append([]string{"plan", "fabrikam"}, to...)...)
	wants(t, o.stdout, "Tenant fabrikam can move from pool to own-account. Nothing was changed.", "home/Strikes (homeacct) -> premium/Strikesfabrikam (premiumacct)",
		"next", "tenantctl migrate fabrikam --to own-account --account premium")
	var plan migration.Plan
	decode(t, w.mustRun(exitDone, append([]string{"plan", "fabrikam", "--json"}, to...)...).stdout, &plan)
	if plan.Entities != 2 {
		t.Errorf("plan %+v", plan)
	}
	o = w.mustRun(exitDone, append([]string{"migrate", "fabrikam"}, to...)...)
	wants(t, o.stdout, "Tenant fabrikam moved from pool to own-account.", "2 equal", "tenantctl purge fabrikam")
	o = w.mustRun(exitNothingToDo, append([]string{"migrate", "fabrikam"}, to...)...)
	wants(t, o.stdout, "Tenant fabrikam moved from pool to own-account.")
	wants(t, o.stderr, "nothing to do")
	var verified migration.VerifyReport
	decode(t, w.mustRun(exitDone, "verify", "fabrikam", "--json").stdout, &verified)
	if verified.Result != migration.ResultEqual || verified.Equal != 2 {
		t.Errorf("verification %+v", verified)
	}
	o = w.mustRun(exitDone, "status", "fabrikam")
	wants(t, o.stdout, "Tenant fabrikam is active, in model own-account", "premium/Strikesfabrikam (premiumacct)", "from pool to own-account")
	var report migration.Report
	decode(t, w.mustRun(exitDone, "purge", "fabrikam", "--no-archive", "--json").stdout, &report)
	if report.Purged != 2 {
		t.Errorf("report %+v", report)
	}
	w.mustRun(exitNothingToDo, "purge", "fabrikam", "--no-archive")
	wants(t, w.mustRun(exitDone, "tenants", "--count").stdout, "premium/Strikesfabrikam")
	wants(t, w.mustRun(exitDone, "status").stdout, "No tenant is moving.")
}

func TestADifferenceEndsWithItsOwnStatus(t *testing.T) {
	w := importStrikes(t)
	w.mustRun(exitDone, "migrate", "contoso", "--to", "own-table")
	table := w.accounts.Home().Table("Strikescontoso")
	rec, err := w.catalog.Tenant(t.Context(), "contoso")
	must(t, err)
	w.mustRun(exitDone, "verify", "contoso")
	place := rec.Placement["strikes"]
	var entities []*edm.Entity
	for e, err := range table.Query(t.Context(), tablestorage.Query{Range: &place.Range}) {
		must(t, err)
		entities = append(entities, e)
	}
	entities[0].Remove("AirportName")
	_, err = table.UpsertReplace(t.Context(), entities[0])
	must(t, err)
	wants(t, w.mustRun(exitDone, "verify", "contoso").stdout, "source and target are equal", "1 entity written at the target after the switch")
	must(t, table.Delete(t.Context(), entities[1].Key(), tablestorage.AnyETag))
	wants(t, w.mustRun(exitDifferences, "verify", "contoso").stdout, "source and target are different", "1 in the source only", "is missing at the target")
	var verified migration.VerifyReport
	o := w.mustRun(exitDifferences, "verify", "contoso", "--json")
	decode(t, o.stdout, &verified)
	wants(t, o.stderr, `"exit_code":3`)
	if verified.Missing != 1 || verified.SinceSwitch != 1 {
		t.Errorf("verification %+v", verified)
	}
}

func TestWhatCannotBeComparedIsNotCalledEqual(t *testing.T) {
	w := importStrikes(t)
	o := w.mustRun(exitError, "verify", "contoso")
	wants(t, o.stdout, "source and target are unverified")
	wants(t, o.stderr, "no migration of this tenant still has its source")
}

func TestAMoveUnderWayIsListedAndUndone(t *testing.T) {
	w := importStrikes(t)
	ctx, cancel := context.WithCancel(t.Context())
	w.server.Wrap(func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
			if strings.HasSuffix(r.URL.Path, "$batch") && strings.Contains(r.URL.Path, "premiumacct") {
				cancel()
			}
			next.ServeHTTP(rw, r)
		})
	})
	o := w.runWith(ctx, nil, "", "migrate", "contoso", "--to", "own-account", "--account", "premium", "--config", "accounts.hcl")
	if o.code != exitInterrupted {
		t.Fatalf("ended with %d\n%s%s", o.code, o.stdout, o.stderr)
	}
	wants(t, o.stderr, "stopping at a safe point", "tenantctl migrate contoso --to own-account")
	wants(t, w.mustRun(exitDone, "status").stdout, "contoso", "own-account")
	var running runningResult
	decode(t, w.mustRun(exitDone, "status", "--json").stdout, &running)
	if len(running.Migrations) != 1 || running.Migrations[0].Tenant != "contoso" {
		t.Errorf("running %+v", running)
	}
	w.mustRun(exitDone, "import", "--file", "strikes.csv", "--table", "strikes", "--tenant-column", tenantColumn) // it is written as ever
	wants(t, w.mustRun(exitNothingToDo, "release", "contoso").stderr, "does not hold")
	w.mustRun(exitDone, "abort", "contoso")
	w.mustRun(exitNothingToDo, "abort", "contoso")
	wants(t, w.mustRun(exitDone, "status", "contoso").stdout, "Tenant contoso is active, in model pool")
}

func TestBadInputEndsWithOneClearError(t *testing.T) {
	w := importStrikes(t)
	w.file("bad.csv", "tenant,n\ncontoso,1\n,2\n")
	w.file("wrongkey.hcl", "account_name = \"homeacct\"\nendpoint = \""+w.server.Endpoint+"/homeacct\"\naccount_key = \"d3Jvbmcga2V5\"\n")
	imports := []string{"import", "--table", "strikes", "--tenant-column", "tenant", "--file"}
	const noSuchTenant = `tenantctl: find tenant "nobody": there is no such tenant in the catalog. tenantctl tenants lists those that there are`
	cases := []struct {
		args []string
		code int
		want string
	}{
		{[]string{"nonsense"}, exitUsage, `unknown command "nonsense"`},
		{[]string{"plan"}, exitUsage, "name the TENANT; see: tenantctl plan -h"},
		{[]string{"plan", "a", "b", "--to", "x"}, exitUsage, "one TENANT at a time"},
		{[]string{"plan", "contoso"}, exitUsage, "give --to MODEL; see: tenantctl plan -h"},
		{[]string{"plan", "contoso", "--too", "x"}, exitUsage, "unknown flag: --too"},
		{[]string{"plan", "nobody", "--to", "own-table"}, exitError, "nobody"},
		{[]string{"plan", "contoso", "--to", "nothing"}, exitError, "nothing"},
		{[]string{"plan", "contoso", "--to", "own-account", "--account", "nowhere"}, exitError, "nowhere"},
		{[]string{"migrate", "nobody", "--to", "own-table"}, exitError, noSuchTenant},
		{[]string{"status", "nobody"}, exitError, noSuchTenant},
		{[]string{"verify", "nobody"}, exitError, noSuchTenant},
		{[]string{"purge", "nobody", "--no-archive"}, exitError, noSuchTenant},
		{[]string{"abort", "nobody"}, exitError, noSuchTenant},
		{append(imports, "bad.csv"), exitError, `bad.csv:3: column "tenant": the row names no tenant`},
		{append(imports, "missing.csv"), exitError, "missing.csv"},
		{append(imports, "bad.txt"), exitUsage, "--format"},
		{append(imports, "-"), exitUsage, "--format"},
		{append(imports, "bad.csv", "--format", "xml"), exitUsage, "--format xml"},
		{append(imports, "bad.csv", "--type", "n=Number"), exitUsage, `"Number" is no property type`},
		{append(imports, "bad.csv", "--type", "n"), exitUsage, "write COLUMN=NAME"},
		{append(imports, "bad.csv", "--type", "m=Int32"), exitUsage, `the file has no column "m"`},
		{append(imports, "bad.csv", "--unknown-tenant", "drop"), exitUsage, "it is fail or skip"},
		{append(imports, "bad.csv", "--delimiter", ";;"), exitUsage, "it is one character"},
		{append(imports, "bad.csv", "--writers", "0"), exitUsage, "it is a number from 1 to 64"},
	}
	for _, c := range cases {
		o := w.mustRun(c.code, c.args...)
		wants(t, o.stderr, c.want)
		if o.stdout != "" || strings.Count(o.stderr, "tenantctl: ") != 1 {
			t.Errorf("%q wrote\n%s\n%s", c.args, o.stdout, o.stderr)
		}
		j := w.mustRun(c.code, append(c.args, "--json")...)
		eachLineIsJSON(t, j.stderr)
		wants(t, j.stderr, `"type":"error"`, `"exit_code":`)
	}
	o := w.run("tenants", "--config", "wrongkey.hcl")
	wants(t, o.stderr, "account key", "homeacct")
	if o.code != exitError {
		t.Errorf("a wrong key ended with %d", o.code)
	}
	w.runWith(t.Context(), nil, "", "tenants")
	assertNoSecrets(t, w)
}

func TestAnUnreachableEndpointIsTemporary(t *testing.T) {
	w := newWorld(t)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	must(t, listener.Close()) // a port at which nothing listens
	w.file("nowhere.hcl", fmt.Sprintf("account_name = \"homeacct\"\naccount_key = \"a2V5\"\nendpoint = \"http://%s/homeacct\"\n", listener.Addr()))
	o := w.run("tenants", "--config", "nowhere.hcl")
	if o.code != exitTemporary {
		t.Errorf("ended with %d", o.code)
	}
	wants(t, o.stderr, "nothing listens at "+listener.Addr().String())
}

func TestTheCauseDecidesTheExitStatus(t *testing.T) {
	canceled := fmt.Errorf("copy: %w", context.Canceled)
	busy := &tablestorage.Error{Status: 503}
	cases := []struct {
		err  error
		want int
	}{
		{nil, 0},
		{errors.New("x"), 1},
		{&migration.RefusedError{}, 1},
		{&migration.CollisionError{}, 3},
		{fmt.Errorf("verify: %w", migration.ErrUnverified), 1},
		{&tablestorage.Error{Status: 403}, 1},
		{&usageError{err: errors.New("x")}, 2},
		{&configError{errors.New("x")}, 2},
		{fmt.Errorf("x: %w", &ingest.UsageError{}), 2},
		{&incompleteError{&migration.DifferencesError{Verify: &migration.VerifyReport{}}}, 3},
		{&incompleteError{errors.New("x")}, 4},
		{&ingest.IncompleteError{Err: errors.New("x")}, 4},
		{migration.ErrLeaseLost, 4},
		{&incompleteError{fmt.Errorf("x: %w", busy)}, 5},
		{&migration.BusyError{}, 5},
		{fmt.Errorf("x: %w", tablestorage.ErrUnreachable), 5},
		{&migration.StragglersError{}, 6},
		{&freezeViolatedError{errors.New("x")}, 6},
		{fmt.Errorf("x: %w", migration.ErrNothingToDo), 9},
		{&ingest.IncompleteError{Err: canceled}, 130},
		{&incompleteError{&migration.InterruptedError{Cause: canceled}}, 130},
	}
	for _, c := range cases {
		if got := exitCode(c.err); got != c.want {
			t.Errorf("%T ended with %d, want %d", c.err, got, c.want)
		}
	}
}

func TestNoSecretIsWritten(t *testing.T) {
	w := importStrikes(t)
	for _, json := range [][]string{nil, {"--json"}} {
		for _, args := range [][]string{
			{"tenants", "--count"}, {"plan", "contoso", "--to", "own-table"}, {"migrate", "contoso", "--to", "own-table"},
			{"status", "contoso"}, {"status"}, {"verify", "contoso"}, {"purge", "contoso", "--no-archive"}, {"version"},
			{"import", "--file", "strikes.csv", "--table", "strikes", "--tenant-column", tenantColumn},
			{"plan", "contoso", "--to", "own-account", "--account", "nowhere"}, {"abort", "fabrikam"},
		} {
			w.runBoth(append(args, json...)...)
		}
	}
	w.server.Wrap(func(http.Handler) http.Handler { // every request fails from here on
		return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
			http.Error(rw, r.URL.String()+r.Header.Get("Authorization"), http.StatusForbidden)
		})
	})
	w.runBoth("tenants")
	w.runBoth("tenants", "--json")
	assertNoSecrets(t, w)
}

// assertNoSecrets looks for account keys and signatures in everything that was written.
func assertNoSecrets(t *testing.T, w *world) {
	t.Helper()
	text := w.outputs.String()
	if len(text) < 1000 {
		t.Errorf("only %d bytes were written", len(text))
	}
	for name, key := range w.server.Accounts {
		if strings.Contains(text, key) || strings.Contains(text, key[:20]) {
			t.Errorf("the key of %s was written", name)
		}
	}
	for _, secret := range []string{"AccountKey", "SharedAccessSignature=", "sig=", "d3Jvbmcga2V5"} {
		if strings.Contains(text, secret) {
			t.Errorf("%s was written", secret)
		}
	}
}

func TestVersionNamesTheBuild(t *testing.T) {
	w := newWorld(t)
	wants(t, w.mustRun(exitDone, "version").stdout, "tenantctl 0.0.0-test (go1.")
	var v versionResult
	decode(t, w.mustRun(exitDone, "version", "--json").stdout, &v)
	if v.Version != "0.0.0-test" {
		t.Errorf("version %+v", v)
	}
}

func TestAnEmptyCatalogSaysWhatToDo(t *testing.T) {
	w := newWorld(t)
	wants(t, w.mustRun(exitDone, "tenants").stdout, "Declare them with the Terraform resource aztenancy_tenant.")
	wants(t, w.mustRun(exitDone, "status").stdout, "No tenant is moving.")
	if _, err := w.catalog.Tenant(t.Context(), "contoso"); err == nil {
		t.Error("there is a tenant")
	}
}

func TestATableThatIsGoneKeepsNoOtherFromBeingCounted(t *testing.T) {
	w := importStrikes(t)
	w.mustRun(exitDone, "migrate", "contoso", "--to", "own-table")
	must(t, w.accounts.Home().DeleteTable(t.Context(), "Strikescontoso"))
	o := w.mustRun(exitError, "tenants", "--count")
	wants(t, o.stdout, "strikes=home/Strikescontoso   unknown", "strikes=home/Strikes                2", "2 tenants; not counted:", "contoso, strikes: ", "the table does not exist")
	wants(t, o.stderr, `count the entities of tenant "contoso": home/Strikescontoso (homeacct): `)
	var result tenantsResult
	decode(t, w.mustRun(exitError, "tenants", "--count", "--json").stdout, &result)
	gone, fine := result.Tenants[0], result.Tenants[1]
	if gone.Entities != nil || gone.Tables["strikes"].Error == "" || *fine.Entities != 2 || result.Entities != nil {
		t.Errorf("result %+v", result)
	}
}

func TestAFileWithoutRowsIsNotPassedOverSilently(t *testing.T) {
	w := newWorld(t)
	w.tenant("contoso", "contoso")
	w.file("empty.csv", "tenant,n\n")
	o := w.mustRun(exitNothingToDo, "import", "--file", "empty.csv", "--table", "strikes", "--tenant-column", "tenant")
	wants(t, o.stderr, "import empty.csv: the file has no rows, so nothing was written: nothing to do")
	wants(t, o.stdout, "tenant", "0 in empty.csv")
}
