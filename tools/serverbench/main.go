package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"
)

type options struct {
	server, azurite, out, bare, listen, only string
	size                                     int
	quick, memory                            bool
}

func main() {
	var o options
	flag.StringVar(&o.server, "server", "bin/tableserver", "the server's `program`")
	flag.StringVar(&o.azurite, "azurite", "internal/acctest/azurite/node_modules/azurite/dist/src/table/main.js", "Azurite's `main.js`")
	flag.StringVar(&o.out, "out", "", "`file` that the report is written to as well")
	flag.BoolVar(&o.quick, "quick", false, "a tenth of the data and of the time, to try it")
	flag.BoolVar(&o.memory, "memory", false, "only load 1,000,000 entities into tableserver, read them, and print its memory")
	flag.StringVar(&o.only, "only", "", "only the server of this `name`, to profile it: tableserver, Azurite or \"bare limit\"")
	flag.IntVar(&o.size, "size", 0, "`entities` to load (default 100,000, quick 10,000, memory 1,000,000)")
	flag.StringVar(&o.bare, "bare", "", "run the bare limit on this `folder` (the benchmark starts itself so)")
	flag.StringVar(&o.listen, "listen", "", "`address` of the bare limit")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, o)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "serverbench:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, o options) error {
	if o.bare != "" {
		return serveBare(ctx, o.bare, o.listen)
	}
	if o.size == 0 {
		o.size = map[bool]int{false: 100_000, true: 10_000}[o.quick]
		if o.memory {
			o.size = 1_000_000
		}
	}
	if unit := partitions * batchSize; o.size%unit != 0 || o.size < unit {
		return fmt.Errorf("-size %d: give a multiple of %d", o.size, unit)
	}
	dir, err := os.MkdirTemp("", "serverbench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir) //nolint:errcheck // a temporary folder
	all, err := targets(o, dir)
	if err != nil {
		return err
	}
	if o.memory {
		o.only = ours
	}
	if o.only != "" {
		all = slices.DeleteFunc(all, func(t *target) bool { return t.name != o.only })
	}
	defer func() {
		for _, t := range all {
			t.stop()
		}
	}()
	if o.memory {
		return measureMemory(ctx, all[0], o.size)
	}
	m := &measurement{size: o.size, rounds: 4, slice: 3 * time.Second, targets: all, rates: make(map[string]map[string][]float64)}
	if o.quick {
		m.slice = 500 * time.Millisecond
	}
	if err := m.run(ctx); err != nil {
		return err
	}
	report := m.report()
	if _, err := io.WriteString(os.Stdout, report); err != nil {
		return err
	}
	if o.out != "" {
		return os.WriteFile(o.out, []byte(report), 0o644) //nolint:gosec // documentation
	}
	return nil
}

// measurement takes turns between the servers in short slices, so that other load on the machine meets all of them.
type measurement struct {
	size, rounds int
	slice        time.Duration
	targets      []*target
	rates        map[string]map[string][]float64 // workload → server → one rate a round
}

func (m *measurement) add(workload, server string, rate float64) {
	if m.rates[workload] == nil {
		m.rates[workload] = make(map[string][]float64)
	}
	m.rates[workload][server] = append(m.rates[workload][server], rate)
}

func (m *measurement) rate(workload, server string) float64 {
	rates := slices.Sorted(slices.Values(m.rates[workload][server]))
	if len(rates) == 0 {
		return 0
	}
	return (rates[(len(rates)-1)/2] + rates[len(rates)/2]) / 2
}

const (
	batchName = "transactions of 100"
	scanName  = "paged scan"
	startName = "start"
)

func (m *measurement) run(ctx context.Context) error {
	for _, t := range m.targets {
		probe := "Tables"
		if _, err := t.start(ctx, probe); err != nil {
			return err
		}
		if t.name != limit {
			if err := t.prepare(); err != nil {
				return fmt.Errorf("%s: %w", t.name, err)
			}
		}
	}
	if err := m.loads(); err != nil {
		return err
	}
	for _, w := range workloads {
		for range m.rounds {
			for _, t := range m.targets {
				if t.name == limit && !w.bare {
					continue
				}
				rate, err := w.run(t.address, m.size, m.slice)
				if err != nil {
					return fmt.Errorf("%s, %s: %w", w.name, t.name, err)
				}
				m.add(w.name, t.name, rate)
			}
		}
	}
	return m.scansAndStarts(ctx)
}

