package store

import (
	"encoding/binary"
	"fmt"
	"math"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/aztenancy/terraform-provider-aztenancy/internal/edm"
	"github.com/aztenancy/terraform-provider-aztenancy/internal/tableserver/keyspan"
)

// A stored entity key keeps the service's order under bytes.Compare:
//
//	+-------------+-----------+----------------------+------+----------------+
//	| account (4B)| table (4B)| PartitionKey, UTF-16 | 0000 | RowKey, UTF-16 |
//	+-------------+-----------+----------------------+------+----------------+
//
// UTF-16BE because the service compares code units: U+1F600 sorts before U+FF5E. Code unit 0000 cannot
// occur in a key (the protocol forbids control characters), so it ends the PartitionKey. Either part may be empty.
//
// Account numbers start at 1; keys below account 0 hold what is not an entity:
//
//	00000000 'a' account name                     account number (4B)
//	00000000 'c'                                  the clock's mark: no tick at or above it was ever given out (8B)
//	00000000 'n'                                  the last account or table number given out (4B)
//	00000000 'p' account (4B)                     service properties, opaque
//	00000000 't' account (4B) name in lower case  a table record, drawn in tables.go
const prefixLen = 8

var (
	clockKey  = []byte{0, 0, 0, 0, 'c'}
	numberKey = []byte{0, 0, 0, 0, 'n'}
)

func accountKey(name string) []byte { return append([]byte{0, 0, 0, 0, 'a'}, name...) }

func propertiesKey(account uint32) []byte {
	return binary.BigEndian.AppendUint32([]byte{0, 0, 0, 0, 'p'}, account)
}

// tableKeyPrefix starts the keys of an account's table records.
func tableKeyPrefix(account uint32) []byte {
	return binary.BigEndian.AppendUint32([]byte{0, 0, 0, 0, 't'}, account)
}

func tableKey(account uint32, name string) []byte {
	return append(tableKeyPrefix(account), strings.ToLower(name)...)
}

// appendTablePrefix starts the keys of a table's entities.
func appendTablePrefix(dst []byte, t Table) []byte {
	dst = binary.BigEndian.AppendUint32(dst, t.account)
	return binary.BigEndian.AppendUint32(dst, t.number)
}

// tableEnd is the first key after a table's entities. Table numbers never reach the largest uint32.
func tableEnd(t Table) []byte {
	return appendTablePrefix(nil, Table{account: t.account, number: t.number + 1})
}

// appendEntityKey writes the whole key of an entity.
func appendEntityKey(dst []byte, t Table, k edm.Key) []byte {
	dst = appendTablePrefix(dst, t)
	dst = appendUTF16(dst, k.PartitionKey)
	dst = append(dst, 0, 0)
	return appendUTF16(dst, k.RowKey)
}

func appendUTF16(dst []byte, s string) []byte {
	for _, r := range s {
		if r < 0x10000 {
			dst = binary.BigEndian.AppendUint16(dst, uint16(r))
			continue
		}
		hi, lo := utf16.EncodeRune(r)
		dst = binary.BigEndian.AppendUint16(dst, uint16(hi))
		dst = binary.BigEndian.AppendUint16(dst, uint16(lo))
	}
	return dst
}

func decodeUTF16(b []byte) string {
	out := make([]byte, 0, len(b))
	for i := 0; i+1 < len(b); i += 2 {
		u := rune(binary.BigEndian.Uint16(b[i:]))
		if utf16.IsSurrogate(u) && i+3 < len(b) {
			if r := utf16.DecodeRune(u, rune(binary.BigEndian.Uint16(b[i+2:]))); r != utf8.RuneError {
				out = utf8.AppendRune(out, r)
				i += 2
				continue
			}
		}
		out = utf8.AppendRune(out, u)
	}
	return string(out)
}

// keyDecoder turns stored keys into entity keys. It remembers the last PartitionKey, because neighbours share it.
type keyDecoder struct {
	raw []byte
	pk  string
}

func (d *keyDecoder) decode(key []byte) (edm.Key, error) {
	if len(key) < prefixLen+2 || len(key)%2 != 0 {
		return edm.Key{}, fmt.Errorf("stored key %x: wrong length", key)
	}
	body := key[prefixLen:]
	for i := 0; i+1 < len(body); i += 2 {
		if body[i] != 0 || body[i+1] != 0 {
			continue
		}
		if d.raw == nil || string(d.raw) != string(body[:i]) {
			d.raw = append(make([]byte, 0, i), body[:i]...)
			d.pk = decodeUTF16(body[:i])
		}
		return edm.Key{PartitionKey: d.pk, RowKey: decodeUTF16(body[i+2:])}, nil
	}
	return edm.Key{}, fmt.Errorf("stored key %x: no end of the PartitionKey", key)
}

// boundKey returns a stored key that lies at the place b of table t. Where b names a key with code unit 0000, which
// no entity has, the stored key may lie further outward: the caller compares the entities' keys again.
func boundKey(t Table, b keyspan.Bound, outward side) []byte {
	if b.Side == keyspan.AfterAll {
		return tableEnd(t)
	}
	pk, _, found := strings.Cut(b.Key.PartitionKey, "\x00")
	rk, _, cut := strings.Cut(b.Key.RowKey, "\x00")
	dst := make([]byte, 0, prefixLen+2*len(pk)+2*len(rk)+3)
	if b.Side == keyspan.AfterPartition || found && outward == up {
		return append(appendUTF16(appendTablePrefix(dst, t), pk), 0, 1)
	}
	if found {
		rk = ""
	}
	dst = appendEntityKey(dst, t, edm.Key{PartitionKey: pk, RowKey: rk})
	if outward == up && (b.Side == keyspan.After || cut) || outward == down && b.Side == keyspan.After && !cut && !found {
		dst = append(dst, 0)
	}
	return dst
}

// side is the end of a span that a bound makes.
type side bool

const (
	down side = false
	up   side = true
)

// maxNumber leaves room for tableEnd.
const maxNumber = math.MaxUint32 - 1
