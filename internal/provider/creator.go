package provider

import (
	"context"
	"slices"
	"sync"

	"github.com/aztenancy/terraform-provider-aztenancy/internal/catalog"
)

// creator creates tenants together that Terraform asks for at the same time. Whoever comes first begins at once; those who come
// while it is at work wait, and are created together after it, led by the first of them. So nobody waits for somebody who
// may never come, and the more are asked for at once, the fewer requests each takes.
type creator struct {
	many func(context.Context, []catalog.TenantSpec) []catalog.Created

	mu      sync.Mutex
	busy    bool // somebody leads, or has been told to
	waiting []*creation
}

// creation is one tenant that waits to be created.
type creation struct {
	spec   catalog.TenantSpec
	result catalog.Created
	done   chan struct{} // closed once result is there
	lead   chan struct{} // closed to say that this one leads the next batch
}

// create creates a tenant, alone or together with others. The leader's context is that of its batch: where it ends, the
// others of the batch get its error, and are to be tried again.
func (c *creator) create(ctx context.Context, spec catalog.TenantSpec) (catalog.TenantRecord, error) {
	me := &creation{spec: spec, done: make(chan struct{}), lead: make(chan struct{})}
	c.mu.Lock()
	if !c.busy {
		c.busy = true
		close(me.lead)
	} else {
		c.waiting = append(c.waiting, me)
	}
	c.mu.Unlock()
	select {
	case <-me.done:
		if me.result.Err != nil && ctx.Err() == nil { // perhaps only the leader's time was up
			return c.alone(ctx, spec)
		}
	case <-me.lead:
		c.run(ctx, me)
	case <-ctx.Done():
		if !c.leave(me) {
			<-me.done
			break
		}
		return catalog.TenantRecord{}, ctx.Err()
	}
	return me.result.Tenant, me.result.Err
}

// alone creates one tenant by itself.
func (c *creator) alone(ctx context.Context, spec catalog.TenantSpec) (catalog.TenantRecord, error) {
	one := c.many(ctx, []catalog.TenantSpec{spec})[0]
	return one.Tenant, one.Err
}

// run creates the leader's tenant with all that wait, and hands over to the first of those who came meanwhile.
func (c *creator) run(ctx context.Context, leader *creation) {
	c.mu.Lock()
	batch := append([]*creation{leader}, c.waiting...)
	c.waiting = nil
	c.mu.Unlock()
	specs := make([]catalog.TenantSpec, len(batch))
	for i, one := range batch {
		specs[i] = one.spec
	}
	results := c.many(ctx, specs)
	for i, one := range batch {
		one.result = results[i]
		close(one.done)
	}
	c.handOver()
}

// handOver makes the first who waits the leader.
func (c *creator) handOver() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.waiting) == 0 {
		c.busy = false
		return
	}
	next := c.waiting[0]
	c.waiting = c.waiting[1:]
	close(next.lead)
}

// leave takes one whose time is up out of the line, and passes on what it was to lead. It says whether the creation
// has not begun.
func (c *creator) leave(me *creation) bool {
	c.mu.Lock()
	i := slices.Index(c.waiting, me)
	if i >= 0 {
		c.waiting = slices.Delete(c.waiting, i, i+1)
		c.mu.Unlock()
		return true
	}
	c.mu.Unlock()
	select {
	case <-me.lead:
		c.handOver()
		return true
	default:
		return false
	}
}
