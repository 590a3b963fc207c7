package provider

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"

	"github.com/aztenancy/terraform-provider-aztenancy/internal/catalog"
	"github.com/aztenancy/terraform-provider-aztenancy/internal/tenancy"
)

// gate lets a test decide when a batch goes on, and keeps the batches' sizes.
type gate struct {
	entered chan int
	leave   chan struct{}
}

func (g gate) many(ctx context.Context, specs []catalog.TenantSpec) []catalog.Created {
	g.entered <- len(specs)
	all := make([]catalog.Created, len(specs))
	select {
	case <-g.leave:
	case <-ctx.Done():
		for i := range all {
			all[i].Err = ctx.Err()
		}
		return all
	}
	for i, s := range specs {
		all[i].Tenant.ID = s.ID
	}
	return all
}

// waits blocks until n creations are in line.
func (c *creator) waits(t *testing.T, n int) {
	t.Helper()
	for {
		c.mu.Lock()
		waiting := len(c.waiting)
		c.mu.Unlock()
		if waiting == n {
			return
		}
		if t.Context().Err() != nil {
			t.Fatal("they never came")
		}
	}
}

func TestWhoComesWhileOthersAreCreatedIsCreatedTogether(t *testing.T) {
	g := gate{make(chan int), make(chan struct{})}
	c := &creator{many: g.many}
	var wg sync.WaitGroup
	create := func(id string) {
		wg.Go(func() {
			if rec, err := c.create(t.Context(), catalog.TenantSpec{ID: id}); err != nil || rec.ID != id {
				t.Errorf("%s: %+v, %v", id, rec, err)
			}
		})
	}
	create("first")
	if n := <-g.entered; n != 1 {
		t.Errorf("the first waited for %d others", n-1)
	}
	for i := range 9 {
		create(fmt.Sprint("other", i))
	}
	c.waits(t, 9)
	g.leave <- struct{}{}
	if n := <-g.entered; n != 9 {
		t.Errorf("%d were created together, want 9", n)
	}
	g.leave <- struct{}{}
	wg.Wait()
	create("late")
	<-g.entered
	g.leave <- struct{}{}
	wg.Wait()
}

// An interrupt of one waiting, and of the leader, stops nobody else.
func TestWhoGivesUpHoldsNobodyUp(t *testing.T) {
	g := gate{make(chan int), make(chan struct{})}
	c := &creator{many: g.many}
	leader, stopLeader := context.WithCancel(t.Context())
	waiter, stopWaiter := context.WithCancel(t.Context())
	errs := map[string]chan error{}
	create := func(ctx context.Context, id string) {
		answer := make(chan error, 1)
		errs[id] = answer
		go func() {
			_, err := c.create(ctx, catalog.TenantSpec{ID: id})
			answer <- err
		}()
	}
	create(t.Context(), "first")
	<-g.entered
	create(leader, "leader")
	c.waits(t, 1)
	create(waiter, "waiter")
	create(t.Context(), "patient")
	c.waits(t, 3)
	stopWaiter()
	if err := <-errs["waiter"]; !errors.Is(err, context.Canceled) {
		t.Errorf("the waiter: %v", err)
	}
	g.leave <- struct{}{}
	if n := <-g.entered; n != 2 {
		t.Errorf("%d in the second batch, want leader and patient", n)
	}
	stopLeader()
	if err := <-errs["leader"]; !errors.Is(err, context.Canceled) {
		t.Errorf("the leader: %v", err)
	}
	<-g.entered // the patient one is tried again, under its own context
	g.leave <- struct{}{}
	for _, id := range []string{"first", "patient"} {
		if err := <-errs[id]; err != nil {
			t.Errorf("%s: %v", id, err)
		}
	}
}

// What Terraform does with parallelism: tenants are asked for side by side.
func TestTenantsOfOneApplyAreCreatedInFewRequests(t *testing.T) {
	w := worldWithoutTerraform(t)
	w.populate()
	requests := w.requests()
	p := configuredPlugin(w)
	const tenants = 200
	var wg sync.WaitGroup
	for i := range tenants {
		wg.Go(func() {
			id := fmt.Sprintf("tenant-%03d", i)
			config := map[string]any{"tenant_id": id, "isolation_model": "pool"}
			planned, _ := p.plan("aztenancy_tenant", config)
			r, err := p.server.ApplyResourceChange(context.Background(), &tfprotov6.ApplyResourceChangeRequest{
				TypeName: "aztenancy_tenant", PriorState: p.dynamic(p.value(p.resourceType("aztenancy_tenant"), nil)),
				PlannedState: planned.PlannedState, Config: p.dynamic(p.value(p.resourceType("aztenancy_tenant"), config)),
			})
			if err != nil {
				t.Error(err)
				return
			}
			for _, text := range texts(r.Diagnostics, tfprotov6.DiagnosticSeverityError) {
				t.Error(text)
			}
		})
	}
	wg.Wait()
	if n := requests.of("tables and catalog"); n > tenants {
		t.Errorf("%d requests for %d tenants", n, tenants)
	}
	if rec := w.tenant("tenant-199"); rec.State != tenancy.Active {
		t.Errorf("tenant-199 is %s", rec.State)
	}
}
