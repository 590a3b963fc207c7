package tableserver

import (
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/aztenancy/terraform-provider-aztenancy/internal/edm"
	"github.com/aztenancy/terraform-provider-aztenancy/internal/tableserver/auth"
	"github.com/aztenancy/terraform-provider-aztenancy/internal/tableserver/fault"
	"github.com/aztenancy/terraform-provider-aztenancy/internal/tableserver/keyspan"
	"github.com/aztenancy/terraform-provider-aztenancy/internal/tableserver/throttle"
	"github.com/aztenancy/terraform-provider-aztenancy/internal/tableserver/traffic"
)

// entityOperations are the names of the operations on entities, which one route does not tell apart.
var entityOperations = map[auth.Operation]traffic.Operation{
	auth.InsertEntity: traffic.InsertEntity, auth.UpdateEntity: traffic.UpdateEntity, auth.MergeEntity: traffic.MergeEntity,
	auth.InsertOrReplaceEntity: traffic.InsertOrReplaceEntity, auth.InsertOrMergeEntity: traffic.InsertOrMergeEntity,
	auth.DeleteEntity: traffic.DeleteEntity,
}

// Texts of ServerBusy (Common REST API error codes). Which one tables send is unconfirmed.
const (
	textBusy        = "The server is currently unable to receive requests. Please retry your request."
	textAccountBusy = "Operations per second is over the account limit."
)

// admitToAccount lets an operation that touches no entity go on, unless the account is busy or a fault says otherwise.
func (c *call) admitToAccount() error {
	if err := c.s.limiter.Account(c.account, 1); err != nil {
		return c.busy(err)
	}
	return c.suffer(fault.Before)
}

// admit lets an operation on n entities of a partition go on, unless it is over a scale target or a fault says
// otherwise. It is called when everything else is in order, right before the store is asked.
func (c *call) admit(table, partitionKey string, n int) error {
	c.seen.Table, c.seen.PartitionKey, c.seen.Keyed = table, partitionKey, true
	if err := c.s.limiter.Take(throttle.Partition{Account: c.account, Table: table, PartitionKey: partitionKey}, n); err != nil {
		return c.busy(err)
	}
	c.seen.Entities = n
	c.heat(table, partitionKey, n)
	return c.suffer(fault.Before)
}

func (c *call) heat(table, partitionKey string, n int) {
	if c.s.metrics != nil {
		c.s.metrics.Heat().Add(traffic.Partition{Account: c.account, Table: strings.ToLower(table), PartitionKey: partitionKey}, n)
	}
}

// busy is the answer to what is over a scale target. A Retry-After header is documented nowhere and in no recording,
// so there is none (reference §9).
func (c *call) busy(err error) error {
	c.seen.Injected = traffic.Throttled
	if errors.Is(err, throttle.ErrAccountBusy) {
		return fail("ServerBusy", textAccountBusy)
	}
	return fail("ServerBusy", textBusy)
}

// refusedInBatch turns a refusal by admit into that of a batch: a partition and its faults answer within the batch, an
// account that is over its target answers before anybody looks into it. Unconfirmed; clients must cope with both.
func refusedInBatch(err error) error {
	if f := failureOf(err); f.message == textAccountBusy {
		return f
	}
	return &indexed{0, uncached(err)}
}

// texts are those of the service for the codes that faults often have.
var texts = map[string]string{
	"ServerBusy":        textBusy,
	"InternalError":     errInternal.message,
	"OperationTimedOut": "The operation could not be completed within the permitted time.",
}

// suffer does what a fault rule says about this moment of the request. A dropped connection ends the handler.
func (c *call) suffer(moment fault.Moment) error {
	e := c.seen
	effect, rule, ok := c.s.faults.At(moment, fault.Subject{Operation: e.Operation, Account: c.account, Table: e.Table,
		PartitionKey: e.PartitionKey, Keyed: e.Keyed})
	if !ok {
		return nil
	}
	e.Injected = rule
	c.s.wait(effect.Delay)
	switch {
	case effect.Drop:
		panic(http.ErrAbortHandler)
	case effect.Status != 0:
		text := texts[effect.Code]
		if text == "" {
			text = "This error was injected by a rule of the local server."
		}
		return &failure{status: effect.Status, code: effect.Code, message: text}
	}
	return nil
}

// wait lets time pass, or ends with the server. It does not end with the client: a write that a client gave up on
// still happens, late, as it does at the service.
func (s *Server) wait(d time.Duration) {
	if d <= 0 {
		return
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-s.stopping:
	}
}

// beforeAnswer is called by whatever answers a success, before the first byte. An error of it is answered instead: the
// work is done and the client does not hear so.
func (c *call) beforeAnswer() error {
	if c.seen.answering || c.seen.ErrorCode != "" {
		return nil
	}
	c.seen.answering = true
	err := c.suffer(fault.After)
	if err != nil {
		clear(c.w.Header())
		c.commonHeaders()
	}
	return err
}

// passage counts the entities that a query passes over, in runs of one partition.
type passage struct {
	c     *call
	table string
	pk    string
	run   int // entities of pk since the last one that was counted
	total int
}

// startPassage lets a query begin. partition is the one partition that it can see, nil for more.
func (c *call) startPassage(table string, partition *string) (*passage, error) {
	c.seen.Table = table
	if partition != nil {
		c.seen.PartitionKey, c.seen.Keyed = *partition, true
	}
	if err := c.s.limiter.Account(c.account, 0); err != nil {
		return nil, c.busy(err)
	}
	return &passage{c: c, table: table}, c.suffer(fault.Before)
}

// errPageEnds ends a page at an entity that is over a scale target. The next page is refused until time has passed.
var errPageEnds = errors.New("the page ends before this entity")

// over is called for each entity. When a scale target is reached it returns the refusal at the first one, and
// errPageEnds later.
func (p *passage) over(k edm.Key) error {
	if limiter := p.c.s.limiter; limiter.Enabled() {
		refused := limiter.Take(throttle.Partition{Account: p.c.account, Table: p.table, PartitionKey: k.PartitionKey}, 1)
		switch {
		case refused != nil && p.total == 0:
			return p.c.busy(refused)
		case refused != nil:
			return errPageEnds
		}
	}
	if p.total > 0 && k.PartitionKey != p.pk {
		p.flush()
	}
	p.pk = k.PartitionKey
	p.run++
	p.total++
	return nil
}

func (p *passage) flush() {
	p.c.heat(p.table, p.pk, p.run)
	p.run = 0
}

// end counts what is left. A query that met no entity is one operation on the account.
func (p *passage) end() {
	if p.total == 0 {
		_ = p.c.s.limiter.Account(p.c.account, 1) // it was let in; this is its price
	}
	p.flush()
	p.c.seen.Entities = p.total
}

// onlyPartition returns the one partition that all spans lie in, nil if there is none.
func onlyPartition(spans []keyspan.Span) *string {
	var pk *string
	for _, s := range spans {
		from, to := s.From, s.To
		if from.Side == keyspan.AfterPartition || from.Side == keyspan.AfterAll || to.Side == keyspan.AfterAll ||
			from.Key.PartitionKey != to.Key.PartitionKey || pk != nil && *pk != from.Key.PartitionKey {
			return nil
		}
		pk = &from.Key.PartitionKey
	}
	return pk
}
