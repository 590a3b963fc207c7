package tablestorage

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/cloud"
	"github.com/Azure/azure-sdk-for-go/sdk/azidentity"
)

// EntraConfig is how to get tokens of Microsoft Entra. The zero value is the default chain: environment, workload
// identity, managed identity, Azure CLI. The first that is set decides: ClientSecret, ClientCertificatePath,
// OIDCToken, OIDCTokenFile, UseManagedIdentity, UseCLI. Printing it in any way hides its secrets.
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
	Authority                 string // login host of a sovereign cloud; "" is https://login.microsoftonline.com/
}

// tokenScope is the audience of Storage in every cloud.
const tokenScope = "https://storage.azure.com/.default"

// tokenCredential makes the credential that the configuration describes. It sends nothing.
func (e EntraConfig) tokenCredential() (azcore.TokenCredential, error) {
	var o azcore.ClientOptions
	if e.Authority != "" {
		o.Cloud = cloud.Configuration{ActiveDirectoryAuthorityHost: e.Authority}
	}
	c, err := e.choose(o)
	if err != nil {
		return nil, fmt.Errorf("entra: %w", err)
	}
	return c, nil
}

func (e EntraConfig) choose(o azcore.ClientOptions) (azcore.TokenCredential, error) {
	switch {
	case e.ClientSecret != "":
		if err := e.needsApplication("a client secret"); err != nil {
			return nil, err
		}
		return azidentity.NewClientSecretCredential(e.TenantID, e.ClientID, e.ClientSecret,
			&azidentity.ClientSecretCredentialOptions{ClientOptions: o})
	case e.ClientCertificatePath != "":
		return e.certificateCredential(o)
	case e.OIDCToken != "":
		if err := e.needsApplication("an OIDC token"); err != nil {
			return nil, err
		}
		assertion := func(context.Context) (string, error) { return e.OIDCToken, nil }
		return azidentity.NewClientAssertionCredential(e.TenantID, e.ClientID, assertion,
			&azidentity.ClientAssertionCredentialOptions{ClientOptions: o})
	case e.OIDCTokenFile != "":
		if err := e.needsApplication("an OIDC token file"); err != nil {
			return nil, err
		}
		return azidentity.NewWorkloadIdentityCredential(&azidentity.WorkloadIdentityCredentialOptions{
			ClientOptions: o, TenantID: e.TenantID, ClientID: e.ClientID, TokenFilePath: e.OIDCTokenFile})
	case e.UseManagedIdentity:
		mi := &azidentity.ManagedIdentityCredentialOptions{ClientOptions: o}
		if e.ClientID != "" {
			mi.ID = azidentity.ClientID(e.ClientID)
		}
		return azidentity.NewManagedIdentityCredential(mi)
	case e.UseCLI:
		return azidentity.NewAzureCLICredential(&azidentity.AzureCLICredentialOptions{TenantID: e.TenantID})
	}
	return azidentity.NewDefaultAzureCredential(&azidentity.DefaultAzureCredentialOptions{ClientOptions: o, TenantID: e.TenantID})
}

func (e EntraConfig) needsApplication(what string) error {
	if e.TenantID == "" || e.ClientID == "" {
		return errors.New(what + " needs the directory's tenant id and the application's client id")
	}
	return nil
}

func (e EntraConfig) certificateCredential(o azcore.ClientOptions) (azcore.TokenCredential, error) {
	if err := e.needsApplication("a client certificate"); err != nil {
		return nil, err
	}
	data, err := os.ReadFile(e.ClientCertificatePath)
	if err != nil {
		return nil, fmt.Errorf("read the client certificate: %w", err)
	}
	certs, key, err := azidentity.ParseCertificates(data, []byte(e.ClientCertificatePassword))
	if err != nil {
		return nil, fmt.Errorf("client certificate %s: %w", e.ClientCertificatePath, err)
	}
	return azidentity.NewClientCertificateCredential(e.TenantID, e.ClientID, certs, key,
		&azidentity.ClientCertificateCredentialOptions{ClientOptions: o})
}

// redactedEntra has the fields of EntraConfig and none of its methods.
type redactedEntra EntraConfig

func (e EntraConfig) redact() redactedEntra {
	r := redactedEntra(e)
	for _, s := range []*string{&r.ClientSecret, &r.ClientCertificatePassword, &r.OIDCToken} {
		if *s != "" {
			*s = redacted
		}
	}
	return r
}

// Format prints the configuration without its secrets, whatever the verb.
func (e EntraConfig) Format(f fmt.State, verb rune) {
	_, _ = fmt.Fprintf(f, fmt.FormatString(f, verb), e.redact())
}

// MarshalJSON writes the configuration without its secrets.
func (e EntraConfig) MarshalJSON() ([]byte, error) { return json.Marshal(e.redact()) }
