package tableserver

import (
	"context"
	"errors"
	"strings"
	"sync"
	"time"

	"github.com/aztenancy/terraform-provider-aztenancy/internal/tableserver/auth"
	"github.com/aztenancy/terraform-provider-aztenancy/internal/tableserver/store"
)

// policies shows the store's access policies to auth, as they count now.
type policies struct {
	store   *store.Store
	delayed *delayedPolicies
}

// AccessPolicies implements auth.Policies.
func (p policies) AccessPolicies(ctx context.Context, account, table string) ([]auth.Policy, error) {
	t, err := p.store.Table(ctx, account, table)
	if errors.Is(err, store.ErrTableNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	counting := p.delayed.counting(account, t)
	out := make([]auth.Policy, len(counting))
	for i, stored := range counting {
		out[i] = auth.Policy{ID: stored.ID, Permission: stored.Permission}
		if stored.Start != nil {
			out[i].Start = *stored.Start
		}
		if stored.Expiry != nil {
			out[i].Expiry = *stored.Expiry
		}
	}
	return out, nil
}

// delayedPolicies remembers what stored access policies were before they changed, for as long as that still counts.
// It is safe for concurrent use.
type delayedPolicies struct {
	now func() time.Time

	changing sync.Mutex // held while policies are replaced and remembered; taken before mu
	mu       sync.Mutex // guards the following
	delay    time.Duration
	past     map[policyTable][]pastPolicies // oldest first
}

// policyTable is one table; one that is made again under the same name is another.
type policyTable struct {
	account, table string
	created        int64
}

// pastPolicies counted until they were replaced, and count for the delay after that.
type pastPolicies struct {
	policies []store.Policy
	replaced time.Time
}

func newDelayedPolicies(delay time.Duration, now func() time.Time) *delayedPolicies {
	return &delayedPolicies{now: now, delay: delay, past: make(map[policyTable][]pastPolicies)}
}

func policyTableOf(account string, t store.Table) policyTable {
	return policyTable{account, strings.ToLower(t.Name), t.Created}
}

// set changes the delay. Changes that wait keep their time and are held against the new delay.
func (d *delayedPolicies) set(delay time.Duration) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.delay = delay
}

func (d *delayedPolicies) get() time.Duration {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.delay
}

// replace runs change, which replaces the policies of the table that current returns, and remembers those of before.
// With a delay one change runs at a time, so that what is remembered is what it replaces; and it is remembered first,
// so that nobody sees the new ones in between.
func (d *delayedPolicies) replace(account string, current func() (store.Table, error), change func() error) error {
	if d.get() == 0 {
		return change()
	}
	d.changing.Lock()
	defer d.changing.Unlock()
	t, err := current()
	if err != nil {
		return err
	}
	at := policyTableOf(account, t)
	d.remember(at, t.Policies)
	err = change()
	if err != nil {
		d.takeBack(at)
	}
	return err
}

func (d *delayedPolicies) remember(at policyTable, before []store.Policy) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.forget()
	d.past[at] = append(d.past[at], pastPolicies{before, d.now()})
}

func (d *delayedPolicies) takeBack(at policyTable) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if past := d.past[at]; len(past) > 0 {
		d.past[at] = past[:len(past)-1]
	}
}

// counting returns the policies of t that count now.
func (d *delayedPolicies) counting(account string, t store.Table) []store.Policy {
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.past) == 0 {
		return t.Policies
	}
	for _, p := range d.past[policyTableOf(account, t)] {
		if d.now().Sub(p.replaced) < d.delay {
			return p.policies
		}
	}
	return t.Policies
}

// forget drops what does not count any more. The caller holds mu.
func (d *delayedPolicies) forget() {
	now := d.now()
	for at, past := range d.past {
		for len(past) > 0 && now.Sub(past[0].replaced) >= d.delay {
			past = past[1:]
		}
		if d.past[at] = past; len(past) == 0 {
			delete(d.past, at)
		}
	}
}
