package ingest

import (
	"fmt"
	"slices"
	"strings"

	"github.com/aztenancy/terraform-provider-aztenancy/internal/catalog"
	"github.com/aztenancy/terraform-provider-aztenancy/internal/tenancy"
)

// route is where the rows of one tenant go, with what was counted of them.
type route struct {
	tenant catalog.TenantRecord
	place  tenancy.TablePlacement
	counts TenantCounts
	lookUp bool // the comparison did not read the whole range: look each row up before it is written
}

// directory finds tenants by the values of the tenant column. A value names a tenant by its key, by its id, or by a
// key that is the value made fit for keys.
type directory struct {
	table  string // logical table
	byKey  map[string]*catalog.TenantRecord
	shared map[string]string // keys of more than one tenant, with the id of another
	byID   map[string]*catalog.TenantRecord
	routes map[string]*route // by tenant id; those that rows were found for
}

func newDirectory(table string, tenants []catalog.TenantRecord) *directory {
	d := &directory{table: table, byKey: map[string]*catalog.TenantRecord{}, byID: map[string]*catalog.TenantRecord{},
		routes: map[string]*route{}, shared: map[string]string{}}
	for i := range tenants {
		if other := d.byKey[tenants[i].Key]; other != nil {
			d.shared[tenants[i].Key] = other.ID
		}
		d.byKey[tenants[i].Key] = &tenants[i]
		d.byID[tenants[i].ID] = &tenants[i]
	}
	return d
}

// find returns the tenant that the value names, and whether the value had to be encoded for it; nil if there is none.
// The error is a reason in the form of RowError.Reason: two tenants of the name.
func (d *directory) find(value string) (t *catalog.TenantRecord, encoded bool, err error) {
	for _, key := range []string{value, tenancy.EncodeKey(value)} {
		if other, ok := d.shared[key]; ok {
			return nil, false, fmt.Errorf("the value is the key of tenant %q and of tenant %q; "+
				"name the rows' tenants by their ids", d.byKey[key].ID, other)
		}
	}
	byKey, byID := d.byKey[value], d.byID[value]
	switch {
	case byKey != nil && byID != nil && byKey != byID:
		return nil, false, fmt.Errorf("the value is the key of tenant %q and the id of another; "+
			"give one of them another key or id", byKey.ID)
	case byKey != nil:
		return byKey, false, nil
	case byID != nil:
		return byID, false, nil
	}
	if fit := tenancy.EncodeKey(value); fit != value {
		return d.byKey[fit], true, nil
	}
	return nil, false, nil
}

// routeOf returns where the tenant's rows go. It refuses a tenant that must not be written now.
func (d *directory) routeOf(t *catalog.TenantRecord) (*route, error) {
	if r, ok := d.routes[t.ID]; ok {
		return r, nil
	}
	if err := writable(t); err != nil {
		return nil, err
	}
	place, ok := t.Placement[d.table]
	if !ok {
		return nil, fmt.Errorf("tenant %q has no table %q; its model %q has %s", t.ID, d.table, t.Model, quotedList(t.Placement.LogicalTables()))
	}
	r := &route{tenant: *t, place: place, counts: TenantCounts{
		Tenant: t.ID, Key: t.Key, Account: place.Account, Table: place.Table,
	}}
	d.routes[t.ID] = r
	return r, nil
}

// sorted returns the routes in order of tenant id.
func (d *directory) sorted() []*route {
	routes := make([]*route, 0, len(d.routes))
	for _, r := range d.routes {
		routes = append(routes, r)
	}
	slices.SortFunc(routes, func(a, b *route) int { return strings.Compare(a.tenant.ID, b.tenant.ID) })
	return routes
}

// writable says why a tenant must not be written now.
func writable(t *catalog.TenantRecord) error {
	switch t.State {
	case tenancy.Active:
		return nil
	case tenancy.Frozen:
		if t.Migration != "" {
			return fmt.Errorf("tenant %q is frozen by migration %s; finish it first, as tenantctl status %s says, then import", t.ID, t.Migration, t.ID)
		}
		return fmt.Errorf("tenant %q is frozen, but no migration is recorded; see: tenantctl status %s", t.ID, t.ID)
	case tenancy.Provisioning:
		return fmt.Errorf("tenant %q is still being made; finish that with: terraform apply", t.ID)
	case tenancy.Deleting:
		return fmt.Errorf("tenant %q is being removed", t.ID)
	default:
		return fmt.Errorf("tenant %q is in state %q, in which it must not be written", t.ID, t.State)
	}
}

// resembling returns a key or id that differs from the value only in case or spaces.
func (d *directory) resembling(value string) string {
	fold := func(s string) string { return strings.ToLower(strings.Join(strings.Fields(s), " ")) }
	for key, t := range d.byKey {
		if fold(key) == fold(value) || fold(t.ID) == fold(value) {
			return key
		}
	}
	return ""
}

func quotedList(names []string) string {
	if len(names) == 0 {
		return "none"
	}
	return `"` + strings.Join(names, `", "`) + `"`
}
