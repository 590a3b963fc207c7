package simulation

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

var (
	schedules = flag.Int("schedules", 250, "random schedules to run")
	firstSeed = flag.Uint64("seed", 1, "seed of the first random schedule; each has its own")
	stride    = flag.Int("stride", 12, "try every n-th of the requests that the exhaustive test disturbs; 1 is all")
	show      = flag.Bool("show", false, "print what happened, whether or not it was right")
)

// One processor: the order in which goroutines run must not differ from one run of a schedule to the next.
func TestMain(m *testing.M) {
	runtime.GOMAXPROCS(1)
	os.Exit(m.Run())
}

// simulate runs one schedule and returns what is wrong, with the end of what happened.
func simulate(t *testing.T, s schedule) (failures []string, w *world) {
	t.Helper()
	synctest.Test(t, func(*testing.T) {
		w = newWorld(s)
		failures = w.run()
	})
	return failures, w
}

// draw makes a schedule of a seed.
func draw(seed uint64) schedule {
	dice := rand.New(rand.NewPCG(seed, 3))
	s := schedule{seed: seed, entities: dice.IntN(9), writers: dice.IntN(3), actions: 4 + dice.IntN(12), rogue: dice.IntN(4) == 0,
		faults: []float64{0, 0.02, 0.1, 0.3}[dice.IntN(4)], most: 30, kills: dice.IntN(5), rivals: dice.IntN(3), holds: dice.IntN(3), workers: 1 + dice.IntN(3)}
	for s.from == s.to {
		s.from, s.to = pick(dice, models).Name, pick(dice, models).Name
	}
	s.script = pick(dice, [][]job{{migrateJob}, {migrateJob, purgeJob}, {migrateJob, purgeJob}, {migrateJob, purgeJob, backJob, purgeJob}, {cutJob, abortJob}, {cutJob, migrateJob}, {cutJob, abortJob, migrateJob, purgeJob}})
	s.cut = time.Duration(dice.IntN(20_000)) * time.Millisecond
	return s
}

func (s schedule) String() string {
	var names []string
	for _, j := range s.script {
		names = append(names, j.name)
	}
	return fmt.Sprintf("seed %d: %s, %s to %s, %d entities, %d writers of %d writes, rogue %t, faults %g, kills %d, rivals %d, holds %d, workers %d",
		s.seed, strings.Join(names, "+"), s.from, s.to, s.entities, s.writers, s.actions, s.rogue, s.faults, s.kills, s.rivals, s.holds, s.workers)
}

// report fails the test with what a developer needs to run the schedule again.
func report(t *testing.T, s schedule, failures []string, w *world) {
	t.Helper()
	if *show {
		t.Logf("%v\n%s", s, w.tail(100_000))
	}
	if len(failures) > 0 {
		t.Fatalf("%v\n%s\nthe last of what happened:\n%s", s, strings.Join(failures, "\n"), w.tail(60))
	}
}

func TestRandomSchedulesKeepTheInvariants(t *testing.T) {
	began := time.Now()
	requests, switched := 0, 0
	for i := range *schedules {
		s := draw(*firstSeed + uint64(i))
		failures, w := simulate(t, s)
		report(t, s, failures, w)
		requests += w.net.handled
		if _, p, _ := w.tenantRow(mover); !p.Equal(w.source) {
			switched++
		}
	}
	t.Logf("%d schedules, of which %d end at the target, %d requests, %v", *schedules, switched, requests, time.Since(began).Round(time.Second))
	if switched < *schedules/4 {
		t.Errorf("%d of %d schedules end at the target: the world hardly lets a move through, so it proves little", switched, *schedules)
	}
}

// disturbances are what the exhaustive test does to each request of a mover.
var disturbances = map[string]func(*world, *call){
	"lost":     func(w *world, c *call) { w.net.handle(c, lost) },
	"doubtful": func(w *world, c *call) { w.net.handle(c, doubtful) },
	"busy":     func(w *world, c *call) { w.net.handle(c, busy) },
	"failed":   func(w *world, c *call) { w.net.handle(c, failed) },
	"late": func(w *world, c *call) {
		if mayBeLate(c.op) {
			w.net.handle(c, late)
			return
		}
		w.net.handle(c, lost)
	},
	"killed before": func(w *world, c *call) {
		w.net.handle(c, lost)
		w.killMover(c.from)
	},
	"killed after": func(w *world, c *call) {
		w.net.handle(c, doubtful)
		w.killMover(c.from)
	},
	"killed, and late": func(w *world, c *call) {
		if mayBeLate(c.op) {
			w.net.handle(c, late)
		}
		w.killMover(c.from)
	},
	"killed, and late until all is over": func(w *world, c *call) {
		c.last = true
		w.net.handle(c, late)
		w.killMover(c.from)
	},
	"held back while a rival takes over": func(w *world, c *call) {
		w.net.note("is held back", &call{from: c.from})
		c.from.held = time.Now().Add(time.Minute)
		w.startMover()
	},
}

// small are worlds that are small enough to try everything.
var small = []schedule{
	// One row, which the tenant deletes after the switch: whatever is late then brings it back, if it can.
	{seed: 4, from: "pool2", to: "own", entities: 1, writers: 1, actions: 12, workers: 1, script: []job{migrateJob}},
	{seed: 1, from: "pool", to: "own", entities: 3, writers: 1, actions: 6, workers: 1, script: []job{migrateJob, purgeJob}},
	{seed: 2, from: "own", to: "far", entities: 2, writers: 1, actions: 6, workers: 2, script: []job{migrateJob, purgeJob}},
	{seed: 3, from: "far", to: "pool2", entities: 2, writers: 1, actions: 4, workers: 2, script: []job{cutJob, abortJob, migrateJob}, cut: 9 * time.Second},
}

// Each request that a mover sends, in a few small worlds, meets each fate once.
func TestEveryRequestMayMeetEveryFate(t *testing.T) {
	runs := 0
	for i, base := range small {
		failures, w := simulate(t, base)
		report(t, base, failures, w)
		requests := w.moved
		if requests == 0 {
			t.Fatalf("%v: no mover sent anything", base)
		}
		for name, disturb := range disturbances {
			step := *stride
			if i == 0 && strings.Contains(name, "late") {
				step = 1 // the one row that comes back is what guards are for
			}
			for n := 1 + runs%step; n <= requests; n += step {
				s := base
				s.at = map[int]func(*world, *call){n: disturb}
				failures, w := simulate(t, s)
				runs++
				if len(failures) > 0 {
					t.Logf("request %d of the movers: %s", n, name)
				}
				report(t, s, failures, w)
			}
		}
	}
	t.Logf("%d runs", runs)
}
