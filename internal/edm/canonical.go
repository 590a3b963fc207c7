package edm

import (
	"crypto/sha256"
	"encoding/binary"
	"slices"
	"strings"
)

// canonicalVersion is the first byte of every canonical form. Digests outlive the program that wrote them: another
// form gets another number.
const canonicalVersion = 1

// AppendCanonical appends the canonical form of an entity: equal for two entities exactly if they have the same key
// and the same properties with the same types and values, in whatever order. The key is given because a moved entity
// may be compared under the key that it has elsewhere; e's own is not looked at, nor its Timestamp and ETag.
//
//	+------------+--------------+--------+-----------+----------+----------+-----
//	| version, 1 | PartitionKey | RowKey | count (v) | property | property | …     properties by name, as bytes
//	+------------+--------------+--------+-----------+----------+----------+-----
//
//	property = | name | Type (1 byte) | value |
//
// Texts are UTF-8 after their length in bytes; lengths and the count are varints (v). Values: String and Binary as
// texts, Boolean 1 byte, Int32 4, Int64, Double (IEEE 754 bits) and DateTime (ticks) 8, big endian, GUID 16 bytes.
// No form is the beginning of another, so forms can be chained.
func AppendCanonical(dst []byte, key Key, e *Entity) []byte {
	dst = append(dst, canonicalVersion)
	dst = appendText(dst, key.PartitionKey)
	dst = appendText(dst, key.RowKey)
	dst = binary.AppendUvarint(dst, uint64(len(e.Properties)))
	var buffer [64]int
	for _, i := range sortedByName(buffer[:0], e.Properties) {
		dst = appendText(dst, e.Properties[i].Name)
		dst = appendCanonicalValue(dst, e.Properties[i].Value)
	}
	return dst
}

// sortedByName appends the indexes of the properties to dst, in the order of the names.
func sortedByName(dst []int, properties []Property) []int {
	for i := range properties {
		dst = append(dst, i)
	}
	slices.SortFunc(dst, func(a, b int) int { return strings.Compare(properties[a].Name, properties[b].Name) })
	return dst
}

func appendText(dst []byte, s string) []byte {
	return append(binary.AppendUvarint(dst, uint64(len(s))), s...)
}

func appendCanonicalValue(dst []byte, v Value) []byte {
	dst = append(dst, byte(v.typ))
	switch v.typ {
	case String, Binary:
		return appendText(dst, v.text)
	case GUID:
		return append(dst, v.text...)
	case Boolean:
		return append(dst, byte(v.bits))
	case Int32:
		return binary.BigEndian.AppendUint32(dst, uint32(v.bits))
	default:
		return binary.BigEndian.AppendUint64(dst, v.bits)
	}
}

// Digest is the SHA-256 of a canonical form.
type Digest [sha256.Size]byte

// Digest returns the digest of the entity under the given key.
func (e *Entity) Digest(key Key) Digest {
	var buffer [1024]byte
	return sha256.Sum256(AppendCanonical(buffer[:0], key, e))
}

// SameContent says whether both entities have the same properties with the same types and values, in whatever order.
// Keys are not compared: a moved entity keeps its content under another key.
func (e *Entity) SameContent(o *Entity) bool {
	if len(e.Properties) != len(o.Properties) {
		return false
	}
	for i, p := range e.Properties {
		if o.Properties[i] == p {
			continue
		}
		if v, ok := o.Get(p.Name); !ok || v != p.Value {
			return false
		}
	}
	return true
}

// Differences returns the names of the own properties that differ in presence, type or value, sorted.
func (e *Entity) Differences(o *Entity) []string {
	var names []string
	for _, p := range e.Properties {
		if v, ok := o.Get(p.Name); !ok || v != p.Value {
			names = append(names, p.Name)
		}
	}
	for _, p := range o.Properties {
		if _, ok := e.Get(p.Name); !ok {
			names = append(names, p.Name)
		}
	}
	slices.Sort(names)
	return names
}
