package fleet

import (
	"context"
	"time"
)

// Summary is where an evacuation stands.
type Summary struct {
	Name     string        `json:"evacuation"`
	State    string        `json:"state"`
	Reason   string        `json:"reason,omitempty"` // why it stopped
	Limits   Limits        `json:"limits"`
	Tenants  int           `json:"tenants"` // on the list
	Moved    int           `json:"moved"`
	Violated int           `json:"violated"` // moved, but their sources were written past the freeze
	Failed   int           `json:"failed"`
	Moving   int           `json:"moving"`
	Waiting  int           `json:"waiting"`
	Frozen   int           `json:"frozen"`   // their writes are held, or may be at any moment
	Entities int64         `json:"entities"` // of the moved ones
	Created  time.Time     `json:"created"`
	Ended    time.Time     `json:"ended,omitzero"`
	Moves    []MoveSummary `json:"moves"`
}

// MoveSummary is where one tenant of an evacuation stands.
type MoveSummary struct {
	TenantID  string    `json:"tenant"`
	To        string    `json:"to"`
	Account   string    `json:"account,omitempty"`
	State     string    `json:"state"`
	Worker    string    `json:"worker,omitempty"`
	Lost      bool      `json:"lost,omitempty"` // its worker's lease has run out: another takes it over
	Released  bool      `json:"released"`       // its writes may be held, or were
	Held      bool      `json:"held"`           // its writes are held although nobody works on it
	Attempts  int64     `json:"attempts"`
	Migration string    `json:"migration,omitempty"`
	Entities  int64     `json:"entities"`
	Freeze    float64   `json:"freeze_seconds"`
	Error     string    `json:"error,omitempty"`
	Started   time.Time `json:"started,omitzero"`
	Ended     time.Time `json:"ended,omitzero"`
}

// Status says where an evacuation stands; catalog.ErrNotFound.
func (d Directory) Status(ctx context.Context, name string) (*Summary, error) {
	l, err := load(ctx, d.Catalog, name)
	if err != nil {
		return nil, err
	}
	return l.summary(time.Now()), nil
}

// Names lists the evacuations that there are.
func (d Directory) Names(ctx context.Context) ([]string, error) {
	all, err := d.Catalog.Evacuations(ctx)
	if err != nil {
		return nil, err
	}
	names := make([]string, len(all))
	for i, v := range all {
		names[i] = v.Name
	}
	return names, nil
}

func (l *list) summary(now time.Time) *Summary {
	s := &Summary{Name: l.head.Name, State: l.head.State, Reason: l.head.Reason, Limits: l.d.Limits, Tenants: len(l.moves) - l.count(LeftOut),
		Moved: l.count(Moved), Violated: l.count(Violated), Failed: l.count(Failed), Moving: l.count(Moving), Waiting: l.count(Waiting),
		Frozen: l.frozen(), Created: l.head.Created, Ended: l.head.Ended, Moves: []MoveSummary{}}
	for _, m := range l.moves {
		if m.State == LeftOut {
			continue
		}
		x := MoveSummary{TenantID: m.TenantID, To: m.To, Account: m.Account, State: m.State, Released: m.Released, Held: m.Held,
			Attempts: m.Attempts, Migration: m.Migration, Entities: m.Entities, Freeze: m.Freeze, Error: m.Error, Started: m.Started, Ended: m.Ended}
		if m.State == Moving {
			x.Worker, x.Lost = m.Lease.Owner, !m.Lease.Expires.After(now)
		}
		if settled(m.State) {
			s.Entities += m.Entities
		}
		s.Moves = append(s.Moves, x)
	}
	return s
}
