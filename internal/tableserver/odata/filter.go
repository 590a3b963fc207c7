package odata

import (
	"github.com/aztenancy/terraform-provider-aztenancy/internal/edm"
	"github.com/aztenancy/terraform-provider-aztenancy/internal/tableserver/keyspan"
)

// Filter is a parsed $filter of a Query Entities. A nil Filter matches everything. It is safe for concurrent use.
type Filter struct{}

// Parse reads a decoded $filter. Blank text gives a nil Filter, which matches everything. The error is an *edm.Error
// with the service's code: InvalidInput for bad syntax, NotImplemented for what the service refuses to evaluate.
func Parse(filter string) (*Filter, error) { panic("under construction") }

// Matches says whether the entity satisfies the filter.
func (f *Filter) Matches(e *edm.Entity) bool { panic("under construction") }

// KeyBounds returns the tightest single span of keys outside of which nothing matches. Its end may not lie after its
// start: then nothing matches at all.
func (f *Filter) KeyBounds() keyspan.Span { panic("under construction") }

// KeySpans returns disjoint spans in ascending order outside of which nothing matches: the parts of KeyBounds that
// are worth reading. No spans means that nothing matches.
func (f *Filter) KeySpans() []keyspan.Span { panic("under construction") }

// TableFilter is a parsed $filter of a Query Tables. A nil TableFilter matches everything.
type TableFilter struct{}

// ParseTableFilter reads a decoded $filter of a Query Tables. Only TableName can be compared: another property
// gives an *edm.Error InternalError, as the service answers.
func ParseTableFilter(filter string) (*TableFilter, error) { panic("under construction") }

// Matches says whether the table satisfies the filter. Names are compared without regard to case.
func (f *TableFilter) Matches(name string) bool { panic("under construction") }
