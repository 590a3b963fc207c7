package catalog

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/aztenancy/terraform-provider-aztenancy/internal/edm"
	"github.com/aztenancy/terraform-provider-aztenancy/internal/tablestorage"
	"github.com/aztenancy/terraform-provider-aztenancy/internal/tenancy"
)

// Evacuation is a named list of moves that are made under common limits, by any number of processes. Its head row guards
// the whole list: whoever begins or ends a move, or lets one hold writes, replaces the head in the same transaction. So
// what was decided from the list as it was read is done only if the list is still that.
type Evacuation struct {
	Name    string          // valid key text without "|"
	State   string          // package fleet's own
	Reason  string          // why it is in that state; "" where the state says all
	Detail  json.RawMessage // package fleet's own; at most MaxJSON UTF-16 code units
	Created time.Time
	Updated time.Time
	Ended   time.Time // zero: it has not ended
}

// EvacuationRecord is an evacuation's head as it stands in the catalog.
type EvacuationRecord struct {
	Evacuation
	ETag string
}

// EvacuationMove is one tenant of an evacuation.
type EvacuationMove struct {
	TenantID  string
	Number    int      // place in the list, from 0
	To        string   // model
	Account   string   // configured name of the account; "" is the model's own
	Sources   []string // "storage account/table" of each table that it leaves
	Targets   []string // storage accounts that it goes to
	State     string   // package fleet's own
	Released  bool     // it was allowed to hold the tenant's writes
	Attempts  int64    // how often it was begun
	Lease     Lease    // of the process that runs it
	NotBefore time.Time
	Detail    json.RawMessage // package fleet's own; at most MaxJSON UTF-16 code units
	Updated   time.Time
	Started   time.Time // zero: not yet
	Ended     time.Time // zero: it has not ended
}

// EvacuationMoveRecord is a move as it stands in the catalog. Without ETag it is not there yet.
type EvacuationMoveRecord struct {
	EvacuationMove
	ETag string
}

// MaxMovesAtOnce is how many moves one change of an evacuation may touch.
const MaxMovesAtOnce = tablestorage.MaxOperations - 1

// An evacuation has a partition of its own; no migration's id begins as its name does, because tenant ids have no "|".
const (
	evacuationPrefix = workPrefix + "evacuation|"
	evacuationHead   = "head"
	movePrefix       = "move|"
)

func evacuationName(name string) string { return fmt.Sprintf("evacuation %q", name) }

func encodeEvacuation(v Evacuation) (*edm.Entity, error) {
	w := newRow(evacuationPrefix+v.Name, evacuationHead)
	w.text("State", v.State)
	w.optionalText("Reason", v.Reason)
	if len(v.Detail) > 0 {
		w.json("Detail", v.Detail)
	}
	w.time("Created", v.Created)
	w.time("Ended", v.Ended)
	return w.finish(evacuationName(v.Name))
}

func decodeEvacuation(r row) (EvacuationRecord, error) {
	v := Evacuation{Name: r.e.PartitionKey[len(evacuationPrefix):], State: r.text("State"), Reason: r.optionalText("Reason"),
		Created: r.time("Created"), Updated: r.time(colUpdated), Ended: r.time("Ended")}
	if d := r.optionalText("Detail"); d != "" {
		v.Detail = json.RawMessage(d)
	}
	return EvacuationRecord{v, r.e.ETag}, r.failure()
}

func encodeMove(evacuation string, m EvacuationMove) (*edm.Entity, error) {
	w := newRow(evacuationPrefix+evacuation, movePrefix+m.TenantID)
	w.e.Set("Number", edm.Int32Value(int32(m.Number)))
	w.text("ToModel", m.To)
	w.optionalText("Account", m.Account)
	w.json("Sources", m.Sources)
	w.json("Targets", m.Targets)
	w.text("State", m.State)
	w.bool("Released", m.Released)
	w.int64("Attempts", m.Attempts)
	w.optionalText("LeaseOwner", m.Lease.Owner)
	w.int64("LeaseEpoch", m.Lease.Epoch)
	w.time("LeaseExpires", m.Lease.Expires)
	w.time("NotBefore", m.NotBefore)
	if len(m.Detail) > 0 {
		w.json("Detail", m.Detail)
	}
	w.time("Started", m.Started)
	w.time("Ended", m.Ended)
	return w.finish(fmt.Sprintf("the move of tenant %q in %s", m.TenantID, evacuationName(evacuation)))
}

