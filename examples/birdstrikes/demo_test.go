// Package birdstrikes_test runs the demonstration as a user would and looks at what it left with clients that are not ours.
package birdstrikes_test

import (
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/data/aztables"
	"github.com/google/go-cmp/cmp"

	"github.com/aztenancy/terraform-provider-aztenancy/internal/acctest"
)

func TestDemonstrationMovesTwoAirlinesAndKeepsEveryRecord(t *testing.T) {
	if testing.Short() {
		t.Skip("runs the programs and Terraform")
	}
	terraform := acctest.Terraform(t)
	root := acctest.ModuleRoot(t)
	build := exec.CommandContext(t.Context(), "make", "-s", "build")
	build.Dir = root
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("make build: %v\n%s", err, out)
	}
	folder := t.TempDir()
	demo := exec.CommandContext(t.Context(), "./demo.sh", folder)
	demo.Env = append(terraform.Env, "TF_BIN="+terraform.Path)
	demo.WaitDelay = 10 * time.Second
	out, err := demo.CombinedOutput()
	if err != nil {
		t.Fatalf("demo.sh: %v\n%s", err, out)
	}
	for _, want := range []string{
		`Apply complete! Resources: 52 added, 0 changed, 0 destroyed.`, // a table, 3 models, 2 policies, 46 tenants
		`airlines = 46`,
		`written         10,000 (10,000 inserted, 0 replaced)`,
		`24 rows equal to an earlier one`,
		`2,836 empty or null`,
		`Apply complete! Resources: 0 added, 1 changed, 0 destroyed.`,
		`Tenant united-airlines moved from pool to own-account.`,
		`Tenant us-airways: source and target are equal.`,
		`equal      1,084 entities`,
		`Tenant united-airlines: source and target are equal.`,
		`equal      534 entities`,
		`No changes.`,
		`46 tenants, 10,000 entities`,
	} {
		if !strings.Contains(string(out), want) {
			t.Errorf("the demonstration did not print %q", want)
		}
	}
	if t.Failed() {
		t.Fatalf("it printed:\n%s", out)
	}
	assertNoSecretIn(t, folder, out)

	s := startServer(t, root, folder)
	t.Run("an independent client finds every record where the catalog says", func(t *testing.T) {
		s.assertEveryRecord(t)
	})
	t.Run("a move killed again and again finishes when run again", func(t *testing.T) {
		s.killMoves(t, "american-airlines", "own-account", "--account", "premium")
		s.assertEveryRecord(t)
	})
	t.Run("a purge killed again and again finishes and takes nothing else", func(t *testing.T) {
		archives := t.TempDir()
		s.killUntilDone(t, 5*time.Millisecond, "purge", "american-airlines", "--archive", archives)
		made, err := filepath.Glob(filepath.Join(archives, "american-airlines-*"))
		if err != nil || len(made) != 1 {
			t.Fatalf("archives %q, %v", made, err)
		}
		if out, err := s.tenantctl(t.Context(), "archive", "--check", made[0]).CombinedOutput(); err != nil {
			t.Errorf("the archive of the purged source: %v\n%s", err, out)
		}
		s.assertEveryRecord(t)
		if n := len(s.read(t, "birdshome", "Strikes").of("AMERICAN AIRLINES|")); n != 0 {
			t.Errorf("%d entities of the purged airline are still in the shared table", n)
		}
	})
}

// assertNoSecretIn looks for the account keys in what was printed and in every file but the one that is for them.
func assertNoSecretIn(t *testing.T, folder string, printed []byte) {
	t.Helper()
	accounts, err := os.ReadFile(filepath.Join(folder, "accounts.hcl"))
	if err != nil {
		t.Fatal(err)
	}
	keys := regexp.MustCompile(`AccountKey=([^;]+)`).FindAllStringSubmatch(string(accounts), -1)
	if len(keys) != 2 {
		t.Fatalf("found %d account keys in accounts.hcl, want 2", len(keys))
	}
	files, err := filepath.Glob(filepath.Join(folder, "*"))
	if err != nil {
		t.Fatal(err)
	}
	texts := map[string]string{"the output": string(printed)}
	for _, file := range files {
		switch filepath.Base(file) {
		case "accounts.hcl", "server.out", "data", "terraform", ".terraform":
			continue
		}
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		texts[filepath.Base(file)] = string(text)
	}
	if _, ok := texts["terraform.tfstate"]; !ok {
		t.Fatal("no terraform.tfstate to search")
	}
	for name, text := range texts {
		for _, key := range keys {
			if strings.Contains(text, key[1]) {
				t.Errorf("an account key stands in %s", name)
			}
		}
	}
}

