package provider

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/datasource"
	"github.com/hashicorp/terraform-plugin-framework/datasource/schema"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/types"
)

var _ datasource.DataSourceWithConfigure = (*capabilitiesDataSource)(nil)

func newCapabilitiesDataSource() datasource.DataSource { return &capabilitiesDataSource{} }

// capabilitiesDataSource says what an account and its credential can do.
type capabilitiesDataSource struct{ dataSourceClient }

type capabilitiesModel struct {
	Account         types.String `tfsdk:"account"`
	StorageAccount  types.String `tfsdk:"storage_account"`
	Endpoint        types.String `tfsdk:"endpoint"`
	Credential      types.String `tfsdk:"credential"`
	Server          types.String `tfsdk:"server"`
	ListsTables     types.Bool   `tfsdk:"lists_tables"`
	ManagesPolicies types.Bool   `tfsdk:"manages_policies"`
	SignsSAS        types.Bool   `tfsdk:"signs_sas"`
	EnforcesRanges  types.Bool   `tfsdk:"enforces_sas_ranges"`
}

// Metadata names the data source.
func (d *capabilitiesDataSource) Metadata(_ context.Context, req datasource.MetadataRequest, resp *datasource.MetadataResponse) {
	resp.TypeName = req.ProviderTypeName + "_capabilities"
}

// Schema describes the data source.
func (d *capabilitiesDataSource) Schema(_ context.Context, _ datasource.SchemaRequest, resp *datasource.SchemaResponse) {
	resp.Schema = schema.Schema{
		MarkdownDescription: "What an account can do with the credential that is configured for it. One request is sent to find out.",
		Attributes: map[string]schema.Attribute{
			"account":             accountToRead(),
			"storage_account":     computedText("The storage account's own name."),
			"endpoint":            computedText("The table endpoint."),
			"credential":          computedText("How the account is signed in to: `account_key`, `sas_token` or `entra`."),
			"server":              computedText("What the server calls itself: `Azurite-Table/…`, or `Windows-Azure-Table/…` for Azure and `tableserver`. Null where the credential may not list tables."),
			"lists_tables":        computedFlag("Whether the credential may list tables. The refresh of `aztenancy_table` needs that."),
			"manages_policies":    computedFlag("Whether stored access policies can be read and written. Only the account key can."),
			"signs_sas":           computedFlag("Whether tokens can be signed. Only the account key can."),
			"enforces_sas_ranges": computedFlag("Whether the server holds a SAS to its key range. Azurite does not: there, a tenant's token reaches every tenant of the table. False also where the server is not known."),
		},
	}
}

// Read asks the account.
func (d *capabilitiesDataSource) Read(ctx context.Context, req datasource.ReadRequest, resp *datasource.ReadResponse) {
	var m capabilitiesModel
	resp.Diagnostics.Append(req.Config.Get(ctx, &m)...)
	s := d.ready(&resp.Diagnostics)
	if resp.Diagnostics.HasError() {
		return
	}
	account := orHome(m.Account)
	client, err := s.accounts.Client(account)
	if err != nil {
		resp.Diagnostics.AddAttributeError(path.Root("account"), "Account "+quote(account)+" is not configured", sentence(err))
		return
	}
	found, err := client.Probe(ctx)
	if err != nil {
		addServiceError(&resp.Diagnostics, "Account "+accountText(s, account)+" could not be asked what it can do", err)
		return
	}
	m.StorageAccount = types.StringValue(client.AccountName())
	m.Endpoint = types.StringValue(client.Endpoint())
	m.Credential = types.StringValue(client.CredentialKind())
	m.Server = optional(found.Server)
	m.ListsTables = types.BoolValue(found.ListsTables)
	m.ManagesPolicies = types.BoolValue(found.ManagesPolicies)
	m.SignsSAS = types.BoolValue(client.CanSignSAS())
	m.EnforcesRanges = types.BoolValue(found.EnforcesRanges)
	resp.Diagnostics.Append(resp.State.Set(ctx, &m)...)
}
