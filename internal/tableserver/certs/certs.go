package certs

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/aztenancy/terraform-provider-aztenancy/internal/tableserver/store"
)

// The lives of generated certificates. Many clients refuse a server's that lives longer than 825 days.
const (
	caLife     = 10 * 365 * 24 * time.Hour
	serverLife = 397 * 24 * time.Hour
	renewal    = 30 * 24 * time.Hour // what must be left of one, or a new one is made
	backdate   = time.Hour           // for clients whose clocks are behind
)

// The files of a folder with generated certificates, each PEM and for its owner alone.
const (
	caFile        = "ca.pem"
	caKeyFile     = "ca-key.pem"
	serverFile    = "server.pem"
	serverKeyFile = "server-key.pem"
)

// localHosts are the names and addresses of this machine for itself. The wildcard covers accounts that stand in the
// host: ACCOUNT.table.localhost.
var localHosts = []string{"localhost", "*.table.localhost", "127.0.0.1", "::1"}

// Load reads a certificate chain and its key, both PEM, and checks that they belong together and have not expired.
func Load(certFile, keyFile string, now time.Time) (tls.Certificate, error) {
	c, err := tls.LoadX509KeyPair(certFile, keyFile)
	if err != nil {
		return c, fmt.Errorf("read the certificate %s and its key %s: %w", certFile, keyFile, err)
	}
	if end := c.Leaf.NotAfter; now.After(end) {
		return c, fmt.Errorf("the certificate %s has expired on %s", certFile, end.UTC().Format(time.DateOnly))
	}
	return c, nil
}

// Generate returns a certificate for this machine and the other hosts, names or addresses, signed by an authority of
// its own, and the path of the authority's certificate, which clients need to trust. Both are made once and kept in
// dir. The server's is made anew when it nears its end or lacks a host; the authority too when it may not sign for one:
// it is constrained to its hosts, so that who trusts it trusts it for nothing else.
func Generate(dir string, hosts []string, now time.Time) (c tls.Certificate, ca string, err error) {
	hosts = slices.Compact(slices.Sorted(slices.Values(append(slices.Clone(localHosts), hosts...))))
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return c, "", fmt.Errorf("make the folder of the certificates: %w", err)
	}
	ca = filepath.Join(dir, caFile)
	authority, err := read(ca, filepath.Join(dir, caKeyFile))
	if err != nil {
		return c, "", err
	}
	if authority == nil || !authority.mayName(hosts, now) {
		if authority, err = newAuthority(hosts, now); err != nil {
			return c, "", err
		}
		if err := authority.write(ca, filepath.Join(dir, caKeyFile)); err != nil {
			return c, "", err
		}
	}
	at, keyAt := filepath.Join(dir, serverFile), filepath.Join(dir, serverKeyFile)
	server, err := read(at, keyAt)
	if err != nil {
		return c, "", err
	}
	if server == nil || !server.names(hosts, authority.cert, now) {
		if server, err = authority.sign(hosts, now); err != nil {
			return c, "", err
		}
		if err := server.write(at, keyAt); err != nil {
			return c, "", err
		}
	}
	return tls.Certificate{Certificate: [][]byte{server.cert.Raw}, PrivateKey: server.key, Leaf: server.cert}, ca, nil
}

// pair is a certificate with its key.
type pair struct {
	cert *x509.Certificate
	key  crypto.Signer
}

// read returns nil when either file is not there: a pair of which one half was written is made anew.
func read(certFile, keyFile string) (*pair, error) {
	c, err := tls.LoadX509KeyPair(certFile, keyFile)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the generated certificate %s and its key %s (remove both to have new ones): %w", certFile, keyFile, err)
	}
	key, ok := c.PrivateKey.(crypto.Signer)
	if !ok {
		return nil, fmt.Errorf("the key in %s cannot sign", keyFile)
	}
	return &pair{c.Leaf, key}, nil
}

// write removes the certificate before it writes the key, so that a crash leaves no pair that does not belong together.
func (p *pair) write(certFile, keyFile string) error {
	key, err := x509.MarshalPKCS8PrivateKey(p.key)
	if err != nil {
		return fmt.Errorf("write %s: %w", keyFile, err)
	}
	if err := os.Remove(certFile); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("write %s: %w", certFile, err)
	}
	if err := store.WriteFile(keyFile, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: key}), 0o600); err != nil {
		return err
	}
	return store.WriteFile(certFile, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: p.cert.Raw}), 0o600)
}

