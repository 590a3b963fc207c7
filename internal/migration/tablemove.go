package migration

import (
	"fmt"
	"strings"

	"github.com/aztenancy/terraform-provider-aztenancy/internal/edm"
	"github.com/aztenancy/terraform-provider-aztenancy/internal/tablestorage"
	"github.com/aztenancy/terraform-provider-aztenancy/internal/tenancy"
)

// tableMove is one logical table of a move: where it is, where it goes, and how its keys change.
type tableMove struct {
	logical string
	source  side
	target  side
	mapping *tenancy.Mapping
	inverse *tenancy.Mapping
}

// side is one end of a tableMove.
type side struct {
	place      tenancy.TablePlacement
	within     tenancy.KeyRange // what the tenant claims there: a dedicated table as a whole
	table      *tablestorage.Table
	partitions []string // all PartitionKeys in order; nil where the key scheme does not enumerate them
}

func (s side) String() string { return s.place.Storage + "/" + s.place.Table }

// newSide makes the handle of one end.
func (e *Engine) newSide(p tenancy.TablePlacement) (side, error) {
	table, err := e.Accounts.At(p)
	if err != nil {
		return side{}, err
	}
	s := side{place: p, within: p.Range, table: table, partitions: p.Scheme.Partitions(p.Key)}
	if p.Dedicated {
		s.within = tenancy.WholeTable()
	}
	return s, nil
}

// newTableMove pairs the ends of one logical table.
func (e *Engine) newTableMove(logical string, from, to tenancy.TablePlacement) (*tableMove, error) {
	m := &tableMove{logical: logical}
	var err error
	if m.source, err = e.newSide(from); err != nil {
		return nil, err
	}
	if m.target, err = e.newSide(to); err != nil {
		return nil, err
	}
	if m.mapping, err = tenancy.NewMapping(from, to); err != nil {
		return nil, err
	}
	if m.inverse, err = m.mapping.Inverse(); err != nil {
		return nil, err
	}
	return m, nil
}

// tableMoves returns the logical tables that really move, in order of name.
func (e *Engine) tableMoves(source, target tenancy.Placement) ([]*tableMove, error) {
	var moves []*tableMove
	for _, logical := range source.LogicalTables() {
		to, ok := target[logical]
		if !ok {
			return nil, fmt.Errorf("logical table %q has no place in the target model", logical)
		}
		if samePlace(source[logical], to) {
			continue
		}
		m, err := e.newTableMove(logical, source[logical], to)
		if err != nil {
			return nil, fmt.Errorf("logical table %q: %w", logical, err)
		}
		moves = append(moves, m)
	}
	return moves, nil
}

// samePlace says whether two placements of a logical table are the same rows.
func samePlace(a, b tenancy.TablePlacement) bool {
	return sameTable(a, b) && a.Scheme == b.Scheme && a.Key == b.Key && a.Dedicated == b.Dedicated
}

// sameTable says whether two placements are in one physical table. Names of tables do not mind letter case.
func sameTable(a, b tenancy.TablePlacement) bool {
	return a.Storage == b.Storage && strings.EqualFold(a.Table, b.Table)
}

// claims returns those of a placement's claims that belong to the given logical tables.
func claims(p tenancy.Placement, t tenancy.Tenant, logical func(string) bool) []tenancy.Claim {
	var out []tenancy.Claim
	for _, c := range p.Claims(t) {
		if logical(c.Logical) {
			out = append(out, c)
		}
	}
	return out
}

// A span is a stretch of one side's key range that is read on its own: from a PartitionKey up to, but without, the
// next. The spans of a side cover its whole range without a gap, so that an entity that has no business where it
// stands is found, too.
type span struct {
	number int
	first  edm.Key
	before string // PartitionKey that is no longer part of it; "" for the last span
	own    string // the one PartitionKey whose entities belong here; meaningful if single
	single bool
	rng    tenancy.KeyRange // of the whole side
}

// spans cuts a side's range at its partitions, where they can be enumerated.
func (s side) spans() []span {
	if len(s.partitions) == 0 {
		return []span{{first: s.within.First, rng: s.within}}
	}
	out := make([]span, len(s.partitions))
	for i, pk := range s.partitions {
		out[i] = span{number: i, first: edm.Key{PartitionKey: pk}, own: pk, single: true, rng: s.within}
		if i == 0 {
			out[i].first = s.within.First
		} else {
			out[i-1].before = pk
		}
	}
	return out
}

// query selects the span, from a key on if from is not nil.
func (p span) query(from *edm.Key) tablestorage.Query {
	r := p.rng
	r.First = p.first
	if from != nil {
		r.First = *from
	}
	q := tablestorage.Query{Range: &r}
	if p.before != "" {
		q.Filter = "PartitionKey lt " + quote(p.before)
	}
	return q
}

// quote writes a text as an OData literal.
func quote(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }

// keyText shows a key in messages and reports.
func keyText(k edm.Key) string { return fmt.Sprintf("(%q, %q)", k.PartitionKey, k.RowKey) }
