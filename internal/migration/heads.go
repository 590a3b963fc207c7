package migration

import "container/heap"

// heads are several streams of items, each at its first item not yet taken; the least of these, byRow, is list[0].
type heads struct{ list []*head }

// head is one stream. Its error counts as least, so that it is seen at once.
type head struct {
	item item
	err  error
	next func() (item, error, bool)
	stop func()
}

// step takes the stream to its next item, if there is one.
func (h *head) step() (more bool) {
	h.item, h.err, more = h.next()
	return more
}

// add takes a stream in.
func (s *heads) add(h *head) {
	if !h.step() {
		h.stop()
		return
	}
	heap.Push(s, h)
}

// advance takes list[0] to its next item.
func (s *heads) advance() {
	h := s.list[0]
	if h.step() {
		heap.Fix(s, 0)
		return
	}
	h.stop()
	heap.Pop(s)
}

// stop ends all streams.
func (s *heads) stop() {
	for _, h := range s.list {
		h.stop()
	}
}

func (s *heads) Len() int      { return len(s.list) }
func (s *heads) Swap(i, j int) { s.list[i], s.list[j] = s.list[j], s.list[i] }

func (s *heads) Less(i, j int) bool {
	a, b := s.list[i], s.list[j]
	if a.err != nil || b.err != nil {
		return a.err != nil && b.err == nil
	}
	return byRow(a.item.key, b.item.key) < 0
}

// Push is for package heap.
func (s *heads) Push(x any) {
	if h, ok := x.(*head); ok {
		s.list = append(s.list, h)
	}
}

// Pop is for package heap.
func (s *heads) Pop() any {
	n := len(s.list) - 1
	h := s.list[n]
	s.list = s.list[:n]
	return h
}
