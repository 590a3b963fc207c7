package tablestorage

import (
	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
)

// AccountConfig is how a user names a storage account and how to authenticate to it: the attributes of the
// provider block and of tenantctl's configuration. Give exactly one credential: a connection string, Key, SAS or
// Entra. Printing it in any way hides its secrets.
type AccountConfig struct {
	ConnectionString string       // whole; no other field may be set beside it but AllowHTTP
	Name             string       // the storage account's name
	Key              string       // account key, base64
	SAS              string       // account or table SAS, with or without the leading "?"
	Endpoint         string       // table endpoint; "" is https://NAME.table.core.windows.net
	Entra            *EntraConfig // sign in through Microsoft Entra; &EntraConfig{} is the default chain
	AllowHTTP        bool         // permit plain http to other machines than this one
}

// EntraConfig is how to get tokens of Microsoft Entra. The zero value is the default chain: environment, workload
// identity, managed identity, Azure CLI. The first that is set decides: ClientSecret, ClientCertificatePath,
// OIDCToken or OIDCTokenFile, UseManagedIdentity, UseCLI.
type EntraConfig struct {
	TenantID                  string // directory (Entra tenant), not a tenant of this product
	ClientID                  string
	ClientSecret              string
	ClientCertificatePath     string // PEM or PKCS#12 file
	ClientCertificatePassword string
	OIDCToken                 string // federated token
	OIDCTokenFile             string // file that holds a federated token; read again for each sign-in
	UseManagedIdentity        bool   // ClientID names a user-assigned identity
	UseCLI                    bool
	Authority                 string // login host for sovereign clouds; "" is https://login.microsoftonline.com/
}

// Config is everything that the product is told about accounts.
type Config struct {
	Home         AccountConfig            // the account that holds the catalog
	Accounts     map[string]AccountConfig // further accounts by the names that models and tenants use
	CatalogTable string                   // "" is DefaultCatalogTable
}

// DefaultCatalogTable is the catalog's table unless the configuration names another.
const DefaultCatalogTable = "TenantCatalog"

// Account is a storage account, ready to be used: its name, its table endpoint without a trailing slash, and one
// credential.
type Account struct {
	Name          string
	TableEndpoint string
	Credential    Credential
	AllowHTTP     bool // permit plain http to other machines than this one
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

// WithEnvironment returns the configuration, filled from the environment if nothing at all is given in it.
func (c AccountConfig) WithEnvironment(getenv func(string) string) AccountConfig {
	panic("under construction")
}

// Account checks the configuration and returns the account that it describes.
func (c AccountConfig) Account() (Account, error) { panic("under construction") }

// ParseConnectionString reads a storage connection string of any shape.
func ParseConnectionString(s string) (Account, error) { panic("under construction") }
