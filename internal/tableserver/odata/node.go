package odata

import (
	"encoding/hex"
	"strconv"
	"strings"

	"github.com/aztenancy/terraform-provider-aztenancy/internal/edm"
)

// node is a part of a filter that is true or false for an entity.
type node interface {
	matches(e *edm.Entity) bool
	// appendTo appends a text that parses to the same node, without outer parentheses.
	appendTo(dst []byte) []byte
}

// comparison compares a property with a literal. The literal always stands on the right: `5 lt a` is kept as
// `a gt 5`.
type comparison struct {
	prop    property
	op      operator
	literal edm.Value
}

// bare is a property that stands alone as a predicate.
type bare struct{ prop property }

// not is true when its term is not: there are only two truth values.
type not struct{ term node }

// junction is a conjunction (or is false) or a disjunction of two or more terms. The first term is never a junction
// of the same kind: long chains, and the left-nested ones that client libraries build, are kept flat.
type junction struct {
	or    bool
	terms []node
}

// literal is a constant. It is not a predicate: the parser accepts it only as an operand. The zero Value is null.
type literal struct{ value edm.Value }

// operator is a comparison operator.
type operator uint8

const (
	eq operator = iota + 1
	ne
	lt
	le
	gt
	ge
)

var operatorNames = [...]string{eq: "eq", ne: "ne", lt: "lt", le: "le", gt: "gt", ge: "ge"}

// operatorNamed returns the operator; 0 for other words.
func operatorNamed(word string) operator {
	for op := eq; op <= ge; op++ {
		if operatorNames[op] == word {
			return op
		}
	}
	return 0
}

// mirrored returns the operator for exchanged operands.
func (op operator) mirrored() operator {
	return [...]operator{eq: eq, ne: ne, lt: gt, le: ge, gt: lt, ge: le}[op]
}

// negated returns the operator that is true when op is false, for operands of one type.
func (op operator) negated() operator {
	return [...]operator{eq: ne, ne: eq, lt: ge, le: gt, gt: le, ge: lt}[op]
}

// holds says whether the operator is true of operands that compare as order: negative, zero or positive.
func (op operator) holds(order int) bool {
	switch op {
	case eq:
		return order == 0
	case ne:
		return order != 0
	case lt:
		return order < 0
	case le:
		return order <= 0
	case gt:
		return order > 0
	default:
		return order >= 0
	}
}

func (c comparison) appendTo(dst []byte) []byte {
	dst = append(dst, c.prop.name...)
	dst = append(dst, ' ')
	dst = append(dst, operatorNames[c.op]...)
	dst = append(dst, ' ')
	return appendLiteral(dst, c.literal)
}

func (b bare) appendTo(dst []byte) []byte { return append(dst, b.prop.name...) }

func (n not) appendTo(dst []byte) []byte {
	return append(n.term.appendTo(append(dst, "not ("...)), ')')
}

func (j *junction) appendTo(dst []byte) []byte {
	for i, term := range j.terms {
		if i > 0 && j.or {
			dst = append(dst, " or "...)
		} else if i > 0 {
			dst = append(dst, " and "...)
		}
		if _, nested := term.(*junction); nested {
			dst = append(term.appendTo(append(dst, '(')), ')')
		} else {
			dst = term.appendTo(dst)
		}
	}
	return dst
}

func (l literal) appendTo(dst []byte) []byte { return appendLiteral(dst, l.value) }

// appendLiteral appends the form of a literal that reference §4.1 lists for its type.
func appendLiteral(dst []byte, v edm.Value) []byte {
	switch v.Type() {
	case edm.String:
		dst = append(dst, '\'')
		dst = append(dst, strings.ReplaceAll(v.Str(), "'", "''")...)
		return append(dst, '\'')
	case edm.Boolean:
		return strconv.AppendBool(dst, v.Bool())
	case edm.Int32:
		return strconv.AppendInt(dst, v.Int(), 10)
	case edm.Int64:
		return append(strconv.AppendInt(dst, v.Int(), 10), 'L')
	case edm.Double:
		return appendDouble(dst, v.Float())
	case edm.DateTime:
		return appendQuoted(dst, "datetime", v.String())
	case edm.GUID:
		return appendQuoted(dst, "guid", v.String())
	case edm.Binary:
		return appendQuoted(dst, "X", strings.ToUpper(hex.EncodeToString(v.Bytes())))
	default:
		return append(dst, "null"...)
	}
}

// appendDouble appends a number with a point or an exponent, so that it reads as Edm.Double again.
func appendDouble(dst []byte, f float64) []byte {
	text := strconv.FormatFloat(f, 'g', -1, 64)
	dst = append(dst, text...)
	if !strings.ContainsAny(text, ".e") {
		dst = append(dst, ".0"...)
	}
	return dst
}

func appendQuoted(dst []byte, prefix, text string) []byte {
	dst = append(dst, prefix...)
	dst = append(dst, '\'')
	dst = append(dst, text...)
	return append(dst, '\'')
}