// server is a tableserver on the data that the demonstration left.
type server struct {
	bin, config string
	connection  map[string]string // by account
}

func startServer(t *testing.T, root, folder string) *server {
	t.Helper()
	s := &server{bin: filepath.Join(root, "bin"), config: filepath.Join(folder, "again.hcl"), connection: map[string]string{}}
	cmd := exec.CommandContext(t.Context(), filepath.Join(s.bin, "tableserver"), "--listen", "127.0.0.1:0", "--data",
		filepath.Join(folder, "data"), "--account", "birdshome", "--account", "birdspremium", "--print-connection-strings")
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	for len(s.connection) < 2 {
		var account, endpoint, connection string
		if _, err := fmt.Fscanf(stdout, "account name=%s endpoint=%s connection_string=%s\n", &account, &endpoint, &connection); err == nil {
			s.connection[account] = connection
		} else if t.Context().Err() != nil {
			t.Fatal("tableserver did not say where it is")
		}
	}
	config := fmt.Sprintf("connection_string = %q\naccounts = { premium = { connection_string = %q } }\n",
		s.connection["birdshome"], s.connection["birdspremium"])
	if err := os.WriteFile(s.config, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	return s
}

func (s *server) tenantctl(ctx context.Context, args ...string) *exec.Cmd {
	return exec.CommandContext(ctx, filepath.Join(s.bin, "tenantctl"), append(args, "--config", s.config)...)
}

// assertEveryRecord compares what an independent client finds at each tenant's place with the file.
func (s *server) assertEveryRecord(t *testing.T) {
	t.Helper()
	want := wantedRecords(t)
	out, err := s.tenantctl(t.Context(), "tenants", "--json").Output()
	if err != nil {
		t.Fatalf("tenantctl tenants: %v", err)
	}
	var listed struct {
		Tenants []struct {
			Key    string
			Model  string
			Tables map[string]struct{ Storage, Table string }
		}
	}
	if err := json.Unmarshal(out, &listed); err != nil {
		t.Fatal(err)
	}
	separator := map[string]string{"pool": "|", "own-table": "", "own-account": "|"}
	tables := map[string]contents{}
	total := 0
	for _, tenant := range listed.Tenants {
		place := tenant.Tables["strikes"]
		name := place.Storage + "/" + place.Table
		if _, ok := tables[name]; !ok {
			tables[name] = s.read(t, place.Storage, place.Table)
		}
		got := tables[name].of(tenant.Key + separator[tenant.Model])
		total += len(got)
		if diff := cmp.Diff(want[tenant.Key], got); diff != "" {
			t.Errorf("%s in %s/%s differs from the file (-want +got):\n%.2000s", tenant.Key, place.Storage, place.Table, diff)
		}
	}
	if len(listed.Tenants) != 46 || total != 10_000 {
		t.Errorf("found %d records of %d tenants, want 10000 of 46", total, len(listed.Tenants))
	}
}

// contents are the records of a table by PartitionKey, each as one sorted text of names, types and values.
type contents map[string][]string

// of returns the records whose PartitionKey begins with prefix.
func (c contents) of(prefix string) []string {
	var records []string
	for partition, of := range c {
		if strings.HasPrefix(partition, prefix) {
			records = append(records, of...)
		}
	}
	slices.Sort(records)
	return records
}

// read reads a whole table with the Go SDK's client.
func (s *server) read(t *testing.T, account, table string) contents {
	t.Helper()
	service, err := aztables.NewServiceClientFromConnectionString(s.connection[account], nil)
	if err != nil {
		t.Fatal(err)
	}
	found := contents{}
	for pager := service.NewClient(table).NewListEntitiesPager(nil); pager.More(); {
		page, err := pager.NextPage(t.Context())
		if err != nil {
			t.Fatalf("read %s/%s: %v", account, table, err)
		}
		for _, raw := range page.Entities {
			var entity aztables.EDMEntity
			if err := json.Unmarshal(raw, &entity); err != nil {
				t.Fatal(err)
			}
			record := map[string]string{}
			for name, value := range entity.Properties {
				record[name] = recordText(t, value)
			}
			found[entity.PartitionKey] = append(found[entity.PartitionKey], oneText(record))
		}
	}
	return found
}

func recordText(t *testing.T, value any) string {
	t.Helper()
	switch v := value.(type) {
	case string:
		return "String " + v
	case int32:
		return fmt.Sprint("Int32 ", v)
	case aztables.EDMInt64:
		return fmt.Sprint("Int64 ", int64(v))
	case aztables.EDMDateTime:
		return "DateTime " + time.Time(v).UTC().Format(time.RFC3339Nano)
	default:
		t.Fatalf("a property of type %T", value)
		return ""
	}
}

func oneText(record map[string]string) string {
	var text strings.Builder
	for _, name := range slices.Sorted(maps.Keys(record)) {
		fmt.Fprintf(&text, "%s=%s\n", name, record[name])
	}
	return text.String()
}

// properties says what a team would want each column of the file to be.
var properties = map[string]struct{ name, typ string }{
	"Airport Name":              {"AirportName", "String"},
	"Aircraft Make Model":       {"AircraftMakeModel", "String"},
	"Effect Amount of damage":   {"EffectAmountOfDamage", "String"},
	"Flight Date":               {"FlightDate", "DateTime"},
	"Aircraft Airline Operator": {"AircraftAirlineOperator", "String"},
	"Origin State":              {"OriginState", "String"},
	"Phase of flight":           {"PhaseOfFlight", "String"},
	"Wildlife Size":             {"WildlifeSize", "String"},
	"Wildlife Species":          {"WildlifeSpecies", "String"},
	"Time of day":               {"TimeOfDay", "String"},
	"Cost Other":                {"CostOther", "Int32"},
	"Cost Repair":               {"CostRepair", "Int32"},
	"Cost Total $":              {"CostTotal", "Int32"},
	"Speed IAS in knots":        {"SpeedIASInKnots", "Int32"},
}

// wantedRecords reads the file on its own: the records of each airline as read returns them.
func wantedRecords(t *testing.T) map[string][]string {
	t.Helper()
	file, err := os.Open("strikes.csv")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	rows, err := csv.NewReader(file).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	records := map[string][]string{}
	for _, row := range rows[1:] {
		record, airline := map[string]string{}, ""
		for i, column := range rows[0] {
			if column == "Aircraft Airline Operator" {
				airline = row[i]
			}
			if row[i] == "" {
				continue
			}
			p := properties[column]
			text := row[i]
			if p.typ == "DateTime" {
				text += "T00:00:00Z"
			}
			record[p.name] = p.typ + " " + text
		}
		records[airline] = append(records[airline], oneText(record))
	}
	for _, of := range records {
		slices.Sort(of)
	}
	return records
}

// killMoves kills a move at moments that get later and later, until one run ends by itself.
func (s *server) killMoves(t *testing.T, tenant, model string, more ...string) {
	t.Helper()
	s.killUntilDone(t, 20*time.Millisecond, append([]string{"migrate", tenant, "--to", model}, more...)...)
	out, err := s.tenantctl(t.Context(), "verify", tenant).CombinedOutput()
	if err != nil {
		t.Fatalf("verify %s: %v\n%s", tenant, err, out)
	}
}

// killUntilDone runs a command again and again, each time killed a little later than before, until it has done its work.
func (s *server) killUntilDone(t *testing.T, step time.Duration, args ...string) {
	t.Helper()
	kills := 0
	for delay := step; ; delay += delay / 4 {
		ctx, cancel := context.WithTimeout(t.Context(), delay)
		out, err := s.tenantctl(ctx, args...).CombinedOutput()
		killed := ctx.Err() != nil
		cancel()
		switch {
		case err == nil && kills == 0:
			t.Fatalf("%v finished before it could be killed", args)
		case err == nil:
			t.Logf("%v: done after %d kills", args, kills)
			return
		case killed && delay < time.Minute:
			kills++
		default:
			var exit *exec.ExitError
			if errors.As(err, &exit) && exit.ExitCode() == exitNothingToDo && kills > 0 {
				t.Logf("%v: done by a run that was killed while it reported, after %d kills", args, kills)
				return
			}
			t.Fatalf("%v: %v after %d kills\n%s", args, err, kills, out)
		}
	}
}

// exitNothingToDo is tenantctl's exit status when what was asked for is already so.
const exitNothingToDo = 9