func decodeMove(r row) (EvacuationMoveRecord, error) {
	m := EvacuationMove{TenantID: r.e.RowKey[len(movePrefix):], Number: int(r.int("Number", edm.Int32)), To: r.text("ToModel"),
		Account: r.optionalText("Account"), State: r.text("State"), Released: r.bool("Released"), Attempts: r.int("Attempts", edm.Int64),
		Lease:     Lease{Owner: r.optionalText("LeaseOwner"), Epoch: r.int("LeaseEpoch", edm.Int64), Expires: r.time("LeaseExpires")},
		NotBefore: r.time("NotBefore"), Updated: r.time(colUpdated), Started: r.time("Started"), Ended: r.time("Ended")}
	r.json("Sources", &m.Sources)
	r.json("Targets", &m.Targets)
	if d := r.optionalText("Detail"); d != "" {
		m.Detail = json.RawMessage(d)
	}
	return EvacuationMoveRecord{m, r.e.ETag}, r.failure()
}

// CreateEvacuation adds an evacuation without moves; ErrExists. Created is set if it is zero.
func (c *Catalog) CreateEvacuation(ctx context.Context, v Evacuation) (EvacuationRecord, error) {
	if v.Name == "" {
		return EvacuationRecord{}, errors.New("write an evacuation: it needs a name")
	}
	if v.Created.IsZero() {
		v.Created = c.now().UTC()
	}
	e, err := encodeEvacuation(v)
	if err != nil {
		return EvacuationRecord{}, err
	}
	etag, err := c.insert(ctx, evacuationName(v.Name), e)
	if err != nil {
		return EvacuationRecord{}, err
	}
	return written(e, etag, decodeEvacuation)
}

// Evacuations reads the heads of all evacuations in order of name. It passes over their moves at the service.
func (c *Catalog) Evacuations(ctx context.Context) ([]EvacuationRecord, error) {
	next, _ := tenancy.Successor(evacuationPrefix)
	all := tenancy.KeyRange{First: edm.Key{PartitionKey: evacuationPrefix}, Last: edm.Key{PartitionKey: next}, End: tenancy.EndPartition}
	return list(ctx, c, all, "RowKey eq '"+evacuationHead+"'", decodeEvacuation)
}

// Evacuation reads an evacuation with its moves, in order of tenant id; ErrNotFound. Moves may have been changed since the
// head was read; a change that rests on both is refused then.
func (c *Catalog) Evacuation(ctx context.Context, name string) (EvacuationRecord, []EvacuationMoveRecord, error) {
	var head EvacuationRecord
	var moves []EvacuationMoveRecord
	// The head sorts before the moves, and so it is the older of what is read.
	err := c.scan(ctx, partition(evacuationPrefix+name), "", func(r row) (err error) {
		if r.e.RowKey == evacuationHead {
			head, err = decodeEvacuation(r)
			return err
		}
		moves, err = appendDecoded(moves, r, decodeMove)
		return err
	})
	if err == nil && head.ETag == "" {
		err = fmt.Errorf("%s is %w (%v)", evacuationName(name), ErrNotFound, c)
	}
	if err != nil {
		return EvacuationRecord{}, nil, err
	}
	return head, moves, nil
}

// ChangeEvacuation replaces the head, and replaces or adds moves, in one transaction: ErrChanged if the head or one of the
// moves is not as it was read. At most MaxMovesAtOnce moves.
func (c *Catalog) ChangeEvacuation(ctx context.Context, head EvacuationRecord, moves ...EvacuationMoveRecord) (EvacuationRecord, []EvacuationMoveRecord, error) {
	ops, err := c.evacuationChange(head, moves)
	if err != nil {
		return EvacuationRecord{}, nil, err
	}
	etags, err := c.submitEvacuation(ctx, head, ops)
	if err != nil {
		return EvacuationRecord{}, nil, err
	}
	if head, err = written(ops[0].Entity, etags[0], decodeEvacuation); err != nil {
		return EvacuationRecord{}, nil, err
	}
	out := make([]EvacuationMoveRecord, len(moves))
	for i := range moves {
		if out[i], err = written(ops[i+1].Entity, etags[i+1], decodeMove); err != nil {
			return EvacuationRecord{}, nil, err
		}
	}
	return head, out, nil
}

