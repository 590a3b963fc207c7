package provider

import (
	"context"
	"maps"
	"slices"

	"github.com/hashicorp/terraform-plugin-framework-validators/stringvalidator"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/list"
	listschema "github.com/hashicorp/terraform-plugin-framework/list/schema"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/aztenancy/terraform-provider-aztenancy/internal/tenancy"
)

var (
	_ list.ListResourceWithConfigure = (*tableList)(nil)
	_ list.ListResourceWithConfigure = (*tenantList)(nil)
)

func newTableList() list.ListResource { return &tableList{} }

// tableList lists an account's tables, for `terraform query`, so that tables that exist become import blocks.
type tableList struct{ tableResource }

// ListResourceConfigSchema describes the list block.
func (l *tableList) ListResourceConfigSchema(_ context.Context, _ list.ListResourceSchemaRequest, resp *list.ListResourceSchemaResponse) {
	resp.Schema = listschema.Schema{
		MarkdownDescription: "The tables of an account but the catalog's own, whoever made them. Needs Terraform 1.14.",
		Attributes: map[string]listschema.Attribute{"account": listschema.StringAttribute{
			MarkdownDescription: "The account: a name of the provider's `accounts`, or `home`. Defaults to `home`.",
			Optional:            true,
			Validators:          []validator.String{stringvalidator.LengthAtLeast(1)},
		}},
	}
}

// List pushes the tables in order.
func (l *tableList) List(ctx context.Context, req list.ListRequest, stream *list.ListResultsStream) {
	var account types.String
	diags := req.Config.GetAttribute(ctx, path.Root("account"), &account)
	s := l.ready(&diags)
	if diags.HasError() {
		stream.Results = list.ListResultsStreamDiagnostics(diags)
		return
	}
	client, err := s.accounts.Client(orHome(account))
	var all tableNames
	if err == nil {
		all, err = s.allTables(ctx, orHome(account))
	}
	if err != nil {
		diags.AddError("The tables of account "+accountText(s, orHome(account))+" could not be listed", sentence(err))
		stream.Results = list.ListResultsStreamDiagnostics(diags)
		return
	}
	stream.Results = func(push func(list.ListResult) bool) {
		pushed := int64(0)
		for _, lower := range slices.Sorted(maps.Keys(all)) {
			name := all[lower]
			if s.isCatalog(client.AccountName(), name) || req.Limit > 0 && pushed == req.Limit {
				continue
			}
			pushed++
			result := req.NewListResult(ctx)
			result.DisplayName = tableID(orHome(account), name)
			id := tableIdentity{Account: types.StringValue(orHome(account)), Name: types.StringValue(name)}
			result.Diagnostics.Append(result.Identity.Set(ctx, id)...)
			if req.IncludeResource {
				for attribute, v := range map[string]any{"name": name, "account": orHome(account), "id": tableID(orHome(account), name), "url": client.TableURL(name),
					"deletion_protection": true, "destroy_policy": refuseIfNotEmpty, "adopt_existing": false} {
					result.Diagnostics.Append(result.Resource.SetAttribute(ctx, path.Root(attribute), v)...)
				}
			}
			if !push(result) {
				return
			}
		}
	}
}

func newTenantList() list.ListResource { return &tenantList{} }

// tenantList lists the catalog's tenants.
type tenantList struct{ tenantResource }

// ListResourceConfigSchema describes the list block.
func (l *tenantList) ListResourceConfigSchema(_ context.Context, _ list.ListResourceSchemaRequest, resp *list.ListResourceSchemaResponse) {
	resp.Schema = listschema.Schema{
		MarkdownDescription: "The tenants of the catalog, whoever declared them. Needs Terraform 1.14.",
		Attributes: map[string]listschema.Attribute{"isolation_model": listschema.StringAttribute{
			MarkdownDescription: "Only tenants that this isolation model places. Defaults to all.",
			Optional:            true,
			Validators:          []validator.String{text{"Isolation model", tenancy.ValidateModelName}},
		}},
	}
}

// List pushes the tenants in order.
func (l *tenantList) List(ctx context.Context, req list.ListRequest, stream *list.ListResultsStream) {
	var model types.String
	diags := req.Config.GetAttribute(ctx, path.Root("isolation_model"), &model)
	s := l.ready(&diags)
	if diags.HasError() {
		stream.Results = list.ListResultsStreamDiagnostics(diags)
		return
	}
	d, err := s.lookup(ctx)
	if err != nil {
		diags.AddError("The tenants could not be listed", sentence(err))
		stream.Results = list.ListResultsStreamDiagnostics(diags)
		return
	}
	stream.Results = func(push func(list.ListResult) bool) {
		pushed := int64(0)
		for _, id := range slices.Sorted(maps.Keys(d.tenants)) {
			rec := d.tenants[id]
			if !model.IsNull() && rec.Model != model.ValueString() || req.Limit > 0 && pushed == req.Limit {
				continue
			}
			pushed++
			result := req.NewListResult(ctx)
			result.DisplayName = id
			result.Diagnostics.Append(result.Identity.Set(ctx, tenantIdentity{TenantID: types.StringValue(id)})...)
			if req.IncludeResource {
				result.Diagnostics.Append(listed(ctx, &result, d, id)...)
			}
			if !push(result) {
				return
			}
		}
	}
}

// listed gives a result the tenant's attributes.
func listed(ctx context.Context, result *list.ListResult, d *directory, id string) diag.Diagnostics {
	var m tenantModel
	rec := d.tenants[id]
	diags := m.take(ctx, rec, leavesAccountOpen(d.models[rec.Model].Model))
	for name, v := range map[string]any{"id": m.ID, "tenant_id": m.TenantID, "key": m.Key, "isolation_model": m.IsolationModel, "account": m.Account, "labels": m.Labels,
		"state": m.State, "epoch": m.Epoch, "tables": m.Tables, "deletion_protection": true, "destroy_policy": refuseIfNotEmpty, "adopt_existing": false} {
		diags.Append(result.Resource.SetAttribute(ctx, path.Root(name), v)...)
	}
	return diags
}
