package store

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"github.com/aztenancy/terraform-provider-aztenancy/internal/edm"
)

// A stored entity value; integers are varints unless said otherwise, DateTimes are ticks:
//
//	+-----------+---------------+-------+------------------------------------------+
//	| version 01| Timestamp (8B)| count | count × ( name length, name, type, value )|
//	+-----------+---------------+-------+------------------------------------------+
//
//	String, Binary  length, bytes     Boolean         1B, 00 or 01
//	Int32, Int64    signed varint     DateTime        signed varint
//	Double          8B, IEEE 754      GUID            16B
//
// Keys stand in the stored key only. The ETag is made from the Timestamp. The type byte is edm.Type.
const codecVersion = 1

var errTruncated = errors.New("stored entity ends early")

// encodeEntityValue writes the value of an entity with the given Timestamp in ticks.
func encodeEntityValue(e *edm.Entity, ticks int64) []byte {
	dst := append(make([]byte, 0, e.Size()), codecVersion)
	dst = binary.BigEndian.AppendUint64(dst, uint64(ticks))
	dst = binary.AppendUvarint(dst, uint64(len(e.Properties)))
	for i := range e.Properties {
		p := &e.Properties[i]
		dst = appendText(dst, p.Name)
		dst = appendValue(append(dst, byte(p.Value.Type())), p.Value)
	}
	return dst
}

func appendText(dst []byte, s string) []byte {
	return append(binary.AppendUvarint(dst, uint64(len(s))), s...)
}

func appendValue(dst []byte, v edm.Value) []byte {
	switch v.Type() {
	case edm.String:
		return appendText(dst, v.Str())
	case edm.Binary:
		b := v.Bytes()
		return append(binary.AppendUvarint(dst, uint64(len(b))), b...)
	case edm.Boolean:
		if v.Bool() {
			return append(dst, 1)
		}
		return append(dst, 0)
	case edm.Int32, edm.Int64:
		return binary.AppendVarint(dst, v.Int())
	case edm.DateTime:
		return binary.AppendVarint(dst, v.Ticks())
	case edm.Double:
		return binary.BigEndian.AppendUint64(dst, math.Float64bits(v.Float()))
	case edm.GUID:
		g := v.GUID()
		return append(dst, g[:]...)
	}
	return dst
}

// decodeEntityValue reads what appendEntityValue wrote into an entity without its keys. It keeps no part of b.
func decodeEntityValue(b []byte) (*edm.Entity, error) {
	if len(b) < 9 {
		return nil, errTruncated
	}
	if b[0] != codecVersion {
		return nil, fmt.Errorf("stored entity has version %d, this server reads version %d", b[0], codecVersion)
	}
	ticks := ticksOf(b)
	r := reader{b: b[9:], text: string(b[9:])}
	count := r.uvarint()
	if r.err != nil {
		return nil, r.err
	}
	if count > uint64(len(r.b))/2 { // a property takes two bytes at least
		return nil, errTruncated
	}
	t := edm.TimeOfTicks(ticks)
	e := &edm.Entity{Timestamp: t, ETag: edm.ETagOf(t), Properties: make([]edm.Property, 0, count)}
	for range count {
		name := r.str()
		v := r.value()
		if r.err != nil {
			return nil, r.err
		}
		e.Properties = append(e.Properties, edm.Property{Name: name, Value: v})
	}
	if len(r.b) != 0 {
		return nil, fmt.Errorf("stored entity has %d bytes after its end", len(r.b))
	}
	return e, nil
}

// ticksOf returns the Timestamp of a stored value that is at least 9 bytes long.
func ticksOf(b []byte) int64 { return int64(binary.BigEndian.Uint64(b[1:9])) }

// reader takes values from the front of b until the first error.
type reader struct {
	b    []byte
	text string // what b was at first, so that all texts of an entity share one allocation
	err  error
}

func (r *reader) take(n uint64) []byte {
	if r.err == nil && n > uint64(len(r.b)) {
		r.err = errTruncated
	}
	if r.err != nil {
		return nil
	}
	out := r.b[:n]
	r.b = r.b[n:]
	return out
}

func (r *reader) uvarint() uint64 {
	v, n := binary.Uvarint(r.b)
	if n <= 0 {
		r.err = errTruncated
		return 0
	}
	r.b = r.b[n:]
	return v
}

func (r *reader) varint() int64 {
	v, n := binary.Varint(r.b)
	if n <= 0 {
		r.err = errTruncated
		return 0
	}
	r.b = r.b[n:]
	return v
}

func (r *reader) bytes() []byte {
	n := r.uvarint()
	return r.take(n)
}

func (r *reader) str() string {
	b := r.bytes()
	end := len(r.text) - len(r.b)
	return r.text[end-len(b) : end]
}

func (r *reader) value() edm.Value {
	kind := r.take(1)
	if r.err != nil {
		return edm.Value{}
	}
	switch edm.Type(kind[0]) {
	case edm.String:
		return edm.StringValue(r.str())
	case edm.Binary:
		return edm.BinaryValue(r.bytes())
	case edm.Boolean:
		b := r.take(1)
		return edm.BooleanValue(len(b) == 1 && b[0] != 0)
	case edm.Int32:
		n := r.varint()
		if n < math.MinInt32 || n > math.MaxInt32 {
			r.err = fmt.Errorf("stored Edm.Int32 %d is out of range", n)
		}
		return edm.Int32Value(int32(n))
	case edm.Int64:
		return edm.Int64Value(r.varint())
	case edm.DateTime:
		return edm.TicksValue(r.varint())
	case edm.Double:
		if b := r.take(8); len(b) == 8 {
			return edm.DoubleValue(math.Float64frombits(binary.BigEndian.Uint64(b)))
		}
	case edm.GUID:
		if b := r.take(16); len(b) == 16 {
			return edm.GUIDValue([16]byte(b))
		}
	default:
		r.err = fmt.Errorf("stored property has the unknown type %d", kind[0])
	}
	return edm.Value{}
}
