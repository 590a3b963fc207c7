package ingest

import (
	"github.com/aztenancy/terraform-provider-aztenancy/internal/edm"
	"github.com/aztenancy/terraform-provider-aztenancy/internal/tablestorage"
)

// Bounds on what waits for its transaction.
const (
	maxWaitingBytes = 64 << 20 // of all partitions together, billed size
	maxGroupBytes   = 3 << 20  // of one partition: with JSON around it, about one transaction of 4 MiB
)

// pending is a row that has to be written.
type pending struct {
	route  *route
	entity *edm.Entity
	known  *knownRow
	line   int64
}

// group is rows of one partition that can go in one transaction, or a few when their JSON is large.
type group struct {
	route *route
	rows  []pending
	bytes int
}

// partition is a physical partition.
type partition struct{ storage, table, key string }

// gatherer collects rows by partition, so that a file in any order goes out in full transactions. It holds at most
// maxWaitingBytes: beyond that the fullest partition goes out as it is.
type gatherer struct {
	groups map[partition]*group
	bytes  int
	limit  int
}

func newGatherer() *gatherer {
	return &gatherer{groups: map[partition]*group{}, limit: maxWaitingBytes}
}

// add takes one row and returns the groups that are ready.
func (g *gatherer) add(p pending) []group {
	at := partition{p.route.place.Storage, p.route.place.Table, p.entity.PartitionKey}
	waiting := g.groups[at]
	if waiting == nil {
		waiting = &group{route: p.route}
		g.groups[at] = waiting
	}
	size := p.entity.Size()
	waiting.rows = append(waiting.rows, p)
	waiting.bytes += size
	g.bytes += size
	var ready []group
	if len(waiting.rows) == tablestorage.MaxOperations || waiting.bytes >= maxGroupBytes {
		ready = append(ready, g.take(at))
	}
	for g.bytes > g.limit {
		ready = append(ready, g.take(g.fullest()))
	}
	return ready
}

// rest returns all that waits.
func (g *gatherer) rest() []group {
	ready := make([]group, 0, len(g.groups))
	for at := range g.groups {
		ready = append(ready, g.take(at))
	}
	return ready
}

func (g *gatherer) take(at partition) group {
	taken := *g.groups[at]
	g.bytes -= taken.bytes
	delete(g.groups, at)
	return taken
}

func (g *gatherer) fullest() (at partition) {
	most := -1
	for key, waiting := range g.groups {
		if waiting.bytes > most {
			at, most = key, waiting.bytes
		}
	}
	return at
}
