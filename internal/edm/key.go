package edm

import (
	"cmp"
	"unicode/utf8"
)

// Key addresses one entity of a table. Keys are ordered by PartitionKey, then RowKey, each by UTF-16 code units
// as the service sorts them (ordinal comparison, reference §4.4).
type Key struct {
	PartitionKey string
	RowKey       string
}

// Compare returns -1, 0 or 1 as k sorts before, with or after o.
func (k Key) Compare(o Key) int {
	return cmp.Or(CompareText(k.PartitionKey, o.PartitionKey), CompareText(k.RowKey, o.RowKey))
}

// CompareText compares two texts by UTF-16 code units. It differs from the order of UTF-8 bytes only where a
// character beyond U+FFFF meets one in U+E000 to U+FFFF: U+1F600 is written D83D DE00 and so sorts before U+FF5E.
func CompareText(a, b string) int {
	i := 0
	for i < len(a) && i < len(b) && a[i] == b[i] {
		i++
	}
	if i == len(a) || i == len(b) {
		return cmp.Compare(len(a), len(b))
	}
	for i > 0 && !utf8.RuneStart(a[i]) {
		i--
	}
	ra, _ := utf8.DecodeRuneInString(a[i:])
	rb, _ := utf8.DecodeRuneInString(b[i:])
	return cmp.Compare(utf16Order(ra), utf16Order(rb))
}

// utf16Order maps a rune to a number that orders runes as their UTF-16 code units do: U+0000 to U+DFFF, then
// the runes that need a surrogate pair, then U+E000 to U+FFFF.
func utf16Order(r rune) rune {
	switch {
	case r >= 0x10000:
		return r - 0x10000 + 0xE000
	case r >= 0xE000:
		return r + 0x110000
	default:
		return r
	}
}
