package tenantctl

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/aztenancy/terraform-provider-aztenancy/internal/edm"
	"github.com/aztenancy/terraform-provider-aztenancy/internal/fleet"
	"github.com/aztenancy/terraform-provider-aztenancy/internal/tenancy"
)

// fleetWorld is a shared table with some tenants, each with some entities.
func fleetWorld(t *testing.T, tenants, entities int) *world {
	t.Helper()
	w := newWorld(t)
	scheme := tenancy.KeyScheme{Kind: tenancy.SchemeBucketed, Separator: "|", Buckets: 4}
	for i := range tenants {
		id := fmt.Sprintf("t%02d", i)
		w.tenant(id, id)
		for n := range entities {
			e := &edm.Entity{RowKey: fmt.Sprintf("%04d", n)}
			pk, err := scheme.PartitionKey(id, e)
			must(t, err)
			e.PartitionKey = pk
			e.Set("Of", edm.StringValue(id))
			_, err = w.accounts.Home().Table("Strikes").Insert(t.Context(), e)
			must(t, err)
		}
	}
	return w
}

func summaryOf(t *testing.T, stdout string) *fleet.Summary {
	t.Helper()
	s := &fleet.Summary{}
	if err := json.Unmarshal([]byte(stdout), s); err != nil {
		t.Fatalf("%v in %q", err, stdout)
	}
	return s
}

func statesOf(s *fleet.Summary) string {
	var b strings.Builder
	for _, m := range s.Moves {
		fmt.Fprintf(&b, "%s:%s ", m.TenantID, m.State)
	}
	return strings.TrimSpace(b.String())
}

func TestATableIsEvacuatedAndThenThereIsNothingToDo(t *testing.T) {
	w := fleetWorld(t, 3, 5)
	o := w.mustRun(exitDone, "evacuate", "--from", "home/strikes", "--to", "own-table", "--canary", "t01", "--max-per-table", "2")
	wants(t, o.stdout, "Evacuation homeacct.strikes is done: 3 of 3 tenants moved, 15 entities.", "tenantctl purge TENANT")
	wants(t, o.stderr, "Tenant t01: moved to own-table, 5 entities")
	if first := strings.Index(o.stderr, "moved to own-table"); !strings.HasSuffix(o.stderr[:first], "Tenant t01: ") {
		t.Errorf("the canary was not the first:\n%s", o.stderr)
	}
	tenants, err := w.catalog.Tenants(t.Context())
	must(t, err)
	for _, x := range tenants {
		if x.Model != "own-table" || x.State != tenancy.Active || x.Migration != "" {
			t.Errorf("tenant %s: model %s, %s, migration %q", x.ID, x.Model, x.State, x.Migration)
		}
	}
	w.mustRun(exitNothingToDo, "evacuate", "--from", "home/Strikes", "--to", "own-table")
	w.mustRun(exitNothingToDo, "work", "homeacct.strikes")
	w.mustRun(exitNothingToDo, "evacuate", "--from", "premium/Nothing", "--to", "own-table")
	o = w.mustRun(exitDone, "evacuate", "--status")
	wants(t, o.stdout, "homeacct.strikes  done")
	s := summaryOf(t, w.mustRun(exitDone, "evacuate", "--status", "homeacct.strikes", "--json").stdout)
	if s.State != fleet.Done || s.Moved != 3 || s.Frozen != 0 || s.Moves[0].Attempts != 1 {
		t.Errorf("status: %+v", s)
	}
}

func TestTheExamplesOfEvacuateAndWorkAreOneEvacuation(t *testing.T) {
	w := newWorld(t)
	w.tenant("contoso", "Contoso Air*")
	w.tenant("fabrikam", "Fabrikam Air")
	declare := shellWords(t, commandNamed(t, "evacuate").Example)[1:]
	w.mustRun(exitDone, append(declare, "--declare-only")...)
	w.mustRun(exitDone, shellWords(t, commandNamed(t, "work").Example)[1:]...)
	w.mustRun(exitNothingToDo, declare...)
}

func TestAnEvacuationStopsAfterAFailureAndGoesOnWhenItsCauseIsGone(t *testing.T) {
	w := fleetWorld(t, 4, 3)
	stranger := &edm.Entity{PartitionKey: "t01", RowKey: "0000"}
	_, err := w.accounts.Home().CreateTable(t.Context(), "Strikest01")
	must(t, err)
	_, err = w.accounts.Home().Table("Strikest01").Insert(t.Context(), stranger)
	must(t, err)
	command := []string{"evacuate", "--from", "home/Strikes", "--to", "own-table", "--parallel", "1"}
	o := w.mustRun(exitLimit, append(command, "--json")...)
	s := summaryOf(t, o.stdout)
	if got, want := statesOf(s), "t00:moved t01:failed t02:waiting t03:waiting"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	wants(t, s.Reason, "1 moves failed")
	wants(t, s.Moves[1].Error, "already holds entities")
	w.mustRun(exitLimit, "work", "homeacct.strikes")

	o = w.mustRun(exitLimit, append(command, "--max-failures", "2", "--json")...)
	if got, want := statesOf(summaryOf(t, o.stdout)), "t00:moved t01:failed t02:moved t03:moved"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	must(t, w.accounts.Home().Table("Strikest01").Delete(t.Context(), stranger.Key(), "*"))
	w.mustRun(exitDone, command...)
}

