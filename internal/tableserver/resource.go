package tableserver

import (
	"net/url"
	"strings"
	"unicode/utf8"

	"github.com/aztenancy/terraform-provider-aztenancy/internal/edm"
)

// resourceKind is what a path addresses.
type resourceKind uint8

const (
	serviceResource resourceKind = iota + 1 // the account's root
	tablesResource                          // Tables, Tables()
	tableEntry                              // Tables('name')
	batchResource                           // $batch
	tableResource                           // name, name()
	entityResource                          // name(PartitionKey='…',RowKey='…')
)

// resource is a parsed path below the account.
type resource struct {
	kind  resourceKind
	table string
	key   edm.Key
}

// parseResource reads an escaped path below the account, without the leading slash. Quotes in keys are doubled
// before they are percent-encoded (Query Entities, REST reference). The errors are the service's for keys in a URL.
func parseResource(escaped string) (resource, error) {
	if escaped == "" {
		return resource{kind: serviceResource}, nil
	}
	path, err := url.PathUnescape(escaped)
	if err != nil || !utf8.ValidString(path) {
		return resource{}, errInvalidURL
	}
	if refusedByFrontEnd(path) {
		return resource{}, errInvalidURL
	}
	if path == "$batch" {
		return resource{kind: batchResource}, nil
	}
	name, predicate, found := strings.Cut(path, "(")
	tables := found && strings.EqualFold(name, "Tables") // a table of any name can be asked for
	if !tables && strings.ContainsAny(path, `/\`) {
		if found {
			return resource{}, errQuerySyntax
		}
		return resource{}, errNotFound
	}
	if !found {
		if strings.EqualFold(name, "Tables") {
			return resource{kind: tablesResource}, nil
		}
		return resource{kind: tableResource, table: name}, nil
	}
	return parsePredicate(name, predicate)
}

// parsePredicate reads what follows the opening parenthesis.
func parsePredicate(name, predicate string) (resource, error) {
	tables := strings.EqualFold(name, "Tables")
	p := predicateReader{rest: predicate}
	if p.token(")") && p.rest == "" {
		if tables {
			return resource{kind: tablesResource}, nil
		}
		return resource{kind: tableResource, table: name}, nil
	}
	if tables {
		table, ok := p.text()
		if !ok || !p.token(")") || p.rest != "" {
			return resource{}, errQuerySyntax
		}
		return resource{kind: tableEntry, table: table}, nil
	}
	key, ok := p.key()
	if !ok || !p.token(")") || p.rest != "" {
		return resource{}, errQuerySyntax
	}
	if strings.ContainsFunc(key.PartitionKey+key.RowKey, forbiddenInKey) {
		return resource{}, &edm.Error{Code: "OutOfRangeInput", Message: "One of the request inputs is out of range."}
	}
	return resource{kind: entityResource, table: name, key: key}, nil
}

// predicateReader takes tokens from a key predicate; white space between them is optional.
type predicateReader struct{ rest string }

func (p *predicateReader) token(t string) bool {
	rest := strings.TrimLeft(p.rest, " \t")
	if !strings.HasPrefix(rest, t) {
		return false
	}
	p.rest = strings.TrimLeft(rest[len(t):], " \t")
	return true
}

// text reads a quoted text with doubled quotes in it.
func (p *predicateReader) text() (string, bool) {
	rest, ok := strings.CutPrefix(strings.TrimLeft(p.rest, " \t"), "'")
	if !ok {
		return "", false
	}
	p.rest = rest
	var b strings.Builder
	for {
		i := strings.IndexByte(p.rest, '\'')
		if i < 0 {
			return "", false
		}
		b.WriteString(p.rest[:i])
		p.rest = p.rest[i+1:]
		if !strings.HasPrefix(p.rest, "'") {
			return b.String(), true
		}
		b.WriteByte('\'')
		p.rest = p.rest[1:]
	}
}

// key reads PartitionKey='…',RowKey='…' in either order.
func (p *predicateReader) key() (k edm.Key, ok bool) {
	parts := []struct {
		name string
		to   *string
		seen bool
	}{{"PartitionKey", &k.PartitionKey, false}, {"RowKey", &k.RowKey, false}}
	for n := range parts {
		if n > 0 && !p.token(",") {
			return k, false
		}
		i := 0
		if !p.token(parts[0].name) {
			if i = 1; !p.token(parts[1].name) {
				return k, false
			}
		}
		if parts[i].seen || !p.token("=") {
			return k, false
		}
		parts[i].seen = true
		if *parts[i].to, ok = p.text(); !ok {
			return k, false
		}
	}
	return k, true
}

// refusedByFrontEnd says whether the web front end in front of the service answers for itself: control characters
// never reach the table code (third-party conformance tests).
func refusedByFrontEnd(path string) bool {
	return strings.ContainsFunc(path, func(r rune) bool {
		switch r {
		case 0x7F, 0x81, 0x8D, 0x8F, 0x90, 0x9D:
			return true
		}
		return r < 0x20
	})
}

// forbiddenInKey names what is left of the forbidden characters when the front end and the path parser are done.
func forbiddenInKey(r rune) bool {
	return r == '#' || r == '?' || r < 0x20 || r >= 0x7F && r <= 0x9F
}

// appendEntityPath writes name(PartitionKey='…',RowKey='…') with percent-encoded keys: the inverse of parseResource.
func appendEntityPath(dst []byte, table string, k edm.Key) []byte {
	dst = append(dst, table...)
	dst = append(dst, "(PartitionKey='"...)
	dst = appendKeyText(dst, k.PartitionKey)
	dst = append(dst, "',RowKey='"...)
	dst = appendKeyText(dst, k.RowKey)
	return append(dst, "')"...)
}

func appendKeyText(dst []byte, s string) []byte {
	const hex = "0123456789ABCDEF"
	for i := range len(s) {
		switch c := s[i]; {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', strings.IndexByte("-._~", c) >= 0:
			dst = append(dst, c)
		case c == '\'':
			dst = append(dst, "%27%27"...)
		default:
			dst = append(dst, '%', hex[c>>4], hex[c&15])
		}
	}
	return dst
}
