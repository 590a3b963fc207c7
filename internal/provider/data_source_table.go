package provider

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/datasource"
	"github.com/hashicorp/terraform-plugin-framework/datasource/schema"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"
)

var _ datasource.DataSourceWithConfigure = (*tableDataSource)(nil)

func newTableDataSource() datasource.DataSource { return &tableDataSource{} }

// tableDataSource is a physical table that exists, whoever made it.
type tableDataSource struct{ dataSourceClient }

type tableDataModel struct {
	ID      types.String `tfsdk:"id"`
	Name    types.String `tfsdk:"name"`
	Account types.String `tfsdk:"account"`
	URL     types.String `tfsdk:"url"`
}

// Metadata names the data source.
func (d *tableDataSource) Metadata(_ context.Context, req datasource.MetadataRequest, resp *datasource.MetadataResponse) {
	resp.TypeName = req.ProviderTypeName + "_table"
}

// Schema describes the data source.
func (d *tableDataSource) Schema(_ context.Context, _ datasource.SchemaRequest, resp *datasource.SchemaResponse) {
	resp.Schema = schema.Schema{
		MarkdownDescription: "A physical table that exists, whoever made it. A table that does not exist is an error.",
		Attributes: map[string]schema.Attribute{
			"name": schema.StringAttribute{
				MarkdownDescription: "The table's name. The service does not tell upper from lower case in it.",
				Required:            true,
				Validators:          []validator.String{tableName{}},
			},
			"account": accountToRead(),
			"id":      computedText("`NAME`, or `ACCOUNT/NAME` for another account than `home`, with the name as it is stored."),
			"url":     computedText("The table's address."),
		},
	}
}

// Read finds the table in the account's list, which all share.
func (d *tableDataSource) Read(ctx context.Context, req datasource.ReadRequest, resp *datasource.ReadResponse) {
	var m tableDataModel
	resp.Diagnostics.Append(req.Config.Get(ctx, &m)...)
	s := d.ready(&resp.Diagnostics)
	if resp.Diagnostics.HasError() {
		return
	}
	account, name := orHome(m.Account), m.Name.ValueString()
	client, err := s.accounts.Client(account)
	if err != nil {
		resp.Diagnostics.AddAttributeError(path.Root("account"), "Account "+quote(account)+" is not configured", sentence(err))
		return
	}
	stored, ok, err := s.table(ctx, account, name)
	if err != nil {
		addServiceError(&resp.Diagnostics, "Table "+quote(tableID(account, name))+" could not be read", err)
		return
	}
	if !ok {
		resp.Diagnostics.AddAttributeError(path.Root("name"), "Table "+quote(tableID(account, name))+" does not exist",
			"Account "+accountText(s, account)+" has no table of this name. Declare it as an `aztenancy_table`, or look at the data source `aztenancy_tables`.")
		return
	}
	m.ID, m.URL = types.StringValue(tableID(account, stored)), types.StringValue(client.TableURL(stored))
	resp.Diagnostics.Append(resp.State.Set(ctx, &m)...)
}

// accountText names an account in messages: as it is configured, then the storage account's own name where it is another.
func accountText(s *session, account string) string {
	client, err := s.accounts.Client(account)
	if err != nil || client.AccountName() == account {
		return quote(account)
	}
	return quote(account) + " (" + client.AccountName() + ")"
}
