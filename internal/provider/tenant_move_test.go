package provider

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/plancheck"

	"github.com/aztenancy/terraform-provider-aztenancy/internal/tenancy"
)

// brake refuses the transactions that copy entities, after the first so many, while it is on.
type brake struct {
	on   atomic.Bool
	left atomic.Int32
}

func (w *world) brake() *brake {
	b := &brake{}
	w.server.Wrap(func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
			if b.on.Load() && strings.HasSuffix(r.URL.Path, "/$batch") {
				body, err := io.ReadAll(r.Body)
				if err != nil {
					return
				}
				r.Body = io.NopCloser(bytes.NewReader(body))
				if bytes.Contains(body, []byte("order-0")) && b.left.Add(-1) < 0 {
					rw.WriteHeader(http.StatusForbidden)
					return
				}
			}
			next.ServeHTTP(rw, r)
		})
	})
	return b
}

// pull lets n transactions through.
func (b *brake) pull(n int32) {
	b.left.Store(n)
	b.on.Store(true)
}

func TestInterruptedMoveGoesOnWithTheNextApply(t *testing.T) {
	w := newWorld(t)
	b := w.brake()
	w.run(
		resource.TestStep{Config: orders + contoso(as("pool")), Check: does(func() {
			w.fill("contoso", 350)
			b.pull(2)
		})},
		resource.TestStep{
			Config:      orders + contoso(as("own_table")),
			ExpectError: says(`Tenant "contoso" was not moved to isolation model "own-table"`),
		},
		resource.TestStep{ // the state has the old place, and the catalog how far the move is
			RefreshState:       true,
			ExpectNonEmptyPlan: true,
			Check: resource.ComposeAggregateTestCheckFunc(
				resource.TestCheckResourceAttr(contosoAddress, "isolation_model", "pool"),
				resource.TestCheckResourceAttr(contosoAddress, "state", "active"),
				w.isAt("contoso", "pool", tenancy.Active),
			),
		},
		resource.TestStep{ // neither here nor there
			Config:      orders + contoso(as("own_account")+`account = "premium"`),
			PlanOnly:    true,
			ExpectError: says(`Tenant "contoso" is half way to another place`),
		},
		resource.TestStep{
			PreConfig:        func() { b.on.Store(false) },
			Config:           orders + contoso(as("own_table")),
			ConfigPlanChecks: plans(plancheck.ResourceActionUpdate),
			Check: resource.ComposeAggregateTestCheckFunc(w.isAt("contoso", "own-table", tenancy.Active), does(func() {
				if n := w.entities("home", "Orderscontoso"); n != 350 {
					t.Errorf("%d entities at the new place, want 350", n)
				}
			})),
		},
	)
}

func TestInterruptedMoveIsUndoneWhenTheOldModelIsSetAgain(t *testing.T) {
	w := newWorld(t)
	b := w.brake()
	w.run(
		resource.TestStep{Config: orders + contoso(as("pool")), Check: does(func() {
			w.fill("contoso", 350)
			b.pull(2)
		})},
		resource.TestStep{Config: orders + contoso(as("own_table")), ExpectError: says(`was not moved`)},
		resource.TestStep{
			PreConfig:        func() { b.on.Store(false) },
			Config:           orders + contoso(as("pool")),
			ConfigPlanChecks: plans(plancheck.ResourceActionUpdate), // although state and configuration are equal
			Check: resource.ComposeAggregateTestCheckFunc(
				w.isAt("contoso", "pool", tenancy.Active),
				w.tableStands("home", "Orderscontoso", false),
				resource.TestCheckResourceAttr(contosoAddress, "state", "active"),
				does(func() {
					if n := w.entities("home", "Orders"); n != 350 {
						t.Errorf("%d entities, want 350", n)
					}
				}),
			),
		},
	)
}

