package provider

import (
	"maps"
	"slices"
	"sync"

	"github.com/aztenancy/terraform-provider-aztenancy/internal/catalog"
	"github.com/aztenancy/terraform-provider-aztenancy/internal/tenancy"
)

// directory is the catalog by name. It never changes once made: a write makes another one.
type directory struct {
	models     map[string]catalog.ModelRecord
	tenants    map[string]catalog.TenantRecord
	claims     map[string][]tenancy.Claim // by tenant id
	migrations map[string]catalog.MigrationRecord
}

func newDirectory(s *catalog.Snapshot) *directory {
	d := &directory{
		models:     make(map[string]catalog.ModelRecord, len(s.Models)),
		tenants:    make(map[string]catalog.TenantRecord, len(s.Tenants)),
		claims:     make(map[string][]tenancy.Claim, len(s.Tenants)),
		migrations: make(map[string]catalog.MigrationRecord, len(s.Migrations)),
	}
	for _, m := range s.Models {
		d.models[m.Name] = m
	}
	for _, t := range s.Tenants {
		d.tenants[t.ID] = t
	}
	for _, c := range s.Claims {
		d.claims[c.TenantID] = append(d.claims[c.TenantID], c)
	}
	for _, m := range s.Migrations {
		d.migrations[m.ID] = m
	}
	return d
}

// claimants returns the tenants that claim a range of a physical table, in order.
func (d *directory) claimants(storage, table string) []string {
	var ids []string
	for id, claims := range d.claims {
		if slices.ContainsFunc(claims, func(c tenancy.Claim) bool { return sameTable(c, storage, table) }) {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return ids
}

// users returns the tenants of a model, in order.
func (d *directory) users(model string) []string {
	var ids []string
	for id, t := range d.tenants {
		if t.Model == model {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return ids
}

// putModel is called after a model was written.
func (s *session) putModel(m catalog.ModelRecord) {
	s.directory.update(func(d *directory) *directory {
		c := *d
		c.models = maps.Clone(d.models)
		c.models[m.Name] = m
		return &c
	})
}

// dropModel is called after a model was deleted.
func (s *session) dropModel(name string) {
	s.directory.update(func(d *directory) *directory {
		c := *d
		c.models = maps.Clone(d.models)
		delete(c.models, name)
		return &c
	})
}

// putTenant is called after a tenant was created or its labels were changed: it has exactly the claims of its
// placement.
func (s *session) putTenant(t catalog.TenantRecord) {
	s.directory.update(func(d *directory) *directory {
		c := *d
		c.tenants, c.claims = maps.Clone(d.tenants), maps.Clone(d.claims)
		c.tenants[t.ID] = t
		c.claims[t.ID] = t.Placement.Claims(t.Tenant)
		return &c
	})
}

// dropTenant is called after a tenant was deleted.
func (s *session) dropTenant(id string) {
	s.directory.update(func(d *directory) *directory {
		c := *d
		c.tenants, c.claims = maps.Clone(d.tenants), maps.Clone(d.claims)
		delete(c.tenants, id)
		delete(c.claims, id)
		return &c
	})
}

// planned is what this walk has planned so far. Terraform plans in the order of references, so a tenant's plan can
// look at a model that is to be created, and the second of two tenants whose keys overlap is refused although neither
// is in the catalog.
type planned struct {
	mu       sync.Mutex
	models   map[string]tenancy.Model
	claims   map[string][]tenancy.Claim // by tenant id
	deletes  map[string]bool            // tenant ids that will be deleted, or deleted and made anew
	policies map[string][]string        // ids of stored access policies, by table
}

// putPolicy adds a stored access policy to those of a table and returns their ids in order.
func (p *planned) putPolicy(table, id string) []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.policies == nil {
		p.policies = make(map[string][]string)
	}
	ids := p.policies[table]
	if i, found := slices.BinarySearch(ids, id); !found {
		ids = slices.Insert(slices.Clone(ids), i, id)
		p.policies[table] = ids
	}
	return ids
}

func (p *planned) putModel(m tenancy.Model) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.models == nil {
		p.models = make(map[string]tenancy.Model)
	}
	p.models[m.Name] = m
}

func (p *planned) model(name string) (tenancy.Model, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	m, ok := p.models[name]
	return m, ok
}

func (p *planned) deleteTenant(id string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.deletes == nil {
		p.deletes = make(map[string]bool)
	}
	p.deletes[id] = true
}

func (p *planned) deletesTenant(id string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.deletes[id]
}

// claim records what a tenant will claim, unless it overlaps what the catalog or this plan gives another tenant: then it
// returns the wanted and the held claim and false. Tenants that the plan deletes keep nothing.
func (p *planned) claim(d *directory, tenantID string, wanted []tenancy.Claim) (want, held tenancy.Claim, ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, want := range wanted {
		if held, found := p.against(d, tenantID, want); found {
			return want, held, false
		}
	}
	if p.claims == nil {
		p.claims = make(map[string][]tenancy.Claim)
	}
	p.claims[tenantID] = wanted
	return tenancy.Claim{}, tenancy.Claim{}, true
}

// against returns the first claim of another tenant, in the catalog or planned, that overlaps a wanted one.
func (p *planned) against(d *directory, tenantID string, want tenancy.Claim) (first tenancy.Claim, found bool) {
	look := func(claims []tenancy.Claim) {
		if held, overlaps := tenancy.Conflict(claims, want); overlaps && (!found || held.Compare(first) < 0) {
			first, found = held, true
		}
	}
	for id, claims := range d.claims {
		if !p.deletes[id] {
			look(claims)
		}
	}
	for id, claims := range p.claims {
		if id != tenantID {
			look(claims)
		}
	}
	return first, found
}