// loads loads the data in as many turns as there are rounds.
func (m *measurement) loads() error {
	const turn = partitions * batchSize
	for from := 0; from < m.size; from += turn {
		for _, t := range m.targets {
			seconds, err := load(t.address, from, from+turn)
			if err != nil {
				return fmt.Errorf("load %s: %w", t.name, err)
			}
			m.add(batchName, t.name, turn/seconds)
		}
	}
	return nil
}

func (m *measurement) scansAndStarts(ctx context.Context) error {
	for _, t := range m.targets {
		if t.name == limit {
			continue
		}
		for range 2 {
			rate, err := scan(t.address, m.size)
			if err != nil {
				return fmt.Errorf("scan %s: %w", t.name, err)
			}
			m.add(scanName, t.name, rate)
		}
		for range 3 {
			t.stop()
			seconds, err := t.start(ctx, "Load(PartitionKey='p00',RowKey='000000')")
			if err != nil {
				return err
			}
			m.add(startName, t.name, seconds)
		}
	}
	return nil
}

// measureMemory loads, reads and restarts, and prints what the process held.
func measureMemory(ctx context.Context, t *target, size int) error {
	if _, err := t.start(ctx, "Tables"); err != nil {
		return err
	}
	if err := t.prepare(); err != nil {
		return err
	}
	show := func(when string) error {
		now, peak, err := t.resident()
		if err == nil {
			fmt.Printf("%-28s %4.0f MiB resident, %4.0f MiB at most\n", when, now, peak)
		}
		return err
	}
	seconds, err := load(t.address, 0, size)
	if err != nil {
		return err
	}
	fmt.Printf("%d entities of 1 KiB loaded in %.0f s\n", size, seconds)
	if err := show("after loading"); err != nil {
		return err
	}
	for _, w := range workloads {
		if _, err := w.run(t.address, size, 5*time.Second); err != nil {
			return err
		}
		if err := show("after 5 s of " + w.name); err != nil {
			return err
		}
	}
	if _, err := scan(t.address, size); err != nil {
		return err
	}
	if err := show("after a scan of everything"); err != nil {
		return err
	}
	t.stop()
	if seconds, err = t.start(ctx, "Load(PartitionKey='p00',RowKey='000000')"); err != nil {
		return err
	}
	return errors.Join(show(fmt.Sprintf("after a start of %.0f ms", seconds*1000)))
}

// goals of the issue: ours by Azurite's rate, and by the limit's; for a start Azurite's by ours.
var goals = map[string][2]float64{
	"point get": {20, 0.7}, "insert": {5, 0.6}, batchName: {6, 0.6}, scanName: {8, 0}, "PartitionKey range of 100": {30, 0}, startName: {10, 0},
}

func (m *measurement) report() string {
	var b strings.Builder
	fmt.Fprintf(&b, "# Benchmarks of the local server\n\n"+
		"`make bench-server` wrote this page. %d entities of 1 KiB in %d partitions, %d connections, one client for all servers,\n"+
		"on %d processors that the client shares. Each figure is the median of rounds in which the servers take turns; trust the ratios,\n"+
		"not the figures. tableserver and the bare limit sync each write to disk before they answer; Azurite does not.\n"+
		"The bare limit checks the same signature and answers canned bytes; for writes it commits one synced Pebble batch.\n\n"+
		"| | tableserver | Azurite | bare limit | × Azurite | goal | of the limit | goal |\n|---|---:|---:|---:|---:|---:|---:|---:|\n",
		m.size, partitions, connections, runtime.NumCPU())
	line := func(name, unit, format string, ratio float64) {
		us, them, bound := m.rate(name, ours), m.rate(name, azurite), m.rate(name, limit)
		fmt.Fprintf(&b, "| %s, %s |", name, unit)
		for _, v := range []float64{us, them, bound} {
			if v == 0 {
				b.WriteString(" |")
			} else {
				fmt.Fprintf(&b, " "+format+" |", v)
			}
		}
		if ratio == 0 && them > 0 {
			ratio = us / them
		}
		fmt.Fprintf(&b, " %.1f | %.0f |", ratio, goals[name][0])
		if bound > 0 {
			fmt.Fprintf(&b, " %.2f | %.1f |\n", us/bound, goals[name][1])
		} else {
			b.WriteString(" | |\n")
		}
	}
	line(batchName, "entities/s", "%.0f", 0)
	for _, w := range workloads {
		line(w.name, w.unit, "%.0f", 0)
	}
	line(scanName, "entities/s", "%.0f", 0)
	start := 0.0
	if us := m.rate(startName, ours); us > 0 {
		start = m.rate(startName, azurite) / us
	}
	line(startName, "s", "%.3f", start)
	return b.String()
}
