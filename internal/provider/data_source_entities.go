package provider

import (
	"context"
	"fmt"

	"github.com/hashicorp/terraform-plugin-framework-validators/int64validator"
	"github.com/hashicorp/terraform-plugin-framework-validators/listvalidator"
	"github.com/hashicorp/terraform-plugin-framework/datasource"
	"github.com/hashicorp/terraform-plugin-framework/datasource/schema"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/aztenancy/terraform-provider-aztenancy/internal/tablestorage"
)

var _ datasource.DataSourceWithConfigure = (*entitiesDataSource)(nil)

func newEntitiesDataSource() datasource.DataSource { return &entitiesDataSource{} }

// entitiesDataSource is the entities that a query selects, with their types.
type entitiesDataSource struct{ dataSourceClient }

type entitiesModel struct {
	Account     types.String  `tfsdk:"account"`
	Table       types.String  `tfsdk:"table"`
	Filter      types.String  `tfsdk:"filter"`
	Select      types.List    `tfsdk:"select"`
	MaxEntities types.Int64   `tfsdk:"max_entities"`
	Entities    []entityModel `tfsdk:"entities"`
}

type entityModel struct {
	PartitionKey types.String             `tfsdk:"partition_key"`
	RowKey       types.String             `tfsdk:"row_key"`
	Properties   map[string]propertyModel `tfsdk:"properties"`
}

// mostEntities are what the data source returns at most unless it is told: they come to stand in the state.
const mostEntities = 1000

// Metadata names the data source.
func (d *entitiesDataSource) Metadata(_ context.Context, req datasource.MetadataRequest, resp *datasource.MetadataResponse) {
	resp.TypeName = req.ProviderTypeName + "_entities"
}

// Schema describes the data source.
func (d *entitiesDataSource) Schema(_ context.Context, _ datasource.SchemaRequest, resp *datasource.SchemaResponse) {
	resp.Schema = schema.Schema{
		MarkdownDescription: "The entities of a table that a filter selects, with the type of each value. **They come to stand in Terraform's state**: do not read secrets, " +
			"or the data of tenants, in this way.",
		Attributes: map[string]schema.Attribute{
			"account": accountToRead(),
			"table": schema.StringAttribute{
				MarkdownDescription: "The physical table.",
				Required:            true,
				Validators:          []validator.String{tableName{}},
			},
			"filter": schema.StringAttribute{
				MarkdownDescription: "An OData `$filter`, such as `PartitionKey eq 'settings'`. The function `odata_quote` writes literals, and `key_range` gives the filter of a tenant. Defaults to the whole table.",
				Optional:            true,
			},
			"select": schema.ListAttribute{
				MarkdownDescription: "The properties to return. Defaults to all. The keys are always returned.",
				Optional:            true,
				ElementType:         types.StringType,
				Validators:          []validator.List{listvalidator.SizeAtLeast(1)},
			},
			"max_entities": schema.Int64Attribute{
				MarkdownDescription: fmt.Sprintf("How many entities the filter may select, 1 to 100000. More are an error, never a part of them. Defaults to `%d`.", mostEntities),
				Optional:            true,
				Validators:          []validator.Int64{int64validator.Between(1, 100000)},
			},
			"entities": schema.ListNestedAttribute{
				MarkdownDescription: "The entities, in the order of their keys.",
				Computed:            true,
				NestedObject: schema.NestedAttributeObject{Attributes: map[string]schema.Attribute{
					"partition_key": computedText("The entity's PartitionKey."),
					"row_key":       computedText("The entity's RowKey."),
					"properties": schema.MapNestedAttribute{
						MarkdownDescription: "The entity's own properties by name. " + propertyDescription,
						Computed:            true,
						NestedObject: schema.NestedAttributeObject{Attributes: map[string]schema.Attribute{
							"type":  computedText("The value's type."),
							"value": computedText("The value's text."),
						}},
					},
				}},
			},
		},
	}
}

// Read runs the query.
func (d *entitiesDataSource) Read(ctx context.Context, req datasource.ReadRequest, resp *datasource.ReadResponse) {
	var m entitiesModel
	resp.Diagnostics.Append(req.Config.Get(ctx, &m)...)
	s := d.ready(&resp.Diagnostics)
	var names []string
	resp.Diagnostics.Append(m.Select.ElementsAs(ctx, &names, false)...)
	if resp.Diagnostics.HasError() {
		return
	}
	account, table := orHome(m.Account), m.Table.ValueString()
	client, err := s.accounts.Client(account)
	if err != nil {
		resp.Diagnostics.AddAttributeError(path.Root("account"), "Account "+quote(account)+" is not configured", sentence(err))
		return
	}
	most := int64(mostEntities)
	if !m.MaxEntities.IsNull() {
		most = m.MaxEntities.ValueInt64()
	}
	query := tablestorage.Query{Filter: m.Filter.ValueString()}
	if len(names) > 0 {
		query.Select = append([]string{"PartitionKey", "RowKey"}, names...)
	}
	m.Entities = []entityModel{}
	for e, err := range client.Table(table).Query(ctx, query) {
		if err != nil {
			addServiceError(&resp.Diagnostics, "The entities of table "+quote(tableID(account, table))+" could not be read", err)
			return
		}
		if int64(len(m.Entities)) == most {
			resp.Diagnostics.AddAttributeError(path.Root("max_entities"), fmt.Sprintf("The filter selects more than %d entities", most),
				"All of them would come to stand in Terraform's state. Narrow the `filter`, or raise `max_entities`.")
			return
		}
		m.Entities = append(m.Entities, entityModel{types.StringValue(e.PartitionKey), types.StringValue(e.RowKey), propertiesOf(e)})
	}
	resp.Diagnostics.Append(resp.State.Set(ctx, &m)...)
}