func (c *Catalog) evacuationChange(head EvacuationRecord, moves []EvacuationMoveRecord) ([]tablestorage.Operation, error) {
	if len(moves) > MaxMovesAtOnce {
		return nil, fmt.Errorf("write %s: %d moves at once, of at most %d", evacuationName(head.Name), len(moves), MaxMovesAtOnce)
	}
	e, err := encodeEvacuation(head.Evacuation)
	if err != nil {
		return nil, err
	}
	c.stamp(e)
	ops := []tablestorage.Operation{{Kind: tablestorage.OpReplace, Entity: e, ETag: head.ETag}}
	for _, m := range moves {
		e, err := encodeMove(head.Name, m.EvacuationMove)
		if err != nil {
			return nil, err
		}
		c.stamp(e)
		op := tablestorage.Operation{Kind: tablestorage.OpReplace, Entity: e, ETag: m.ETag}
		if m.ETag == "" {
			op.Kind = tablestorage.OpInsert
		}
		ops = append(ops, op)
	}
	return ops, nil
}

// submitEvacuation sends a change until it is known whether it was made, as settle does for one row: the head's column
// Write tells for the whole transaction.
func (c *Catalog) submitEvacuation(ctx context.Context, head EvacuationRecord, ops []tablestorage.Operation) ([]string, error) {
	what := evacuationName(head.Name)
	for try := 1; ; try++ {
		etags, err := c.table.Submit(ctx, ops)
		switch {
		case err == nil:
			return etags, nil
		case errors.Is(err, tablestorage.ErrTableNotFound):
			return nil, fmt.Errorf("write %s: %w", what, c.noCatalog(err))
		case refused(err):
			return nil, fmt.Errorf("write %s: %w", what, err)
		}
		now, rerr := c.table.Get(ctx, ops[0].Entity.Key())
		switch {
		case rerr == nil && sameWrite(now, ops[0].Entity):
			return c.etagsOf(ctx, what, ops)
		case rerr == nil && (now.ETag != head.ETag || contention(err)), errors.Is(rerr, tablestorage.ErrNotFound):
			return nil, fmt.Errorf("write %s: %w", what, ErrChanged)
		case rerr != nil, try == maxTries:
			return nil, fmt.Errorf("write %s: %w: %w", what, ErrUnclear, errors.Join(err, rerr))
		}
	}
}

// etagsOf reads the ETags of the rows of a change that was made, but whose answer was lost.
func (c *Catalog) etagsOf(ctx context.Context, what string, ops []tablestorage.Operation) ([]string, error) {
	etags := make([]string, len(ops))
	for i, op := range ops {
		now, err := c.table.Get(ctx, op.Entity.Key())
		switch {
		case err != nil:
			return nil, fmt.Errorf("write %s: it was made, and reading it back: %w: %w", what, ErrUnclear, err)
		case !sameWrite(now, op.Entity):
			return nil, fmt.Errorf("write %s: it was made, and changed since: %w", what, ErrChanged)
		}
		etags[i] = now.ETag
	}
	return etags, nil
}

// EvacuationMove reads one move of an evacuation; ErrNotFound.
func (c *Catalog) EvacuationMove(ctx context.Context, evacuation, tenantID string) (EvacuationMoveRecord, error) {
	r, err := c.get(ctx, edm.Key{PartitionKey: evacuationPrefix + evacuation, RowKey: movePrefix + tenantID},
		fmt.Sprintf("the move of tenant %q in %s", tenantID, evacuationName(evacuation)))
	if err != nil {
		return EvacuationMoveRecord{}, err
	}
	return decodeMove(r)
}

// RenewMove replaces a move that was read without touching the head; ErrChanged. It is for the lease alone: nothing that the
// head guards may differ from what was read.
func (c *Catalog) RenewMove(ctx context.Context, evacuation string, rec EvacuationMoveRecord) (EvacuationMoveRecord, error) {
	e, err := encodeMove(evacuation, rec.EvacuationMove)
	if err != nil {
		return EvacuationMoveRecord{}, err
	}
	etag, err := c.replace(ctx, fmt.Sprintf("the move of tenant %q in %s", rec.TenantID, evacuationName(evacuation)), e, rec.ETag)
	if err != nil {
		return EvacuationMoveRecord{}, err
	}
	return written(e, etag, decodeMove)
}
