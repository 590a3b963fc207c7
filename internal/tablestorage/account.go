package tablestorage

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
)

// Development credentials of the storage emulator. They are published and no secret. (Use the Azurite emulator,
// Azure Storage documentation.)
const (
	DevelopmentAccount  = "devstoreaccount1"
	DevelopmentKey      = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="
	developmentEndpoint = "http://127.0.0.1:10002/" + DevelopmentAccount
)

// AccountConfig is how a user names a storage account and how to authenticate to it: the attributes of the
// provider block and of tenantctl's configuration. Give exactly one credential: a connection string, Key, SAS or
// Entra. Printing it in any way hides its secrets.
type AccountConfig struct {
	ConnectionString string       // whole; beside it only AllowHTTP and Limits may be set
	Name             string       // the storage account's name
	Key              string       // account key, base64
	SAS              string       // account or table SAS, with or without the leading "?"
	Endpoint         string       // table endpoint; "" is https://NAME.table.core.windows.net
	Entra            *EntraConfig // sign in through Microsoft Entra; &EntraConfig{} is the default chain
	AllowHTTP        bool         // permit plain http to other machines than this one
	Limits           Limits
}

// isEmpty says whether the configuration names neither an account nor a credential.
func (c AccountConfig) isEmpty() bool {
	return c == AccountConfig{AllowHTTP: c.AllowHTTP, Limits: c.Limits}
}

// Config is everything that the product is told about accounts.
type Config struct {
	Home         AccountConfig            // the account that holds the catalog
	Accounts     map[string]AccountConfig // further accounts by the names that models and tenants use
	CatalogTable string                   // "" is DefaultCatalogTable
	ReadOnly     bool                     // every write is an error
}

// DefaultCatalogTable is the catalog's table unless the configuration names another.
const DefaultCatalogTable = "TenantCatalog"

// Account is a storage account, ready to be used: its name, its table endpoint without a trailing slash, and one
// credential. Printing it in any way hides the credential.
type Account struct {
	Name          string
	TableEndpoint string
	Credential    Credential
	AllowHTTP     bool // permit plain http to other machines than this one
	Limits        Limits
}

// Credential is how requests are authorised: SharedKey, SAS or Entra.
type Credential interface{ credential() }

// SharedKey signs requests with the account key (base64).
type SharedKey struct{ Key Secret }

// SAS adds a shared access signature to each URL; Token has no leading "?".
type SAS struct{ Token Secret }

// Entra adds tokens of Microsoft Entra.
type Entra struct{ Token azcore.TokenCredential }

func (SharedKey) credential() {}
func (SAS) credential()       {}
func (Entra) credential()     {}

// errNoAccount is the answer to an empty configuration.
var errNoAccount = errors.New("no storage account is configured: give a connection string, or an account name with " +
	"an account key, a SAS token or Entra; or set AZTENANCY_CONNECTION_STRING or AZURE_STORAGE_CONNECTION_STRING")

// errNoCredential says what would be one.
var errNoCredential = errors.New("give an account key, a SAS token, Entra or a connection string")

// Account checks the configuration and returns the account that it describes. It reads a client certificate, if one
// is named, and sends nothing.
func (c AccountConfig) Account() (Account, error) {
	if c.isEmpty() {
		return Account{}, errNoAccount
	}
	if c.ConnectionString != "" {
		return c.fromConnectionString()
	}
	name, endpoint, err := resolveEndpoint(c.Name, c.Endpoint, "")
	if err != nil {
		return Account{}, err
	}
	credential, err := c.credential(name)
	if err != nil {
		return Account{}, err
	}
	a := Account{Name: name, TableEndpoint: endpoint, Credential: credential, AllowHTTP: c.AllowHTTP, Limits: c.Limits}
	return a, a.check()
}

