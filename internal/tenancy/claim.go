package tenancy

import (
	"cmp"
	"slices"
	"strings"
)

// Claim is a tenant's exclusive right to a key range of a physical table. The claims of different tenants on one table
// never overlap. Storage is the storage account's own name. Table names are compared without regard to letter case.
type Claim struct {
	Storage   string
	Table     string
	TenantID  string
	TenantKey string
	Logical   string
	Range     KeyRange
}

// Claims returns what the tenant must own to be placed so, ordered by storage account, table and range: all tenants
// that want the same things ask for them in the same order. A dedicated table is claimed whole.
//
// A prefix range ends with the key (successor, ""). Every range that a scheme gives begins with an empty RowKey, so
// nobody can claim a part of that partition without claiming this key: the whole partition stays unowned.
func (p Placement) Claims(t Tenant) []Claim {
	claims := make([]Claim, 0, len(p))
	for logical, tp := range p {
		c := Claim{Storage: tp.Storage, Table: tp.Table, TenantID: t.ID, TenantKey: tp.Key, Logical: logical, Range: tp.Range}
		if tp.Dedicated {
			c.Range = WholeTable()
		}
		claims = append(claims, c)
	}
	slices.SortFunc(claims, Claim.Compare)
	return claims
}

// Compare orders claims by storage account, table and start of the range.
func (c Claim) Compare(o Claim) int {
	return cmp.Or(
		cmp.Compare(c.Storage, o.Storage),
		cmp.Compare(strings.ToLower(c.Table), strings.ToLower(o.Table)),
		c.Range.First.Compare(o.Range.First),
	)
}

// SameTable says whether both claims are on one physical table.
func (c Claim) SameTable(o Claim) bool {
	return c.Storage == o.Storage && strings.EqualFold(c.Table, o.Table)
}

// Conflict returns the first claim of another tenant that overlaps c, if there is one.
func Conflict(claims []Claim, c Claim) (Claim, bool) {
	var first Claim
	found := false
	for _, held := range claims {
		if held.TenantID == c.TenantID || !held.SameTable(c) || !held.Range.Overlaps(c.Range) {
			continue
		}
		if !found || held.Compare(first) < 0 {
			first, found = held, true
		}
	}
	return first, found
}
