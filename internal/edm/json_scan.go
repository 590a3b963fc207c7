package edm

import (
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// literal is a JSON value that is neither object nor array. text is a string's decoded text or a number as written.
type literal struct {
	kind literalKind
	text string
}

type literalKind uint8

const (
	nullLiteral literalKind = iota + 1
	falseLiteral
	trueLiteral
	numberLiteral
	stringLiteral
)

// scanner reads JSON tokens (RFC 8259, strictly) from text that is known to be UTF-8. What it returns shares memory
// with the text.
type scanner struct {
	s string
	i int // next byte
}

func (p *scanner) skipSpace() {
	for p.i < len(p.s) && (p.s[p.i] == ' ' || p.s[p.i] == '\n' || p.s[p.i] == '\r' || p.s[p.i] == '\t') {
		p.i++
	}
}

// take consumes c if it is the next token.
func (p *scanner) take(c byte) bool {
	p.skipSpace()
	if p.i == len(p.s) || p.s[p.i] != c {
		return false
	}
	p.i++
	return true
}

// unexpected is the refusal of what stands at the current position.
func (p *scanner) unexpected(wanted string) error {
	if p.i >= len(p.s) {
		return invalidInputf("JSON ends where %s should be", wanted)
	}
	return invalidInputf("JSON has %.10q at byte %d where %s should be", p.s[p.i:], p.i, wanted)
}

// end checks that nothing follows.
func (p *scanner) end() error {
	p.skipSpace()
	if p.i < len(p.s) {
		return p.unexpected("the end")
	}
	return nil
}

// name consumes a member's name and its colon.
func (p *scanner) name() (string, error) {
	p.skipSpace()
	if p.i == len(p.s) || p.s[p.i] != '"' {
		return "", p.unexpected("a name")
	}
	name, err := p.str()
	if err != nil {
		return "", err
	}
	if !p.take(':') {
		return "", p.unexpected("a colon")
	}
	return name, nil
}

// literal consumes a value. Objects and arrays are refused: no entity holds any.
func (p *scanner) literal() (literal, error) {
	p.skipSpace()
	rest := p.s[p.i:]
	switch {
	case rest == "":
	case rest[0] == '"':
		text, err := p.str()
		return literal{stringLiteral, text}, err
	case strings.HasPrefix(rest, "null"):
		p.i += len("null")
		return literal{kind: nullLiteral}, nil
	case strings.HasPrefix(rest, "true"):
		p.i += len("true")
		return literal{kind: trueLiteral}, nil
	case strings.HasPrefix(rest, "false"):
		p.i += len("false")
		return literal{kind: falseLiteral}, nil
	default:
		start := p.i
		if end := numberEnd(p.s, start); end > start {
			p.i = end
			return literal{numberLiteral, p.s[start:end]}, nil
		}
	}
	return literal{}, p.unexpected("a value without objects or arrays")
}

// str consumes a string, whose opening quote is the next byte, and returns its decoded text.
func (p *scanner) str() (string, error) {
	start, escaped := p.i+1, false
	for i := start; i < len(p.s); i++ {
		switch c := p.s[i]; {
		case c == '"':
			p.i = i + 1
			if escaped {
				return unescape(p.s[start:i])
			}
			return p.s[start:i], nil
		case c == '\\':
			escaped = true
			i++ // whatever follows does not end the string
		case c < 0x20:
			p.i = i
			return "", p.unexpected("no control character")
		}
	}
	p.i = len(p.s)
	return "", p.unexpected("a quote")
}

// simpleEscapes maps the letter of an escape to its meaning.
var simpleEscapes = [...]byte{'"': '"', '\\': '\\', '/': '/', 'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t'}

// unescape decodes the escapes of a string. A surrogate without its other half is refused: it is no character, UTF-8
// has no form for it, and a replacement in its place would be another key or value than the one that was sent. (What
// the service does with it is unconfirmed.)
func unescape(s string) (string, error) {
	var b strings.Builder
	b.Grow(len(s))
	for {
		i := strings.IndexByte(s, '\\')
		if i < 0 {
			b.WriteString(s)
			return b.String(), nil
		}
		b.WriteString(s[:i])
		s = s[i+1:]
		if s == "" {
			return "", invalidInput("JSON string ends within an escape")
		}
		if c := s[0]; c != 'u' {
			if int(c) >= len(simpleEscapes) || simpleEscapes[c] == 0 {
				return "", invalidInputf("JSON has no escape \\%.1q", s)
			}
			b.WriteByte(simpleEscapes[c])
			s = s[1:]
			continue
		}
		r, size := unescapeUnicode(s)
		if size == 0 {
			return "", invalidInputf("JSON escape \\%.11q is no character", s)
		}
		b.WriteRune(r)
		s = s[size:]
	}
}

// unescapeUnicode decodes uXXXX, or uXXXX\uXXXX for a surrogate pair, at the start of s and returns its length; 0 if
// it is neither.
func unescapeUnicode(s string) (r rune, size int) {
	r, ok := hexUnit(s)
	if !ok {
		return 0, 0
	}
	if !utf16.IsSurrogate(r) {
		return r, 5
	}
	if len(s) < 6 || s[5] != '\\' {
		return 0, 0
	}
	low, ok := hexUnit(s[6:])
	if r = utf16.DecodeRune(r, low); !ok || r == utf8.RuneError {
		return 0, 0
	}
	return r, 11
}

// hexUnit decodes uXXXX at the start of s.
func hexUnit(s string) (rune, bool) {
	if len(s) < 5 || s[0] != 'u' {
		return 0, false
	}
	var r rune
	for i := 1; i < 5; i++ {
		switch c := s[i]; {
		case '0' <= c && c <= '9':
			r = r<<4 | rune(c-'0')
		case 'a' <= c|0x20 && c|0x20 <= 'f':
			r = r<<4 | rune(c|0x20-'a'+10)
		default:
			return 0, false
		}
	}
	return r, true
}

// numberEnd returns where the JSON number ends that starts at i, or i if there is none.
func numberEnd(s string, i int) int {
	start := i
	if i < len(s) && s[i] == '-' {
		i++
	}
	first := i
	if i = digitsEnd(s, i); i == first || s[first] == '0' && i > first+1 {
		return start
	}
	if i < len(s) && s[i] == '.' {
		end := digitsEnd(s, i+1)
		if end == i+1 {
			return start
		}
		i = end
	}
	if i < len(s) && s[i]|0x20 == 'e' {
		digits := i + 1
		if digits < len(s) && (s[digits] == '+' || s[digits] == '-') {
			digits++
		}
		end := digitsEnd(s, digits)
		if end == digits {
			return start
		}
		i = end
	}
	return i
}

func digitsEnd(s string, i int) int {
	for i < len(s) && '0' <= s[i] && s[i] <= '9' {
		i++
	}
	return i
}
