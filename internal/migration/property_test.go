package migration

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/aztenancy/terraform-provider-aztenancy/internal/edm"
	"github.com/aztenancy/terraform-provider-aztenancy/internal/tenancy"
)

// drawKey draws texts that are awkward in keys, URLs, filters and orders.
func drawKey(t *rapid.T, label string) string {
	parts := rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "0", "|", "'", " ", "%", "~", "é", "\uFF5E", "\U0001F600", "\uE000"}), 0, 4)
	text := ""
	for _, p := range parts.Draw(t, label) {
		text += p
	}
	return text
}

func drawScheme(t *rapid.T, label string) tenancy.KeyScheme {
	s := tenancy.KeyScheme{Kind: rapid.SampledFrom([]tenancy.Scheme{tenancy.SchemeTenant, tenancy.SchemeBucketed, tenancy.SchemePrefixed,
		tenancy.SchemeNative}).Draw(t, label)}
	if s.Kind == tenancy.SchemeBucketed || s.Kind == tenancy.SchemePrefixed {
		s.Separator = rapid.SampledFrom([]string{"|", "-", "'"}).Draw(t, label+" separator")
	}
	if s.Kind == tenancy.SchemeBucketed {
		s.Buckets = rapid.SampledFrom([]int{2, 3, 11, 101}).Draw(t, label+" buckets")
		s.BucketProperty = rapid.SampledFrom([]string{"", "Region"}).Draw(t, label+" property")
	}
	return s
}

// TestAnyTenantMovesWholeBetweenAnySchemesWhereverTheMoverIsKilled moves random tenants between random key schemes, kills the mover
// somewhere, lets another finish, and purges. What cannot be moved has to be refused, with nothing changed.
func TestAnyTenantMovesWholeBetweenAnySchemesWhereverTheMoverIsKilled(t *testing.T) {
	w := newWorld(t)
	n := 0
	rapid.Check(t, func(rt *rapid.T) {
		n++
		id := fmt.Sprintf("t%d", n)
		source, target := drawScheme(rt, "source"), drawScheme(rt, "target")
		from, to := w.model(rt, id+"from", source), w.model(rt, id+"to", target)
		w.tenant(rt, id, from)
		w.tenant(rt, id+"x", from) // a neighbour whose key begins with this one's
		list := drawOrders(rt, source)
		w.put(rt, id, list)
		w.put(rt, id+"x", list)
		neighbour := w.get(rt, id+"x")

		refuse := mustRefuse(source, target, list)
		steps := rapid.IntRange(1, 60).Draw(rt, "killed after")
		killed := w.engine("killed")
		killed.fault = countingHook(func(string) bool { steps--; return steps < 0 })
		ctx := context.Background()
		_, err := killed.Run(ctx, id, Target{Model: to}, Options{})
		var refused *RefusedError
		if refuse != errors.As(err, &refused) {
			rt.Fatalf("refused: %v, want %v", err, refuse)
		}
		if refuse {
			w.wantAt(t, id, from, image(list))
			return
		}
		if errors.Is(err, errKilled) {
			w.later()
			_, err = w.engine("second").Run(ctx, id, Target{Model: to}, Options{})
		}
		if err != nil && !errors.Is(err, ErrNothingToDo) {
			rt.Fatalf("move: %v", err)
		}
		w.wantAt(rt, id, to, image(list))
		_, err = w.engine("second").Purge(ctx, id, Options{})
		must(rt, err)
		w.wantAt(rt, id, to, image(list))
		if d := cmp.Diff(neighbour, w.get(rt, id+"x")); d != "" {
			rt.Fatalf("the neighbour's orders (-before +after):\n%s", d)
		}
	})
}

// model declares a model with a scheme: dedicated where the scheme needs it, otherwise in a table that all models of
// its scheme share.
func (w *world) model(t fataler, name string, s tenancy.KeyScheme) string {
	t.Helper()
	m := tenancy.Model{Name: name, Kind: tenancy.SharedTable, Account: "home", KeyScheme: s}
	m.Tables = map[string]string{"orders": "Any" + string(s.Kind)}
	if s.Kind == tenancy.SchemeNative {
		m.Kind, m.Tables = tenancy.DedicatedTable, map[string]string{"orders": name + "{tenant}"}
	} else if name[len(name)-2:] == "to" {
		m.Tables["orders"] += "2"
	}
	if m.Kind == tenancy.SharedTable {
		_, err := w.accounts.Home().CreateTable(context.Background(), m.Tables["orders"])
		must(t, err)
	}
	_, err := w.catalog.CreateModel(context.Background(), m)
	must(t, err)
	return name
}

// drawOrders draws entities that the scheme can hold, each stored key once.
func drawOrders(t *rapid.T, s tenancy.KeyScheme) []*edm.Entity {
	var list []*edm.Entity
	stored := map[edm.Key]bool{}
	for i := range rapid.IntRange(0, 40).Draw(t, "entities") {
		e := order("", drawKey(t, "row"), i)
		if s.Kind == tenancy.SchemePrefixed || s.Kind == tenancy.SchemeNative {
			e.PartitionKey = drawKey(t, "partition")
		}
		if rapid.Bool().Draw(t, "has region") {
			e.Set("Region", edm.StringValue(rapid.SampledFrom([]string{"n", "s", "e", "w"}).Draw(t, "region")))
		}
		pk, err := s.PartitionKey("k", e)
		must(t, err)
		k := edm.Key{PartitionKey: pk, RowKey: e.RowKey}
		if !stored[k] {
			stored[k] = true
			list = append(list, e)
		}
	}
	return list
}

// mustRefuse says whether a move has to be refused: a part of the key would be lost or made up, or two entities
// would have one key.
func mustRefuse(source, target tenancy.KeyScheme, list []*edm.Entity) bool {
	keeps := func(s tenancy.KeyScheme) bool {
		return s.Kind == tenancy.SchemePrefixed || s.Kind == tenancy.SchemeNative
	}
	if keeps(source) != keeps(target) {
		return true
	}
	seen := map[edm.Key]bool{}
	for _, e := range list {
		pk, err := target.PartitionKey("k", e)
		k := edm.Key{PartitionKey: pk, RowKey: e.RowKey}
		if err != nil || seen[k] {
			return true
		}
		seen[k] = true
	}
	return false
}
