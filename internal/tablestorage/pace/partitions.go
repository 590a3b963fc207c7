package pace

import (
	"container/list"
	"time"
)

// How long, and how many, partitions are remembered that have nothing under way.
const (
	partitionIdle  = 30 * time.Second
	mostPartitions = 4096
)

// partitionKey names a partition of one kind of request.
type partitionKey struct {
	account, table, partition string
	kind                      Kind
}

func keyOf(r Request) partitionKey { return partitionKey{r.Account, r.Table, r.Partition, r.Kind} }

// partitions are the flows of partitions. Those that nothing was sent to for partitionIdle are forgotten, and of more than
// mostPartitions those that were used least recently; those with requests under way never are. The pacer's lock guards it.
type partitions struct {
	byKey map[partitionKey]*list.Element // of *partition
	order *list.List                     // the most recently used first
}

type partition struct {
	key  partitionKey
	flow *flow
	busy int // requests under way
}

func newPartitions() partitions {
	return partitions{byKey: map[partitionKey]*list.Element{}, order: list.New()}
}

// enter returns the flow of the request's partition, which stays until leave.
func (p *partitions) enter(r Request, now time.Time) *flow {
	p.forget(now)
	key := keyOf(r)
	at := p.byKey[key]
	if at == nil {
		start := float64(partitionWriteStart)
		if r.Kind == Read {
			start = partitionReadStart
		}
		at = p.order.PushFront(&partition{key: key, flow: newFlow(start, now)})
		p.byKey[key] = at
	}
	p.order.MoveToFront(at)
	x := of(at)
	x.busy++
	x.flow.used = now
	return x.flow
}

// of returns what an element of order holds.
func of(e *list.Element) *partition {
	x, _ := e.Value.(*partition)
	return x
}

// leave ends a request.
func (p *partitions) leave(r Request) {
	if at := p.byKey[keyOf(r)]; at != nil {
		of(at).busy--
	}
}

// forget drops from the end what is idle or too many.
func (p *partitions) forget(now time.Time) {
	for at := p.order.Back(); at != nil; {
		x, before := of(at), at.Prev()
		if now.Sub(x.flow.used) < partitionIdle && p.order.Len() < mostPartitions {
			return
		}
		if x.busy == 0 {
			p.order.Remove(at)
			delete(p.byKey, x.key)
		}
		at = before
	}
}

// active counts the partitions of the account that requests of this kind were sent to within the last second; it stops
// counting where the number no longer matters.
func (p *partitions) active(r Request, now time.Time) int {
	n := 0
	for at := p.order.Front(); at != nil && n < 4*mostEvidence; at = at.Next() {
		x := of(at)
		if now.Sub(x.flow.used) > evidenceFor {
			break
		}
		if x.key.account == r.Account && x.key.kind == r.Kind {
			n++
		}
	}
	return n
}
