package store

import (
	"hash/maphash"
	"slices"
	"strings"
	"sync"

	"github.com/aztenancy/terraform-provider-aztenancy/internal/edm"
)

const stripes = 256

var seed = maphash.MakeSeed()

// tableLocks: a write holds its table's stripe for reading, a change of the table itself holds it for writing.
type tableLocks [stripes]sync.RWMutex

func (l *tableLocks) of(account uint32, name string) *sync.RWMutex {
	var h maphash.Hash
	h.SetSeed(seed)
	maphash.WriteComparable(&h, account)
	_, _ = h.WriteString(strings.ToLower(name))
	return &l[h.Sum64()%stripes]
}

// partitionLocks serialise the writes to one partition.
type partitionLocks [stripes]sync.Mutex

// lock takes the stripes of all partitions that keys name, in ascending order, and returns what releases them.
func (l *partitionLocks) lock(t Table, keys []edm.Key) (unlock func()) {
	taken := make([]int, 0, 1)
	for i, k := range keys {
		if i > 0 && k.PartitionKey == keys[i-1].PartitionKey {
			continue
		}
		var h maphash.Hash
		h.SetSeed(seed)
		maphash.WriteComparable(&h, t.number)
		_, _ = h.WriteString(k.PartitionKey)
		taken = append(taken, int(h.Sum64()%stripes))
	}
	slices.Sort(taken)
	taken = slices.Compact(taken)
	for _, i := range taken {
		l[i].Lock()
	}
	return func() {
		for _, i := range taken {
			l[i].Unlock()
		}
	}
}
