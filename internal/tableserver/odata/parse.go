package odata

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/aztenancy/terraform-provider-aztenancy/internal/edm"
)

// Caps that keep one request's memory and time small. Real clients send chains of thousands of comparisons, nested
// one level deeper for each by their query builders, in URLs of more than 16 KiB.
const (
	maxFilterBytes = 512 << 10 // half of what the server takes for a URL
	maxDepth       = 10_000
	maxQuotedBytes = 4 << 10 // of the filter's text in an error message
)

// parser reads a filter by recursive descent:
//
//	or         = and { "or" and }
//	and        = unary { "and" unary }
//	unary      = "not" unary | comparison
//	comparison = operand [ ( "eq" | "ne" | "gt" | "ge" | "lt" | "le" ) operand ]
//	operand    = "(" or ")" | property | literal
//
// Words are case-sensitive: `True` names a property, as it does for the service by its documentation.
type parser struct {
	lexer
	tok   token
	depth int
}

// parse reads a whole filter; nil for blank text.
func parse(filter string) (node, error) {
	if len(filter) > maxFilterBytes {
		return nil, refused(fmt.Sprintf("The $filter has %d bytes; at most %d are read.", len(filter), maxFilterBytes))
	}
	if !utf8.ValidString(filter) {
		return nil, invalidInput()
	}
	if strings.TrimSpace(filter) == "" {
		return nil, nil
	}
	p := parser{lexer: lexer{text: filter}}
	if err := p.advance(); err != nil {
		return nil, err
	}
	root, err := p.junction(true)
	if err != nil {
		return nil, err
	}
	if p.tok.kind != endToken {
		return nil, p.syntaxError()
	}
	return predicate(root)
}

func (p *parser) advance() (err error) {
	p.tok, err = p.next()
	return err
}

// junction reads a chain of "or", or of "and" one level below.
func (p *parser) junction(or bool) (node, error) {
	word, operand := "and", p.unary
	if or {
		word, operand = "or", func() (node, error) { return p.junction(false) }
	}
	left, err := operand()
	if err != nil || !p.tok.isWord(word) {
		return left, err
	}
	if left, err = predicate(left); err != nil {
		return nil, err
	}
	chain, same := left.(*junction)
	if !same || chain.or != or {
		chain = &junction{or: or, terms: []node{left}}
	}
	for p.tok.isWord(word) {
		if err := p.advance(); err != nil {
			return nil, err
		}
		term, err := operand()
		if err != nil {
			return nil, err
		}
		if term, err = predicate(term); err != nil {
			return nil, err
		}
		chain.terms = append(chain.terms, term)
	}
	return chain, nil
}

// unary reads "not" and what it applies to. That it applies to a whole comparison, as in `not a eq 1`, is
// unconfirmed; client libraries always write parentheses.
func (p *parser) unary() (node, error) {
	if !p.tok.isWord("not") {
		return p.comparison()
	}
	if err := p.descend(); err != nil {
		return nil, err
	}
	defer p.ascend()
	if err := p.advance(); err != nil {
		return nil, err
	}
	term, err := p.unary()
	if err != nil {
		return nil, err
	}
	if term, err = predicate(term); err != nil {
		return nil, err
	}
	return not{term}, nil
}

func (p *parser) comparison() (node, error) {
	left, err := p.operand()
	if err != nil {
		return nil, err
	}
	for p.tok.kind == wordToken {
		op := operatorNamed(p.tok.word)
		if op == 0 {
			break
		}
		if err := p.advance(); err != nil {
			return nil, err
		}
		right, err := p.operand()
		if err != nil {
			return nil, err
		}
		if left, err = compare(left, op, right); err != nil {
			return nil, err
		}
	}
	if p.tok.isArithmetic() {
		return nil, notImplemented()
	}
	return left, nil
}

func (p *parser) operand() (node, error) {
	tok := p.tok
	switch tok.kind {
	case literalToken:
		return literal{tok.value}, p.advance()
	case wordToken:
		if err := p.advance(); err != nil {
			return nil, err
		}
		if p.tok.kind == openToken {
			return nil, notImplemented() // a function call
		}
		return bare{propertyNamed(tok.word)}, nil
	case openToken:
		return p.parenthesized()
	default:
		return nil, p.syntaxError()
	}
}

func (p *parser) parenthesized() (node, error) {
	if err := p.descend(); err != nil {
		return nil, err
	}
	defer p.ascend()
	if err := p.advance(); err != nil {
		return nil, err
	}
	inner, err := p.junction(true)
	if err != nil {
		return nil, err
	}
	if p.tok.kind != closeToken {
		return nil, p.syntaxError()
	}
	return inner, p.advance()
}

func (p *parser) descend() error {
	if p.depth++; p.depth > maxDepth {
		return refused(fmt.Sprintf("The $filter nests parentheses and not deeper than %d levels.", maxDepth))
	}
	return nil
}

func (p *parser) ascend() { p.depth-- }

// compare builds the comparison of two operands, one of which must be a property and the other a constant
// (reference §4.2).
func compare(left node, op operator, right node) (node, error) {
	for _, side := range []node{left, right} {
		if l, ok := side.(literal); ok && l.value.IsZero() {
			return nil, invalidInput()
		}
	}
	if prop, ok := left.(bare); ok {
		if lit, ok := right.(literal); ok {
			return comparison{prop.prop, op, lit.value}, nil
		}
	}
	if lit, ok := left.(literal); ok {
		if prop, ok := right.(bare); ok {
			return comparison{prop.prop, op.mirrored(), lit.value}, nil
		}
	}
	return nil, notImplemented()
}

// predicate refuses a constant where a condition is needed.
func predicate(n node) (node, error) {
	if l, ok := n.(literal); ok {
		if l.value.IsZero() {
			return nil, invalidInput()
		}
		return nil, notImplemented()
	}
	return n, nil
}

func invalidInput() error { return refused("One of the request inputs is not valid.") }

// refused is an InvalidInput with a text. What the service says beyond its own caps is unconfirmed.
func refused(text string) error { return &edm.Error{Code: "InvalidInput", Message: text} }

func notImplemented() error {
	return &edm.Error{Code: "NotImplemented",
		Message: "The requested operation is not implemented on the specified resource."}
}

// syntaxError names the place just behind the token that does not fit, in UTF-16 units, as the service does: after
// 1'bad' it is the end of the text in quotes.
func (l *lexer) syntaxError() error {
	position := 0
	for _, r := range l.text[:l.pos] {
		position++
		if r >= 0x10000 {
			position++
		}
	}
	quoted := l.text
	if len(quoted) > maxQuotedBytes {
		quoted = strings.ToValidUTF8(quoted[:maxQuotedBytes], "") + "…"
	}
	return &edm.Error{Code: "InvalidInput", Message: fmt.Sprintf("Syntax error at position %d in '%s'.", position, quoted)}
}
