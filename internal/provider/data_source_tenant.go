package provider

import (
	"context"
	"fmt"

	"github.com/hashicorp/terraform-plugin-framework/datasource"
	"github.com/hashicorp/terraform-plugin-framework/datasource/schema"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/aztenancy/terraform-provider-aztenancy/internal/catalog"
	"github.com/aztenancy/terraform-provider-aztenancy/internal/tenancy"
)

var _ datasource.DataSourceWithConfigure = (*tenantDataSource)(nil)

func newTenantDataSource() datasource.DataSource { return &tenantDataSource{} }

// tenantDataSource is a tenant as the catalog has it, whoever declared or moved it.
type tenantDataSource struct{ dataSourceClient }

type tenantDataModel struct {
	ID             types.String `tfsdk:"id"`
	TenantID       types.String `tfsdk:"tenant_id"`
	Key            types.String `tfsdk:"key"`
	IsolationModel types.String `tfsdk:"isolation_model"`
	Account        types.String `tfsdk:"account"`
	Labels         types.Map    `tfsdk:"labels"`
	State          types.String `tfsdk:"state"`
	Epoch          types.Int64  `tfsdk:"epoch"`
	Tables         types.Map    `tfsdk:"tables"`
}

// Metadata names the data source.
func (d *tenantDataSource) Metadata(_ context.Context, req datasource.MetadataRequest, resp *datasource.MetadataResponse) {
	resp.TypeName = req.ProviderTypeName + "_tenant"
}

// Schema describes the data source.
func (d *tenantDataSource) Schema(_ context.Context, _ datasource.SchemaRequest, resp *datasource.SchemaResponse) {
	attributes := tenantDataAttributes()
	attributes["tenant_id"] = schema.StringAttribute{
		MarkdownDescription: "The tenant's id.",
		Required:            true,
		Validators:          []validator.String{tenantIDValidator()},
	}
	resp.Schema = schema.Schema{
		MarkdownDescription: "A tenant as the catalog has it: where its entities live and what may be done with them, whoever declared or moved it.",
		Attributes:          attributes,
	}
}

// tenantDataAttributes describes a tenant that was read, without its tenant_id.
func tenantDataAttributes() map[string]schema.Attribute {
	tables := make(map[string]schema.Attribute, len(placementDescriptions))
	for name, description := range placementDescriptions {
		tables[name] = computedText(description)
	}
	return map[string]schema.Attribute{
		"id":              computedText("The tenant's id."),
		"key":             computedText("The text that stands for the tenant in PartitionKeys."),
		"isolation_model": computedText("The isolation model that places the tenant."),
		"account":         computedText("The account that holds the tenant's tables: a name of the provider's `accounts`, or `home`."),
		"labels": schema.MapAttribute{
			MarkdownDescription: "The tenant's labels.",
			Computed:            true,
			ElementType:         types.StringType,
		},
		"state": computedText("What may be done with the tenant's entities: `active`, read and write; `frozen`, read only; `provisioning` and `deleting`, nothing."),
		"epoch": computedNumber("A number that grows with every change of the tenant's place or state."),
		"tables": schema.MapNestedAttribute{
			MarkdownDescription: "Where the tenant's entities live, by logical table.",
			Computed:            true,
			NestedObject:        schema.NestedAttributeObject{Attributes: tables},
		},
	}
}

// Read finds the tenant in the catalog.
func (d *tenantDataSource) Read(ctx context.Context, req datasource.ReadRequest, resp *datasource.ReadResponse) {
	var m tenantDataModel
	resp.Diagnostics.Append(req.Config.Get(ctx, &m)...)
	d.ready(&resp.Diagnostics)
	if resp.Diagnostics.HasError() {
		return
	}
	id := m.TenantID.ValueString()
	rec, ok := d.find(ctx, id, &resp.Diagnostics)
	if !ok {
		return
	}
	resp.Diagnostics.Append(m.take(ctx, rec)...)
	resp.Diagnostics.Append(resp.State.Set(ctx, &m)...)
}

// take makes the model say what the catalog has.
func (m *tenantDataModel) take(ctx context.Context, rec catalog.TenantRecord) diag.Diagnostics {
	m.ID = types.StringValue(rec.ID)
	m.TenantID = types.StringValue(rec.ID)
	m.Key = types.StringValue(rec.Key)
	m.IsolationModel = types.StringValue(rec.Model)
	m.Account = optional(placementAccount(rec.Placement))
	m.State = types.StringValue(string(rec.State))
	m.Epoch = types.Int64Value(rec.Epoch)
	labels, diags := types.MapValueFrom(ctx, types.StringType, rec.Labels)
	tables, ds := placementValue(ctx, rec.Placement)
	diags.Append(ds...)
	m.Labels, m.Tables = labels, tables
	return diags
}

// find looks a tenant up in the catalog. Where there is none, the reason has been added.
func (d *dataSourceClient) find(ctx context.Context, id string, diags *diag.Diagnostics) (catalog.TenantRecord, bool) {
	s := d.session
	all, err := s.lookup(ctx)
	if err != nil {
		addServiceError(diags, "Tenant "+quote(id)+" could not be read", err)
		return catalog.TenantRecord{}, false
	}
	rec, ok := all.tenants[id]
	if !ok {
		diags.AddAttributeError(path.Root("tenant_id"), "Tenant "+quote(id)+" does not exist",
			fmt.Sprintf("The catalog, table %s of account %s, has no tenant of this id. Declare it as an `aztenancy_tenant`, or look at `tenantctl tenants`.",
				s.accounts.CatalogTable(), accountText(s, tenancy.HomeAccount)))
	}
	return rec, ok
}
