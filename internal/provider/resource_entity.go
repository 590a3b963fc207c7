package provider

import (
	"context"
	"errors"
	"fmt"
	"maps"

	"github.com/hashicorp/terraform-plugin-framework-timeouts/resource/timeouts"
	"github.com/hashicorp/terraform-plugin-framework-validators/stringvalidator"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/identityschema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/planmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/stringplanmodifier"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/aztenancy/terraform-provider-aztenancy/internal/edm"
	"github.com/aztenancy/terraform-provider-aztenancy/internal/tablestorage"
	"github.com/aztenancy/terraform-provider-aztenancy/internal/tenancy"
)

var (
	_ resource.ResourceWithConfigure      = (*entityResource)(nil)
	_ resource.ResourceWithValidateConfig = (*entityResource)(nil)
	_ resource.ResourceWithModifyPlan     = (*entityResource)(nil)
	_ resource.ResourceWithImportState    = (*entityResource)(nil)
	_ resource.ResourceWithIdentity       = (*entityResource)(nil)
)

func newEntityResource() resource.Resource { return &entityResource{} }

// entityResource is one entity, with exactly the properties that are declared. It is written only in the version that was
// last read.
type entityResource struct{ resourceClient }

type entityResourceModel struct {
	ID           types.String   `tfsdk:"id"`
	Account      types.String   `tfsdk:"account"`
	Table        types.String   `tfsdk:"table"`
	PartitionKey types.String   `tfsdk:"partition_key"`
	RowKey       types.String   `tfsdk:"row_key"`
	Properties   types.Map      `tfsdk:"properties"`
	ETag         types.String   `tfsdk:"etag"`
	Timeouts     timeouts.Value `tfsdk:"timeouts"`
}

type entityIdentity struct {
	Account      types.String `tfsdk:"account"`
	Table        types.String `tfsdk:"table"`
	PartitionKey types.String `tfsdk:"partition_key"`
	RowKey       types.String `tfsdk:"row_key"`
}

func (m entityResourceModel) identity() entityIdentity {
	return entityIdentity{m.Account, m.Table, m.PartitionKey, m.RowKey}
}

func (m entityResourceModel) key() edm.Key {
	return edm.Key{PartitionKey: m.PartitionKey.ValueString(), RowKey: m.RowKey.ValueString()}
}

func (m entityResourceModel) what() string {
	return fmt.Sprintf("Entity (%q, %q) of table %q", m.PartitionKey.ValueString(), m.RowKey.ValueString(), tableID(m.Account.ValueString(), m.Table.ValueString()))
}

// entity is what is declared.
func (m entityResourceModel) entity(ctx context.Context) (*edm.Entity, diag.Diagnostics) {
	properties := make(map[string]propertyModel)
	diags := m.Properties.ElementsAs(ctx, &properties, false)
	e := &edm.Entity{PartitionKey: m.PartitionKey.ValueString(), RowKey: m.RowKey.ValueString()}
	if err := setProperties(e, properties); err != nil {
		diags.AddAttributeError(path.Root("properties"), m.what()+" is not usable as it is declared", sentence(err))
	}
	return e, diags
}

// Metadata names the resource.
func (r *entityResource) Metadata(_ context.Context, req resource.MetadataRequest, resp *resource.MetadataResponse) {
	resp.TypeName = req.ProviderTypeName + "_entity"
}

// IdentitySchema describes what identifies an entity.
func (r *entityResource) IdentitySchema(_ context.Context, _ resource.IdentitySchemaRequest, resp *resource.IdentitySchemaResponse) {
	resp.IdentitySchema = identityschema.Schema{Attributes: map[string]identityschema.Attribute{
		"account":       identityschema.StringAttribute{OptionalForImport: true, Description: "The account that holds the table; home if it is left out."},
		"table":         identityschema.StringAttribute{RequiredForImport: true, Description: "The table."},
		"partition_key": identityschema.StringAttribute{RequiredForImport: true, Description: "The entity's PartitionKey."},
		"row_key":       identityschema.StringAttribute{RequiredForImport: true, Description: "The entity's RowKey."},
	}}
}

