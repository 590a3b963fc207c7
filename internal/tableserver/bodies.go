package tableserver

import "sync"

// bodies lends buffers for the bodies of answers. A page of 100 KiB that grows from nothing would be copied a dozen
// times, and its garbage collected. The zero value is ready.
type bodies struct{ pool sync.Pool }

// maxLentBody is the largest buffer that is kept: a table's worth of full pages must not stay in memory.
const maxLentBody = 2 << 20

// lend returns an empty buffer.
func (b *bodies) lend() *[]byte {
	if kept, ok := b.pool.Get().(*[]byte); ok {
		return kept
	}
	return new([]byte)
}

// giveBack takes a buffer whose content was written out.
func (b *bodies) giveBack(buffer *[]byte) {
	if cap(*buffer) <= maxLentBody {
		*buffer = (*buffer)[:0]
		b.pool.Put(buffer)
	}
}
