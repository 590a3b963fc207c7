package odata

import (
	"cmp"
	"math"
	"strings"

	"github.com/aztenancy/terraform-provider-aztenancy/internal/edm"
)

// property is a named property of an entity, with the system properties told apart once.
type property struct {
	name string
	kind propertyKind
}

type propertyKind uint8

const (
	ownProperty propertyKind = iota
	partitionKey
	rowKey
	timestamp
)

// propertyNamed returns the property. Names are case-sensitive.
func propertyNamed(name string) property {
	kinds := map[string]propertyKind{"PartitionKey": partitionKey, "RowKey": rowKey, "Timestamp": timestamp}
	return property{name, kinds[name]}
}

// of returns the property's value in e: keys as strings, Timestamp as a DateTime.
func (p property) of(e *edm.Entity) (edm.Value, bool) {
	switch p.kind {
	case partitionKey:
		return edm.StringValue(e.PartitionKey), true
	case rowKey:
		return edm.StringValue(e.RowKey), true
	case timestamp:
		return edm.DateTimeValue(e.Timestamp), true
	default:
		return e.Get(p.name)
	}
}

// matches is false when the entity lacks the property, whatever the operator (reference §4.3 rule 4).
func (c comparison) matches(e *edm.Entity) bool {
	v, ok := c.prop.of(e)
	return ok && holds(v, c.op, c.literal)
}

// matches is true only for a Boolean true; another type is no error (reference §4.3 rule 5).
func (b bare) matches(e *edm.Entity) bool {
	v, _ := b.prop.of(e)
	return v.Bool()
}

func (n not) matches(e *edm.Entity) bool { return !n.term.matches(e) }

func (j *junction) matches(e *edm.Entity) bool {
	for _, term := range j.terms {
		if term.matches(e) == j.or {
			return j.or
		}
	}
	return !j.or
}

// matches is never asked of a constant: the parser refuses it as a predicate.
func (l literal) matches(*edm.Entity) bool { return l.value.Bool() }

// holds compares a stored value with a literal by the rules of reference §4.3: within one type by its natural order;
// a literal of a narrower number type is widened; with any other pair of types the stored value counts as less.
func holds(stored edm.Value, op operator, lit edm.Value) bool {
	if wider, ok := widened(lit, stored.Type()); ok {
		lit = wider
	}
	if stored.Type() != lit.Type() {
		return op.holds(-1)
	}
	if stored.Type() == edm.Double && math.IsNaN(stored.Float()) {
		return op == ne // NaN has no order (IEEE 754); what the service does is unconfirmed
	}
	return op.holds(order(stored, lit))
}

// widened returns a number literal as the wider type of a stored value. Only literals are widened, never what is
// stored: an Int32 property does not meet 3L (reference §4.3 rules 2 and 3).
func widened(lit edm.Value, to edm.Type) (edm.Value, bool) {
	switch {
	case lit.Type() == edm.Int32 && to == edm.Int64:
		return edm.Int64Value(lit.Int()), true
	case (lit.Type() == edm.Int32 || lit.Type() == edm.Int64) && to == edm.Double:
		return edm.DoubleValue(float64(lit.Int())), true
	default:
		return edm.Value{}, false
	}
}

// order compares two values of one type. GUIDs compare by their fields, which is the order of their text-form bytes.
func order(a, b edm.Value) int {
	switch a.Type() {
	case edm.String:
		return edm.CompareText(a.Str(), b.Str())
	case edm.Boolean:
		return cmp.Compare(bit(a), bit(b))
	case edm.Double:
		return cmp.Compare(a.Float(), b.Float())
	case edm.GUID:
		ga, gb := a.GUID(), b.GUID()
		return strings.Compare(string(ga[:]), string(gb[:]))
	case edm.Binary:
		return strings.Compare(string(a.Bytes()), string(b.Bytes()))
	default: // Int32, Int64 and DateTime keep a signed number
		return cmp.Compare(a.Int(), b.Int())
	}
}

func bit(v edm.Value) int {
	if v.Bool() {
		return 1
	}
	return 0
}
