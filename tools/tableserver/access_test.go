package main

import (
	"crypto/tls"
	"crypto/x509"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// status asks for the tables of an account without credentials.
func status(t *testing.T, client *http.Client, endpoint string) int {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, endpoint+"devstoreaccount1/Tables", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("x-ms-version", "2020-12-06")
	r.Header.Set("Accept", "application/json")
	resp, err := client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	return resp.StatusCode
}

// trusting returns a client that trusts the server's own authority alone.
func (p *process) trusting(t *testing.T) *http.Client {
	t.Helper()
	ca, err := os.ReadFile(p.ca)
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(ca)
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport}
}

func TestHTTPSWithACertificateThatTheServerMakes(t *testing.T) {
	dir := t.TempDir()
	p := start(t, 1, "--data", dir, "--https")
	if p.ca != filepath.Join(dir, "tls", "ca.pem") || !strings.HasPrefix(p.endpoint, "https://") {
		t.Errorf("prints %q and ca=%q", p.endpoint, p.ca)
	}
	client := p.trusting(t)
	if got := status(t, client, p.endpoint); got != http.StatusUnauthorized {
		t.Errorf("status %d", got)
	}
	if resp, err := client.Get(p.endpoint + "healthz"); err != nil || resp.ProtoMajor != 1 || resp.Body.Close() != nil {
		t.Errorf("health: %+v, %v", resp, err)
	}
	files, err := os.ReadDir(filepath.Join(dir, "tls"))
	if err != nil || len(files) != 4 {
		t.Errorf("made %v, %v", files, err)
	}
	for _, f := range files {
		if info, err := f.Info(); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v, %v", f.Name(), info, err)
		}
	}
	p.stop(t, syscall.SIGTERM)
	// The authority stays, and its certificate can be given by hand as well.
	given := start(t, 1, "--in-memory", "--cert", filepath.Join(dir, "tls", "server.pem"), "--key", filepath.Join(dir, "tls", "server-key.pem"))
	if got := status(t, client, given.endpoint); got != http.StatusUnauthorized || given.ca != "" {
		t.Errorf("status %d, ca=%q", got, given.ca)
	}
	given.stop(t, syscall.SIGTERM)
}

func TestOnlyTheFlagTurnsAuthenticationOff(t *testing.T) {
	asking := start(t, 1, "--in-memory")
	if got := status(t, http.DefaultClient, asking.endpoint); got != http.StatusUnauthorized {
		t.Errorf("without the flag: %d", got)
	}
	asking.stop(t, syscall.SIGTERM)
	open := start(t, 1, "--in-memory", "--insecure-skip-auth")
	if got := status(t, http.DefaultClient, open.endpoint); got != http.StatusOK {
		t.Errorf("with the flag: %d", got)
	}
	open.stop(t, syscall.SIGTERM)
	if !strings.Contains(open.stderr.String(), "authentication is turned off") {
		t.Errorf("it is not said: %s", open.stderr)
	}
}

const (
	oneDirectory = "11111111-1111-1111-1111-111111111111"
	someRoles    = `{"assignments":[{"principal":"aaaaaaaa-0000-0000-0000-000000000001","role":"reader","account":"devstoreaccount1"}]}`
)

func TestBearerTokensWithoutKeysAreToldAtTheStart(t *testing.T) {
	dir := t.TempDir()
	roles := filepath.Join(dir, "roles.json")
	if err := os.WriteFile(roles, []byte(someRoles), 0o600); err != nil {
		t.Fatal(err)
	}
	p := start(t, 1, "--in-memory", "--https", "--cert-dir", filepath.Join(dir, "tls"), "--roles", roles, "--token-tenant", oneDirectory)
	p.stop(t, syscall.SIGTERM)
	if !strings.Contains(p.stderr.String(), "without a check of their signatures") {
		t.Errorf("it is not said: %s", p.stderr)
	}
}

func TestFlagsAboutAccessThatContradictEachOther(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		t.Helper()
		name = filepath.Join(dir, name)
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return name
	}
	roles, wrong, empty := write("roles.json", someRoles), write("wrong.json", `{"assignments":[{"role":"owner"}]}`), write("empty", "{}")
	https := []string{"--in-memory", "--https", "--cert-dir", filepath.Join(dir, "tls")}
	bearer := append(https[:len(https):len(https)], "--roles", roles, "--token-tenant", oneDirectory)
	with := func(args []string, more ...string) []string { return append(args[:len(args):len(args)], more...) }
	for _, c := range []struct {
		name, text string
		code       int
		args       []string
	}{
		{"skip beyond this machine", "reaches beyond this machine", exitUsage, []string{"--in-memory", "--insecure-skip-auth", "--listen", "0.0.0.0:0"}},
		{"skip beyond this machine, http allowed", "authentication is turned off", exitUsage, []string{"--in-memory", "--insecure-skip-auth", "--allow-remote-http", "--listen", "0.0.0.0:0"}},
		{"skip beyond this machine, https", "authentication is turned off", exitUsage, with(https, "--insecure-skip-auth", "--listen", "[::]:0")},
		{"skip with a key", "account home", exitUsage, []string{"--in-memory", "--insecure-skip-auth", "--account", "home:c2VjcmV0"}},
		{"skip with roles", "contradict", exitUsage, with(bearer, "--insecure-skip-auth")},
		{"tokens unsigned beyond this machine", "signatures", exitUsage, with(bearer, "--listen", "0.0.0.0:0")},
		{"roles without https", "need https", exitUsage, []string{"--in-memory", "--roles", roles, "--token-tenant", oneDirectory}},
		{"roles without directory", "--token-tenant", exitUsage, with(https, "--roles", roles)},
		{"keys without roles", "--roles", exitUsage, with(https, "--token-keys", roles)},
		{"directory is no id", "not a GUID", exitUsage, with(https, "--roles", roles, "--token-tenant", "contoso")},
		{"roles missing", "none.json", exitFailure, with(https, "--roles", "none.json", "--token-tenant", oneDirectory)},
		{"roles wrong", "wrong.json: assignment 1", exitFailure, with(https, "--roles", wrong, "--token-tenant", oneDirectory)},
		{"keys wrong", "no RSA or EC key", exitFailure, with(bearer, "--token-keys", empty)},
		{"keys over http", "https", exitFailure, with(bearer, "--token-keys", "http://192.0.2.1/keys")},
		{"issuer away", "discovery document", exitFailure, with(bearer, "--token-issuer", "http://127.0.0.1:1/")},
		{"certificate without key", "belong together", exitUsage, []string{"--in-memory", "--cert", roles}},
		{"certificate is none", "read the certificate", exitFailure, []string{"--in-memory", "--cert", roles, "--key", roles}},
		{"nowhere to keep it", "--cert-dir DIR", exitUsage, []string{"--in-memory", "--https"}},
		{"folder without https", "--https", exitUsage, []string{"--in-memory", "--cert-dir", dir}},
	} {
		t.Run(c.name, func(t *testing.T) {
			args := c.args
			if !strings.Contains(strings.Join(args, " "), "--listen") {
				args = with(args, "--listen", "127.0.0.1:0")
			}
			cmd, stderr := command(t.Context(), args...)
			err := cmd.Run()
			if cmd.ProcessState.ExitCode() != c.code || !strings.Contains(stderr.String(), c.text) {
				t.Errorf("%v: %s", err, stderr)
			}
			if strings.Contains(stderr.String(), "c2VjcmV0") {
				t.Errorf("the key is shown: %s", stderr)
			}
		})
	}
}