func TestAFailedCanaryKeepsAllOthersWhereTheyAre(t *testing.T) {
	w := fleetWorld(t, 3, 2)
	_, err := w.accounts.Home().CreateTable(t.Context(), "Strikest02")
	must(t, err)
	_, err = w.accounts.Home().Table("Strikest02").Insert(t.Context(), &edm.Entity{PartitionKey: "t02", RowKey: "x"})
	must(t, err)
	o := w.mustRun(exitLimit, "evacuate", "--from", "home/Strikes", "--to", "own-table", "--canary", "t02", "--max-failures", "3", "--json")
	if got, want := statesOf(summaryOf(t, o.stdout)), "t00:waiting t01:waiting t02:failed"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

func TestAPlanFileMovesEachTenantToItsOwnPlace(t *testing.T) {
	for name, plan := range map[string]string{
		"Big move.csv": "account,tenant,to\npremium,t01,own-account\n,t00,\n",
		"Big move.hcl": "tenant \"t01\" {\n  to = \"own-account\"\n  account = \"premium\"\n}\ntenant \"t00\" {}\n",
	} {
		t.Run(name, func(t *testing.T) {
			w := fleetWorld(t, 3, 2)
			w.file(name, plan)
			o := w.mustRun(exitDone, "evacuate", "--plan", name, "--to", "own-table", "--declare-only", "--json")
			s := summaryOf(t, o.stdout)
			if s.Name != "big-move" || s.State != fleet.Running || statesOf(s) != "t01:waiting t00:waiting" {
				t.Fatalf("declared: %+v", s)
			}
			o = w.mustRun(exitDone, "work", "big-move", "--json")
			s = summaryOf(t, o.stdout)
			var got []string
			tenants, err := w.catalog.Tenants(t.Context())
			must(t, err)
			for _, x := range tenants {
				got = append(got, x.ID+" "+x.Model+" "+x.Placement["strikes"].Account)
			}
			if d := cmp.Diff([]string{"t00 own-table home", "t01 own-account premium", "t02 pool home"}, got); d != "" || s.Moved != 2 {
				t.Errorf("%d moved; (-want +got):\n%s", s.Moved, d)
			}
		})
	}
}

func TestAnEvacuationThatCannotBeIsRefusedBeforeAnythingIsChanged(t *testing.T) {
	w := fleetWorld(t, 2, 1)
	w.file("twice.csv", "tenant,to\nt00,own-table\nt00,own-table\n")
	w.file("nobody.csv", "tenant,to\nt00,own-table\nnobody,own-table\n")
	w.file("model.csv", "tenant,to\nt00,nowhere\n")
	w.file("place.csv", "tenant,to,account\nt00,own-account,elsewhere\n")
	w.file("noto.csv", "tenant\nt00\n")
	w.file("column.csv", "tenant,target\nt00,own-table\n")
	w.file("cells.csv", "tenant,to\nt00\n")
	w.file("empty.csv", "")
	w.file("bad.hcl", "tenant \"t00\" {\n  target = \"x\"\n}\n")
	for _, c := range []struct {
		code int
		text string
		args []string
	}{
		{exitError, `tenant "t00" is listed twice`, []string{"--plan", "twice.csv"}},
		{exitError, `there is no tenant "nobody" in the catalog`, []string{"--plan", "nobody.csv"}},
		{exitError, `model "nowhere", which is not in the catalog`, []string{"--plan", "model.csv"}},
		{exitError, `no place in model "own-account"`, []string{"--plan", "place.csv"}},
		{exitError, `the canary, tenant "t09", is not among`, []string{"--from", "home/Strikes", "--to", "own-table", "--canary", "t09"}},
		{exitError, `evacuation name "A b"`, []string{"--from", "home/Strikes", "--to", "own-table", "--name", "A b"}},
		{exitUsage, `has no model to go to`, []string{"--plan", "noto.csv"}},
		{exitUsage, `column "target"`, []string{"--plan", "column.csv"}},
		{exitUsage, `wrong number of fields`, []string{"--plan", "cells.csv"}},
		{exitUsage, `it is empty`, []string{"--plan", "empty.csv"}},
		{exitUsage, `bad.hcl:2`, []string{"--plan", "bad.hcl"}},
		{exitUsage, `no such file`, []string{"--plan", "absent.csv"}},
		{exitUsage, `either --from`, nil},
		{exitUsage, `either --from`, []string{"--from", "home/Strikes", "--plan", "twice.csv"}},
		{exitUsage, `give --to`, []string{"--from", "home/Strikes"}},
		{exitUsage, `write ACCOUNT/TABLE`, []string{"--from", "Strikes", "--to", "own-table"}},
		{exitUsage, `at least 1`, []string{"--from", "home/Strikes", "--to", "own-table", "--max-frozen", "0"}},
		{exitError, `evacuate --status lists`, []string{"--status", "nobody"}},
	} {
		o := w.runBoth(append([]string{"evacuate"}, c.args...)...)
		if o.code != c.code || !strings.Contains(o.stderr, c.text) {
			t.Errorf("%v ended with %d, want %d and %q:\n%s", c.args, o.code, c.code, c.text, o.stderr)
		}
	}
	if o := w.mustRun(exitDone, "evacuate", "--status"); o.stdout != "There are no evacuations.\n" {
		t.Errorf("something was declared:\n%s", o.stdout)
	}
}
