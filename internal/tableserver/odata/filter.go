package odata

import (
	"strings"

	"github.com/aztenancy/terraform-provider-aztenancy/internal/edm"
	"github.com/aztenancy/terraform-provider-aztenancy/internal/tableserver/keyspan"
)

// Filter is a parsed $filter of a Query Entities. A nil Filter matches everything. It is safe for concurrent use.
type Filter struct{ root node }

// Parse reads a decoded $filter. Blank text gives a nil Filter, which matches everything. The error is an *edm.Error
// with the service's code: InvalidInput for bad syntax, NotImplemented for what the service refuses to evaluate
// (reference §4.2).
func Parse(filter string) (*Filter, error) {
	root, err := parse(filter)
	if root == nil || err != nil {
		return nil, err
	}
	return &Filter{root}, nil
}

// Matches says whether the entity satisfies the filter.
func (f *Filter) Matches(e *edm.Entity) bool { return f == nil || f.root.matches(e) }

// KeyBounds returns one span of keys outside of which nothing matches: from the start of the first of KeySpans to
// the end of the last. It is empty when nothing can match.
func (f *Filter) KeyBounds() keyspan.Span {
	spans := f.KeySpans()
	if len(spans) == 0 {
		return keyspan.Span{}
	}
	return keyspan.Span{From: spans[0].From, To: spans[len(spans)-1].To}
}

// KeySpans returns disjoint spans in ascending order outside of which nothing matches: the parts of KeyBounds that
// are worth reading. No spans means that nothing can match.
func (f *Filter) KeySpans() []keyspan.Span {
	if f == nil {
		return []keyspan.Span{keyspan.Whole()}
	}
	return spansOf(f.root)
}

// String returns a text that Parse reads to the same filter.
func (f *Filter) String() string {
	if f == nil {
		return ""
	}
	return string(f.root.appendTo(nil))
}

// TableFilter is a parsed $filter of a Query Tables. A nil TableFilter matches everything.
type TableFilter struct{ root node }

// tableName is the only property of a table.
const tableName = "TableName"

// ParseTableFilter reads a decoded $filter of a Query Tables. Only TableName can be compared: another property
// gives an *edm.Error InternalError, as the service answers (reference §4.2).
func ParseTableFilter(filter string) (*TableFilter, error) {
	root, err := parse(filter)
	if root == nil || err != nil {
		return nil, err
	}
	if root, err = lowerTableName(root); err != nil {
		return nil, err
	}
	return &TableFilter{root}, nil
}

// Matches says whether the table satisfies the filter. Names are compared in lower case, because the service
// lists and continues by lower-cased names; that eq ignores case as well is unconfirmed.
func (f *TableFilter) Matches(name string) bool {
	if f == nil {
		return true
	}
	table := edm.Entity{Properties: []edm.Property{{Name: tableName, Value: edm.StringValue(strings.ToLower(name))}}}
	return f.root.matches(&table)
}

// lowerTableName lower-cases the texts in n and refuses properties that tables do not have.
func lowerTableName(n node) (node, error) {
	switch n := n.(type) {
	case comparison:
		if n.prop.name == tableName && n.literal.Type() == edm.String {
			n.literal = edm.StringValue(strings.ToLower(n.literal.Str()))
		}
		return n, refuseUnlessTableName(n.prop)
	case bare:
		return n, refuseUnlessTableName(n.prop)
	case not:
		term, err := lowerTableName(n.term)
		return not{term}, err
	case *junction:
		for i, term := range n.terms {
			var err error
			if n.terms[i], err = lowerTableName(term); err != nil {
				return nil, err
			}
		}
	}
	return n, nil
}

func refuseUnlessTableName(p property) error {
	if p.name == tableName {
		return nil
	}
	return &edm.Error{Code: "InternalError",
		Message: "Server encountered an internal error. Please try again after some time."}
}
