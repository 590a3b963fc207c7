package migration

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/aztenancy/terraform-provider-aztenancy/internal/catalog"
	"github.com/aztenancy/terraform-provider-aztenancy/internal/edm"
	"github.com/aztenancy/terraform-provider-aztenancy/internal/tenancy"
)

// everything reads all tables of both accounts, the catalog included.
func (w *world) everything(t fataler) map[string]map[edm.Key]string {
	t.Helper()
	out := map[string]map[edm.Key]string{}
	for _, account := range []string{"home", "premium"} {
		c, err := w.accounts.Client(account)
		must(t, err)
		tables, err := c.Tables(context.Background(), "")
		must(t, err)
		for _, table := range tables {
			out[account+"/"+table] = w.rows(t, account, table)
		}
	}
	return out
}

// TestWhatCannotMoveIsRefusedBeforeAnythingIsChanged tries moves that must not start. Each message has to name the thing and the
// way out; neither a plan nor a run may write a single entity.
func TestWhatCannotMoveIsRefusedBeforeAnythingIsChanged(t *testing.T) {
	cases := []struct {
		name   string
		spoil  func(w *world)
		tenant string
		to     Target
		want   []string // in the message
	}{
		{"unknown tenant", nil, "nobody", Target{Model: "own"}, []string{"nobody", "tenantctl tenants"}},
		{"unknown model", nil, "alpha", Target{Model: "moon"}, []string{"moon"}},
		{"unknown account", nil, "alpha", Target{Model: "anywhere", Account: "moon"}, []string{"moon", "premium"}},
		{"no account where the model wants one", nil, "alpha", Target{Model: "anywhere"}, []string{"anywhere", "account"}},
		{"keys that would be lost", func(w *world) { w.tenant(w.t, "pia", "pool-prefixed") }, "pia", Target{Model: "own"},
			[]string{"pia", "partition value"}},
		{"target that is not empty", func(w *world) {
			_, err := w.accounts.Home().CreateTable(w.t.Context(), "Ownalpha")
			must(w.t, err)
			_, err = w.accounts.Home().Table("Ownalpha").Insert(w.t.Context(), order("other", "there", 1))
			must(w.t, err)
		}, "alpha", Target{Model: "own"}, []string{"Ownalpha", `("other", "there")`}},
		{"target that another tenant claims", func(w *world) {
			rec := w.tenant(w.t, "beta", "pool-tenant")
			c := rec.Placement.Claims(rec.Tenant)
			c[0].Range = tenancy.KeyRange{First: edm.Key{PartitionKey: "alpha"}, Last: edm.Key{PartitionKey: "alpha"}, End: tenancy.EndPartition}
			must(w.t, w.catalog.Claim(w.t.Context(), "beta", c))
		}, "alpha", Target{Model: "pool-tenant"}, []string{"beta", "alpha"}},
		{"shared table that does not exist", func(w *world) {
			must(w.t, w.accounts.Home().DeleteTable(w.t.Context(), "PoolTenant"))
		}, "alpha", Target{Model: "pool-tenant"}, []string{"PoolTenant", "aztenancy_table"}},
		{"tenant that is not active", func(w *world) {
			rec := w.record(w.t, "alpha")
			rec.State = tenancy.Deleting
			_, err := w.catalog.UpdateTenant(w.t.Context(), rec)
			must(w.t, err)
		}, "alpha", Target{Model: "own"}, []string{"deleting"}},
		{"migration to another target", func(w *world) {
			_, err := killAt("copy: before intent", 1, w.engine("dead"), func(ctx context.Context, e *Engine) (*Report, error) {
				return e.Run(ctx, "alpha", Target{Model: "own"}, Options{})
			})
			if !errors.Is(err, errKilled) {
				w.t.Fatalf("not killed: %v", err)
			}
			w.later()
		}, "alpha", Target{Model: "far"}, []string{"own", "tenantctl migrate alpha --to own", "tenantctl abort alpha"}},
		{"row keys of guards", func(w *world) {
			w.put(w.t, "alpha", []*edm.Entity{order("", guardPrefix+"x", 1)})
		}, "alpha", Target{Model: "own"}, []string{guardPrefix + "x", "reserved"}},
		{"two entities for one key", func(w *world) {
			w.tenant(w.t, "carl", "by-region")
			w.put(w.t, "carl", []*edm.Entity{inRegion("north", "same"), inRegion("south", "same")})
		}, "carl", Target{Model: "own"}, []string{"same"}},
	}
	worlds := newWorlds(t, len(cases))
	for i, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			w := worlds[i]
			for _, m := range []tenancy.Model{
				{Name: "anywhere", Kind: tenancy.DedicatedAccount, Tables: map[string]string{"orders": "Any{tenant}"}, KeyScheme: byTenant},
				{Name: "by-region", Kind: tenancy.SharedTable, Account: "home", Tables: map[string]string{"orders": "PoolTenant"},
					KeyScheme: tenancy.KeyScheme{Kind: tenancy.SchemeBucketed, Separator: "|", Buckets: 4, BucketProperty: "Region"}},
			} {
				_, err := w.catalog.CreateModel(t.Context(), m)
				must(t, err)
			}
			w.start(12)
			if c.spoil != nil {
				c.spoil(w)
			}
			before := w.everything(t)
			e := w.engine("mover")
			_, planned := e.Plan(t.Context(), c.tenant, c.to)
			_, err := e.Run(t.Context(), c.tenant, c.to, Options{})
			for _, err := range []error{planned, err} {
				var refused *RefusedError
				if !errors.As(err, &refused) {
					t.Fatalf("got %v, want a *RefusedError", err)
				}
				for _, word := range c.want {
					if !strings.Contains(err.Error(), word) {
						t.Errorf("the message lacks %q: %v", word, err)
					}
				}
			}
			if d := cmp.Diff(before, w.everything(t)); d != "" {
				t.Errorf("something was written (-before +after):\n%s", d)
			}
		})
	}
}

