package valet

import (
	"crypto/rand"
	"crypto/rsa"
	"encoding/base64"
	"encoding/json"
	"math/big"
	"os"
	"path/filepath"
	"testing"
)

func TestRSAKeysAreReadAndShortOnesRefused(t *testing.T) {
	encode := base64.RawURLEncoding.EncodeToString
	for bits, ok := range map[int]bool{2048: true, 1024: false} {
		n := make([]byte, bits/8)
		if bits == 2048 {
			key, err := rsa.GenerateKey(rand.Reader, bits)
			if err != nil {
				t.Fatal(err)
			}
			n = key.N.Bytes()
		} else {
			n[0], n[len(n)-1] = 0x80, 1
		}
		text, err := json.Marshal(map[string]any{"keys": []map[string]string{{"kty": "RSA", "kid": "one", "n": encode(n), "e": "AQAB"}}})
		if err != nil {
			t.Fatal(err)
		}
		file := filepath.Join(t.TempDir(), "jwks.json")
		if err := os.WriteFile(file, text, 0o600); err != nil {
			t.Fatal(err)
		}
		keys, err := readKeys(file)
		if (err == nil) != ok {
			t.Errorf("%d bits: %v", bits, err)
		}
		if key, is := keys["one"].(*rsa.PublicKey); ok && (!is || key.N.Cmp(new(big.Int).SetBytes(n)) != 0 || key.E != 65537) {
			t.Errorf("read %v", keys)
		}
	}
}