func newAuthority(hosts []string, now time.Time) (*pair, error) {
	t := &x509.Certificate{
		Subject:               pkix.Name{CommonName: "aztenancy tableserver, made on " + now.UTC().Format(time.DateOnly)},
		NotBefore:             now.Add(-backdate),
		NotAfter:              now.Add(caLife),
		KeyUsage:              x509.KeyUsageCertSign,
		BasicConstraintsValid: true,
		IsCA:                  true,
		MaxPathLenZero:        true,

		PermittedDNSDomainsCritical: true,
	}
	for _, h := range hosts {
		if ip := net.ParseIP(h); ip != nil {
			bits := 8 * len(compact(ip))
			t.PermittedIPRanges = append(t.PermittedIPRanges, &net.IPNet{IP: compact(ip), Mask: net.CIDRMask(bits, bits)})
		} else {
			t.PermittedDNSDomains = append(t.PermittedDNSDomains, withoutWildcard(h))
		}
	}
	return issue(t, nil, now)
}

func (p *pair) sign(hosts []string, now time.Time) (*pair, error) {
	return issue(leaf(hosts, now), p, now)
}

func leaf(hosts []string, now time.Time) *x509.Certificate {
	t := &x509.Certificate{
		Subject:     pkix.Name{CommonName: "tableserver"},
		NotBefore:   now.Add(-backdate),
		NotAfter:    now.Add(serverLife),
		KeyUsage:    x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	for _, h := range hosts {
		if ip := net.ParseIP(h); ip != nil {
			t.IPAddresses = append(t.IPAddresses, compact(ip))
		} else {
			t.DNSNames = append(t.DNSNames, h)
		}
	}
	return t
}

// issue makes a key and signs the template by an authority, or by itself without one.
func issue(t *x509.Certificate, by *pair, now time.Time) (*pair, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("generate a key for a certificate: %w", err)
	}
	if t.SerialNumber, err = rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120)); err != nil {
		return nil, fmt.Errorf("generate the number of a certificate: %w", err)
	}
	if by == nil {
		by = &pair{t, key}
	} else if by.cert.NotAfter.Before(t.NotAfter) {
		t.NotAfter = by.cert.NotAfter
	}
	raw, err := x509.CreateCertificate(rand.Reader, t, by.cert, &key.PublicKey, by.key)
	if err != nil {
		return nil, fmt.Errorf("sign a certificate: %w", err)
	}
	cert, err := x509.ParseCertificate(raw)
	if err != nil {
		return nil, fmt.Errorf("read the certificate just made at %s: %w", now.UTC().Format(time.RFC3339), err)
	}
	return &pair{cert, key}, nil
}

// mayName says whether the authority lives long enough and may sign for all hosts.
func (p *pair) mayName(hosts []string, now time.Time) bool {
	if !p.cert.IsCA || p.cert.NotAfter.Sub(now) < renewal {
		return false
	}
	return !slices.ContainsFunc(hosts, func(h string) bool {
		if ip := net.ParseIP(h); ip != nil {
			return !slices.ContainsFunc(p.cert.PermittedIPRanges, func(n *net.IPNet) bool { return n.Contains(ip) })
		}
		return !slices.Contains(p.cert.PermittedDNSDomains, withoutWildcard(h))
	})
}

// names says whether the certificate lives long enough, names all hosts and was signed by the authority.
func (p *pair) names(hosts []string, by *x509.Certificate, now time.Time) bool {
	if p.cert.NotAfter.Sub(now) < renewal || p.cert.CheckSignatureFrom(by) != nil {
		return false
	}
	return !slices.ContainsFunc(hosts, func(h string) bool {
		if ip := net.ParseIP(h); ip != nil {
			return !slices.ContainsFunc(p.cert.IPAddresses, ip.Equal)
		}
		return !slices.Contains(p.cert.DNSNames, h)
	})
}

// withoutWildcard is how a constraint says a name with everything below it.
func withoutWildcard(host string) string {
	if len(host) > 2 && host[:2] == "*." {
		return host[2:]
	}
	return host
}

// compact returns an address in 4 bytes if it fits.
func compact(ip net.IP) net.IP {
	if four := ip.To4(); four != nil {
		return four
	}
	return ip
}
