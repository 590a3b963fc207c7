package odata

import (
	"encoding/hex"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/aztenancy/terraform-provider-aztenancy/internal/edm"
)

type tokenKind uint8

const (
	endToken tokenKind = iota
	openToken
	closeToken
	wordToken    // an operator, a keyword or a property name: the parser knows by its place
	literalToken // value holds the constant; the zero Value for null
	equalsToken  // "=", which no expression of the service has
)

type token struct {
	kind  tokenKind
	word  string
	value edm.Value
}

func (t token) isWord(word string) bool { return t.kind == wordToken && t.word == word }

// isArithmetic says whether t begins something that OData knows and the service answers with NotImplemented.
func (t token) isArithmetic() bool {
	switch {
	case t.kind == equalsToken:
		return true
	case t.kind != wordToken:
		return false
	}
	switch t.word {
	case "add", "sub", "mul", "div", "mod":
		return true
	}
	return false
}

// lexer cuts a filter into tokens. pos is the place behind the last token, in bytes.
type lexer struct {
	text string
	pos  int
}

// next returns the next token. White space only separates.
func (l *lexer) next() (token, error) {
	l.skip(func(c byte) bool { return c == ' ' || c == '\t' || c == '\r' || c == '\n' })
	switch c := l.peek(); {
	case c == 0 && l.pos == len(l.text):
		return token{kind: endToken}, nil
	case c == '(':
		l.pos++
		return token{kind: openToken}, nil
	case c == ')':
		l.pos++
		return token{kind: closeToken}, nil
	case c == '=':
		l.pos++
		return token{kind: equalsToken}, nil
	case c == '\'':
		s, err := l.quoted()
		return token{kind: literalToken, value: edm.StringValue(s)}, err
	case isDigit(c) || c == '-':
		return l.number()
	default:
		return l.word()
	}
}

// peek returns the next byte; 0 at the end.
func (l *lexer) peek() byte {
	if l.pos < len(l.text) {
		return l.text[l.pos]
	}
	return 0
}

func (l *lexer) skip(in func(byte) bool) {
	for l.pos < len(l.text) && in(l.text[l.pos]) {
		l.pos++
	}
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

// quoted reads a text between single quotes, in which ” stands for one quote.
func (l *lexer) quoted() (string, error) {
	l.pos++
	start, doubled := l.pos, false
	for {
		i := strings.IndexByte(l.text[l.pos:], '\'')
		if i < 0 {
			l.pos = len(l.text)
			return "", l.syntaxError()
		}
		l.pos += i + 1
		if l.peek() != '\'' {
			break
		}
		l.pos++
		doubled = true
	}
	s := l.text[start : l.pos-1]
	if doubled {
		s = strings.ReplaceAll(s, "''", "'")
	}
	return s, nil
}

// number reads an Int32, an Int64 (suffix L, or too large for an Int32) or a Double (point or exponent). The lower
// case suffix, the exponent and the unsuffixed large integer are unconfirmed.
func (l *lexer) number() (token, error) {
	start, double := l.pos, false
	if l.peek() == '-' {
		l.pos++
	}
	l.skip(isDigit)
	if l.peek() == '.' {
		double = true
		l.pos++
		l.skip(isDigit)
	}
	if c := l.peek(); c == 'e' || c == 'E' {
		double = true
		l.pos++
		if c := l.peek(); c == '+' || c == '-' {
			l.pos++
		}
		l.skip(isDigit)
	}
	digits := l.text[start:l.pos]
	long := l.peek() == 'L' || l.peek() == 'l'
	if long {
		l.pos++
	}
	if r, _ := utf8.DecodeRuneInString(l.text[l.pos:]); isNamePart(r) || !isDigit(digits[len(digits)-1]) || long && double {
		return token{}, l.syntaxError()
	}
	value, err := numberValue(digits, double, long)
	if err != nil {
		return token{}, l.syntaxError()
	}
	return token{kind: literalToken, value: value}, nil
}

func numberValue(digits string, double, long bool) (edm.Value, error) {
	if double {
		f, err := strconv.ParseFloat(digits, 64)
		return edm.DoubleValue(f), err
	}
	i, err := strconv.ParseInt(digits, 10, 64)
	if long || int64(int32(i)) != i {
		return edm.Int64Value(i), err
	}
	return edm.Int32Value(int32(i)), err
}

// word reads a name, a keyword, or the literal that begins with one, such as guid'…'.
func (l *lexer) word() (token, error) {
	start := l.pos
	for l.pos < len(l.text) {
		r, size := utf8.DecodeRuneInString(l.text[l.pos:])
		if !isNamePart(r) {
			break
		}
		l.pos += size
	}
	if l.pos == start {
		_, size := utf8.DecodeRuneInString(l.text[l.pos:])
		l.pos += size
		return token{}, l.syntaxError()
	}
	word := l.text[start:l.pos]
	switch word {
	case "true", "false":
		return token{kind: literalToken, value: edm.BooleanValue(word == "true")}, nil
	case "null":
		return token{kind: literalToken}, nil
	}
	if l.peek() == '\'' {
		return l.prefixed(word)
	}
	return token{kind: wordToken, word: word}, nil
}

// isNamePart says whether a rune can stand in a property name, which is a C# identifier; a name never begins with a
// digit because number takes that first.
func isNamePart(r rune) bool {
	return r == '_' || r != utf8.RuneError && unicode.In(r, unicode.L, unicode.Nl, unicode.Mn, unicode.Mc, unicode.Nd, unicode.Pc, unicode.Cf)
}

// prefixed reads the quoted part of a literal with a type prefix.
func (l *lexer) prefixed(prefix string) (token, error) {
	text, err := l.quoted()
	if err != nil {
		return token{}, err
	}
	var value edm.Value
	switch prefix {
	case "datetime":
		value, err = dateTimeValue(text)
	case "guid":
		value, err = edm.ParseValue(edm.GUID, text)
	case "X", "x", "binary":
		var b []byte
		b, err = hex.DecodeString(text)
		value = edm.BinaryValue(b)
	default:
		return token{}, l.syntaxError()
	}
	if err != nil {
		return token{}, l.syntaxError()
	}
	return token{kind: literalToken, value: value}, nil
}

// dateTimeValue reads a time. One before the year 1601 can be asked for although none can be stored: .NET's smallest
// time, year 1, stands in filters. That the service takes it is unconfirmed.
func dateTimeValue(text string) (edm.Value, error) {
	value, err := edm.ParseValue(edm.DateTime, text)
	if err == nil {
		return value, nil
	}
	t, early := time.Parse(time.RFC3339Nano, text)
	if early != nil || t.UTC().Year() < 1 || t.UTC().Year() > 9999 {
		return edm.Value{}, err
	}
	return edm.DateTimeValue(t.UTC()), nil
}
