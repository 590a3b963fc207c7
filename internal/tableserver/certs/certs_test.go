package certs

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// generate makes certificates and returns them with a pool that trusts their authority alone.
func generate(t *testing.T, dir string, now time.Time, hosts ...string) (tls.Certificate, *x509.CertPool) {
	t.Helper()
	c, ca, err := Generate(dir, hosts, now)
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(ca)
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(text) {
		t.Fatalf("%s holds no certificate", ca)
	}
	return c, pool
}

func TestGeneratedCertificateIsGoodForThisMachineAndNoOther(t *testing.T) {
	now := time.Now()
	c, pool := generate(t, t.TempDir(), now, "tables.test", "192.0.2.7")
	for host, good := range map[string]bool{"localhost": true, "home.table.localhost": true, "127.0.0.1": true, "[::1]": true,
		"tables.test": true, "192.0.2.7": true, "example.com": false, "192.0.2.8": false, "a.tables.test": false} {
		_, err := c.Leaf.Verify(x509.VerifyOptions{DNSName: host, Roots: pool, CurrentTime: now})
		if (err == nil) != good {
			t.Errorf("%s: %v", host, err)
		}
	}
}

func TestAuthorityIsTrustedForNothingElse(t *testing.T) {
	now, dir := time.Now(), t.TempDir()
	_, pool := generate(t, dir, now)
	authority, err := read(filepath.Join(dir, caFile), filepath.Join(dir, caKeyFile))
	if err != nil {
		t.Fatal(err)
	}
	for _, host := range []string{"example.com", "192.0.2.7"} {
		stolen, err := authority.sign([]string{host}, now)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := stolen.cert.Verify(x509.VerifyOptions{DNSName: host, Roots: pool, CurrentTime: now}); err == nil {
			t.Errorf("the authority can speak for %s", host)
		}
	}
}

func TestGeneratedCertificatesAreKeptAndRenewed(t *testing.T) {
	now, dir := time.Now(), filepath.Join(t.TempDir(), "tls")
	first, _ := generate(t, dir, now)
	for _, file := range []string{caFile, caKeyFile, serverFile, serverKeyFile} {
		if info, err := os.Stat(filepath.Join(dir, file)); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v, %v", file, info, err)
		}
	}
	authority, err := os.ReadFile(filepath.Join(dir, caFile))
	if err != nil {
		t.Fatal(err)
	}
	same := func(c tls.Certificate) bool { return bytes.Equal(c.Certificate[0], first.Certificate[0]) }
	sameAuthority := func() bool {
		text, err := os.ReadFile(filepath.Join(dir, caFile))
		return err == nil && bytes.Equal(text, authority)
	}
	if again, _ := generate(t, dir, now.Add(time.Hour)); !same(again) || !sameAuthority() {
		t.Error("a second start makes new ones")
	}
	later := now.Add(serverLife - renewal + time.Hour)
	renewed, pool := generate(t, dir, later)
	if same(renewed) || !sameAuthority() {
		t.Error("near its end the server's certificate stays, or the authority does not")
	}
	if _, err := renewed.Leaf.Verify(x509.VerifyOptions{DNSName: "localhost", Roots: pool, CurrentTime: later}); err != nil {
		t.Error(err)
	}
	wider, pool := generate(t, dir, later, "tables.test")
	if sameAuthority() {
		t.Error("the authority names a host that it may not")
	}
	if _, err := wider.Leaf.Verify(x509.VerifyOptions{DNSName: "tables.test", Roots: pool, CurrentTime: later}); err != nil {
		t.Error(err)
	}
	// A crash between the two files of a pair.
	if err := os.Remove(filepath.Join(dir, serverFile)); err != nil {
		t.Fatal(err)
	}
	healed, pool := generate(t, dir, later, "tables.test")
	if _, err := healed.Leaf.Verify(x509.VerifyOptions{DNSName: "localhost", Roots: pool, CurrentTime: later}); err != nil {
		t.Error(err)
	}
}

func TestCertificatesThatCannotServeAreRefused(t *testing.T) {
	now, dir, other := time.Now(), t.TempDir(), t.TempDir()
	generate(t, dir, now)
	generate(t, other, now)
	in := func(dir, file string) string { return filepath.Join(dir, file) }
	if _, err := Load(in(dir, serverFile), in(dir, serverKeyFile), now); err != nil {
		t.Error(err)
	}
	for name, c := range map[string]struct {
		cert, key string
		now       time.Time
	}{
		"missing":       {in(dir, "none"), in(dir, serverKeyFile), now},
		"other key":     {in(dir, serverFile), in(other, serverKeyFile), now},
		"not PEM":       {in(dir, serverKeyFile), in(dir, serverKeyFile), now},
		"expired":       {in(dir, serverFile), in(dir, serverKeyFile), now.Add(serverLife + time.Second)},
		"turned around": {in(dir, serverKeyFile), in(dir, serverFile), now},
	} {
		if _, err := Load(c.cert, c.key, c.now); err == nil {
			t.Errorf("%s is accepted", name)
		}
	}
	if err := os.WriteFile(in(dir, serverFile), []byte("nonsense"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, _, err := Generate(dir, nil, now); err == nil {
		t.Error("a damaged file is passed over")
	}
}