// Schema describes the resource.
func (r *entityResource) Schema(ctx context.Context, _ resource.SchemaRequest, resp *resource.SchemaResponse) {
	key := func(name string) schema.Attribute {
		return schema.StringAttribute{
			MarkdownDescription: "The entity's " + name + ". No `/`, `\\`, `#`, `?` or control characters; the function `encode_key` makes any text fit. Changing it replaces the entity.",
			Required:            true,
			PlanModifiers:       []planmodifier.String{stringplanmodifier.RequiresReplace()},
			Validators:          []validator.String{text{name, func(s string) error { return edm.ValidateKeyPart(name, s) }}},
		}
	}
	resp.Schema = schema.Schema{
		MarkdownDescription: "One entity, such as a row of settings or of seed data, with exactly the properties that are declared: others that it has are drift, and are removed. " +
			"It is written and deleted only in the version that Terraform has last read. Its properties stand in Terraform's state: keep secrets and tenants' data out of it.",
		Attributes: map[string]schema.Attribute{
			"id":      idAttribute("`TABLE/PARTITION_KEY/ROW_KEY`, or `ACCOUNT/TABLE/PARTITION_KEY/ROW_KEY` for another account than `home`, with keys percent-encoded"),
			"account": accountAttribute("table"),
			"table": schema.StringAttribute{
				MarkdownDescription: "The physical table. Changing it replaces the entity.",
				Required:            true,
				PlanModifiers:       []planmodifier.String{stringplanmodifier.RequiresReplace()},
				Validators:          []validator.String{tableName{}},
			},
			"partition_key": key("PartitionKey"),
			"row_key":       key("RowKey"),
			"properties": schema.MapNestedAttribute{
				MarkdownDescription: "The entity's properties by name. " + propertyDescription,
				Required:            true,
				NestedObject: schema.NestedAttributeObject{Attributes: map[string]schema.Attribute{
					"type": schema.StringAttribute{
						MarkdownDescription: "The value's type.",
						Required:            true,
						Validators:          []validator.String{stringvalidator.OneOf(propertyTypeNames()...)},
					},
					"value": schema.StringAttribute{
						MarkdownDescription: "The value's text.",
						Required:            true,
					},
				}},
			},
			"etag":     schema.StringAttribute{MarkdownDescription: "The version of the entity.", Computed: true},
			"timeouts": quickLimits.attribute(ctx),
		},
	}
}

// ValidateConfig checks the values by their types, and the entity by the service's limits.
func (r *entityResource) ValidateConfig(ctx context.Context, req resource.ValidateConfigRequest, resp *resource.ValidateConfigResponse) {
	var m entityResourceModel
	resp.Diagnostics.Append(req.Config.Get(ctx, &m)...)
	if resp.Diagnostics.HasError() || !isKnown(ctx, m.Properties) || m.PartitionKey.IsUnknown() || m.RowKey.IsUnknown() {
		return
	}
	_, ds := m.entity(ctx)
	resp.Diagnostics.Append(ds...)
}

// ModifyPlan refuses the catalog's table, and keeps the version of an entity that does not change.
func (r *entityResource) ModifyPlan(ctx context.Context, req resource.ModifyPlanRequest, resp *resource.ModifyPlanResponse) {
	var state, plan *entityResourceModel
	resp.Diagnostics.Append(req.State.Get(ctx, &state)...)
	resp.Diagnostics.Append(req.Plan.Get(ctx, &plan)...)
	if resp.Diagnostics.HasError() || plan == nil {
		return
	}
	if state != nil && plan.Properties.Equal(state.Properties) && plan.identity() == state.identity() {
		resp.Diagnostics.Append(resp.Plan.SetAttribute(ctx, path.Root("etag"), state.ETag)...)
	}
	if !r.session.configured() || plan.Table.IsUnknown() || plan.Account.IsUnknown() {
		return
	}
	client, err := r.session.accounts.Client(plan.Account.ValueString())
	if err != nil {
		resp.Diagnostics.AddAttributeError(path.Root("account"), "Account "+quote(plan.Account.ValueString())+" is not configured", sentence(err))
		return
	}
	if r.session.isCatalog(client.AccountName(), plan.Table.ValueString()) {
		resp.Diagnostics.AddAttributeError(path.Root("table"), plan.what()+" would stand in the catalog",
			"The catalog's rows are written by the provider and tenantctl alone. Choose another `table`.")
	}
}

