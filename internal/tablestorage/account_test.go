package tablestorage

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestAccountNeedsExactlyOneCredential(t *testing.T) {
	entra := &EntraConfig{TenantID: "t", ClientID: "c", ClientSecret: "s"}
	for name, c := range map[string]struct {
		config AccountConfig
		want   string // endpoint and credential, or part of the error after "!"
	}{
		"nothing":           {AccountConfig{}, "!no storage account is configured"},
		"only http allowed": {AccountConfig{AllowHTTP: true}, "!no storage account is configured"},
		"only a name":       {AccountConfig{Name: "acct"}, "!no credential"},
		"key":               {AccountConfig{Name: "acct", Key: testKey}, "https://acct.table.core.windows.net account key"},
		"key with newline":  {AccountConfig{Name: "acct", Key: testKey + "\n"}, "https://acct.table.core.windows.net account key"},
		"SAS":               {AccountConfig{Name: "acct", SAS: "?" + testSAS}, "https://acct.table.core.windows.net SAS token"},
		"Entra":             {AccountConfig{Name: "acct", Entra: entra}, "https://acct.table.core.windows.net Entra token"},
		"default chain":     {AccountConfig{Name: "acct", Entra: &EntraConfig{}}, "https://acct.table.core.windows.net Entra token"},
		"endpoint":          {AccountConfig{Endpoint: "https://acct.table.core.usgovcloudapi.net/", Key: testKey}, "https://acct.table.core.usgovcloudapi.net account key"},
		"local":             {AccountConfig{Name: "acct", Endpoint: "http://127.0.0.1:10002", Key: testKey}, "http://127.0.0.1:10002/acct account key"},
		"http elsewhere":    {AccountConfig{Endpoint: "http://10.1.2.3:10002/acct", Key: testKey}, "!plain http"},
		"http allowed":      {AccountConfig{Endpoint: "http://10.1.2.3:10002/acct", Key: testKey, AllowHTTP: true}, "http://10.1.2.3:10002/acct account key"},
		"Entra over http":   {AccountConfig{Endpoint: "http://127.0.0.1:10002/acct", Entra: entra}, "!only sent over https"},
		"key and SAS":       {AccountConfig{Name: "acct", Key: testKey, SAS: testSAS}, "!more than one credential"},
		"key and Entra":     {AccountConfig{Name: "acct", Key: testKey, Entra: entra}, "!more than one credential"},
		"string and name":   {AccountConfig{ConnectionString: "UseDevelopmentStorage=true", Name: "acct"}, "!give it alone"},
		"string":            {AccountConfig{ConnectionString: "UseDevelopmentStorage=true"}, "http://127.0.0.1:10002/devstoreaccount1 account key"},
		"string, http allowed": {AccountConfig{ConnectionString: "DefaultEndpointsProtocol=http;AccountName=acct;AccountKey=" + testKey, AllowHTTP: true},
			"http://acct.table.core.windows.net account key"},
		"broken SAS":   {AccountConfig{Name: "acct", SAS: "sig=a b"}, "!characters"},
		"secret alone": {AccountConfig{Name: "acct", Entra: &EntraConfig{ClientSecret: "s"}}, "!client id"},
	} {
		t.Run(name, func(t *testing.T) {
			a, err := c.config.Account()
			got := fmt.Sprint(a.TableEndpoint, " ", kindOf(a.Credential))
			if err != nil {
				got = "!" + err.Error()
			}
			if says, isError := strings.CutPrefix(c.want, "!"); isError != (err != nil) || isError && !strings.Contains(got, says) || !isError && got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

func TestEveryKindOfEntraCredentialIsMade(t *testing.T) {
	dir := t.TempDir()
	certificate := filepath.Join(dir, "client.pem")
	if err := os.WriteFile(certificate, selfSigned(t), 0o600); err != nil {
		t.Fatal(err)
	}
	token := filepath.Join(dir, "token")
	if err := os.WriteFile(token, []byte("jwt"), 0o600); err != nil {
		t.Fatal(err)
	}
	app := EntraConfig{TenantID: "11111111-1111-1111-1111-111111111111", ClientID: "22222222-2222-2222-2222-222222222222"}
	with := func(change func(*EntraConfig)) EntraConfig {
		e := app
		change(&e)
		return e
	}
	for want, e := range map[string]EntraConfig{
		"*azidentity.ClientSecretCredential":      with(func(e *EntraConfig) { e.ClientSecret = "s" }),
		"*azidentity.ClientCertificateCredential": with(func(e *EntraConfig) { e.ClientCertificatePath = certificate }),
		"*azidentity.ClientAssertionCredential":   with(func(e *EntraConfig) { e.OIDCToken = "jwt" }),
		"*azidentity.WorkloadIdentityCredential":  with(func(e *EntraConfig) { e.OIDCTokenFile = token }),
		"*azidentity.ManagedIdentityCredential":   with(func(e *EntraConfig) { e.UseManagedIdentity = true }),
		"*azidentity.AzureCLICredential":          with(func(e *EntraConfig) { e.UseCLI = true }),
		"*azidentity.DefaultAzureCredential":      {Authority: "https://login.microsoftonline.us/"},
	} {
		c, err := e.tokenCredential()
		if got := fmt.Sprintf("%T", c); got != want || err != nil {
			t.Errorf("got %s (%v), want %s", got, err, want)
		}
	}
	for _, e := range []EntraConfig{{ClientCertificatePath: certificate}, {OIDCToken: "jwt"}, {OIDCTokenFile: token},
		with(func(e *EntraConfig) { e.ClientCertificatePath = token }), with(func(e *EntraConfig) { e.ClientCertificatePath = "absent" })} {
		if _, err := e.tokenCredential(); err == nil {
			t.Errorf("made a credential of %+v", e)
		}
	}
}

// selfSigned returns a certificate with its key, PEM.
func selfSigned(t *testing.T) []byte {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048) // azidentity takes no other kind
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test"}, NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	out := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	return append(out, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private})...)
}

func TestEnvironmentFillsOnlyAnEmptyConfiguration(t *testing.T) {
	all := map[string]string{"AZTENANCY_CONNECTION_STRING": "ours", "AZURE_STORAGE_CONNECTION_STRING": "azure",
		"AZURE_STORAGE_ACCOUNT": "acct", "AZURE_STORAGE_KEY": "key", "AZURE_STORAGE_SAS_TOKEN": "sas",
		"AZURE_STORAGE_AUTH_MODE": "login", "ARM_TENANT_ID": "t", "ARM_CLIENT_ID": "c", "ARM_CLIENT_SECRET": "s"}
	armed := &EntraConfig{TenantID: "t", ClientID: "c", ClientSecret: "s"}
	without := func(names ...string) map[string]string {
		env := map[string]string{}
		for name, value := range all {
			env[name] = value
		}
		for _, name := range names {
			delete(env, name)
		}
		return env
	}
	strings := []string{"AZTENANCY_CONNECTION_STRING", "AZURE_STORAGE_CONNECTION_STRING"}
	for name, c := range map[string]struct {
		given AccountConfig
		env   map[string]string
		want  AccountConfig
	}{
		"ours first":     {AccountConfig{}, all, AccountConfig{ConnectionString: "ours"}},
		"then Azure's":   {AccountConfig{}, without(strings[0]), AccountConfig{ConnectionString: "azure"}},
		"then the key":   {AccountConfig{AllowHTTP: true}, without(strings...), AccountConfig{AllowHTTP: true, Name: "acct", Key: "key"}},
		"then the SAS":   {AccountConfig{}, without(append(strings, "AZURE_STORAGE_KEY")...), AccountConfig{Name: "acct", SAS: "sas"}},
		"then Entra":     {AccountConfig{}, without(append(strings, "AZURE_STORAGE_KEY", "AZURE_STORAGE_SAS_TOKEN")...), AccountConfig{Name: "acct", Entra: armed}},
		"nothing":        {AccountConfig{}, nil, AccountConfig{}},
		"name given":     {AccountConfig{Name: "other"}, all, AccountConfig{Name: "other"}},
		"key given":      {AccountConfig{Name: "other", Key: "k"}, all, AccountConfig{Name: "other", Key: "k"}},
		"Entra given":    {AccountConfig{Name: "other", Entra: &EntraConfig{}}, all, AccountConfig{Name: "other", Entra: armed}},
		"Entra complete": {AccountConfig{Name: "other", Entra: &EntraConfig{UseCLI: true}}, all, AccountConfig{Name: "other", Entra: &EntraConfig{UseCLI: true}}},
	} {
		t.Run(name, func(t *testing.T) {
			got := c.given.WithEnvironment(func(name string) string { return c.env[name] })
			if d := cmp.Diff(c.want, got); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestAccountsAreFoundByTheirNames(t *testing.T) {
	cfg := Config{Home: AccountConfig{Name: "homeacct", Key: testKey}, Accounts: map[string]AccountConfig{
		"premium": {Name: "premacct", Key: testKey}, "archive": {Name: "archacct", SAS: testSAS}}}
	a, err := NewAccounts(cfg, nil)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]string{"home", "archive", "premium"}, a.Names()); d != "" {
		t.Error(d)
	}
	for name, want := range map[string]string{"": "homeacct", "home": "homeacct", "premium": "premacct", "archive": "archacct"} {
		storage, url, err := a.Locate(name, "Orders")
		if err != nil || storage != want || url != "https://"+want+".table.core.windows.net/Orders" {
			t.Errorf("%q is %s at %s (%v)", name, storage, url, err)
		}
	}
	if _, err := a.Client("gold"); err == nil || !strings.Contains(err.Error(), `"home", "archive", "premium"`) {
		t.Errorf("unknown account: %v", err)
	}
	if a.CatalogTable() != "TenantCatalog" {
		t.Errorf("catalog in %s", a.CatalogTable())
	}
	cfg.Accounts["home"] = cfg.Home
	if _, err := NewAccounts(cfg, nil); err == nil {
		t.Error("a further account named home was taken")
	}
	delete(cfg.Accounts, "home")
	cfg.Accounts["broken"] = AccountConfig{Name: "acct"}
	if _, err := NewAccounts(cfg, nil); err == nil || !strings.Contains(err.Error(), `"broken"`) {
		t.Errorf("broken account: %v", err)
	}
}
