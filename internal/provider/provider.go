package provider

import (
	"context"
	"maps"
	"os"

	"github.com/hashicorp/terraform-plugin-framework-validators/int64validator"
	"github.com/hashicorp/terraform-plugin-framework/action"
	"github.com/hashicorp/terraform-plugin-framework/datasource"
	"github.com/hashicorp/terraform-plugin-framework/ephemeral"
	"github.com/hashicorp/terraform-plugin-framework/function"
	"github.com/hashicorp/terraform-plugin-framework/list"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/provider"
	"github.com/hashicorp/terraform-plugin-framework/provider/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"

	"github.com/aztenancy/terraform-provider-aztenancy/internal/tablestorage"
)

// Address is the provider's address in the registry.
const Address = "registry.terraform.io/aztenancy/aztenancy"

var (
	_ provider.Provider                   = (*aztenancyProvider)(nil)
	_ provider.ProviderWithValidateConfig = (*aztenancyProvider)(nil)
	_ provider.ProviderWithActions        = (*aztenancyProvider)(nil)

	_ provider.ProviderWithEphemeralResources = (*aztenancyProvider)(nil)
	_ provider.ProviderWithFunctions          = (*aztenancyProvider)(nil)
	_ provider.ProviderWithListResources      = (*aztenancyProvider)(nil)
)

// New returns the constructor of the provider; version stands in the user agent of its requests.
func New(version string) func() provider.Provider {
	return func() provider.Provider {
		return &aztenancyProvider{version: version, getenv: os.Getenv}
	}
}

type aztenancyProvider struct {
	version string
	getenv  func(string) string
}

// Metadata names the provider.
func (p *aztenancyProvider) Metadata(_ context.Context, _ provider.MetadataRequest, resp *provider.MetadataResponse) {
	resp.TypeName = "aztenancy"
	resp.Version = p.version
}

// Schema describes the provider block.
func (p *aztenancyProvider) Schema(_ context.Context, _ provider.SchemaRequest, resp *provider.SchemaResponse) {
	attributes := accountAttributes()
	attributes["accounts"] = schema.MapNestedAttribute{
		MarkdownDescription: "Further storage accounts, by the names that tables, isolation models and tenants use in their " +
			"`account`. Each takes the same attributes as the provider block itself. The name `home` is taken: it is " +
			"the account of the provider block.",
		Optional: true,
		NestedObject: schema.NestedAttributeObject{
			Attributes: accountAttributes(),
		},
		Validators: []validator.Map{accountNames{}},
	}
	attributes["catalog_table"] = schema.StringAttribute{
		MarkdownDescription: "The table of the home account that records isolation models, tenants and their claims. " +
			"It is created when it is first needed. Defaults to `" + tablestorage.DefaultCatalogTable + "`.",
		Optional:   true,
		Validators: []validator.String{tableName{}},
	}
	attributes["read_only"] = schema.BoolAttribute{
		MarkdownDescription: "Refuse every write, in all accounts: for jobs that look for drift, and for reading with credentials that could do more. Defaults to `false`.",
		Optional:            true,
	}
	resp.Schema = schema.Schema{
		MarkdownDescription: "Declares multitenancy on Azure Table Storage: tables, stored access policies, isolation models and " +
			"tenants. It talks to the table endpoint alone, with a connection string, an account key, a SAS or Microsoft " +
			"Entra, so it works alike against Azure, Azurite and `tableserver`.\n\n" +
			"The block describes the *home account*, which holds the catalog of tenants. Exactly one credential is given: " +
			"`connection_string`, `account_key`, `sas_token` or `entra`. Only where the block says nothing about the home " +
			"account are the environment variables read, in this order: `AZTENANCY_CONNECTION_STRING`, " +
			"`AZURE_STORAGE_CONNECTION_STRING`, then `AZURE_STORAGE_ACCOUNT` with `AZURE_STORAGE_KEY` or " +
			"`AZURE_STORAGE_SAS_TOKEN`.\n\n" +
			"While a value of the block is not known yet, because it comes from a resource that does not exist, plans go on " +
			"without looking at the accounts, and data sources report the value that is missing.",
		Attributes: attributes,
	}
}

