package tablestorage

import "strings"

// WithEnvironment returns the configuration, filled from the environment if it names no account and no credential.
// The first of these that is set decides: AZTENANCY_CONNECTION_STRING, AZURE_STORAGE_CONNECTION_STRING,
// AZURE_STORAGE_ACCOUNT with AZURE_STORAGE_KEY, AZURE_STORAGE_SAS_TOKEN or AZURE_STORAGE_AUTH_MODE=login, in this
// order, as the Azure CLI reads them. An Entra configuration without any field takes the ARM_* variables.
func (c AccountConfig) WithEnvironment(getenv func(string) string) AccountConfig {
	if c.Entra != nil && *c.Entra == (EntraConfig{}) {
		entra := entraFromEnvironment(getenv)
		c.Entra = &entra
		return c
	}
	if !c.isEmpty() {
		return c
	}
	for _, name := range []string{"AZTENANCY_CONNECTION_STRING", "AZURE_STORAGE_CONNECTION_STRING"} {
		if c.ConnectionString = getenv(name); c.ConnectionString != "" {
			return c
		}
	}
	if c.Name = getenv("AZURE_STORAGE_ACCOUNT"); c.Name == "" {
		return c
	}
	if c.Key = getenv("AZURE_STORAGE_KEY"); c.Key != "" {
		return c
	}
	if c.SAS = getenv("AZURE_STORAGE_SAS_TOKEN"); c.SAS != "" {
		return c
	}
	if strings.EqualFold(getenv("AZURE_STORAGE_AUTH_MODE"), "login") {
		entra := entraFromEnvironment(getenv)
		c.Entra = &entra
	}
	return c
}

// entraFromEnvironment reads the variables of Terraform's Azure providers. The AZURE_* ones are left to the default
// chain, which reads them itself.
func entraFromEnvironment(getenv func(string) string) EntraConfig {
	is := func(name string) bool { return strings.EqualFold(getenv(name), "true") || getenv(name) == "1" }
	e := EntraConfig{
		TenantID:                  getenv("ARM_TENANT_ID"),
		ClientID:                  getenv("ARM_CLIENT_ID"),
		ClientSecret:              getenv("ARM_CLIENT_SECRET"),
		ClientCertificatePath:     getenv("ARM_CLIENT_CERTIFICATE_PATH"),
		ClientCertificatePassword: getenv("ARM_CLIENT_CERTIFICATE_PASSWORD"),
		UseManagedIdentity:        is("ARM_USE_MSI"),
		UseCLI:                    is("ARM_USE_CLI"),
	}
	if is("ARM_USE_OIDC") {
		e.OIDCToken, e.OIDCTokenFile = getenv("ARM_OIDC_TOKEN"), getenv("ARM_OIDC_TOKEN_FILE_PATH")
	}
	return e
}
