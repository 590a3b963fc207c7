package ingest

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"hash"
	"slices"
	"strings"

	"github.com/aztenancy/terraform-provider-aztenancy/internal/tenancy"
)

// fingerprint is the first 128 bits of a SHA-256: enough that among 10^12 rows an accidental collision has a
// probability below 10^-14.
type fingerprint [16]byte

// rowKeys gives rows their RowKeys. Without columns it is
//
//	32 hex digits: the first 128 bits of SHA-256 over the row's content       for the first row of this content
//	the same, then "-" and the ordinal of at least four digits from 0002 on   for an exact duplicate
//
// The content is, in order of column name, for each cell with a value: name, kind and text, the two texts each with
// their length before them. So a second import of the file, or of its rows in another order or with other types and
// property names, writes the same keys; and exact duplicates are all kept.
type rowKeys struct {
	columns []int // positions of the key columns; none: content
	names   []string
	order   []int                  // all columns in order of name
	copies  map[fingerprint]uint32 // rows so far by content
	hash    hash.Hash
}

// keySeparator stands between the parts of a RowKey that is made of several columns. In a part it is written
// escapedSeparator, which tenancy.EncodeKey never produces, so that different parts never make the same key.
const (
	keySeparator     = "|"
	escapedSeparator = "~7C"
)

func newRowKeys(names []string, columns []int) *rowKeys {
	k := &rowKeys{columns: columns, names: names, order: make([]int, len(names)), hash: sha256.New()}
	for i := range k.order {
		k.order[i] = i
	}
	slices.SortStableFunc(k.order, func(a, b int) int { return cmp.Compare(names[a], names[b]) })
	k.restart()
	return k
}

// restart begins another pass over the file.
func (k *rowKeys) restart() { k.copies = map[fingerprint]uint32{} }

// rowKey is a RowKey and what it took to make it.
type rowKey struct {
	text      string
	encoded   bool // a value could not stand in a key as it is
	duplicate bool // by content: the row is an exact duplicate of an earlier one
}

// of returns the row's key. The error names the column that has no value.
func (k *rowKeys) of(rec Record) (rowKey, *RowError) {
	if len(k.columns) == 0 {
		return k.ofContent(rec), nil
	}
	parts := make([]string, len(k.columns))
	encoded := false
	for i, column := range k.columns {
		c := rec.Cell(column)
		if c.Text == "" {
			return rowKey{}, &RowError{Line: rec.Line, Column: k.names[column], Reason: "the row key column has no value here; " +
				"give the row a value, take another --row-key-column, or leave the flag out to have keys made of the content"}
		}
		parts[i] = tenancy.EncodeKey(c.Text)
		if len(k.columns) > 1 {
			parts[i] = strings.ReplaceAll(parts[i], keySeparator, escapedSeparator)
		}
		encoded = encoded || parts[i] != c.Text
	}
	return rowKey{text: strings.Join(parts, keySeparator), encoded: encoded}, nil
}

func (k *rowKeys) ofContent(rec Record) rowKey {
	f := k.content(rec)
	k.copies[f]++
	key := rowKey{text: hex.EncodeToString(f[:])}
	if n := k.copies[f]; n > 1 {
		key.text += fmt.Sprintf("-%04d", n)
		key.duplicate = true
	}
	return key
}

// content returns the fingerprint of the row's content.
func (k *rowKeys) content(rec Record) (f fingerprint) {
	k.hash.Reset()
	for _, i := range k.order {
		if c := rec.Cell(i); c.Kind != CellAbsent {
			k.addText(k.names[i])
			_, _ = k.hash.Write([]byte{byte(c.Kind)})
			k.addText(c.Text)
		}
	}
	copy(f[:], k.hash.Sum(nil))
	return f
}

func (k *rowKeys) addText(s string) {
	var length [4]byte
	binary.BigEndian.PutUint32(length[:], uint32(len(s)))
	_, _ = k.hash.Write(length[:])
	_, _ = k.hash.Write([]byte(s))
}
