package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/data/aztables"
)

// asServer makes this test binary the command itself, so that a test can kill it.
const asServer = "TABLESERVER_TEST_RUN_MAIN"

func TestMain(m *testing.M) {
	if os.Getenv(asServer) != "" {
		main()
		return
	}
	os.Exit(m.Run())
}

// process is a running tableserver.
type process struct {
	cmd      *exec.Cmd
	endpoint string            // of the listening line
	ca       string            // of the same, "" if it has none
	accounts map[string]string // name → the rest of its line
	stderr   *strings.Builder
}

func command(ctx context.Context, args ...string) (*exec.Cmd, *strings.Builder) {
	cmd := exec.CommandContext(ctx, os.Args[0], args...)
	cmd.Env = append(os.Environ(), asServer+"=1")
	var stderr strings.Builder
	cmd.Stderr = &stderr
	return cmd, &stderr
}

var (
	listeningLine = regexp.MustCompile(`^listening address=127\.0\.0\.1:\d+ endpoint=(https?://127\.0\.0\.1:\d+/)(?: ca=(.*))?$`)
	accountLine   = regexp.MustCompile(`^account name=([a-z0-9]+) endpoint=(.*)$`)
)

// start runs the command until it has printed a line for each of n accounts.
func start(t *testing.T, n int, args ...string) *process {
	t.Helper()
	return startCommand(t, n, append([]string{"--listen", "127.0.0.1:0"}, args...)...)
}

// startCommand is start where the arguments say where to listen.
func startCommand(t *testing.T, n int, args ...string) *process {
	t.Helper()
	cmd, stderr := command(t.Context(), args...)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	p := &process{cmd: cmd, accounts: make(map[string]string), stderr: stderr}
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	lines := bufio.NewScanner(out)
	for len(p.accounts) < n && lines.Scan() {
		if m := listeningLine.FindStringSubmatch(lines.Text()); m != nil {
			p.endpoint, p.ca = m[1], m[2]
		} else if m := accountLine.FindStringSubmatch(lines.Text()); m != nil {
			p.accounts[m[1]] = m[2]
		} else {
			t.Errorf("a line that no script expects: %s", lines.Text())
		}
	}
	if p.endpoint == "" || len(p.accounts) < n {
		t.Fatalf("ended before it listened: %v, %s", cmd.Wait(), stderr)
	}
	return p
}

// stop sends a signal, waits, and returns the exit code, -1 for a kill.
func (p *process) stop(t *testing.T, signal os.Signal) int {
	t.Helper()
	if err := p.cmd.Process.Signal(signal); err != nil {
		t.Fatal(err)
	}
	if err := p.cmd.Wait(); err != nil {
		var exit *exec.ExitError
		if !errors.As(err, &exit) {
			t.Fatal(err)
		}
	}
	return p.cmd.ProcessState.ExitCode()
}

func (p *process) table(t *testing.T, account string) *aztables.Client {
	t.Helper()
	_, connection, _ := strings.Cut(p.accounts[account], "connection_string=")
	service, err := aztables.NewServiceClientFromConnectionString(connection, &aztables.ClientOptions{
		ClientOptions: policy.ClientOptions{Retry: policy.RetryOptions{MaxRetries: -1}}})
	if err != nil {
		t.Fatal(err)
	}
	return service.NewClient("Load")
}

// load is one writer: row i of its partition, then rows a, b and c of a group that all say i. It stops at the first
// error, which is the kill, and knows what was acknowledged.
type load struct {
	partition string
	rows      int // rows 0 … rows-1 are acknowledged
	group     int // the last acknowledged group
}

func (l *load) run(ctx context.Context, table *aztables.Client, acknowledged *atomic.Int64) {
	pad := strings.Repeat("x", 500)
	for i := l.rows; ; i++ {
		row := fmt.Sprintf(`{"PartitionKey":%q,"RowKey":"%06d","n":%d,"pad":%q}`, l.partition, i, i, pad)
		// After a kill the row may be there although nobody was told.
		if _, err := table.UpsertEntity(ctx, []byte(row), nil); err != nil {
			return
		}
		l.rows = i + 1
		acknowledged.Add(1)
		var group []aztables.TransactionAction
		for _, rk := range []string{"a", "b", "c"} {
			group = append(group, aztables.TransactionAction{ActionType: aztables.TransactionTypeInsertReplace,
				Entity: fmt.Appendf(nil, `{"PartitionKey":%q,"RowKey":%q,"n":%d}`, l.partition, rk, i)})
		}
		if _, err := table.SubmitTransaction(ctx, group, nil); err != nil {
			return
		}
		l.group = i
		acknowledged.Add(1)
	}
}

