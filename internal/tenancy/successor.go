package tenancy

import "unicode/utf8"

// Successor returns the smallest key text that sorts after all key texts that begin with prefix, in the order of
// UTF-16 code units. It is a valid key text itself: no forbidden character, no lone surrogate. There is none if prefix is
// empty or consists of U+FFFF alone. The prefix must be a valid key text.
func Successor(prefix string) (string, bool) {
	for len(prefix) > 0 {
		r, size := utf8.DecodeLastRuneInString(prefix)
		prefix = prefix[:len(prefix)-size]
		if next, ok := nextKeyRune(r); ok {
			return prefix + string(next), true
		}
	}
	return "", false
}

// nextKeyRune returns the character that may stand in keys and follows r in the order of UTF-16 code units. Surrogates
// D800 to DFFF write the characters from U+10000 on, which therefore sort between U+D7FF and U+E000.
func nextKeyRune(r rune) (rune, bool) {
	for {
		switch r {
		case 0xD7FF:
			r = 0x10000
		case utf8.MaxRune:
			r = 0xE000
		case 0xFFFF:
			return 0, false
		default:
			r++
		}
		if mayStandInKeys(r) {
			return r, true
		}
	}
}

// mayStandInKeys says whether the service accepts a character in PartitionKey and RowKey (Understanding the Table service
// data model, REST reference).
func mayStandInKeys(r rune) bool {
	switch {
	case r == '/', r == '\\', r == '#', r == '?':
		return false
	case r < 0x20, r >= 0x7F && r <= 0x9F:
		return false
	default:
		return true
	}
}
