package odata

import (
	"cmp"
	"slices"

	"github.com/aztenancy/terraform-provider-aztenancy/internal/edm"
	"github.com/aztenancy/terraform-provider-aztenancy/internal/tableserver/keyspan"
)

// place lies before a text, after it, or (end) behind every text, in the order of UTF-16 code units. The zero place
// lies before every text.
type place struct {
	text  string
	after bool
	end   bool
}

func (p place) compare(o place) int {
	if p.end || o.end {
		return cmp.Compare(btoi(p.end), btoi(o.end))
	}
	return cmp.Or(edm.CompareText(p.text, o.text), cmp.Compare(btoi(p.after), btoi(o.after)))
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

// interval is the texts between two places.
type interval struct{ from, to place }

func anyText() interval { return interval{to: place{end: true}} }

func (i interval) intersect(o interval) interval {
	if o.from.compare(i.from) > 0 {
		i.from = o.from
	}
	if o.to.compare(i.to) < 0 {
		i.to = o.to
	}
	return i
}

func (i interval) empty() bool { return i.from.compare(i.to) >= 0 }

// box is a set of keys: PartitionKeys from one interval with RowKeys from another. A filter's comparisons of keys
// are boxes, and so are their conjunctions; a disjunction is a list of boxes.
type box struct{ partitions, rows interval }

func anyKey() box { return box{anyText(), anyText()} }

// span returns the smallest span that holds the box.
func (b box) span() keyspan.Span {
	if b.partitions.empty() || b.rows.empty() {
		return keyspan.Span{}
	}
	s := keyspan.Whole()
	switch from, row := b.partitions.from, b.rows.from; {
	case from.after:
		s.From = keyspan.AfterPartitionOf(from.text)
	case row.after:
		s.From = keyspan.AfterKey(edm.Key{PartitionKey: from.text, RowKey: row.text})
	default:
		s.From = keyspan.BeforeKey(edm.Key{PartitionKey: from.text, RowKey: row.text})
	}
	switch to, row := b.partitions.to, b.rows.to; {
	case to.end:
	case !to.after:
		s.To = keyspan.BeforePartition(to.text)
	case row.end:
		s.To = keyspan.AfterPartitionOf(to.text)
	case row.after:
		s.To = keyspan.AfterKey(edm.Key{PartitionKey: to.text, RowKey: row.text})
	default:
		s.To = keyspan.BeforeKey(edm.Key{PartitionKey: to.text, RowKey: row.text})
	}
	return s
}

// maxWork caps the boxes that are made for one filter. Beyond it spans stop narrowing, which is always allowed.
const maxWork = 1 << 17

// boxer turns a filter into boxes that together hold every key that can match.
type boxer struct{ work int }

// spansOf returns disjoint spans in ascending order that hold every key that can match.
func spansOf(n node) []keyspan.Span {
	var b boxer
	var spans []keyspan.Span
	for _, box := range b.collect(nil, n, false) {
		if s := box.span(); !s.Empty() {
			spans = append(spans, s)
		}
	}
	slices.SortFunc(spans, func(a, b keyspan.Span) int { return a.From.Compare(b.From) })
	merged := spans[:0]
	for _, s := range spans {
		if last := len(merged) - 1; last >= 0 && s.From.Compare(merged[last].To) <= 0 {
			if s.To.Compare(merged[last].To) > 0 {
				merged[last].To = s.To
			}
			continue
		}
		merged = append(merged, s)
	}
	return merged
}

// collect appends the boxes of n, or of its negation. A negation can be moved down to the comparisons because there
// are only two truth values; conjunctions and disjunctions change places on the way.
func (b *boxer) collect(dst []box, n node, negated bool) []box {
	switch n := n.(type) {
	case not:
		return b.collect(dst, n.term, !negated)
	case *junction:
		if n.or == negated {
			boxes := b.conjunction(n.terms, negated)
			if b.work += len(boxes); b.work > maxWork {
				return append(dst, anyKey())
			}
			return append(dst, boxes...)
		}
		for _, term := range n.terms {
			dst = b.collect(dst, term, negated)
		}
		return dst
	case comparison:
		return n.appendBox(dst, negated)
	case bare:
		if n.prop.isKey() && !negated {
			return dst // a string is never true
		}
	}
	return append(dst, anyKey())
}

func (b *boxer) conjunction(terms []node, negated bool) []box {
	boxes := []box{anyKey()}
	for _, term := range terms {
		boxes = b.intersect(boxes, b.collect(nil, term, negated))
	}
	return boxes
}

// intersect returns boxes that hold every key which is in both lists; one of the lists when that would cost too much.
func (b *boxer) intersect(left, right []box) []box {
	if len(right) == 1 && right[0] == anyKey() {
		return left
	}
	if len(left) == 1 && left[0] == anyKey() {
		return right
	}
	if b.work += len(left) * len(right); b.work > maxWork {
		if len(left) < len(right) {
			return left
		}
		return right
	}
	var boxes []box
	for _, l := range left {
		for _, r := range right {
			both := box{l.partitions.intersect(r.partitions), l.rows.intersect(r.rows)}
			if !both.partitions.empty() && !both.rows.empty() {
				boxes = append(boxes, both)
			}
		}
	}
	return boxes
}

func (p property) isKey() bool { return p.kind == partitionKey || p.kind == rowKey }

// appendBox appends the keys of which the comparison, or its negation, can be true. A key is always there and always
// a string, so with a literal of another type the answer is the same for every key.
func (c comparison) appendBox(dst []box, negated bool) []box {
	if !c.prop.isKey() {
		return append(dst, anyKey())
	}
	if c.literal.Type() != edm.String {
		if c.op.holds(-1) == negated {
			return dst
		}
		return append(dst, anyKey())
	}
	op := c.op
	if negated {
		op = op.negated()
	}
	texts := textsThat(op, c.literal.Str())
	if c.prop.kind == partitionKey {
		return append(dst, box{texts, anyText()})
	}
	return append(dst, box{anyText(), texts})
}

// textsThat returns the texts for which `text op literal` is true; all of them for ne, whose gap is not worth a seek.
func textsThat(op operator, literal string) interval {
	texts := anyText()
	before, after := place{text: literal}, place{text: literal, after: true}
	switch op {
	case eq:
		texts = interval{before, after}
	case lt:
		texts.to = before
	case le:
		texts.to = after
	case gt:
		texts.from = after
	case ge:
		texts.from = before
	}
	return texts
}
