package tenantctl

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aztenancy/terraform-provider-aztenancy/internal/acctest"
)

// safeBuffer is what a command that runs beside the test writes to.
type safeBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *safeBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *safeBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

// begun is a command that runs beside the test.
type begun struct {
	t      testing.TB
	stderr safeBuffer
	stdout safeBuffer
	cancel context.CancelFunc
	code   chan int
}

// begin starts a command with both accounts.
func (w *world) begin(args ...string) *begun {
	ctx, cancel := context.WithCancel(w.t.Context())
	b := &begun{t: w.t, cancel: cancel, code: make(chan int, 1)}
	go func() {
		b.code <- Run(ctx, Process{Stdin: strings.NewReader(""), Stdout: &b.stdout, Stderr: &b.stderr, Getenv: func(string) string { return "" },
			Version: "0.0.0-test"}, append(args, "--config", "accounts.hcl"))
	}()
	return b
}

// says waits until the command wrote something on standard error and returns all of that.
func (b *begun) says(part string) string {
	b.t.Helper()
	eventually(b.t, func() bool { return strings.Contains(b.stderr.String(), part) }, func() string {
		return fmt.Sprintf("%q is missing in\n%s", part, b.stderr.String())
	})
	return b.stderr.String()
}

// ends waits for the command's end.
func (b *begun) ends(code int) {
	b.t.Helper()
	defer b.cancel()
	if got := <-b.code; got != code {
		b.t.Fatalf("ended with %d, want %d:\n%s%s", got, code, b.stdout.String(), b.stderr.String())
	}
}

// eventually waits for a condition, for a minute at most.
func eventually(t testing.TB, holds func() bool, why func() string) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !holds(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal(why())
		}
	}
}

// rows imports so many rows for contoso, and one for fabrikam.
func (w *world) rows(n int) {
	w.t.Helper()
	w.tenant("contoso", "Contoso Air*")
	w.tenant("fabrikam", "Fabrikam Air")
	var b strings.Builder
	b.WriteString("Who,N\nFabrikam Air,0\n")
	for i := range n {
		fmt.Fprintf(&b, "Contoso Air*,%d\n", i)
	}
	w.file("rows.csv", b.String())
	w.mustRun(exitDone, "import", "--file", "rows.csv", "--table", "strikes", "--tenant-column", "Who", "--row-key-column", "N")
}

func TestAMoveIsTunedAndPausedWhileItRuns(t *testing.T) {
	w := newWorld(t)
	w.rows(150)
	if o := w.runBoth("tune", "contoso", "pause"); o.code != exitError || !strings.Contains(o.stderr, "no migration and no tenant with a migration") {
		t.Errorf("without a move: %d %s", o.code, o.stderr)
	}
	move := w.begin("migrate", "contoso", "--to", "own-table", "--rate", "20", "--json", "--metrics-listen", "127.0.0.1:0")
	eventually(t, func() bool { return w.runBoth("tune", "contoso", "pause").code == exitDone }, move.stderr.String)
	err := move.says(`"waiting":"tenantctl tune contoso resume"`)
	wants(t, w.mustRun(exitDone, "status", "contoso").stdout, "mover") // the lease is kept
	wants(t, w.mustRun(exitDone, "tune", "contoso").stdout, "paused", "which follows within a few seconds")

	address := regexp.MustCompile(`http://[0-9.:]+/metrics`).FindString(err)
	answer, gerr := http.Get(address)
	must(t, gerr)
	metrics, gerr := io.ReadAll(answer.Body)
	must(t, gerr)
	must(t, answer.Body.Close())
	wants(t, string(metrics), "tenantctl_paused 1", `tenantctl_sent_entities_total{account="homeacct",kind="read"}`, `tenantctl_entities_total{phase="plan"} 150`)

	wants(t, w.mustRun(exitDone, "tune", "contoso", "rate=100000", "workers=3", "resume").stdout, "going on", "100,000 entities/s", "3 requests at a time")
	move.ends(exitDone)
	if o := w.runBoth("tune", "contoso", "rate=-1"); o.code != exitUsage {
		t.Errorf("a negative rate: %d %s", o.code, o.stderr)
	}
	if o := w.runBoth("tune", "contoso", "faster"); o.code != exitUsage {
		t.Errorf("faster: %d %s", o.code, o.stderr)
	}
	w.mustRun(exitDone, "verify", "contoso", "--rate", "100000")
}