// table returns the entity's table, or nil where the reason has been added.
func (r *entityResource) table(m entityResourceModel, diags *diag.Diagnostics) *tablestorage.Table {
	client, err := r.session.accounts.Client(m.Account.ValueString())
	if err != nil {
		diags.AddAttributeError(path.Root("account"), "Account "+quote(m.Account.ValueString())+" is not configured", sentence(err))
		return nil
	}
	return client.Table(m.Table.ValueString())
}

// Create inserts the entity. After an unclear answer it looks whether the entity is there as declared.
func (r *entityResource) Create(ctx context.Context, req resource.CreateRequest, resp *resource.CreateResponse) {
	var m entityResourceModel
	resp.Diagnostics.Append(req.Plan.Get(ctx, &m)...)
	s := r.ready(&resp.Diagnostics)
	limit, ds := m.Timeouts.Create(ctx, quickLimits.create)
	resp.Diagnostics.Append(ds...)
	e, ds := m.entity(ctx)
	resp.Diagnostics.Append(ds...)
	if s == nil || resp.Diagnostics.HasError() {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	table := r.table(m, &resp.Diagnostics)
	if table == nil {
		return
	}
	etag, err := table.Insert(ctx, e)
	if isUnclear(err) {
		if there, gerr := table.Get(context.WithoutCancel(ctx), e.Key()); gerr == nil && there.SameContent(e) {
			etag, err = there.ETag, nil
		}
	}
	switch {
	case errors.Is(err, tablestorage.ErrExists):
		resp.Diagnostics.AddError(m.what()+" exists already", fmt.Sprintf("To manage it, import it with the id %q. To have another entity, choose other keys.", entityID(m)))
		return
	case err != nil:
		addServiceError(&resp.Diagnostics, m.what()+" could not be created", err)
		return
	}
	m.ID, m.ETag = types.StringValue(entityID(m)), types.StringValue(etag)
	resp.Diagnostics.Append(resp.Identity.Set(ctx, m.identity())...)
	resp.Diagnostics.Append(resp.State.Set(ctx, &m)...)
}

// isUnclear says whether a write may have been carried out in spite of its error.
func isUnclear(err error) bool {
	var e *tablestorage.Error
	return errors.As(err, &e) && e.Retried
}

// Read reads the entity. Values that are what the state says in another way of writing keep the state's way.
func (r *entityResource) Read(ctx context.Context, req resource.ReadRequest, resp *resource.ReadResponse) {
	var m entityResourceModel
	resp.Diagnostics.Append(req.State.Get(ctx, &m)...)
	if resp.Diagnostics.HasError() {
		return
	}
	resp.Diagnostics.Append(resp.Identity.Set(ctx, m.identity())...) // first: see tableResource.Read
	if !r.session.configured() {
		return
	}
	limit, ds := m.Timeouts.Read(ctx, quickLimits.read)
	resp.Diagnostics.Append(ds...)
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	table := r.table(m, &resp.Diagnostics)
	if table == nil {
		return
	}
	e, err := table.Get(ctx, m.key())
	if errors.Is(err, tablestorage.ErrNotFound) || errors.Is(err, tablestorage.ErrTableNotFound) {
		resp.Diagnostics.AddWarning(m.what()+" is gone", "It was deleted outside Terraform. It is removed from the state; the next apply creates it anew.")
		resp.State.RemoveResource(ctx)
		return
	}
	if err != nil {
		addServiceError(&resp.Diagnostics, m.what()+" could not be read", err)
		return
	}
	resp.Diagnostics.Append(m.take(ctx, e)...)
	resp.Diagnostics.Append(resp.State.Set(ctx, &m)...)
}

// take makes the model say what the service has.
func (m *entityResourceModel) take(ctx context.Context, e *edm.Entity) diag.Diagnostics {
	before := make(map[string]propertyModel)
	diags := m.Properties.ElementsAs(ctx, &before, false)
	now := propertiesOf(e)
	for name, p := range maps.All(before) {
		has, ok := e.Get(name)
		if v, err := edm.ParseValue(propertyTypes[p.Type.ValueString()], p.Value.ValueString()); ok && err == nil && v == has {
			now[name] = p
		}
	}
	properties, ds := types.MapValueFrom(ctx, types.ObjectType{AttrTypes: propertyAttributeTypes}, now)
	diags.Append(ds...)
	m.Properties, m.ETag, m.ID = properties, types.StringValue(e.ETag), types.StringValue(entityID(*m))
	return diags
}

// Update replaces the entity in the version that the state has.
func (r *entityResource) Update(ctx context.Context, req resource.UpdateRequest, resp *resource.UpdateResponse) {
	var m, state entityResourceModel
	resp.Diagnostics.Append(req.Plan.Get(ctx, &m)...)
	resp.Diagnostics.Append(req.State.Get(ctx, &state)...)
	s := r.ready(&resp.Diagnostics)
	limit, ds := m.Timeouts.Update(ctx, quickLimits.update)
	resp.Diagnostics.Append(ds...)
	e, ds := m.entity(ctx)
	resp.Diagnostics.Append(ds...)
	if s == nil || resp.Diagnostics.HasError() {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	table := r.table(m, &resp.Diagnostics)
	if table == nil {
		return
	}
	if m.ETag.IsUnknown() { // else only settings of the resource itself change
		etag, err := table.Replace(ctx, e, state.ETag.ValueString())
		if isUnclear(err) {
			if there, gerr := table.Get(context.WithoutCancel(ctx), e.Key()); gerr == nil && there.SameContent(e) {
				etag, err = there.ETag, nil
			}
		}
		if err != nil {
			addEntityError(&resp.Diagnostics, m, "written", err)
			return
		}
		m.ETag = types.StringValue(etag)
	}
	resp.Diagnostics.Append(resp.Identity.Set(ctx, m.identity())...)
	resp.Diagnostics.Append(resp.State.Set(ctx, &m)...)
}

func addEntityError(diags *diag.Diagnostics, m entityResourceModel, done string, err error) {
	if errors.Is(err, tablestorage.ErrConditionNotMet) {
		diags.AddError(m.what()+" was changed since Terraform read it", "Somebody else has written it, so it was not "+done+". Plan again, and look at what is there now.")
		return
	}
	addServiceError(diags, m.what()+" could not be "+done, err)
}

// Delete deletes the entity in the version that the state has.
func (r *entityResource) Delete(ctx context.Context, req resource.DeleteRequest, resp *resource.DeleteResponse) {
	var m entityResourceModel
	resp.Diagnostics.Append(req.State.Get(ctx, &m)...)
	s := r.ready(&resp.Diagnostics)
	limit, ds := m.Timeouts.Delete(ctx, quickLimits.delete)
	resp.Diagnostics.Append(ds...)
	if s == nil || resp.Diagnostics.HasError() {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	table := r.table(m, &resp.Diagnostics)
	if table == nil {
		return
	}
	err := table.Delete(ctx, m.key(), m.ETag.ValueString())
	if err != nil && !errors.Is(err, tablestorage.ErrNotFound) && !errors.Is(err, tablestorage.ErrTableNotFound) {
		addEntityError(&resp.Diagnostics, m, "deleted", err)
	}
}

// ImportState takes an entity's id or identity.
func (r *entityResource) ImportState(ctx context.Context, req resource.ImportStateRequest, resp *resource.ImportStateResponse) {
	var id entityIdentity
	if req.ID != "" {
		var err error
		if id, err = parseEntityID(req.ID); err != nil {
			resp.Diagnostics.AddError("Import id "+quote(req.ID)+" is not an entity", sentence(err))
			return
		}
	} else {
		resp.Diagnostics.Append(req.Identity.Get(ctx, &id)...)
		if id.Account.ValueString() == "" {
			id.Account = types.StringValue(tenancy.HomeAccount)
		}
	}
	resp.Diagnostics.Append(resp.Identity.Set(ctx, id)...)
	for name, v := range map[string]types.String{"account": id.Account, "table": id.Table, "partition_key": id.PartitionKey, "row_key": id.RowKey} {
		resp.Diagnostics.Append(resp.State.SetAttribute(ctx, path.Root(name), v)...)
	}
}
