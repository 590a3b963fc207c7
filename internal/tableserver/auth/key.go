package auth

import (
	"crypto/hmac"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
)

// The account that the storage emulators publish. Neither is a secret.
const (
	DevelopmentAccount = "devstoreaccount1"
	DevelopmentKey     = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="
)

// Account is an account that can sign.
type Account struct {
	Name string
	Key  Key
}

// Key is the secret of an account, or both of its secrets, of which either signs. It prints as REDACTED in every format.
type Key struct{ secret, second string }

const redacted = "REDACTED"

// NewKey returns a key of the decoded bytes.
func NewKey(secret []byte) Key { return Key{secret: string(secret)} }

// Or returns a key that takes the signatures of both, and signs as k. An empty other changes nothing.
func (k Key) Or(other Key) Key {
	k.second = other.secret
	return k
}

// ParseKey decodes the base64 form of a key. The error does not show it.
func ParseKey(text string) (Key, error) {
	secret, err := base64.StdEncoding.DecodeString(text)
	if err != nil || len(secret) == 0 {
		return Key{}, errors.New("account key is not base64")
	}
	return NewKey(secret), nil
}

// Reveal returns the base64 form, for connection strings and files only.
func (k Key) Reveal() string { return base64.StdEncoding.EncodeToString([]byte(k.secret)) }

// Format hides the key, whatever the verb.
func (k Key) Format(s fmt.State, _ rune) { _, _ = io.WriteString(s, redacted) }

// MarshalText hides the key in JSON and structured logs.
func (k Key) MarshalText() ([]byte, error) { return []byte(redacted), nil }

// signature returns the base64 form of HMAC-SHA256 over the text.
func (k Key) signature(text string) string { return base64.StdEncoding.EncodeToString(k.mac(text)) }

// mac returns HMAC-SHA256 over the text.
func (k Key) mac(text string) []byte {
	mac := hmac.New(sha256.New, []byte(k.secret))
	_, _ = io.WriteString(mac, text)
	return mac.Sum(nil)
}

// verifies says whether sig signs the text. Texts are compared, not decoded bytes: base64 has more than one spelling
// of the same bytes. The time does not depend on where they differ.
func (k Key) verifies(sig, text string) bool {
	if subtle.ConstantTimeCompare([]byte(sig), []byte(k.signature(text))) == 1 {
		return true
	}
	return k.second != "" && Key{secret: k.second}.verifies(sig, text)
}
