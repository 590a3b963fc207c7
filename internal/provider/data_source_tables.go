package provider

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/datasource"
	"github.com/hashicorp/terraform-plugin-framework/datasource/schema"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/types"
)

var _ datasource.DataSourceWithConfigure = (*tablesDataSource)(nil)

func newTablesDataSource() datasource.DataSource { return &tablesDataSource{} }

// tablesDataSource is the list of an account's tables.
type tablesDataSource struct{ dataSourceClient }

type tablesDataModel struct {
	Account types.String `tfsdk:"account"`
	Prefix  types.String `tfsdk:"prefix"`
	Names   types.List   `tfsdk:"names"`
}

// Metadata names the data source.
func (d *tablesDataSource) Metadata(_ context.Context, req datasource.MetadataRequest, resp *datasource.MetadataResponse) {
	resp.TypeName = req.ProviderTypeName + "_tables"
}

// Schema describes the data source.
func (d *tablesDataSource) Schema(_ context.Context, _ datasource.SchemaRequest, resp *datasource.SchemaResponse) {
	resp.Schema = schema.Schema{
		MarkdownDescription: "The tables of an account, whoever made them. The catalog's own table is among them.",
		Attributes: map[string]schema.Attribute{
			"account": accountToRead(),
			"prefix": schema.StringAttribute{
				MarkdownDescription: "Only tables whose names begin with this text, in any letter case. Defaults to all.",
				Optional:            true,
			},
			"names": computedTexts("The tables' names as they are stored, in order without regard to letter case."),
		},
	}
}

// Read takes the account's list, which all share.
func (d *tablesDataSource) Read(ctx context.Context, req datasource.ReadRequest, resp *datasource.ReadResponse) {
	var m tablesDataModel
	resp.Diagnostics.Append(req.Config.Get(ctx, &m)...)
	s := d.ready(&resp.Diagnostics)
	if resp.Diagnostics.HasError() {
		return
	}
	account := orHome(m.Account)
	if _, err := s.accounts.Client(account); err != nil {
		resp.Diagnostics.AddAttributeError(path.Root("account"), "Account "+quote(account)+" is not configured", sentence(err))
		return
	}
	all, err := s.allTables(ctx, account)
	if err != nil {
		addServiceError(&resp.Diagnostics, "The tables of account "+accountText(s, account)+" could not be listed", err)
		return
	}
	names := []string{}
	for _, lower := range slices.Sorted(maps.Keys(all)) {
		if strings.HasPrefix(lower, strings.ToLower(m.Prefix.ValueString())) {
			names = append(names, all[lower])
		}
	}
	list, ds := types.ListValueFrom(ctx, types.StringType, names)
	resp.Diagnostics.Append(ds...)
	m.Names = list
	resp.Diagnostics.Append(resp.State.Set(ctx, &m)...)
}
