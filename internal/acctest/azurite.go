package acctest

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// azuriteMain is a service of Azurite, table or blob, within the folder of package.json. Started by node itself, so that
// there is one process to stop and no shell between.
func azuriteMain(service string) string {
	return "node_modules/azurite/dist/src/" + service + "/main.js"
}

// readyLine is what Azurite prints once it listens.
const readyLine = "successfully"

// errPortTaken is a port that someone else took between our look and Azurite's.
var errPortTaken = errors.New("port taken")

// StartAzurite runs the table service of the pinned Azurite in memory on a free port of this machine; it is installed by
// npm at the first use. Without Node.js the test fails, or is skipped with -short.
func StartAzurite(t testing.TB, opts ...Option) *Server {
	t.Helper()
	return startAzurite(t, "table", opts)
}

// StartAzuriteBlob is StartAzurite for the Blob service. Of the server's methods only Endpoint and Accounts make sense.
func StartAzuriteBlob(t testing.TB, opts ...Option) *Server {
	t.Helper()
	return startAzurite(t, "blob", opts)
}

func startAzurite(t testing.TB, service string, opts []Option) *Server {
	t.Helper()
	o, keys := collect(opts)
	if len(o.wraps) > 0 {
		t.Fatal("acctest: Azurite is another process and cannot be wrapped")
	}
	node := needTool(t, "node", "Azurite needs Node.js 20 or newer")
	folder := filepath.Join(ModuleRoot(t), "internal", "acctest", "azurite")
	installAzurite(t, folder)
	const tries = 5
	for range tries {
		port := freePort(t)
		err := runAzurite(t, node, folder, service, port, keys)
		if errors.Is(err, errPortTaken) {
			continue
		}
		must(t, err, "start Azurite")
		return &Server{Endpoint: "http://127.0.0.1:" + port, Accounts: keys}
	}
	t.Fatalf("start Azurite: %d free ports were taken before it could listen", tries)
	return nil
}

// needTool returns the path of a program; without it the test fails, or is skipped with -short.
func needTool(t testing.TB, name, why string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err == nil {
		return path
	}
	if testing.Short() {
		t.Skipf("no %s on PATH: %s", name, why)
	}
	t.Fatalf("no %s on PATH: %s. Install it, or leave such tests out with -short", name, why)
	return ""
}

// installAzurite runs npm ci, unless it has been done. Tests of several packages may do it at once: each installs to
// a folder of its own, and the first to rename it into place wins.
func installAzurite(t testing.TB, folder string) {
	t.Helper()
	if _, err := os.Stat(filepath.Join(folder, azuriteMain("table"))); err == nil {
		return
	}
	npm := needTool(t, "npm", "it installs Azurite")
	private, err := os.MkdirTemp(folder, "node_modules-") //nolint:usetesting // renamed into place: it has to be on the same file system
	must(t, err, "make a folder for npm")
	defer func() { _ = os.RemoveAll(private) }()
	for _, name := range []string{"package.json", "package-lock.json"} {
		data, err := os.ReadFile(filepath.Join(folder, name))
		must(t, err, "read what to install")
		must(t, os.WriteFile(filepath.Join(private, name), data, 0o600), "copy %s", name)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, npm, "ci", "--no-audit", "--no-fund", "--ignore-scripts")
	cmd.Dir = private
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("npm ci for Azurite: %v\n%s", err, out)
	}
	err = os.Rename(filepath.Join(private, "node_modules"), filepath.Join(folder, "node_modules"))
	if _, there := os.Stat(filepath.Join(folder, azuriteMain("table"))); there != nil {
		must(t, err, "put Azurite into place")
	}
}

// freePort returns a port on which nobody listens now. Azurite cannot be asked for the port that it chose.
func freePort(t testing.TB) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err, "find a free port")
	defer func() { _ = l.Close() }()
	_, port, err := net.SplitHostPort(l.Addr().String())
	must(t, err, "find a free port")
	return port
}

// runAzurite starts the process and returns when it listens. It is stopped, and waited for, when the test ends.
func runAzurite(t testing.TB, node, folder, service, port string, keys map[string]string) error {
	ctx, cancel := context.WithCancel(context.Background())
	cmd := exec.CommandContext(ctx, node, filepath.Join(folder, azuriteMain(service)), "--inMemoryPersistence",
		"--"+service+"Host", "127.0.0.1", "--"+service+"Port", port, "--skipApiVersionCheck", "--disableTelemetry", "--silent")
	cmd.Dir = t.TempDir()
	cmd.Env = append(os.Environ(), "AZURITE_ACCOUNTS="+accountList(keys))
	out, in := io.Pipe()
	cmd.Stdout, cmd.Stderr = in, in
	cmd.WaitDelay = 5 * time.Second // after a failed start nobody reads its output any more
	if err := cmd.Start(); err != nil {
		cancel()
		return err
	}
	exited := make(chan struct{})
	go func() {
		defer close(exited)
		_ = cmd.Wait() // killed, or its output says why it ended
		_ = in.Close()
	}()
	stop := func() {
		cancel()
		<-exited
	}
	if err := waitReady(out); err != nil {
		stop()
		return err
	}
	go func() { _, _ = io.Copy(io.Discard, out) }() // it must not block on a full pipe
	t.Cleanup(stop)
	return nil
}

// waitReady reads what Azurite prints until it listens, or ends.
func waitReady(out io.Reader) error {
	var seen strings.Builder
	for lines := bufio.NewScanner(out); lines.Scan(); {
		if strings.Contains(lines.Text(), readyLine) {
			return nil
		}
		fmt.Fprintln(&seen, lines.Text())
		if strings.Contains(lines.Text(), "EADDRINUSE") {
			return errPortTaken
		}
	}
	return fmt.Errorf("it ended before it listened:\n%s", seen.String())
}
