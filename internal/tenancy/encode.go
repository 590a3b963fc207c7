package tenancy

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

const hexDigits = "0123456789ABCDEF"

// EncodeKey escapes what cannot stand in a PartitionKey or RowKey, so that DecodeKey gives back any text, bytes that
// are no UTF-8 included. Different texts have different encodings; a text without "~" and forbidden characters is its own.
//
//	character that the service forbids, or "~"   ~XX    its code point, two upper-case hexadecimal digits
//	byte that is not part of valid UTF-8         ~!XX
func EncodeKey(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); {
		r, size := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && size == 1:
			b.WriteString("~!")
			writeHex(&b, s[i])
		case r == '~' || !mayStandInKeys(r):
			b.WriteByte('~')
			writeHex(&b, byte(r)) // all of them are below U+0100
		default:
			b.WriteString(s[i : i+size])
		}
		i += size
	}
	return b.String()
}

func writeHex(b *strings.Builder, c byte) {
	b.WriteByte(hexDigits[c>>4])
	b.WriteByte(hexDigits[c&15])
}

// DecodeKey is the inverse of EncodeKey. A text that EncodeKey does not produce is an error.
func DecodeKey(s string) (string, error) {
	var b strings.Builder
	for rest := s; rest != ""; {
		before, after, found := strings.Cut(rest, "~")
		b.WriteString(before)
		if !found {
			break
		}
		digits, raw := strings.CutPrefix(after, "!")
		if len(digits) < 2 {
			return "", fmt.Errorf("decode key %q: it ends within an escape", s)
		}
		n, err := strconv.ParseUint(digits[:2], 16, 8)
		if err != nil {
			return "", fmt.Errorf("decode key %q: ~%s is no escape", s, after[:2])
		}
		if raw {
			b.WriteByte(byte(n))
		} else {
			b.WriteRune(rune(n))
		}
		rest = digits[2:]
	}
	out := b.String()
	if EncodeKey(out) != s {
		return "", fmt.Errorf("decode key %q: it is not the encoding of %q", s, out)
	}
	return out, nil
}