// inRegion is an order whose bucket comes from a property.
func inRegion(region, row string) *edm.Entity {
	e := order("", row, 1)
	e.Set("Region", edm.StringValue(region))
	return e
}

func TestPlanWritesNothingAndCountsExactly(t *testing.T) {
	w := newWorld(t)
	list := w.start(333)
	var bytes int64
	p := w.record(t, "alpha").Placement["orders"]
	for _, e := range list {
		stored := e.Clone()
		stored.PartitionKey = mustPartition(t, p, e.RowKey)
		bytes += int64(stored.Size())
	}
	before := w.everything(t)
	plan, err := w.engine("mover").Plan(t.Context(), "alpha", Target{Model: "own"})
	must(t, err)
	if plan.Entities != 333 || plan.Bytes != bytes || plan.Tables[0].Partitions != 4 || plan.Tables[0].MapClass != tenancy.MapRebucketing ||
		!plan.Tables[0].CreatesTable || plan.Freeze != FreezeCatalogState || plan.CouldWrite == "" || len(plan.NotMoved) == 0 {
		t.Errorf("plan: %+v", plan)
	}
	if d := cmp.Diff(before, w.everything(t)); d != "" {
		t.Errorf("the plan wrote (-before +after):\n%s", d)
	}
	report, err := w.engine("mover").Run(t.Context(), "alpha", Target{Model: "own"}, Options{})
	must(t, err)
	if report.Transactions != plan.Transactions || report.Bytes != plan.Bytes {
		t.Errorf("planned %d transactions and %d bytes, took %d and %d", plan.Transactions, plan.Bytes, report.Transactions, report.Bytes)
	}
}

func TestStatusTellsStateStepsAndNextCommand(t *testing.T) {
	w := newWorld(t)
	w.start(20)
	_, err := killAt("copy: before checkpoint", 1, w.engine("dead"), func(ctx context.Context, e *Engine) (*Report, error) {
		return e.Run(ctx, "alpha", Target{Model: "own"}, Options{})
	})
	if !errors.Is(err, errKilled) {
		t.Fatalf("not killed: %v", err)
	}
	s, err := w.engine("viewer").Status(t.Context(), "alpha")
	must(t, err)
	if s.State != tenancy.Active || len(s.Migrations) != 1 {
		t.Fatalf("status: %+v", s)
	}
	m := s.Migrations[0]
	if m.State != Copying || m.Owner != "dead" || m.Total != 20 || !strings.Contains(m.Next, "tenantctl migrate alpha --to own") {
		t.Errorf("migration: %+v", m)
	}
	if n := len(m.Steps); n < 3 || m.Steps[n-1].Kind != string(catalog.StepIntent) || m.Steps[n-1].Name != "copy" {
		t.Errorf("steps: %+v", m.Steps)
	}
}

func TestVerifyCountsWhatTheTenantWroteSinceTheSwitchApart(t *testing.T) {
	w := newWorld(t)
	w.start(20)
	e := w.engine("mover")
	if _, err := e.Verify(t.Context(), "alpha"); !errors.Is(err, ErrUnverified) {
		t.Errorf("before any move: %v", err)
	}
	_, err := e.Run(t.Context(), "alpha", Target{Model: "own"}, Options{})
	must(t, err)
	_, err = w.target().UpsertReplace(t.Context(), order("alpha", "row-0003", 99))
	must(t, err)
	_, err = w.target().Insert(t.Context(), order("alpha", "new", 1))
	must(t, err)
	v, err := e.Verify(t.Context(), "alpha")
	must(t, err)
	if v.Result != ResultEqual || v.Equal != 19 || v.SinceSwitch != 2 {
		t.Errorf("verify: %+v", v)
	}
	_, err = e.Purge(t.Context(), "alpha", Options{})
	must(t, err)
	v, err = e.Verify(t.Context(), "alpha")
	if !errors.Is(err, ErrUnverified) || v.Result != ResultUnverified || len(v.Unverified) == 0 {
		t.Errorf("after the purge: %+v, %v", v, err)
	}
}