func TestMoveThatHoldsWritesForTooLongIsUndone(t *testing.T) {
	w := newWorld(t)
	var slow, frozen atomic.Bool
	w.server.Wrap(func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
			if slow.Load() && r.Method == http.MethodPut && strings.Contains(r.URL.Path, "PartitionKey='tenant'") {
				body, err := io.ReadAll(r.Body)
				if err != nil {
					return
				}
				r.Body = io.NopCloser(bytes.NewReader(body))
				if bytes.Contains(body, []byte(`"frozen"`)) {
					frozen.Store(true)
				}
			}
			if slow.Load() && frozen.Load() && r.Method == http.MethodGet && strings.Contains(r.URL.Path, "/Orderscontoso") {
				// The last pass never ends, until whoever asks goes away.
				<-r.Context().Done()
				slow.Store(false)
				return
			}
			next.ServeHTTP(rw, r)
		})
	})
	quick := `migration = { max_freeze = "3s" }` + "\n"
	w.run(
		resource.TestStep{Config: orders + contoso(as("pool")+quick), Check: does(func() { w.fill("contoso", 5) })},
		resource.TestStep{
			Config:           orders + contoso(as("own_table")+quick),
			ConfigPlanChecks: resource.ConfigPlanChecks{PreApply: []plancheck.PlanCheck{after(func() { slow.Store(true) })}},
			ExpectError:      says(`it would have held writes for too long`),
		},
		resource.TestStep{
			Config: orders + contoso(as("pool")+quick),
			Check: resource.ComposeAggregateTestCheckFunc(
				w.isAt("contoso", "pool", tenancy.Active),
				w.tableStands("home", "Orderscontoso", false),
			),
		},
	)
}

// A drain of an hour is cut short by the timeout: the move stops before it switches, and goes on once the drain is gone.
func TestMoveDrainsBeforeItSwitches(t *testing.T) {
	w := newWorld(t)
	w.run(
		resource.TestStep{Config: orders + contoso(as("pool")), Check: does(func() { w.fill("contoso", 5) })},
		resource.TestStep{
			Config:      orders + contoso(as("own_table")+"migration = { drain = \"1h\" }\n timeouts = { update = \"2s\" }"),
			ExpectError: says(`Tenant "contoso" was not moved to isolation model "own-table" yet`),
		},
		resource.TestStep{
			PreConfig: func() {
				if err := w.isAt("contoso", "pool", tenancy.Frozen)(nil); err != nil {
					t.Errorf("in the drain: %v", err)
				}
			},
			Config: orders + contoso(as("own_table")),
			Check:  w.isAt("contoso", "own-table", tenancy.Active),
		},
	)
}

// after runs f between plan and apply.
type after func()

func (f after) CheckPlan(context.Context, plancheck.CheckPlanRequest, *plancheck.CheckPlanResponse) {
	f()
}

// The test framework refreshes before it applies, and so accepts the new place: see cli_test.go for a plan that does not.
func TestTenantThatWasMovedOutsideIsWhereTheConfigurationSaysAfterwards(t *testing.T) {
	w := newWorld(t)
	w.run(
		resource.TestStep{Config: orders + contoso(as("pool"))},
		resource.TestStep{
			PreConfig: func() {
				w.fill("contoso", 5)
				w.moveOutside("contoso", "own-table", "")
			},
			Config: orders + contoso(as("pool")), PlanOnly: true, // without a refresh
			ExpectError: says(`Tenant "contoso" was moved outside Terraform`),
		},
		resource.TestStep{ // one way out: the configuration says where it is
			Config:           orders + contoso(as("own_table")),
			ConfigPlanChecks: resource.ConfigPlanChecks{PreApply: []plancheck.PlanCheck{plancheck.ExpectEmptyPlan()}},
			Check:            resource.TestCheckResourceAttr(contosoAddress, "tables.orders.table", "Orderscontoso"),
		},
		resource.TestStep{ // after that, a change of the configuration is a move like any other
			PreConfig:        func() { w.purge("contoso") },
			Config:           orders + contoso(as("pool")),
			ConfigPlanChecks: plans(plancheck.ResourceActionUpdate),
			Check: resource.ComposeAggregateTestCheckFunc(w.isAt("contoso", "pool", tenancy.Active), does(func() {
				if n := w.entities("home", "Orders"); n != 5 {
					t.Errorf("%d entities, want 5", n)
				}
			})),
		},
	)
}

func TestMoveToATargetThatIsNotEmptyIsRefusedByPlan(t *testing.T) {
	w := newWorld(t)
	w.run(
		resource.TestStep{Config: orders + contoso(as("pool")), Check: does(func() {
			w.fill("contoso", 5)
			w.foreign("home", "Orderscontoso")
		})},
		resource.TestStep{Config: orders + contoso(as("own_table")), PlanOnly: true,
			ExpectError: says(`Tenant "contoso" cannot move to isolation model "own-table"`)},
	)
}
