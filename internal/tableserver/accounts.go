package tableserver

import (
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/aztenancy/terraform-provider-aztenancy/internal/tableserver/auth"
	"github.com/aztenancy/terraform-provider-aztenancy/internal/tableserver/store"
)

// DevAccount and DevKey are the published credentials of the storage emulator. They are no secret.
const (
	DevAccount = auth.DevelopmentAccount
	DevKey     = auth.DevelopmentKey
)

// Account is a storage account that the server answers for. It prints without its key.
type Account struct {
	// Name is 3 to 24 lower-case letters and digits.
	Name string
	// Key is the decoded account key. New fills an empty one: with DevKey for DevAccount, else with a generated
	// key that is kept in Options.Dir.
	Key []byte
}

// String returns the name alone.
func (a Account) String() string { return a.Name }

// GoString returns the name alone.
func (a Account) GoString() string { return a.Name }

// Format prints the name alone for every verb.
func (a Account) Format(f fmt.State, _ rune) { _, _ = f.Write([]byte(a.Name)) }

// LogValue returns the name alone.
func (a Account) LogValue() slog.Value { return slog.StringValue(a.Name) }

// Endpoint returns the path-style table endpoint of an account at a listening address, with a trailing slash:
// http://127.0.0.1:10002/devstoreaccount1/.
func (s *Server) Endpoint(addr net.Addr, account string) string {
	return s.scheme() + "://" + addr.String() + "/" + account + "/"
}

func (s *Server) scheme() string {
	if s.tls != nil {
		return "https"
	}
	return "http"
}

// ConnectionString returns the connection string of an account. It holds the account key.
func (a Account) ConnectionString(endpoint string) string {
	scheme, _, _ := strings.Cut(endpoint, "://")
	return "DefaultEndpointsProtocol=" + scheme + ";AccountName=" + a.Name + ";AccountKey=" + a.EncodedKey() +
		";TableEndpoint=" + trimSlash(endpoint) + ";"
}

// EncodedKey returns the key in base64, as it stands in connection strings.
func (a Account) EncodedKey() string { return base64.StdEncoding.EncodeToString(a.Key) }

func trimSlash(s string) string {
	if n := len(s); n > 0 && s[n-1] == '/' {
		return s[:n-1]
	}
	return s
}

var accountName = regexp.MustCompile(`^[a-z0-9]{3,24}$`)

// CheckAccounts says what is wrong with the names of accounts, before anything is made for them.
func CheckAccounts(accounts []Account) error {
	seen := make(map[string]bool)
	for _, a := range accounts {
		if !accountName.MatchString(a.Name) {
			return fmt.Errorf("account name %q: give 3 to 24 lower-case letters and digits", a.Name)
		}
		if seen[a.Name] {
			return fmt.Errorf("account %q is given twice: name each account once", a.Name)
		}
		seen[a.Name] = true
	}
	return nil
}

// resolveAccounts finds the keys that were not given.
func resolveAccounts(given []Account, dir string) ([]Account, error) {
	if len(given) == 0 {
		given = []Account{{Name: DevAccount}}
	}
	out := make([]Account, len(given))
	kept := keyFile{dir: dir}
	for i, a := range given {
		if len(a.Key) == 0 {
			key, err := kept.key(a.Name)
			if err != nil {
				return nil, err
			}
			a.Key = key
		}
		out[i] = a
	}
	return out, nil
}

// keyFile is the file of the generated keys: a JSON object of name to base64 key, readable by its owner alone.
// An empty dir keeps nothing.
type keyFile struct{ dir string }

const generatedKeyBytes = 64 // as long as the keys of Azure

func (f keyFile) key(account string) ([]byte, error) {
	if account == DevAccount {
		return base64.StdEncoding.DecodeString(DevKey)
	}
	keys := make(map[string][]byte)
	name := filepath.Join(f.dir, "keys.json")
	if f.dir != "" {
		text, err := os.ReadFile(name)
		if err == nil {
			err = json.Unmarshal(text, &keys)
		}
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return nil, fmt.Errorf("read the generated account keys in %s: %w", name, err)
		}
	}
	if key := keys[account]; len(key) > 0 {
		return key, nil
	}
	key := make([]byte, generatedKeyBytes)
	if _, err := rand.Read(key); err != nil {
		return nil, fmt.Errorf("generate a key for account %s: %w", account, err)
	}
	if f.dir == "" {
		return key, nil
	}
	keys[account] = key
	text, err := json.MarshalIndent(keys, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("write the generated account keys: %w", err)
	}
	return key, store.WriteFile(name, append(text, '\n'), 0o600)
}
