package store

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/aztenancy/terraform-provider-aztenancy/internal/edm"
	"github.com/aztenancy/terraform-provider-aztenancy/internal/tableserver/keyspan"
)

// model is what the store must do, on a map: tables by name in lower case, entities by key.
type model map[string]map[edm.Key]*edm.Entity

func (m model) apply(table string, ops []Operation) (int, error) {
	after := make(map[edm.Key]*edm.Entity)
	for i, op := range ops {
		k, old := op.Entity.Key(), m[table][op.Entity.Key()]
		needed := op.Kind == Replace || op.Kind == Merge || op.Kind == Delete
		switch {
		case op.Kind == Insert && old != nil:
			return i, ErrExists
		case needed && old == nil:
			return i, ErrNotFound
		case needed && op.IfMatch != "*" && op.IfMatch != old.ETag:
			return i, ErrConditionNotMet
		}
		after[k] = op.Entity.Clone()
		if (op.Kind == Merge || op.Kind == UpsertMerge) && old != nil {
			after[k] = old.Clone()
			for _, p := range op.Entity.Properties {
				after[k].Set(p.Name, p.Value)
			}
		}
		if op.Kind == Delete {
			after[k] = nil
		}
	}
	for k, e := range after {
		if m[table][k] = e; e == nil {
			delete(m[table], k)
		}
	}
	return 0, nil
}

// comparison runs operations on a store and on the model.
type comparison struct {
	t    *rapid.T
	s    *Store
	m    model
	last int64 // the latest Timestamp seen, in ticks
	old  []string
}

var ctx = context.Background()

func (c *comparison) table() string {
	return rapid.SampledFrom([]string{"A", "b", "ab"}).Draw(c.t, "table")
}

// key draws from few keys, so that operations meet.
func (c *comparison) key(pk string) edm.Key {
	return edm.Key{PartitionKey: pk, RowKey: rapid.SampledFrom([]string{"", "1", "2", "\uFF5E", "\U0001F600"}).Draw(c.t, "row")}
}

func (c *comparison) partition() string {
	return rapid.SampledFrom([]string{"", "p", "pq", "\U0001F600"}).Draw(c.t, "partition")
}

func (c *comparison) createTable(t *rapid.T) {
	name := c.table()
	err := c.s.CreateTable(ctx, "acct", name)
	if _, exists := c.m[strings.ToLower(name)]; exists != errors.Is(err, ErrTableExists) || !exists && err != nil {
		t.Fatalf("create %s: %v", name, err)
	}
	if err == nil {
		c.m[strings.ToLower(name)] = make(map[edm.Key]*edm.Entity)
	}
}

func (c *comparison) deleteTable(t *rapid.T) {
	name := c.table()
	err := c.s.DeleteTable(ctx, "acct", strings.ToUpper(name))
	if _, exists := c.m[strings.ToLower(name)]; exists == errors.Is(err, ErrTableNotFound) || exists && err != nil {
		t.Fatalf("delete %s: %v", name, err)
	}
	delete(c.m, strings.ToLower(name))
}

func (c *comparison) write(t *rapid.T) {
	name := c.table()
	tab, err := c.s.Table(ctx, "acct", name)
	if err != nil {
		return
	}
	pk, used := c.partition(), make(map[edm.Key]bool)
	var ops []Operation
	for range rapid.IntRange(1, 4).Draw(t, "operations") {
		k := c.key(pk)
		if used[k] {
			continue
		}
		used[k] = true
		op := Operation{Kind: Kind(rapid.IntRange(int(Insert), int(Delete)).Draw(t, "kind")), Entity: drawEntity(t, k), IfMatch: "*"}
		if e := c.m[strings.ToLower(name)][k]; e != nil && rapid.Bool().Draw(t, "current etag") {
			op.IfMatch = e.ETag
		} else if len(c.old) > 0 && rapid.Bool().Draw(t, "some etag") {
			op.IfMatch = rapid.SampledFrom(c.old).Draw(t, "etag")
		}
		ops = append(ops, op)
	}
	stored, err := c.s.Apply(ctx, tab, ops)
	index, want := c.m.apply(strings.ToLower(name), ops)
	var refused *OperationError
	if errors.As(err, &refused) && refused.Index != index || !errors.Is(err, want) {
		t.Fatalf("apply: got %v, want operation %d: %v", err, index, want)
	}
	for _, e := range stored {
		if e == nil {
			continue
		}
		if ticks := edm.Ticks(e.Timestamp); ticks <= c.last {
			t.Fatalf("Timestamp %d after %d", ticks, c.last)
		} else {
			c.last = ticks
		}
		kept := c.m[strings.ToLower(name)][e.Key()]
		kept.Timestamp, kept.ETag = e.Timestamp, e.ETag
		c.old = append(c.old, e.ETag)
	}
}

// check compares everything, by scan and by point reads.
func (c *comparison) check(t *rapid.T) {
	var names []string
	for tab, err := range c.s.Tables(ctx, "acct", "") {
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, strings.ToLower(tab.Name))
	}
	if len(names) != len(c.m) || !slices.IsSorted(names) {
		t.Fatalf("tables %v, want %d", names, len(c.m))
	}
	span := keyspan.Whole()
	if rapid.Bool().Draw(t, "part") {
		span.From, span.To = keyspan.AfterKey(c.key(c.partition())), keyspan.AfterPartitionOf(c.partition())
	}
	for name, rows := range c.m {
		tab, err := c.s.Table(ctx, "acct", name)
		if err != nil {
			t.Fatal(err)
		}
		var want, got []string
		for k, e := range rows {
			if span.Contains(k) {
				want = append(want, show(e))
			}
			if one, err := c.s.Get(ctx, tab, k); err != nil || show(one) != show(e) {
				t.Fatalf("get %q: %v", k, err)
			}
		}
		var last *edm.Entity
		for e, err := range c.s.Scan(ctx, tab, span) {
			if err != nil || last != nil && last.Key().Compare(e.Key()) >= 0 {
				t.Fatalf("scan: %v, %q after %v", err, e.Key(), last)
			}
			got, last = append(got, show(e)), e
		}
		slices.Sort(want)
		slices.Sort(got)
		if !slices.Equal(got, want) {
			t.Fatalf("table %s in %v holds\n%s\nwant\n%s", name, span, strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	}
}

func show(e *edm.Entity) string {
	return fmt.Sprintf("%s %x", e.ETag, edm.AppendCanonical(nil, e.Key(), e))
}

func TestStoreDoesWhatAMapDoes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s, err := Open(Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close() //nolint:errcheck // in memory
		c := &comparison{t: t, s: s, m: make(model)}
		t.Repeat(map[string]func(*rapid.T){
			"create table": c.createTable,
			"delete table": c.deleteTable,
			"write":        c.write,
			"write again":  c.write,
			"write more":   c.write,
			"":             c.check,
		})
	})
}
