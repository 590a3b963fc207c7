package tableserver

import (
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"slices"
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
	// SecondKey signs as well as Key does, as the two keys of an account in Azure; empty for none.
	SecondKey []byte
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
	return s.URL(addr) + "/" + account + "/"
}

// URL returns the address with its scheme, without a trailing slash.
func (s *Server) URL(addr net.Addr) string {
	if s.tls != nil {
		return "https://" + addr.String()
	}
	return "http://" + addr.String()
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

// resolveAccounts returns the accounts to answer for with their keys: the given ones, then those that the folder holds
// and has a key for, in the order of their names. held are the accounts with data; keyless are those of them whose
// key was given to an earlier process and to this one not.
func resolveAccounts(given []Account, dir string, held []string) (accounts []Account, keyless []string, err error) {
	kept := keyFile{dir: dir}
	generated, err := kept.read()
	if err != nil {
		return nil, nil, err
	}
	all := slices.Clone(given)
	known := func(name string) bool {
		return slices.ContainsFunc(all, func(a Account) bool { return a.Name == name })
	}
	for _, name := range slices.Sorted(maps.Keys(generated)) {
		if !known(name) {
			all = append(all, Account{Name: name})
		}
	}
	for _, name := range held {
		if name == DevAccount && !known(name) {
			all = append(all, Account{Name: name})
		} else if !known(name) {
			keyless = append(keyless, name)
		}
	}
	if len(all) == 0 {
		all = []Account{{Name: DevAccount}}
	}
	for i, a := range all {
		if len(a.Key) == 0 {
			if all[i].Key, err = kept.key(a.Name); err != nil {
				return nil, nil, err
			}
		}
	}
	return all, keyless, nil
}

// keyFile is the file of the generated keys: a JSON object of name to base64 key, readable by its owner alone.
// An empty dir keeps nothing.
type keyFile struct{ dir string }

func (f keyFile) name() string { return filepath.Join(f.dir, "keys.json") }

func (f keyFile) read() (map[string][]byte, error) {
	keys := make(map[string][]byte)
	if f.dir == "" {
		return keys, nil
	}
	text, err := os.ReadFile(f.name())
	if err == nil {
		err = json.Unmarshal(text, &keys)
	}
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("read the generated account keys in %s: %w", f.name(), err)
	}
	return keys, nil
}

const generatedKeyBytes = 64 // as long as the keys of Azure

func (f keyFile) key(account string) ([]byte, error) {
	if account == DevAccount {
		return base64.StdEncoding.DecodeString(DevKey)
	}
	keys, err := f.read()
	if err != nil {
		return nil, err
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
	return key, store.WriteFile(f.name(), append(text, '\n'), 0o600)
}
