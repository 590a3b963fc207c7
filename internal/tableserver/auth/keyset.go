package auth

import (
	"bytes"
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rsa"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/big"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// How often a key set is read again. A token with an unknown key makes it sooner, as issuers change their keys at will;
// but not at every such token, since anybody can make one up.
const (
	keySetAge     = time.Hour
	keySetRetry   = time.Minute
	keySetTimeout = 10 * time.Second
	maxKeySet     = 1 << 20 // bytes
)

// KeySet is a KeySource that reads a JSON Web Key Set (RFC 7517) from a file or a URL, and reads it again when it is
// old. A set that cannot be read again leaves the keys as they are.
type KeySet struct {
	read func(context.Context) ([]byte, error)
	from string // for messages
	log  *slog.Logger
	now  func() time.Time

	keys atomic.Pointer[[]webKey]

	mu    sync.Mutex // held by the one who reads
	tried time.Time
}

// NewKeySetFromFile reads the keys of a file.
func NewKeySetFromFile(ctx context.Context, name string, log *slog.Logger) (*KeySet, error) {
	return newKeySet(ctx, name, log, func(context.Context) ([]byte, error) { return os.ReadFile(name) })
}

// NewKeySetFromURL reads the keys of a URL, which is https, or http on this machine.
func NewKeySetFromURL(ctx context.Context, address string, log *slog.Logger) (*KeySet, error) {
	if err := checkKeyURL(address); err != nil {
		return nil, err
	}
	return newKeySet(ctx, address, log, func(ctx context.Context) ([]byte, error) { return fetch(ctx, address) })
}

// NewKeySetOfIssuer finds the URL of the keys in the OpenID Connect discovery document of an issuer.
func NewKeySetOfIssuer(ctx context.Context, issuer string, log *slog.Logger) (*KeySet, error) {
	at := strings.TrimSuffix(issuer, "/") + "/.well-known/openid-configuration"
	if err := checkKeyURL(at); err != nil {
		return nil, err
	}
	text, err := fetch(ctx, at)
	if err != nil {
		return nil, fmt.Errorf("read the discovery document of issuer %s: %w", issuer, err)
	}
	var document struct {
		Issuer  string `json:"issuer"`
		JWKSURI string `json:"jwks_uri"`
	}
	if err := json.Unmarshal(text, &document); err != nil {
		return nil, fmt.Errorf("read the discovery document of issuer %s: %w", issuer, err)
	}
	if document.Issuer != issuer {
		return nil, fmt.Errorf("the discovery document at %s is of issuer %q, not %q", at, document.Issuer, issuer)
	}
	return NewKeySetFromURL(ctx, document.JWKSURI, log)
}

func newKeySet(ctx context.Context, from string, log *slog.Logger, read func(context.Context) ([]byte, error)) (*KeySet, error) {
	s := &KeySet{read: read, from: from, log: log, now: time.Now}
	if err := s.refresh(ctx); err != nil {
		return nil, err
	}
	return s, nil
}

// refresh reads the set. The caller is alone, or holds mu.
func (s *KeySet) refresh(ctx context.Context) error {
	s.tried = s.now()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), keySetTimeout)
	defer cancel()
	text, err := s.read(ctx)
	if err != nil {
		return fmt.Errorf("read the key set %s: %w", s.from, err)
	}
	keys, err := parseKeySet(text)
	if err != nil {
		return fmt.Errorf("key set %s: %w", s.from, err)
	}
	s.keys.Store(&keys)
	return nil
}

// Key implements KeySource. A token without kid is served when one key alone fits the algorithm.
func (s *KeySet) Key(ctx context.Context, kid, algorithm string) (crypto.PublicKey, error) {
	key, err := findKey(*s.keys.Load(), kid, algorithm)
	age := keySetRetry
	if err == nil {
		age = keySetAge
	}
	if !s.mu.TryLock() { // another request reads it; this one has what there is
		return key, err
	}
	defer s.mu.Unlock()
	if s.now().Sub(s.tried) < age {
		return findKey(*s.keys.Load(), kid, algorithm)
	}
	if err := s.refresh(ctx); err != nil {
		s.log.Warn("the keys of bearer tokens stay as they are", slog.Any("error", err))
	}
	return findKey(*s.keys.Load(), kid, algorithm)
}

// webKey is a public key with what its set says of it.
type webKey struct {
	kid, algorithm string // "" for one that is not said
	key            crypto.PublicKey
}

// fits says whether the key may check signatures of the algorithm: its type decides, and its set may narrow it.
func (k webKey) fits(algorithm string) bool {
	if k.algorithm != "" && k.algorithm != algorithm {
		return false
	}
	switch key := k.key.(type) {
	case *rsa.PublicKey:
		return strings.HasPrefix(algorithm, "RS") || strings.HasPrefix(algorithm, "PS")
	case *ecdsa.PublicKey:
		return algorithm == curveAlgorithms[key.Curve.Params().Name]
	}
	return false
}

// curveAlgorithms is RFC 7518 §3.4: each algorithm has one curve.
var curveAlgorithms = map[string]string{"P-256": "ES256", "P-384": "ES384", "P-521": "ES512"}

