package store

import (
	"encoding/binary"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/cockroachdb/pebble/v2"

	"github.com/aztenancy/terraform-provider-aztenancy/internal/edm"
)

// clock gives out Timestamps: ticks of 100 ns that follow the wall clock, only ever grow, and are never given out
// twice, across restarts and when the wall clock is set back. mark is kept on disk and lies ahead of every tick given
// out, so a process that was killed starts above it; at most clockLead of ticks is skipped.
type clock struct {
	now  func() time.Time
	save func(mark int64) error

	mu   sync.Mutex
	last int64 // the last tick given out
	mark int64 // what is on disk; last < mark
}

// clockLead is how far the saved mark runs ahead, in ticks: one saved mark a second under load.
const clockLead = int64(time.Second / 100)

// next reserves n ticks in a row and returns the first.
func (c *clock) next(n int) (int64, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	first := max(c.last+1, edm.Ticks(c.now()))
	last := first + int64(n) - 1
	if last >= c.mark {
		mark := last + clockLead
		if err := c.save(mark); err != nil {
			return 0, fmt.Errorf("save the clock's mark: %w", err)
		}
		c.mark = mark
	}
	c.last = last
	return first, nil
}

// openClock continues above the mark that an earlier process saved.
func openClock(db *pebble.DB, now func() time.Time) (*clock, error) {
	// Without a sync: the log keeps its order, so a write that bears a tick is never on disk without the mark above it.
	c := &clock{now: now, save: func(mark int64) error {
		return db.Set(clockKey, binary.BigEndian.AppendUint64(nil, uint64(mark)), pebble.NoSync)
	}}
	v, closer, err := db.Get(clockKey)
	switch {
	case errors.Is(err, pebble.ErrNotFound):
		return c, nil
	case err != nil:
		return nil, fmt.Errorf("read the clock's mark: %w", err)
	case len(v) != 8:
		return nil, errors.Join(fmt.Errorf("the clock's mark has %d bytes, not 8", len(v)), closer.Close())
	}
	c.mark = int64(binary.BigEndian.Uint64(v))
	c.last = c.mark
	return c, closer.Close()
}

// stop saves the last tick itself as the mark, so that an orderly restart skips nothing.
func (c *clock) stop() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.last+1 >= c.mark {
		return nil
	}
	c.mark = c.last + 1
	return c.save(c.mark)
}
