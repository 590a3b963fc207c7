package traffic

import (
	"crypto/sha256"
	"encoding/hex"
	"net/url"
	"strings"
	"time"
)

// Request is what is known of one request when it is over. Whatever came from the client is text of unknown content.
// It holds no credential.
type Request struct {
	Start     time.Time
	Duration  time.Duration
	ID        string // x-ms-request-id
	ClientID  string // x-ms-client-request-id
	Operation Operation
	Account   string // "" until its credentials were good
	Scheme    string // how it was authenticated, in Azure's words: AccountKey, SAS, OAuth, Anonymous
	Table     string
	// PartitionKey is set when Keyed says so: the empty text is a PartitionKey too.
	PartitionKey string
	Keyed        bool
	Entities     int    // read, passed over or written; a refused write has none
	Status       int    // of the answer, of the failed part for a batch; 0 when the connection was dropped
	ErrorCode    string // the service's, or "" for success
	Injected     string // the fault that was injected, or "throttled", or ""
	BytesIn      int64  // of the body
	BytesOut     int64  // of the body
	Remote       string // the client's address
	UserAgent    string
	Version      string // x-ms-version
	TLS          string // version, "" for http
	Method       string
	URL          *url.URL
}

// Keys says how PartitionKeys are shown.
type Keys uint8

// A PartitionKey may name a person or a customer, so it is hashed unless asked for otherwise.
const (
	HashedKeys Keys = iota
	PlainKeys
)

// Show returns the PartitionKey, or 16 hexadecimal digits of its SHA-256: enough to tell partitions apart and to
// find a known one again. It is no protection against one who can guess the key.
func (k Keys) Show(partitionKey string) string {
	if k == PlainKeys {
		return partitionKey
	}
	sum := sha256.Sum256([]byte(partitionKey))
	return hex.EncodeToString(sum[:8])
}

// address returns the request's URL without what must not be logged: never a signature, and with HashedKeys neither
// keys nor the query, whose filter may name them.
func (k Keys) address(r *Request, scheme, host string) string {
	path := r.URL.EscapedPath()
	if k == HashedKeys {
		path, _, _ = strings.Cut(path, "(")
		path, _, _ = strings.Cut(path, "%28")
		return scheme + "://" + host + path
	}
	address := scheme + "://" + host + path
	if query := withoutSignature(r.URL.RawQuery); query != "" {
		address += "?" + query
	}
	return address
}

// withoutSignature takes the value of each sig parameter out of a query, however its name is written.
func withoutSignature(raw string) string {
	pairs := strings.FieldsFunc(raw, func(c rune) bool { return c == '&' })
	for i, pair := range pairs {
		name, _, _ := strings.Cut(pair, "=")
		if plain, err := url.QueryUnescape(name); err != nil || strings.EqualFold(plain, "sig") {
			pairs[i] = "sig=REDACTED"
		}
	}
	return strings.Join(pairs, "&")
}
