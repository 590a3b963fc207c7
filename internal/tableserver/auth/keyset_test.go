package auth

import (
	"context"
	"crypto/ecdsa"
	"encoding/base64"
	"encoding/json"
	"errors"
	"log/slog"
	"math/big"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

var discard = slog.New(slog.DiscardHandler)

func encodeNumber(n *big.Int) string { return base64.RawURLEncoding.EncodeToString(n.Bytes()) }

func rsaKey(kid string, members ...string) map[string]string {
	k := map[string]string{"kty": "RSA", "kid": kid, "n": encodeNumber(issuerKeys.rsa.N), "e": "AQAB"}
	for i := 0; i < len(members); i += 2 {
		k[members[i]] = members[i+1]
	}
	return k
}

func ecKey(t testing.TB, kid string) map[string]string {
	t.Helper()
	raw, err := issuerKeys.ec.PublicKey.Bytes()
	if err != nil {
		t.Fatal(err)
	}
	encode := base64.RawURLEncoding.EncodeToString
	return map[string]string{"kty": "EC", "kid": kid, "crv": "P-256", "x": encode(raw[1:33]), "y": encode(raw[33:])}
}

func keySet(t testing.TB, keys ...map[string]string) []byte {
	t.Helper()
	text, err := json.Marshal(map[string]any{"keys": keys})
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func TestKeysThatMayCheckASignature(t *testing.T) {
	secret := map[string]string{"kty": "oct", "kid": "s", "k": "c2VjcmV0"}
	keys, err := parseKeySet(keySet(t, rsaKey("r", "alg", "RS256"), rsaKey("any"), ecKey(t, "e"), secret, rsaKey("enc", "use", "enc"), rsaKey("sig", "use", "sig")))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		kid, algorithm string
		good           bool
	}{
		{"r", "RS256", true}, {"r", "RS512", false}, {"r", "PS256", false}, // the set narrows it
		{"any", "RS512", true}, {"any", "PS256", true}, {"any", "ES256", false}, {"any", "HS256", false},
		{"e", "ES256", true}, {"e", "ES384", false}, {"e", "RS256", false},
		{"s", "HS256", false}, {"enc", "RS256", false}, {"sig", "RS256", true},
		{"", "ES256", true}, {"", "RS256", false}, // several fit
		{"unknown", "RS256", false},
	} {
		key, err := findKey(keys, c.kid, c.algorithm)
		if (err == nil) != c.good || (key == nil) == c.good {
			t.Errorf("kid %q, %s: %v", c.kid, c.algorithm, err)
		}
	}
	if key, err := findKey(keys, "e", "ES256"); err == nil {
		if public, ok := key.(*ecdsa.PublicKey); !ok || !public.Equal(&issuerKeys.ec.PublicKey) {
			t.Error("the EC key is another one")
		}
	}
	if key, err := findKey(keys, "any", "RS256"); err != nil || !issuerKeys.rsa.PublicKey.Equal(key) {
		t.Errorf("the RSA key is another one: %v", err)
	}
}

func TestKeySetsThatCannotBeAreRefused(t *testing.T) {
	off := ecKey(t, "e")
	off["y"] = off["x"]
	for name, text := range map[string]string{
		"no JSON": "{", "no keys": `{}`, "no key that signs": `{"keys":[{"kty":"oct","k":"c2VjcmV0"}]}`,
		"short RSA key":       string(keySet(t, rsaKey("r", "n", encodeNumber(new(big.Int).Lsh(big.NewInt(1), 1023))))),
		"exponent 1":          string(keySet(t, rsaKey("r", "e", "AQ"))),
		"even exponent":       string(keySet(t, rsaKey("r", "e", "Ag"))),
		"huge exponent":       string(keySet(t, rsaKey("r", "e", "AQAAAAAAAAAB"))),
		"number in base64":    string(keySet(t, rsaKey("r", "n", "+/=="))),
		"no number":           string(keySet(t, rsaKey("r", "n", ""))),
		"point off the curve": string(keySet(t, off)),
		"bad key among good":  string(keySet(t, rsaKey("r"), off)),
	} {
		if keys, err := parseKeySet([]byte(text)); err == nil {
			t.Errorf("%s gives %d keys", name, len(keys))
		}
	}
}

// servedKeys is an issuer whose keys change and which can be away.
type servedKeys struct {
	reads atomic.Int32
	text  atomic.Value // []byte; empty: away
}

func (s *servedKeys) read(context.Context) ([]byte, error) {
	s.reads.Add(1)
	text, _ := s.text.Load().([]byte)
	if len(text) == 0 {
		return nil, errors.New("away")
	}
	return text, nil
}

func TestKeySetIsReadAgainWhenItsIssuerChangesKeys(t *testing.T) {
	served := &servedKeys{}
	served.text.Store(keySet(t, rsaKey("old")))
	set, err := newKeySet(t.Context(), "here", discard, served.read)
	if err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	set.now, set.tried = func() time.Time { return now }, now
	has := func(kid string, want bool, reads int32) {
		t.Helper()
		_, err := set.Key(t.Context(), kid, "RS256")
		if (err == nil) != want || served.reads.Load() != reads {
			t.Errorf("key %s: %v after %d reads, want %v after %d", kid, err, served.reads.Load(), want, reads)
		}
	}
	has("old", true, 1)
	served.text.Store(keySet(t, rsaKey("new")))
	has("new", false, 1) // a made-up kid makes the server ask no more than once a minute
	now = now.Add(keySetRetry)
	has("new", true, 2)
	has("old", false, 2)
	served.text.Store([]byte(nil))
	now = now.Add(keySetAge)
	has("new", true, 3) // the issuer is away: the keys stay
	now = now.Add(keySetRetry)
	has("unknown", false, 4)
	served.text.Store(keySet(t, rsaKey("newest")))
	now = now.Add(keySetAge)
	has("new", false, 5) // withdrawn keys end
}

func TestKeySetsFromFilesAndIssuers(t *testing.T) {
	name := filepath.Join(t.TempDir(), "keys.json")
	if err := os.WriteFile(name, keySet(t, rsaKey("f")), 0o600); err != nil {
		t.Fatal(err)
	}
	set, err := NewKeySetFromFile(t.Context(), name, discard)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := set.Key(t.Context(), "f", "RS256"); err != nil {
		t.Error(err)
	}
	if _, err := NewKeySetFromFile(t.Context(), name+"x", discard); err == nil || !strings.Contains(err.Error(), name+"x") {
		t.Errorf("a missing file gives %v", err)
	}
	mux := http.NewServeMux()
	issuer := httptest.NewServer(mux)
	defer issuer.Close()
	mux.HandleFunc("/good/.well-known/openid-configuration", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte(`{"issuer":"` + issuer.URL + `/good","jwks_uri":"` + issuer.URL + `/keys"}`))
	})
	mux.HandleFunc("/liar/.well-known/openid-configuration", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte(`{"issuer":"https://elsewhere","jwks_uri":"` + issuer.URL + `/keys"}`))
	})
	mux.HandleFunc("/open/.well-known/openid-configuration", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte(`{"issuer":"` + issuer.URL + `/open","jwks_uri":"http://192.0.2.1/keys"}`))
	})
	mux.HandleFunc("/keys", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(keySet(t, rsaKey("i"))) })
	mux.HandleFunc("/large", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(make([]byte, maxKeySet+1)) })
	mux.HandleFunc("/away", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "http://192.0.2.1/keys", http.StatusFound)
	})
	set, err = NewKeySetOfIssuer(t.Context(), issuer.URL+"/good", discard)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := set.Key(t.Context(), "i", "RS256"); err != nil {
		t.Error(err)
	}
	for _, path := range []string{"/liar", "/open", "/none"} {
		if _, err := NewKeySetOfIssuer(t.Context(), issuer.URL+path, discard); err == nil {
			t.Errorf("issuer %s is accepted", path)
		}
	}
	for _, address := range []string{issuer.URL + "/large", issuer.URL + "/away", issuer.URL + "/none", "http://192.0.2.1/keys", "ftp://127.0.0.1/", "keys", ""} {
		if _, err := NewKeySetFromURL(t.Context(), address, discard); err == nil {
			t.Errorf("%q is accepted", address)
		}
	}
}

func FuzzKeySet(f *testing.F) {
	f.Add(keySet(f, rsaKey("r"), ecKey(f, "e")))
	f.Add([]byte(`{"keys":[{"kty":"EC","crv":"P-521","x":"AA","y":"AA"}]}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		if keys, err := parseKeySet(text); err == nil && len(keys) == 0 {
			t.Fatal("no keys and no error")
		}
	})
}