// check reads the whole partition.
func (l *load) check(t *testing.T, table *aztables.Client) {
	t.Helper()
	filter := fmt.Sprintf("PartitionKey eq '%s'", l.partition)
	found := make(map[string]int)
	for pager := table.NewListEntitiesPager(&aztables.ListEntitiesOptions{Filter: &filter}); pager.More(); {
		page, err := pager.NextPage(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, raw := range page.Entities {
			var e struct {
				RowKey string
				N      int
			}
			if err := json.Unmarshal(raw, &e); err != nil {
				t.Fatal(err)
			}
			found[e.RowKey] = e.N
		}
	}
	for i := range l.rows {
		if n, ok := found[fmt.Sprintf("%06d", i)]; !ok || n != i {
			t.Errorf("partition %s: acknowledged row %d is lost", l.partition, i)
		}
	}
	if l.rows > 1 && (found["a"] != found["b"] || found["b"] != found["c"] || found["a"] < l.group) {
		t.Errorf("partition %s: group is at %d, %d, %d; %d was acknowledged", l.partition, found["a"], found["b"], found["c"], l.group)
	}
}

func TestAcknowledgedWritesSurviveKill(t *testing.T) {
	rounds := 6
	if testing.Short() {
		rounds = 2
	}
	if n, err := strconv.Atoi(os.Getenv("SOAK_RUNS")); err == nil { // make soak
		rounds = n
	}
	dir := filepath.Join(t.TempDir(), "data")
	args := []string{"--data", dir, "--account", "home", "--print-connection-strings"}
	writers := make([]load, 8)
	for i := range writers {
		writers[i].partition = fmt.Sprintf("p%d", i%6) + strings.Repeat("+", i/6)
	}
	var total atomic.Int64
	for round := range rounds {
		p := start(t, 1, args...)
		table := p.table(t, "home")
		if round == 0 {
			if _, err := table.CreateTable(t.Context(), nil); err != nil {
				t.Fatal(err)
			}
		}
		for i := range writers {
			writers[i].check(t, table)
		}
		goal := total.Load() + int64(200+137*(round%8))
		var wg sync.WaitGroup
		for i := range writers {
			wg.Go(func() { writers[i].run(t.Context(), table, &total) })
		}
		deadline := time.After(time.Minute)
		tick := time.NewTicker(time.Millisecond)
		for total.Load() < goal {
			select {
			case <-tick.C:
			case <-deadline:
				t.Fatalf("only %d writes in a minute", total.Load())
			}
		}
		tick.Stop()
		if code := p.stop(t, syscall.SIGKILL); code != -1 {
			t.Errorf("killed process ended with %d: %s", code, p.stderr)
		}
		wg.Wait()
	}
	p := start(t, 1, args...)
	for i := range writers {
		writers[i].check(t, p.table(t, "home"))
	}
	if code := p.stop(t, syscall.SIGTERM); code != exitStopped {
		t.Errorf("ended with %d: %s", code, p.stderr)
	}
	t.Logf("%d acknowledged writes, %d kills", total.Load(), rounds)
}

func TestGeneratedKeysAreKeptForTheirOwnerAlone(t *testing.T) {
	dir := t.TempDir()
	args := []string{"--data", dir, "--account", "home", "--account", "given:c2VjcmV0", "--print-connection-strings"}
	p := start(t, 2, args...)
	_, first, _ := strings.Cut(p.accounts["home"], "AccountKey=")
	first, _, _ = strings.Cut(first, ";")
	if len(first) != 88 || !strings.Contains(p.accounts["given"], ";AccountKey=c2VjcmV0;") {
		t.Errorf("accounts %v", p.accounts)
	}
	if code := p.stop(t, syscall.SIGINT); code != exitStopped {
		t.Errorf("ended with %d: %s", code, p.stderr)
	}
	p = start(t, 2, args...)
	if !strings.Contains(p.accounts["home"], "AccountKey="+first+";") {
		t.Error("the generated key changed")
	}
	info, err := os.Stat(filepath.Join(dir, "keys.json"))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("key file: %v, %v", info, err)
	}
	kept, err := os.ReadFile(filepath.Join(dir, "keys.json"))
	if err != nil || strings.Contains(string(kept), "given") {
		t.Errorf("key file holds a given key: %v", err)
	}
	p.stop(t, syscall.SIGTERM)
}

