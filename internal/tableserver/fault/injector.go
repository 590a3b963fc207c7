package fault

import (
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/aztenancy/terraform-provider-aztenancy/internal/tableserver/traffic"
)

// Subject is a request as rules see it.
type Subject struct {
	Operation      traffic.Operation
	Account, Table string
	PartitionKey   string
	Keyed          bool // PartitionKey says something: an operation on a table has none
}

// Injector asks its rules in their order; the first that hits decides, and those behind it do not see the request.
// Its choices follow from the seed and the order of requests alone. It is safe for concurrent use; without rules it
// costs one atomic load.
type Injector struct {
	any atomic.Bool

	mu    sync.Mutex
	seed  uint64
	rules []*active
}

// active is a rule with what became of it.
type active struct {
	*Rule
	random       *rand.Rand
	matched, hit int
}

// Report is a rule with how many requests it matched and how many of those it hit.
type Report struct {
	Rule    string `json:"rule"`
	Matched int    `json:"matched"`
	Hit     int    `json:"hit"`
}

// NewInjector returns an injector with rules.
func NewInjector(seed uint64, rules ...*Rule) *Injector {
	in := &Injector{}
	in.Set(seed, rules...)
	return in
}

// Set replaces the rules; all counts start anew.
func (in *Injector) Set(seed uint64, rules ...*Rule) {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.seed, in.rules = seed, nil
	in.add(rules)
	in.any.Store(len(in.rules) > 0)
}

// Add puts rules behind those that are there.
func (in *Injector) Add(rules ...*Rule) {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.add(rules)
	in.any.Store(len(in.rules) > 0)
}

func (in *Injector) add(rules []*Rule) {
	for _, r := range rules {
		in.rules = append(in.rules, &active{Rule: r, random: rand.New(rand.NewPCG(in.seed, uint64(len(in.rules))))})
	}
}

// Reports returns the rules in their order.
func (in *Injector) Reports() []Report {
	in.mu.Lock()
	defer in.mu.Unlock()
	out := make([]Report, len(in.rules))
	for i, r := range in.rules {
		out[i] = Report{Rule: r.text, Matched: r.matched, Hit: r.hit}
	}
	return out
}

// At returns what happens to a request at a moment, and the rule that says so; ok is false for nothing.
func (in *Injector) At(moment Moment, s Subject) (e Effect, rule string, ok bool) {
	if !in.any.Load() {
		return Effect{}, "", false
	}
	in.mu.Lock()
	defer in.mu.Unlock()
	for _, r := range in.rules {
		if r.moment == moment && r.matches(s) && r.hits() {
			return r.effect, r.text, true
		}
	}
	return Effect{}, "", false
}

func (r *Rule) matches(s Subject) bool {
	return (r.operations == nil || slices.Contains(r.operations, s.Operation)) &&
		(r.account == "" || r.account == s.Account) &&
		(r.table == "" || strings.EqualFold(r.table, s.Table)) &&
		(r.partition == nil || s.Keyed && *r.partition == s.PartitionKey)
}

// hits counts a matching request and says whether it is hit.
func (r *active) hits() bool {
	r.matched++
	n := r.matched - r.skip
	switch {
	case n < 1, r.count > 0 && r.hit >= r.count, r.every > 0 && n%r.every != 0:
		return false
	case r.probability > 0 && r.random.Float64() >= r.probability:
		return false
	}
	r.hit++
	return true
}
