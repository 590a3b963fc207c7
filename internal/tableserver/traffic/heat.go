package traffic

import (
	"cmp"
	"container/heap"
	"slices"
	"sync"
)

// Partition names a partition of a table of an account. Table is in lower case.
type Partition struct{ Account, Table, PartitionKey string }

// Hot is a partition with the entities that were read, passed over or written in it since the server started.
// Entities is never too small, and too large by Overcount at most.
type Hot struct {
	Partition
	Entities, Overcount uint64
}

// Heat counts entities for the busiest partitions in bounded memory, by the space-saving algorithm (Metwally,
// Agrawal, El Abbadi 2005): it keeps capacity counters; a partition without one takes over the smallest, with its
// count. Every partition with more than total/capacity entities has a counter. It is safe for concurrent use.
type Heat struct {
	mu       sync.Mutex
	capacity int
	at       map[Partition]*counter
	least    counters // a heap with the smallest count first
}

type counter struct {
	Hot
	index int // in the heap
}

// NewHeat returns counters for up to capacity partitions.
func NewHeat(capacity int) *Heat {
	return &Heat{capacity: capacity, at: make(map[Partition]*counter, capacity)}
}

// Add counts n entities.
func (h *Heat) Add(p Partition, n int) {
	if n <= 0 {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	c := h.at[p]
	switch {
	case c != nil:
		c.Entities += uint64(n)
		heap.Fix(&h.least, c.index)
	case len(h.least) < h.capacity:
		c = &counter{Hot: Hot{Partition: p, Entities: uint64(n)}}
		h.at[p] = c
		heap.Push(&h.least, c)
	default:
		c = h.least[0]
		delete(h.at, c.Partition)
		c.Hot = Hot{Partition: p, Entities: c.Entities + uint64(n), Overcount: c.Entities}
		h.at[p] = c
		heap.Fix(&h.least, 0)
	}
}

// Top returns the n busiest partitions, busiest first.
func (h *Heat) Top(n int) []Hot {
	h.mu.Lock()
	out := make([]Hot, len(h.least))
	for i, c := range h.least {
		out[i] = c.Hot
	}
	h.mu.Unlock()
	slices.SortFunc(out, func(a, b Hot) int {
		return cmp.Or(cmp.Compare(b.Entities, a.Entities), cmp.Compare(a.Account, b.Account),
			cmp.Compare(a.Table, b.Table), cmp.Compare(a.PartitionKey, b.PartitionKey))
	})
	return out[:min(n, len(out))]
}

type counters []*counter

func (c counters) Len() int           { return len(c) }
func (c counters) Less(i, j int) bool { return c[i].Entities < c[j].Entities }

func (c counters) Swap(i, j int) {
	c[i], c[j] = c[j], c[i]
	c[i].index, c[j].index = i, j
}

// Push implements heap.Interface.
func (c *counters) Push(x any) {
	n, _ := x.(*counter) // only Heat pushes
	n.index = len(*c)
	*c = append(*c, n)
}

// Pop implements heap.Interface.
func (c *counters) Pop() any {
	last := (*c)[len(*c)-1]
	*c = (*c)[:len(*c)-1]
	return last
}
