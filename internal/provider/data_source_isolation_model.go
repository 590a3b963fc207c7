package provider

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/hashicorp/terraform-plugin-framework/datasource"
	"github.com/hashicorp/terraform-plugin-framework/datasource/schema"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/aztenancy/terraform-provider-aztenancy/internal/tenancy"
)

var _ datasource.DataSourceWithConfigure = (*isolationModelDataSource)(nil)

func newIsolationModelDataSource() datasource.DataSource { return &isolationModelDataSource{} }

// isolationModelDataSource is an isolation model as the catalog has it, with its tenants.
type isolationModelDataSource struct{ dataSourceClient }

type isolationModelDataModel struct {
	ID        types.String `tfsdk:"id"`
	Name      types.String `tfsdk:"name"`
	Kind      types.String `tfsdk:"kind"`
	Account   types.String `tfsdk:"account"`
	Tables    types.Map    `tfsdk:"tables"`
	KeyScheme types.Object `tfsdk:"key_scheme"`
	TenantIDs types.List   `tfsdk:"tenant_ids"`
}

// Metadata names the data source.
func (d *isolationModelDataSource) Metadata(_ context.Context, req datasource.MetadataRequest, resp *datasource.MetadataResponse) {
	resp.TypeName = req.ProviderTypeName + "_isolation_model"
}

// Schema describes the data source.
func (d *isolationModelDataSource) Schema(_ context.Context, _ datasource.SchemaRequest, resp *datasource.SchemaResponse) {
	resp.Schema = schema.Schema{
		MarkdownDescription: "An isolation model as the catalog has it, with the tenants that it places. A model that does not exist is an error.",
		Attributes: map[string]schema.Attribute{
			"name": schema.StringAttribute{
				MarkdownDescription: "The model's name.",
				Required:            true,
				Validators:          []validator.String{text{"Model name", tenancy.ValidateModelName}},
			},
			"id":      computedText("The model's name."),
			"kind":    computedText("How tenants are kept apart: `shared_table`, `dedicated_table` or `dedicated_account`."),
			"account": computedText("The account that holds the tables. Null where each tenant names its own."),
			"tables": schema.MapAttribute{
				MarkdownDescription: "The physical table of each logical table; of dedicated kinds with the placeholder `{tenant}`.",
				Computed:            true,
				ElementType:         types.StringType,
			},
			"key_scheme": schema.SingleNestedAttribute{
				MarkdownDescription: "How the PartitionKey of a tenant's entities is made. The functions `partition_key` and `key_range` take it.",
				Computed:            true,
				Attributes: map[string]schema.Attribute{
					"kind":            computedText("`tenant`, `bucketed`, `prefixed` or `native`."),
					"separator":       computedText("The text between the tenant's key and what follows it."),
					"buckets":         computedNumber("How many buckets there are."),
					"bucket_property": computedText("The property whose text decides the bucket. Null for the RowKey."),
				},
			},
			"tenant_ids": computedTexts("The ids of the tenants that the model places, in order."),
		},
	}
}

// Read finds the model in the catalog.
func (d *isolationModelDataSource) Read(ctx context.Context, req datasource.ReadRequest, resp *datasource.ReadResponse) {
	var m isolationModelDataModel
	resp.Diagnostics.Append(req.Config.Get(ctx, &m)...)
	s := d.ready(&resp.Diagnostics)
	if resp.Diagnostics.HasError() {
		return
	}
	name := m.Name.ValueString()
	all, err := s.lookup(ctx)
	if err != nil {
		addServiceError(&resp.Diagnostics, "Isolation model "+quote(name)+" could not be read", err)
		return
	}
	rec, ok := all.models[name]
	if !ok {
		way := "It has none at all."
		if names := slices.Sorted(maps.Keys(all.models)); len(names) > 0 {
			way = "It has " + enumerate(names) + "."
		}
		resp.Diagnostics.AddAttributeError(path.Root("name"), "Isolation model "+quote(name)+" does not exist",
			fmt.Sprintf("The catalog, table %s of account %s, has no model of this name. %s", s.accounts.CatalogTable(), accountText(s, tenancy.HomeAccount), way))
		return
	}
	var shared isolationModelModel
	resp.Diagnostics.Append(shared.take(ctx, rec.Model)...)
	m.ID, m.Kind, m.Account, m.Tables, m.KeyScheme = shared.ID, shared.Kind, shared.Account, shared.Tables, shared.KeyScheme
	ids, ds := types.ListValueFrom(ctx, types.StringType, slices.Concat([]string{}, all.users(name)))
	resp.Diagnostics.Append(ds...)
	m.TenantIDs = ids
	resp.Diagnostics.Append(resp.State.Set(ctx, &m)...)
}
