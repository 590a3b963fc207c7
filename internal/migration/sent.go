package migration

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"iter"

	"github.com/aztenancy/terraform-provider-aztenancy/internal/catalog"
	"github.com/aztenancy/terraform-provider-aztenancy/internal/edm"
)

// Whose is an entity at the target that differs from the source, or that the source does not have? While the tenant goes on
// writing it may be this migration's own copy of what the source had a moment ago; it may also be a stranger's, which must
// never be overwritten or deleted. Nobody else has business there: the range was claimed, and found empty after that. But
// applications and people make mistakes, so each such entity has to be proven ours:
//
//   - it stands in the target's seal of the last complete pass, in the version in which it was compared there, or
//   - it was sent: before a window of entities is written to the target, a row in the catalog gets a mark of each,
//     key and content. Whatever became of the request, an entity of ours that lies there is one of these.
//
// A pass begins when nothing of the passes before it can be carried out any more: see guard.go. A complete pass has looked at every entity of the target. What it left there is sealed, or it was sent by that very pass; what it
// proved and left although it differs is put on its list as well.
// So what can be ours was sent in the last complete attempt or in those after it, and the lists before that are not needed any more.
//
// What this cannot see: a stranger who writes what we sent under the same key, to the last bit, and one who deletes. The
// former does no harm, as the source decides what becomes of it; what the latter deletes is inserted again.

// sentName is the name under which the list of one attempt stands in the catalog.
func sentName(logical string, attempt, lane int) string {
	return fmt.Sprintf("sent%04d|%s|%06d", attempt, logical, lane)
}

// sentDetail is the beginning of the stretch of keys, in the lane's order, to which a row of the list belongs. Its end is
// the chunk's After.
type sentDetail struct {
	From edm.Key `json:"from"`
}

// contentMark is the mark of an entity that is sent.
func contentMark(migration string, e *edm.Entity) (m mark) {
	b := append([]byte(migration), 0)
	sum := sha256.Sum256(edm.AppendCanonical(b, e.Key(), e))
	copy(m[:], sum[:])
	return m
}

// ledger reads what was sent to a lane in the attempts from first to last. It is asked window after window, in the lane's
// order, and holds the rows around one window. Nothing is read before the first question.
type ledger struct {
	run         *run
	logical     string
	lane        lane
	first, last int

	mu      gate
	opened  bool
	lists   []*sentList
	from    edm.Key // of the window that is held
	marks   map[mark]bool
	current bool // marks are those of that window
}

// sentList is the list of one attempt.
type sentList struct {
	next func() (catalog.Chunk, error, bool)
	stop func()
	more bool
	row  catalog.Chunk // not yet taken, if more
	from edm.Key       // of row
	held []catalog.Chunk
}

func newLedger(r *run, logical string, l lane, first, last int) *ledger {
	return &ledger{run: r, logical: logical, lane: l, first: first, last: last, mu: newGate()}
}

// has says whether an entity within the window from … to was sent.
func (l *ledger) has(ctx context.Context, from, to edm.Key, e *edm.Entity) (bool, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.current || l.from != from {
		if err := l.load(ctx, from, to); err != nil {
			return false, fmt.Errorf("read what was sent: %w", err)
		}
	}
	return l.marks[contentMark(l.run.j.migration().ID, e)], nil
}

// load takes the rows that overlap a window.
func (l *ledger) load(ctx context.Context, from, to edm.Key) error {
	if !l.opened {
		l.opened = true
		for a := max(1, l.first); a <= l.last; a++ {
			next, stop := iter.Pull2(l.run.chunks(ctx, sentName(l.logical, a, l.lane.number)))
			s := &sentList{next: next, stop: stop}
			l.lists = append(l.lists, s)
			if err := s.step(); err != nil {
				return err
			}
		}
	}
	l.current, l.from, l.marks = true, from, map[mark]bool{}
	for _, s := range l.lists {
		kept := s.held[:0]
		for _, row := range s.held {
			if l.lane.order(row.After, from) >= 0 {
				kept = append(kept, row)
			}
		}
		s.held = kept
		for s.more && l.lane.order(s.from, to) <= 0 {
			if l.lane.order(s.row.After, from) >= 0 {
				s.held = append(s.held, s.row)
			}
			if err := s.step(); err != nil {
				return err
			}
		}
		for _, row := range s.held {
			for k := range marksOf(row.Keys) {
				l.marks[k] = true
			}
		}
	}
	return nil
}

// step reads the next row.
func (s *sentList) step() (err error) {
	s.row, err, s.more = s.next()
	if err != nil || !s.more {
		return err
	}
	var d sentDetail
	if err := json.Unmarshal(s.row.Detail, &d); err != nil {
		return fmt.Errorf("row %d of %s: %w", s.row.Number, s.row.Logical, err)
	}
	s.from = d.From
	return nil
}

// close ends the reading.
func (l *ledger) close() {
	for _, s := range l.lists {
		s.stop()
	}
}

// putSent writes the row of a window before the window is sent.
func (r *run) putSent(ctx context.Context, name string, number int, s span, from, to edm.Key, marks []byte) error {
	detail, err := json.Marshal(sentDetail{from})
	if err != nil {
		return fmt.Errorf("write what is about to be sent: %w", err)
	}
	c := catalog.Chunk{MigrationID: r.j.migration().ID, Logical: name, Number: number, Range: s.rng, After: to, Started: true, Done: true,
		Count: int64(len(marks) / markBytes), Keys: marks, Detail: detail}
	if err := r.catalog.PutChunks(ctx, c); err != nil {
		return fmt.Errorf("write what is about to be sent: %w", err)
	}
	return nil
}