// accountAttributes describes one storage account. The account keys, tokens and strings that hold them are sensitive;
// the names in the map of accounts are not, so that plans can show them.
func accountAttributes() map[string]schema.Attribute {
	return map[string]schema.Attribute{
		"connection_string": schema.StringAttribute{
			MarkdownDescription: "A storage connection string, with an account key or a SAS. `UseDevelopmentStorage=true` is the " +
				"well-known account of Azurite on port 10002 of this machine. No other credential, name or endpoint may be given beside it.",
			Optional:  true,
			Sensitive: true,
		},
		"account_name": schema.StringAttribute{
			MarkdownDescription: "The storage account's name. Needs one of `account_key`, `sas_token` and `entra`.",
			Optional:            true,
		},
		"account_key": schema.StringAttribute{
			MarkdownDescription: "The account key, base64. Stored access policies and tokens for tenants need it.",
			Optional:            true,
			Sensitive:           true,
		},
		"sas_token": schema.StringAttribute{
			MarkdownDescription: "A shared access signature, with or without the leading `?`. It cannot read or write stored access policies.",
			Optional:            true,
			Sensitive:           true,
		},
		"entra": schema.SingleNestedAttribute{
			MarkdownDescription: "Sign in through Microsoft Entra. The role *Storage Table Data Contributor* is needed; being an owner of " +
				"the account is not enough. An empty object, `{}`, tries environment, workload identity, managed identity and " +
				"Azure CLI in this order. The service does not let Entra tokens read or write stored access policies.",
			Optional:   true,
			Attributes: entraAttributes(),
		},
		"endpoint": schema.StringAttribute{
			MarkdownDescription: "The table endpoint, for emulators, private endpoints and sovereign clouds. " +
				"Defaults to `https://ACCOUNT_NAME.table.core.windows.net`.",
			Optional: true,
		},
		"allow_http": schema.BoolAttribute{
			MarkdownDescription: "Permit plain `http` to other machines than this one. Keys and data then travel unprotected. Defaults to `false`.",
			Optional:            true,
		},
		"max_concurrency": schema.Int64Attribute{
			MarkdownDescription: "How many requests to the account may be under way at the same time, 1 to 1024. Defaults to as many as are asked for.",
			Optional:            true,
			Validators:          []validator.Int64{int64validator.Between(1, 1024)},
		},
		"request_timeout": schema.StringAttribute{
			MarkdownDescription: "How long one try of a request may take. Defaults to `60s`; the service itself gives up after 30 seconds.",
			Optional:            true,
			Validators:          []validator.String{positiveDurationValidator()},
		},
		"retry": schema.SingleNestedAttribute{
			MarkdownDescription: "How requests are tried again that the service throttled, or did not answer.",
			Optional:            true,
			Attributes: map[string]schema.Attribute{
				"max_attempts": schema.Int64Attribute{
					MarkdownDescription: "How often a request is tried in all, 1 to 20. Defaults to `6`.",
					Optional:            true,
					Validators:          []validator.Int64{int64validator.Between(1, 20)},
				},
				"min_delay": schema.StringAttribute{
					MarkdownDescription: "The pause before the second try; it doubles with each try. Defaults to `500ms`.",
					Optional:            true,
					Validators:          []validator.String{positiveDurationValidator()},
				},
				"max_delay": schema.StringAttribute{
					MarkdownDescription: "The longest pause between two tries. Defaults to `20s`.",
					Optional:            true,
					Validators:          []validator.String{positiveDurationValidator()},
				},
			},
		},
	}
}

func entraAttributes() map[string]schema.Attribute {
	text := func(description string) schema.StringAttribute {
		return schema.StringAttribute{MarkdownDescription: description, Optional: true}
	}
	secret := func(description string) schema.StringAttribute {
		return schema.StringAttribute{MarkdownDescription: description, Optional: true, Sensitive: true}
	}
	flag := func(description string) schema.BoolAttribute {
		return schema.BoolAttribute{MarkdownDescription: description, Optional: true}
	}
	return map[string]schema.Attribute{
		"tenant_id":                   text("The Entra directory (not a tenant of this provider)."),
		"client_id":                   text("The application, or the user-assigned managed identity."),
		"client_secret":               secret("A secret of the application."),
		"client_certificate_path":     text("A PEM or PKCS#12 file with the application's certificate and private key."),
		"client_certificate_password": secret("The password of that file."),
		"oidc_token":                  secret("A federated token of the application."),
		"oidc_token_file_path":        text("A file that holds a federated token. It is read again for each sign-in."),
		"use_msi":                     flag("Use the managed identity of this machine. Defaults to `false`."),
		"use_cli":                     flag("Use the account that is signed in to Azure CLI. Defaults to `false`."),
		"authority":                   text("The login host of a sovereign cloud. Defaults to `https://login.microsoftonline.com/`."),
	}
}

// credentialForms are the right ways to describe an account, in the block's own words.
const credentialForms = "\n\nAn account is described by `connection_string` alone, or by `account_name` with exactly one of `account_key`, `sas_token` and `entra`, " +
	"and `endpoint` where it is not Azure's public one."

