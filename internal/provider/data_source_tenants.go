package provider

import (
	"context"
	"maps"
	"slices"

	"github.com/hashicorp/terraform-plugin-framework-validators/stringvalidator"
	"github.com/hashicorp/terraform-plugin-framework/datasource"
	"github.com/hashicorp/terraform-plugin-framework/datasource/schema"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/aztenancy/terraform-provider-aztenancy/internal/catalog"
	"github.com/aztenancy/terraform-provider-aztenancy/internal/tenancy"
)

var _ datasource.DataSourceWithConfigure = (*tenantsDataSource)(nil)

func newTenantsDataSource() datasource.DataSource { return &tenantsDataSource{} }

// tenantsDataSource is the tenants of the catalog that a filter lets through.
type tenantsDataSource struct{ dataSourceClient }

type tenantsDataModel struct {
	IsolationModel types.String               `tfsdk:"isolation_model"`
	State          types.String               `tfsdk:"state"`
	Labels         types.Map                  `tfsdk:"labels"`
	IDs            types.List                 `tfsdk:"ids"`
	Tenants        map[string]tenantDataModel `tfsdk:"tenants"`
}

// Metadata names the data source.
func (d *tenantsDataSource) Metadata(_ context.Context, req datasource.MetadataRequest, resp *datasource.MetadataResponse) {
	resp.TypeName = req.ProviderTypeName + "_tenants"
}

// Schema describes the data source.
func (d *tenantsDataSource) Schema(_ context.Context, _ datasource.SchemaRequest, resp *datasource.SchemaResponse) {
	tenant := tenantDataAttributes()
	tenant["tenant_id"] = computedText("The tenant's id.")
	resp.Schema = schema.Schema{
		MarkdownDescription: "The tenants of the catalog, whoever declared or moved them. All that is given of `isolation_model`, `state` and `labels` must fit; " +
			"with none of them it is all tenants.",
		Attributes: map[string]schema.Attribute{
			"isolation_model": schema.StringAttribute{
				MarkdownDescription: "Only tenants that this isolation model places.",
				Optional:            true,
				Validators:          []validator.String{text{"Isolation model", tenancy.ValidateModelName}},
			},
			"state": schema.StringAttribute{
				MarkdownDescription: "Only tenants in this state: `active`, `frozen`, `provisioning` or `deleting`.",
				Optional:            true,
				Validators: []validator.String{stringvalidator.OneOf(string(tenancy.Active), string(tenancy.Frozen),
					string(tenancy.Provisioning), string(tenancy.Deleting))},
			},
			"labels": schema.MapAttribute{
				MarkdownDescription: "Only tenants that have all of these labels with these values.",
				Optional:            true,
				ElementType:         types.StringType,
			},
			"ids": computedTexts("The ids of the tenants, in order."),
			"tenants": schema.MapNestedAttribute{
				MarkdownDescription: "The tenants, by id.",
				Computed:            true,
				NestedObject:        schema.NestedAttributeObject{Attributes: tenant},
			},
		},
	}
}

// Read filters what the catalog holds.
func (d *tenantsDataSource) Read(ctx context.Context, req datasource.ReadRequest, resp *datasource.ReadResponse) {
	var m tenantsDataModel
	resp.Diagnostics.Append(req.Config.Get(ctx, &m)...)
	s := d.ready(&resp.Diagnostics)
	if resp.Diagnostics.HasError() {
		return
	}
	labels := map[string]string{}
	resp.Diagnostics.Append(m.Labels.ElementsAs(ctx, &labels, false)...)
	all, err := s.lookup(ctx)
	if err != nil {
		addServiceError(&resp.Diagnostics, "The tenants could not be read", err)
		return
	}
	m.Tenants = make(map[string]tenantDataModel)
	for id, rec := range all.tenants {
		if !m.lets(rec, labels) {
			continue
		}
		t := tenantDataModel{}
		resp.Diagnostics.Append(t.take(ctx, rec)...)
		m.Tenants[id] = t
	}
	ids, ds := types.ListValueFrom(ctx, types.StringType, slices.AppendSeq([]string{}, slices.Values(slices.Sorted(maps.Keys(m.Tenants)))))
	resp.Diagnostics.Append(ds...)
	m.IDs = ids
	resp.Diagnostics.Append(resp.State.Set(ctx, &m)...)
}

// lets says whether the filter lets a tenant through.
func (m tenantsDataModel) lets(rec catalog.TenantRecord, labels map[string]string) bool {
	if !m.IsolationModel.IsNull() && m.IsolationModel.ValueString() != rec.Model || !m.State.IsNull() && m.State.ValueString() != string(rec.State) {
		return false
	}
	for name, value := range labels {
		if has, ok := rec.Labels[name]; !ok || has != value {
			return false
		}
	}
	return true
}
