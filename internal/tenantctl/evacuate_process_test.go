package tenantctl

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/aztenancy/terraform-provider-aztenancy/internal/fleet"
	"github.com/aztenancy/terraform-provider-aztenancy/internal/tablestorage"
	"github.com/aztenancy/terraform-provider-aztenancy/internal/tenancy"
)

// runAsCommand makes this test's program tenantctl, so that a test can kill real processes.
const runAsCommand = "AZTENANCY_TEST_RUN_TENANTCTL"

func TestMain(m *testing.M) {
	if os.Getenv(runAsCommand) == "" {
		os.Exit(m.Run())
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	context.AfterFunc(ctx, stop)
	os.Exit(Run(ctx, Process{Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr, Getenv: os.Getenv, Version: "0.0.0-test"}, os.Args[1:]))
}

// process is a tenantctl of its own.
type process struct {
	cmd            *exec.Cmd
	stdout, stderr bytes.Buffer
}

func (w *world) start(args ...string) *process {
	w.t.Helper()
	p := &process{cmd: exec.Command(os.Args[0], append(args, "--config", "accounts.hcl")...)}
	p.cmd.Env = append(os.Environ(), runAsCommand+"=1")
	p.cmd.Stdout, p.cmd.Stderr = &p.stdout, &p.stderr
	must(w.t, p.cmd.Start())
	w.t.Cleanup(func() {
		_ = p.cmd.Process.Kill() // of one that has ended it does nothing
		_ = p.cmd.Wait()
	})
	return p
}

// owns says whether a worker's name in the catalog is this process.
func (p *process) owns(worker string) bool {
	return strings.HasSuffix(worker, fmt.Sprintf("/%d", p.cmd.Process.Pid))
}

// inPlace reads what each tenant has where the catalog says it lives.
func (w *world) inPlace() map[string][]string {
	w.t.Helper()
	tenants, err := w.catalog.Tenants(w.t.Context())
	must(w.t, err)
	out := map[string][]string{}
	for _, x := range tenants {
		place := x.Placement["strikes"]
		table, err := w.accounts.At(place)
		must(w.t, err)
		for e, err := range table.Query(w.t.Context(), tablestorage.Query{Range: &place.Range}) {
			must(w.t, err)
			of, _ := e.Get("Of")
			out[x.ID] = append(out[x.ID], e.RowKey+" "+of.Str())
		}
	}
	return out
}

// wait looks at the evacuation "e" until it is as wanted, and checks at each look that no more tenants are frozen than may be.
func (w *world) wait(frozen int, what string, wanted func(*fleet.Summary) bool) *fleet.Summary {
	w.t.Helper()
	for deadline := time.Now().Add(3 * time.Minute); ; {
		s, err := fleet.Directory{Catalog: w.catalog, Accounts: w.accounts}.Status(w.t.Context(), "e")
		must(w.t, err)
		tenants, err := w.catalog.Tenants(w.t.Context())
		must(w.t, err)
		n := 0
		for _, x := range tenants {
			if x.State == tenancy.Frozen {
				n++
			}
		}
		if n > frozen || s.Frozen > frozen {
			w.t.Fatalf("%d tenants are frozen and %d may be, of at most %d", n, s.Frozen, frozen)
		}
		if wanted(s) {
			return s
		}
		if time.Now().After(deadline) {
			w.t.Fatalf("waited in vain for %s: %+v", what, s)
		}
		select {
		case <-time.After(5 * time.Millisecond):
		case <-w.t.Context().Done():
			w.t.Fatalf("waited in vain for %s", what)
		}
	}
}

// Three processes share an evacuation; one is killed while it moves tenants. The others finish what it had under way, and
// nothing of any tenant is lost or in another's place.
func TestAWorkerThatIsKilledIsReplacedByTheOthers(t *testing.T) {
	w := fleetWorld(t, 9, 40)
	want := w.inPlace()
	for _, entities := range want {
		slices.Sort(entities)
	}
	w.mustRun(exitDone, "evacuate", "--from", "home/Strikes", "--to", "own-table", "--name", "e", "--max-frozen", "1", "--declare-only")
	var workers []*process
	for range 3 {
		workers = append(workers, w.start("work", "e", "--parallel", "2", "--lease", "3s"))
	}
	victim := workers[0]
	w.wait(1, "all three to work", func(s *fleet.Summary) bool {
		var at [3]bool
		for _, m := range s.Moves {
			for i, p := range workers {
				at[i] = at[i] || m.State == fleet.Moving && p.owns(m.Worker)
			}
		}
		return at == [3]bool{true, true, true}
	})
	must(t, victim.cmd.Process.Kill()) // SIGKILL
	_ = victim.cmd.Wait()
	left := map[string]bool{}
	s := w.wait(1, "a look", func(*fleet.Summary) bool { return true })
	for _, m := range s.Moves {
		if m.State == fleet.Moving && victim.owns(m.Worker) {
			left[m.TenantID] = true
		}
	}
	if len(left) == 0 {
		t.Fatal("the killed process had nothing under way")
	}
	s = w.wait(1, "the end", func(s *fleet.Summary) bool { return s.State != fleet.Running })
	if s.State != fleet.Done || s.Moved != 9 || s.Entities != 9*40 {
		t.Fatalf("the evacuation is %s (%s): %s", s.State, s.Reason, statesOf(s))
	}
	for _, m := range s.Moves {
		if left[m.TenantID] && m.Attempts < 2 {
			t.Errorf("tenant %s was left by the killed process, and moved in %d attempts", m.TenantID, m.Attempts)
		}
	}
	for _, p := range workers[1:] {
		if err := p.cmd.Wait(); err != nil {
			t.Errorf("a worker ended with %v:\n%s", err, &p.stderr)
		}
		wants(t, p.stdout.String(), "Evacuation e is done: 9 of 9 tenants moved, 360 entities.")
	}
	got := w.inPlace()
	for _, entities := range got {
		slices.Sort(entities)
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("entities of the tenants (-before +after):\n%s", d)
	}
}

func TestAnInterruptedEvacuationGoesOnWithTheSameCommand(t *testing.T) {
	w := fleetWorld(t, 4, 10)
	command := []string{"evacuate", "--from", "home/Strikes", "--to", "own-table", "--name", "e", "--parallel", "2"}
	w.mustRun(exitDone, append(command, "--declare-only")...)
	p := w.start(command...)
	w.wait(1, "a tenant to be let go to its freeze", func(s *fleet.Summary) bool { return s.Frozen == 1 })
	must(t, p.cmd.Process.Signal(syscall.SIGINT))
	_ = p.cmd.Wait()
	if code := p.cmd.ProcessState.ExitCode(); code != exitInterrupted {
		t.Fatalf("it ended with %d:\n%s", code, &p.stderr)
	}
	wants(t, p.stderr.String(), "go on with: tenantctl work e")
	s := w.wait(0, "a look", func(*fleet.Summary) bool { return true })
	if s.State != fleet.Running || s.Moving != 0 || s.Failed != 0 || s.Moved == 0 || s.Waiting == 0 {
		t.Fatalf("after the interruption: %s, %s", s.State, statesOf(s))
	}
	w.mustRun(exitDone, command...)
}