// ValidateConfig checks what the block says, before anything is asked of the accounts.
func (p *aztenancyProvider) ValidateConfig(ctx context.Context, req provider.ValidateConfigRequest, resp *provider.ValidateConfigResponse) {
	if len(unknownAttributes(req.Config.Raw)) > 0 {
		return
	}
	var m providerModel
	resp.Diagnostics.Append(req.Config.Get(ctx, &m)...)
	if resp.Diagnostics.HasError() {
		return
	}
	if !m.isEmpty() {
		if _, err := m.accountModel.config().Account(); err != nil {
			resp.Diagnostics.AddError("The home account is not usable as it is configured", sentence(err)+credentialForms)
		}
	}
	for name, a := range m.Accounts {
		if _, err := a.config().Account(); err != nil {
			resp.Diagnostics.AddAttributeError(path.Root("accounts").AtMapKey(name),
				"Account "+quote(name)+" is not usable as it is configured", sentence(err)+credentialForms)
		}
	}
}

// Configure makes what all resources share. Where a value is unknown it falls back to nothing: a plan against the
// emulator, or against whatever the environment names, would be a plan for another account.
func (p *aztenancyProvider) Configure(ctx context.Context, req provider.ConfigureRequest, resp *provider.ConfigureResponse) {
	if unknown := unknownAttributes(req.Config.Raw); len(unknown) > 0 {
		s := &session{unknown: unknown}
		resp.ResourceData, resp.DataSourceData, resp.ListResourceData, resp.ActionData, resp.EphemeralResourceData = s, s, s, s, s
		return
	}
	var m providerModel
	resp.Diagnostics.Append(req.Config.Get(ctx, &m)...)
	if resp.Diagnostics.HasError() {
		return
	}
	accounts, err := tablestorage.NewAccounts(m.config(p.getenv), &tablestorage.ClientOptions{
		UserAgent: "terraform-provider-aztenancy/" + p.version,
	})
	if err != nil {
		resp.Diagnostics.AddError("The provider's accounts are not usable as they are configured", sentence(err)+credentialForms)
		return
	}
	s := newSession(accounts)
	resp.ResourceData, resp.DataSourceData, resp.ListResourceData, resp.ActionData, resp.EphemeralResourceData = s, s, s, s, s
}

// Resources lists the resources.
func (p *aztenancyProvider) Resources(context.Context) []func() resource.Resource {
	return []func() resource.Resource{
		newTableResource,
		newStoredAccessPolicyResource,
		newIsolationModelResource,
		newTenantResource,
		newEntityResource,
	}
}

// DataSources lists the data sources.
func (p *aztenancyProvider) DataSources(context.Context) []func() datasource.DataSource {
	return []func() datasource.DataSource{
		newCapabilitiesDataSource,
		newEntitiesDataSource,
		newIsolationModelDataSource,
		newTableDataSource,
		newTablesDataSource,
		newTenantDataSource,
		newTenantUsageDataSource,
		newTenantsDataSource,
	}
}

// ListResources lists the list resources, for `terraform query`.
func (p *aztenancyProvider) ListResources(context.Context) []func() list.ListResource {
	return []func() list.ListResource{newTableList, newTenantList}
}

// EphemeralResources lists the ephemeral resources.
func (p *aztenancyProvider) EphemeralResources(context.Context) []func() ephemeral.EphemeralResource {
	return []func() ephemeral.EphemeralResource{newTenantSASEphemeral}
}

// Actions lists the actions.
func (p *aztenancyProvider) Actions(context.Context) []func() action.Action {
	return []func() action.Action{newPurgeSourceAction, newResumeMigrationAction, newVerifyTenantAction}
}

// Functions lists the functions.
func (p *aztenancyProvider) Functions(context.Context) []func() function.Function {
	return []func() function.Function{
		newBucketFunction,
		newDecodeKeyFunction,
		newEncodeKeyFunction,
		newKeyRangeFunction,
		newODataQuoteFunction,
		newParseConnectionStringFunction,
		newParseTableIDFunction,
		newPartitionKeyFunction,
		newTableNameFunction,
	}
}

// config is what the block says, filled up from the environment where it says nothing about the home account.
func (m providerModel) config(getenv func(string) string) tablestorage.Config {
	c := tablestorage.Config{
		Home:         m.accountModel.config().WithEnvironment(getenv),
		Accounts:     make(map[string]tablestorage.AccountConfig, len(m.Accounts)),
		CatalogTable: m.CatalogTable.ValueString(),
		ReadOnly:     m.ReadOnly.ValueBool(),
	}
	for name, a := range maps.All(m.Accounts) {
		c.Accounts[name] = a.config()
	}
	return c
}
