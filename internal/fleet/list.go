package fleet

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/aztenancy/terraform-provider-aztenancy/internal/catalog"
	"github.com/aztenancy/terraform-provider-aztenancy/internal/migration"
)

// The states of an evacuation.
const (
	Declaring = "declaring" // its list is being written; nothing is begun
	Running   = "running"
	Stopped   = "stopped" // too much failed; nothing is begun until it is declared again
	Done      = "done"    // every tenant on the list is where it shall be
)

// The states of a move of an evacuation.
const (
	Waiting  = "waiting"
	Moving   = "moving"   // a worker has its lease, or had it when it died
	Moved    = "moved"    // verified and switched, or there already
	Violated = "violated" // switched, but the source was written past the freeze: a person has to look
	Failed   = "failed"
	LeftOut  = "left_out" // no longer on the list; it was not begun
)

// Limits bound an evacuation, over all its workers.
type Limits struct {
	PerTable   int    `json:"max_per_table"`    // tenants under way out of one source table at a time; 0 is no limit
	PerAccount int    `json:"max_per_account"`  // tenants under way into one storage account at a time; 0 is no limit
	Frozen     int    `json:"max_frozen"`       // tenants whose writes may be held at a time; at least 1
	Failures   int    `json:"max_failures"`     // failed moves after which none is begun any more; at least 1
	Canary     string `json:"canary,omitempty"` // the tenant that has to be moved before any other is begun; "" is none
}

// Settings are those of each move, as in migration.Options.
type Settings struct {
	Workers       int           `json:"workers,omitempty"`
	MaxFreeze     time.Duration `json:"max_freeze,omitempty"`
	Drain         time.Duration `json:"drain,omitempty"`
	ReverseWindow time.Duration `json:"reverse_window,omitempty"`
}

func (s Settings) options() migration.Options {
	return migration.Options{Workers: s.Workers, MaxFreeze: s.MaxFreeze, Drain: s.Drain, ReverseWindow: s.ReverseWindow, HoldCutover: true, DontWait: false}
}

// detailVersion is the version of detail and result. Greater ones are refused.
const detailVersion = 1

// detail is the head's column Detail.
type detail struct {
	Version      int      `json:"v"`
	Limits       Limits   `json:"limits"`
	Settings     Settings `json:"settings"`
	Acknowledged int      `json:"acknowledged,omitempty"` // violated moves that were there when it was last declared
}

// result is a move's column Detail: how its last run ended.
type result struct {
	Migration string  `json:"migration,omitempty"`
	Entities  int64   `json:"entities,omitempty"`
	Freeze    float64 `json:"freeze_seconds,omitempty"`
	Error     string  `json:"error,omitempty"`
	Held      bool    `json:"held,omitempty"` // the tenant's writes were held when the run ended, or that is not known
}

// list is an evacuation as it was read, its moves in the order of the operator's list. Its methods change it in memory; save
// makes the change, unless somebody else changed the evacuation first.
type list struct {
	head  catalog.EvacuationRecord
	d     detail
	moves []move
}

// move is one row of the list.
type move struct {
	catalog.EvacuationMoveRecord
	result
}

func load(ctx context.Context, c *catalog.Catalog, name string) (*list, error) {
	head, rows, err := c.Evacuation(ctx, name)
	if err != nil {
		return nil, err
	}
	l := &list{head: head, moves: make([]move, len(rows))}
	if err := json.Unmarshal(head.Detail, &l.d); err != nil {
		return nil, fmt.Errorf("evacuation %q: its detail column: %w", name, err)
	}
	if l.d.Version > detailVersion {
		return nil, fmt.Errorf("evacuation %q: detail version %d: %w", name, l.d.Version, catalog.ErrNewerSchema)
	}
	for i, r := range rows {
		l.moves[i].EvacuationMoveRecord = r
		if len(r.Detail) == 0 {
			continue
		}
		if err := json.Unmarshal(r.Detail, &l.moves[i].result); err != nil {
			return nil, fmt.Errorf("evacuation %q: the detail column of tenant %q: %w", name, r.TenantID, err)
		}
	}
	slices.SortStableFunc(l.moves, func(a, b move) int { return cmp.Compare(a.Number, b.Number) })
	return l, nil
}

// save writes the head and those of the moves in one transaction; catalog.ErrChanged.
func (l *list) save(ctx context.Context, c *catalog.Catalog, changed ...int) error {
	d, err := json.Marshal(l.d)
	if err != nil {
		return fmt.Errorf("evacuation %q: %w", l.head.Name, err)
	}
	l.head.Detail = d
	rows := make([]catalog.EvacuationMoveRecord, len(changed))
	for i, n := range changed {
		rows[i] = l.moves[n].EvacuationMoveRecord
		if rows[i].Detail, err = json.Marshal(l.moves[n].result); err != nil {
			return fmt.Errorf("evacuation %q: %w", l.head.Name, err)
		}
	}
	head, written, err := c.ChangeEvacuation(ctx, l.head, rows...)
	if err != nil {
		return err
	}
	l.head = head
	for i, n := range changed {
		l.moves[n].EvacuationMoveRecord = written[i]
	}
	return nil
}

// index finds a tenant; -1 if it is not on the list.
func (l *list) index(tenantID string) int {
	return slices.IndexFunc(l.moves, func(m move) bool { return m.TenantID == tenantID })
}

// change reads the evacuation, lets decide change it, and writes what it says was changed; again whenever somebody else was
// first. It returns the list as it then is. decide returns no indexes where nothing is to be changed.
func change(ctx context.Context, c *catalog.Catalog, name string, decide func(*list) ([]int, error)) (*list, error) {
	for {
		l, err := load(ctx, c, name)
		if err != nil {
			return nil, err
		}
		changed, err := decide(l)
		if err != nil || len(changed) == 0 {
			return l, err
		}
		err = l.save(ctx, c, changed...)
		if err == nil {
			return l, nil
		}
		if !errors.Is(err, catalog.ErrChanged) || ctx.Err() != nil {
			return nil, err
		}
	}
}
