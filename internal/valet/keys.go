package valet

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rsa"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"os"
)

// minRSABits is the shortest RSA key that is taken (RFC 7518 §3.3).
const minRSABits = 2048

// jwk is one key of a key set (RFC 7517, RFC 7518 §6).
type jwk struct {
	Type string `json:"kty"`
	ID   string `json:"kid"`
	Use  string `json:"use"`
	N    string `json:"n"`
	E    string `json:"e"`
	Crv  string `json:"crv"`
	X    string `json:"x"`
	Y    string `json:"y"`
}

// readKeys returns the keys of a JWKS file that sign with RS256 or ES256, by kid. Others are passed over: issuers publish
// keys for other uses in the same set.
func readKeys(name string) (map[string]crypto.PublicKey, error) {
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	var set struct {
		Keys []jwk `json:"keys"`
	}
	if err := json.Unmarshal(text, &set); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	keys := map[string]crypto.PublicKey{}
	for _, k := range set.Keys {
		if k.ID == "" || k.Use != "" && k.Use != "sig" {
			continue
		}
		var key crypto.PublicKey
		switch {
		case k.Type == "RSA":
			key, err = k.rsa()
		case k.Type == "EC" && k.Crv == "P-256":
			key, err = k.ecdsa()
		default:
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("%s: key %q: %w", name, k.ID, err)
		}
		if keys[k.ID] != nil {
			return nil, fmt.Errorf("%s: two keys have the id %q", name, k.ID)
		}
		keys[k.ID] = key
	}
	if len(keys) == 0 {
		return nil, fmt.Errorf("%s holds no key for RS256 or ES256 with a kid", name)
	}
	return keys, nil
}

func (k jwk) rsa() (crypto.PublicKey, error) {
	n, errN := base64.RawURLEncoding.DecodeString(k.N)
	e, errE := base64.RawURLEncoding.DecodeString(k.E)
	if err := errors.Join(errN, errE); err != nil {
		return nil, err
	}
	exponent := new(big.Int).SetBytes(e)
	key := &rsa.PublicKey{N: new(big.Int).SetBytes(n), E: int(exponent.Int64())}
	if key.N.BitLen() < minRSABits || exponent.BitLen() > 31 || key.E < 3 || key.E%2 == 0 {
		return nil, fmt.Errorf("an RSA key of %d bits: at least %d, with an odd exponent of 3 or more", key.N.BitLen(), minRSABits)
	}
	return key, nil
}

func (k jwk) ecdsa() (crypto.PublicKey, error) {
	x, errX := base64.RawURLEncoding.DecodeString(k.X)
	y, errY := base64.RawURLEncoding.DecodeString(k.Y)
	if err := errors.Join(errX, errY); err != nil {
		return nil, err
	}
	if len(x) != 32 || len(y) != 32 {
		return nil, errors.New("a P-256 key has coordinates of 32 bytes")
	}
	return ecdsa.ParseUncompressedPublicKey(elliptic.P256(), append(append([]byte{4}, x...), y...))
}