func findKey(keys []webKey, kid, algorithm string) (crypto.PublicKey, error) {
	var found []crypto.PublicKey
	for _, k := range keys {
		if (kid == "" || k.kid == kid) && k.fits(algorithm) {
			found = append(found, k.key)
		}
	}
	if len(found) != 1 {
		return nil, fmt.Errorf("%d keys fit the token", len(found))
	}
	return found[0], nil
}

// parseKeySet returns the keys that can check signatures. Others, of other uses and types, are left out.
func parseKeySet(text []byte) ([]webKey, error) {
	var set struct{ Keys []jsonWebKey }
	if err := json.Unmarshal(text, &set); err != nil {
		return nil, err
	}
	var keys []webKey
	for i, k := range set.Keys {
		if k.Use != "" && k.Use != "sig" {
			continue
		}
		key, err := k.publicKey()
		if err != nil {
			return nil, fmt.Errorf("key %d: %w", i+1, err)
		}
		if key != nil {
			keys = append(keys, webKey{k.Kid, k.Alg, key})
		}
	}
	if len(keys) == 0 {
		return nil, errors.New("it has no RSA or EC key for signatures")
	}
	return keys, nil
}

// jsonWebKey has the members of a public key (RFC 7518 §6.2, §6.3). Private members are not read.
type jsonWebKey struct{ Kty, Kid, Use, Alg, N, E, Crv, X, Y string }

// minRSABits is the least that RFC 7518 §3.3 allows.
const minRSABits = 2048

// publicKey returns nil for a type that signs nothing here, among them secrets ("oct").
func (k jsonWebKey) publicKey() (crypto.PublicKey, error) {
	switch k.Kty {
	case "RSA":
		n, errN := number(k.N)
		e, errE := number(k.E)
		if err := errors.Join(errN, errE); err != nil {
			return nil, err
		}
		key := &rsa.PublicKey{N: new(big.Int).SetBytes(n)}
		if key.N.BitLen() < minRSABits {
			return nil, fmt.Errorf("an RSA key of %d bits is too short: 2048 are the least", key.N.BitLen())
		}
		exponent := new(big.Int).SetBytes(e)
		if exponent.BitLen() > 31 || exponent.Bit(0) == 0 || exponent.BitLen() < 2 {
			return nil, errors.New("the exponent of the RSA key cannot be")
		}
		key.E = int(exponent.Int64())
		return key, nil
	case "EC":
		return k.ellipticKey()
	default:
		return nil, nil //nolint:nilnil // a key of another type is not a mistake
	}
}

func (k jsonWebKey) ellipticKey() (crypto.PublicKey, error) {
	var curve elliptic.Curve
	switch k.Crv {
	case "P-256":
		curve = elliptic.P256()
	case "P-384":
		curve = elliptic.P384()
	case "P-521":
		curve = elliptic.P521()
	default:
		return nil, nil //nolint:nilnil // a curve without an algorithm here
	}
	x, errX := number(k.X)
	y, errY := number(k.Y)
	if err := errors.Join(errX, errY); err != nil {
		return nil, err
	}
	size := (curve.Params().BitSize + 7) / 8
	if len(x) > size || len(y) > size {
		return nil, errors.New("the coordinates of the EC key are too long")
	}
	point := make([]byte, 1+2*size) // uncompressed, SEC 1 §2.3.3
	point[0] = 4
	copy(point[1+size-len(x):], x)
	copy(point[1+2*size-len(y):], y)
	key, err := ecdsa.ParseUncompressedPublicKey(curve, point)
	if err != nil {
		return nil, errors.New("the EC key is no point of its curve")
	}
	return key, nil
}

// number decodes base64url without padding.
func number(text string) ([]byte, error) {
	b, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil || len(b) == 0 {
		return nil, errors.New("a number of the key is not base64url")
	}
	return bytes.TrimLeft(b, "\x00"), nil
}

// checkKeyURL refuses an address from which another could send keys.
func checkKeyURL(address string) error {
	u, err := url.Parse(address)
	if err != nil {
		return fmt.Errorf("key set: %w", err)
	}
	ip, err := netip.ParseAddr(u.Hostname())
	local := u.Hostname() == "localhost" || err == nil && ip.IsLoopback()
	if u.Host == "" || u.Scheme != "https" && (u.Scheme != "http" || !local) {
		return fmt.Errorf("key set %s: give a URL of https, or of http on this machine", u.Redacted())
	}
	return nil
}

// fetch reads a document. A redirect has to pass the same rule as the address.
func fetch(ctx context.Context, address string) ([]byte, error) {
	client := &http.Client{Timeout: keySetTimeout, CheckRedirect: func(r *http.Request, via []*http.Request) error {
		if len(via) > 3 {
			return errors.New("too many redirects")
		}
		return checkKeyURL(r.URL.String())
	}}
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, err
	}
	resp, err := client.Do(r)
	if err != nil {
		return nil, err
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("the answer is %s", resp.Status)
	}
	text, err := io.ReadAll(io.LimitReader(resp.Body, maxKeySet+1))
	if err == nil && len(text) > maxKeySet {
		err = errors.New("the answer is larger than 1 MiB")
	}
	return text, err
}
