package tenancy

import (
	"regexp"
	"strings"

	"pgregory.net/rapid"

	"github.com/aztenancy/terraform-provider-aztenancy/internal/edm"
)

var filterToken = regexp.MustCompile(`^\s*(\(|\)|[A-Za-z]+|'(?:[^']|'')*')`)

// filterEval evaluates the subset of OData that ranges use, with the precedence of reference §4.1.
type filterEval struct {
	t      *rapid.T
	rest   string
	fields map[string]string
}

func evalFilter(t *rapid.T, filter string, k edm.Key) bool {
	if filter == "" {
		return true
	}
	p := &filterEval{t: t, rest: filter, fields: map[string]string{"PartitionKey": k.PartitionKey, "RowKey": k.RowKey}}
	v := p.or()
	if strings.TrimSpace(p.rest) != "" {
		t.Fatalf("filter %s: %q is left over", filter, p.rest)
	}
	return v
}

func (p *filterEval) peek() string {
	m := filterToken.FindStringSubmatch(p.rest)
	if m == nil {
		return ""
	}
	return m[1]
}

func (p *filterEval) next() string {
	tok := p.peek()
	p.rest = strings.TrimPrefix(strings.TrimLeft(p.rest, " "), tok)
	return tok
}

func (p *filterEval) or() bool {
	v := p.and()
	for p.peek() == "or" {
		p.next()
		w := p.and()
		v = v || w
	}
	return v
}

func (p *filterEval) and() bool {
	v := p.comparison()
	for p.peek() == "and" {
		p.next()
		w := p.comparison()
		v = v && w
	}
	return v
}

func (p *filterEval) comparison() bool {
	tok := p.next()
	if tok == "(" {
		v := p.or()
		if p.next() != ")" {
			p.t.Fatalf("unclosed parenthesis before %q", p.rest)
		}
		return v
	}
	field, ok := p.fields[tok]
	op, literal := p.next(), p.next()
	if !ok || len(literal) < 2 {
		p.t.Fatalf("bad comparison %s %s %s", tok, op, literal)
	}
	c := compareUnits(field, strings.ReplaceAll(literal[1:len(literal)-1], "''", "'"))
	switch op {
	case "eq":
		return c == 0
	case "ne":
		return c != 0
	case "ge":
		return c >= 0
	case "gt":
		return c > 0
	case "le":
		return c <= 0
	case "lt":
		return c < 0
	}
	p.t.Fatalf("operator %q", op)
	return false
}