func TestAPauseFilePausesEachLongCommand(t *testing.T) {
	w := newWorld(t)
	w.rows(3)
	w.file("more.csv", "Who,N\nContoso Air*,100\n")
	for _, args := range [][]string{
		{"import", "--file", "more.csv", "--table", "strikes", "--tenant-column", "Who", "--row-key-column", "N"},
		{"migrate", "contoso", "--to", "own-table"}, {"verify", "contoso"}, {"purge", "contoso", "--no-archive"},
	} {
		w.file("pause", "")
		b := w.begin(append(args, "--pause-file", "pause", "--json")...)
		b.says(`"waiting":"the pause file pause to be removed"`)
		w.remove("pause")
		b.ends(exitDone)
	}
}

func TestAThrottledMoveGoesOnAndSaysWhatItWaitsFor(t *testing.T) {
	var busy atomic.Int64
	w := newWorld(t)
	w.rows(400)
	w.server.Wrap(func(h http.Handler) http.Handler {
		return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
			if n := busy.Load(); strings.HasSuffix(r.URL.Path, "/$batch") && strings.Contains(r.URL.Path, "premiumacct") && n < 6 {
				busy.Add(1)
				rw.WriteHeader(http.StatusServiceUnavailable)
				return
			}
			h.ServeHTTP(rw, r)
		})
	})
	move := w.begin("migrate", "contoso", "--to", "own-account", "--account", "premium", "--json")
	move.says("premiumacct/Strikes")
	if err := move.says("which answers 503; at "); !strings.Contains(err, `entities/s"`) {
		t.Errorf("no rate in %s", err)
	}
	move.ends(exitDone)
	wants(t, w.mustRun(exitDone, "verify", "contoso").stdout, "are equal")
}

func TestAMoveAgainstScaleTargetsIsComplete(t *testing.T) {
	w := newWorld(t, acctest.WithScaleTargets("partition=400,account=1500"))
	w.rows(2000)
	w.mustRun(exitDone, "migrate", "contoso", "--to", "own-account", "--account", "premium")
	wants(t, w.mustRun(exitDone, "verify", "contoso").stdout, "are equal")
	w.mustRun(exitDone, "purge", "contoso", "--no-archive")
}

func TestAMoveSlowsDownForItsNeighbours(t *testing.T) {
	w := newWorld(t)
	w.rows(200)
	w.server.Wrap(func(h http.Handler) http.Handler {
		return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodGet && strings.Contains(r.URL.Path, "/Strikes(PartitionKey=") {
				time.Sleep(30 * time.Millisecond)
			}
			h.ServeHTTP(rw, r)
		})
	})
	move := w.begin("migrate", "contoso", "--to", "own-table", "--max-neighbour-p99", "5ms", "--rate", "100", "--json")
	move.says("the neighbours in homeacct/Strikes, whose p99 of ")
	move.cancel()
	move.ends(exitInterrupted)
	if strings.Contains(move.stderr.String(), "Fabrikam") {
		t.Errorf("a neighbour's key is shown: %s", move.stderr.String())
	}
}

func TestAPauseDoesNotKeepATenantFrozenBeyondMaxFreeze(t *testing.T) {
	w := newWorld(t)
	w.rows(20)
	var frozen sync.Once
	w.server.Wrap(func(h http.Handler) http.Handler {
		return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
			body, err := io.ReadAll(r.Body)
			r.Body = io.NopCloser(bytes.NewReader(body))
			if err == nil && r.Method == http.MethodPut && strings.Contains(r.URL.Path, "tenant") && bytes.Contains(body, []byte(`"frozen"`)) {
				frozen.Do(func() { w.file("pause", "") })
			}
			h.ServeHTTP(rw, r)
		})
	})
	move := w.begin("migrate", "contoso", "--to", "own-table", "--pause-file", "pause", "--max-freeze", "3s", "--drain", "1s", "--json")
	move.ends(exitIncomplete)
	wants(t, move.stderr.String(), `"waiting":"the pause file pause to be removed"`)
	wants(t, w.mustRun(exitDone, "status", "contoso").stdout, "Tenant contoso is active")
	w.remove("pause")
	w.mustRun(exitDone, "migrate", "contoso", "--to", "own-table")
}