func TestKeysAreNotPrintedUnlessAskedFor(t *testing.T) {
	p := start(t, 1, "--in-memory")
	if got := p.accounts["devstoreaccount1"]; got != p.endpoint+"devstoreaccount1/" {
		t.Errorf("printed %q", got)
	}
	resp, err := http.Get(p.endpoint + "healthz")
	if err != nil {
		t.Fatal(err)
	}
	b, err := io.ReadAll(resp.Body)
	if err := errors.Join(err, resp.Body.Close()); err != nil || resp.StatusCode != http.StatusOK || string(b) != "ok\n" {
		t.Errorf("health: %d %q %v", resp.StatusCode, b, err)
	}
	p.stop(t, syscall.SIGTERM)
}

func TestWrongFlagsNameTheWayOut(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	short := filepath.Join(t.TempDir(), "short")
	if err := os.WriteFile(short, []byte("secret\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	cases := []struct {
		name, text string
		code       int
		args       []string
	}{
		{"no place", "give --data DIR, or --in-memory", exitUsage, nil},
		{"two places", "exclude each other", exitUsage, []string{"--data", "x", "--in-memory"}},
		{"unknown flag", "unknown flag: --port", exitUsage, []string{"--in-memory", "--port", "1"}},
		{"argument", `unexpected argument "data"`, exitUsage, []string{"data"}},
		{"bad key", "NAME:BASE64KEY", exitUsage, []string{"--in-memory", "--account", "home:%%"}},
		{"empty key", "NAME:BASE64KEY", exitUsage, []string{"--in-memory", "--account", "home:"}},
		{"bad name", "3 to 24 lower-case letters and digits", exitUsage, []string{"--in-memory", "--account", "Home"}},
		{"name twice", "is given twice", exitUsage, []string{"--in-memory", "--account", "home", "--account", "home"}},
		{"beyond this machine", "--allow-remote-http", exitUsage, []string{"--in-memory", "--listen", "0.0.0.0:0"}},
		{"bad address", "listen on nonsense", exitUsage, []string{"--in-memory", "--listen", "nonsense"}},
		{"bad targets", "partition=N,account=M", exitUsage, []string{"--in-memory", "--scale-targets", "fast"}},
		{"bad fault", `no operation "Insert"`, exitUsage, []string{"--in-memory", "--fault", "operation=Insert,drop"}},
		{"fault without effect", "does nothing", exitUsage, []string{"--in-memory", "--fault", "operation=read"}},
		{"bad fields", "give own or azure", exitUsage, []string{"--in-memory", "--access-log-fields", "mine"}},
		{"bad delay", "up to 1h", exitUsage, []string{"--in-memory", "--policy-delay", "2h"}},
		{"seed without file", "TABLE=FILE", exitUsage, []string{"--in-memory", "--seed", "Orders"}},
		{"seed of no form", ".ndjson", exitUsage, []string{"--in-memory", "--seed", "Orders=" + file}},
		{"seed is not there", "no such file", exitFailure, []string{"--in-memory", "--listen", "127.0.0.1:0", "--seed", "Orders=none.csv"}},
		{"no control token", "no such file", exitUsage, []string{"--in-memory", "--control-token-file", file + "x"}},
		{"empty control token", "is empty", exitUsage, []string{"--in-memory", "--control-token-file", file}},
		{"short control token", "at least 16", exitUsage, []string{"--in-memory", "--control-token-file", short}},
		{"log in no folder", "open the access log", exitFailure, []string{"--in-memory", "--access-log", filepath.Join(file, "log")}},
		{"data is a file", file, exitFailure, []string{"--data", file, "--listen", "127.0.0.1:0"}},
	}
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			cmd, stderr := command(t.Context(), tc.args...)
			err := cmd.Run()
			if cmd.ProcessState.ExitCode() != tc.code || !strings.Contains(stderr.String(), tc.text) {
				t.Errorf("%v: %s", err, stderr)
			}
			if strings.Contains(stderr.String(), "%%") {
				t.Errorf("the key is shown: %s", stderr)
			}
		})
	}
}

func TestSecondProcessOnAFolderIsRefused(t *testing.T) {
	dir := t.TempDir()
	p := start(t, 1, "--data", dir)
	cmd, stderr := command(t.Context(), "--data", dir, "--listen", "127.0.0.1:0")
	_ = cmd.Run()
	if cmd.ProcessState.ExitCode() != exitFailure || !strings.Contains(stderr.String(), dir+": another process uses it") {
		t.Errorf("got %d: %s", cmd.ProcessState.ExitCode(), stderr)
	}
	p.stop(t, syscall.SIGTERM)
}