// fromConnectionString reads ConnectionString, which must stand alone.
func (c AccountConfig) fromConnectionString() (Account, error) {
	if c != (AccountConfig{ConnectionString: c.ConnectionString, AllowHTTP: c.AllowHTTP, Limits: c.Limits}) {
		return Account{}, errors.New("a connection string names account, endpoint and credential: give it alone, " +
			"without account name, key, SAS token, endpoint or Entra")
	}
	a, err := parseConnectionString(c.ConnectionString)
	if err != nil {
		return Account{}, err
	}
	a.AllowHTTP, a.Limits = c.AllowHTTP, c.Limits
	return a, a.check()
}

// credential returns the one credential that is given for the account.
func (c AccountConfig) credential(name string) (Credential, error) {
	given := 0
	for _, is := range []bool{c.Key != "", c.SAS != "", c.Entra != nil} {
		if is {
			given++
		}
	}
	switch {
	case given == 0:
		return nil, fmt.Errorf("account %q has no credential: %w", name, errNoCredential)
	case given > 1:
		return nil, fmt.Errorf("account %q has more than one credential: give one of account key, SAS token and Entra", name)
	case c.Key != "":
		return newSharedKey(name, c.Key)
	case c.SAS != "":
		return newSAS(name, c.SAS)
	}
	token, err := c.Entra.tokenCredential()
	if err != nil {
		return nil, fmt.Errorf("account %q: %w", name, err)
	}
	return Entra{token}, nil
}

// newSharedKey checks that the key is base64. Its text is never part of an error.
func newSharedKey(name, key string) (Credential, error) {
	key = strings.TrimSpace(key)
	if raw, err := base64.StdEncoding.DecodeString(key); err != nil || len(raw) == 0 {
		return nil, fmt.Errorf("the account key of account %q is not base64: copy it again, whole, from the account's access keys", name)
	}
	return SharedKey{NewSecret(key)}, nil
}

// newSAS checks that the text looks like a SAS. It is never part of an error.
func newSAS(name, token string) (Credential, error) {
	token = strings.TrimPrefix(strings.TrimSpace(token), "?")
	if !strings.HasPrefix(token, "sig=") && !strings.Contains(token, "&sig=") {
		return nil, fmt.Errorf("the SAS token of account %q has no signature (sig=): copy it again, whole", name)
	}
	if strings.ContainsAny(token, "#; \r\n") {
		return nil, fmt.Errorf("the SAS token of account %q holds characters that a query string cannot have", name)
	}
	return SAS{NewSecret(token)}, nil
}

// check refuses what no client may be made of.
func (a Account) check() error {
	if err := a.Limits.validate(); err != nil {
		return fmt.Errorf("account %q: %w", a.Name, err)
	}
	switch {
	case a.Credential == nil:
		return fmt.Errorf("account %q has no credential", a.Name)
	case strings.HasPrefix(a.TableEndpoint, "https://"):
		return nil
	case isEntra(a.Credential):
		return fmt.Errorf("account %q: Entra tokens are only sent over https, and the endpoint is %s", a.Name, a.TableEndpoint)
	case a.AllowHTTP || isLoopback(a.TableEndpoint):
		return nil
	}
	return fmt.Errorf("account %q: endpoint %s is plain http on another machine, where everyone on the way can read "+
		"the data: use https, or allow http for this account", a.Name, a.TableEndpoint)
}

func isEntra(c Credential) bool {
	_, ok := c.(Entra)
	return ok
}

// redactedConfig has the fields of AccountConfig and none of its methods.
type redactedConfig AccountConfig

// redact returns a copy without secrets, to be printed.
func (c AccountConfig) redact() redactedConfig {
	r := redactedConfig(c)
	for _, s := range []*string{&r.ConnectionString, &r.Key, &r.SAS} {
		if *s != "" {
			*s = redacted
		}
	}
	if base, _, has := strings.Cut(r.Endpoint, "?"); has {
		r.Endpoint = base + "?" + redacted
	}
	return r
}

// Format prints the configuration without its secrets, whatever the verb.
func (c AccountConfig) Format(f fmt.State, verb rune) {
	_, _ = fmt.Fprintf(f, fmt.FormatString(f, verb), c.redact())
}

// MarshalJSON writes the configuration without its secrets.
func (c AccountConfig) MarshalJSON() ([]byte, error) { return json.Marshal(c.redact()) }
