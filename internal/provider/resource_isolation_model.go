package provider

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework-validators/mapvalidator"
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

	"github.com/aztenancy/terraform-provider-aztenancy/internal/catalog"
	"github.com/aztenancy/terraform-provider-aztenancy/internal/tenancy"
)

var (
	_ resource.ResourceWithConfigure      = (*isolationModelResource)(nil)
	_ resource.ResourceWithValidateConfig = (*isolationModelResource)(nil)
	_ resource.ResourceWithModifyPlan     = (*isolationModelResource)(nil)
	_ resource.ResourceWithImportState    = (*isolationModelResource)(nil)
	_ resource.ResourceWithIdentity       = (*isolationModelResource)(nil)
)

func newIsolationModelResource() resource.Resource { return &isolationModelResource{} }

// isolationModelResource is one isolation model: a row of the catalog that tenants refer to.
type isolationModelResource struct{ resourceClient }

// Metadata names the resource.
func (r *isolationModelResource) Metadata(_ context.Context, req resource.MetadataRequest, resp *resource.MetadataResponse) {
	resp.TypeName = req.ProviderTypeName + "_isolation_model"
}

// IdentitySchema describes what identifies a model.
func (r *isolationModelResource) IdentitySchema(_ context.Context, _ resource.IdentitySchemaRequest, resp *resource.IdentitySchemaResponse) {
	resp.IdentitySchema = identityschema.Schema{Attributes: map[string]identityschema.Attribute{
		"name": identityschema.StringAttribute{RequiredForImport: true, Description: "The model's name."},
	}}
}

// Schema describes the resource.
func (r *isolationModelResource) Schema(ctx context.Context, _ resource.SchemaRequest, resp *resource.SchemaResponse) {
	resp.Schema = schema.Schema{
		MarkdownDescription: "An isolation model: a named rule that says where the entities of its tenants live and how their keys are made. " +
			"Tenants name a model; naming another one moves the tenant.\n\n" +
			"While tenants use a model, its placement rule cannot change, as that would move them all at once: declare another model and move them one by one.",
		Attributes: map[string]schema.Attribute{
			"id": idAttribute("the model's name"),
			"name": schema.StringAttribute{
				MarkdownDescription: "The model's name. Changing it replaces the model, which is refused while tenants use it.",
				Required:            true,
				PlanModifiers:       []planmodifier.String{stringplanmodifier.RequiresReplace()},
				Validators:          []validator.String{text{"Model name", tenancy.ValidateModelName}},
			},
			"kind": schema.StringAttribute{
				MarkdownDescription: "How tenants are kept apart. `shared_table`: by PartitionKey in a table that all share. `dedicated_table`: a table for each. " +
					"`dedicated_account`: tables in an account of the tenant's own.",
				Required: true,
				Validators: []validator.String{stringvalidator.OneOf(
					string(tenancy.SharedTable), string(tenancy.DedicatedTable), string(tenancy.DedicatedAccount))},
			},
			"account": schema.StringAttribute{
				MarkdownDescription: "The account that holds the tables: a name of the provider's `accounts`, or `home`. Defaults to `home`, except for the kind " +
					"`dedicated_account`: left out there, each tenant names its own.",
				Optional:   true,
				Computed:   true,
				Validators: []validator.String{stringvalidator.LengthAtLeast(1)},
			},
			"tables": schema.MapAttribute{
				MarkdownDescription: "The physical table of each logical table, as the application calls it. For `shared_table` they are names of tables that exist. For " +
					"dedicated kinds they hold the placeholder `{tenant}`, such as `Orders{tenant}`: the tables are made with each tenant.",
				Required:    true,
				ElementType: types.StringType,
				Validators:  []validator.Map{mapvalidator.SizeAtLeast(1)},
			},
			"key_scheme": schema.SingleNestedAttribute{
				MarkdownDescription: "How the PartitionKey of a tenant's entities is made.",
				Required:            true,
				Attributes:          keySchemeAttributes(),
			},
			"timeouts": quickLimits.attribute(ctx),
		},
	}
}

func keySchemeAttributes() map[string]schema.Attribute {
	return map[string]schema.Attribute{
		"kind": schema.StringAttribute{
			MarkdownDescription: "`tenant`: the PartitionKey is the tenant's key; one partition a tenant, for small ones. " +
				"`bucketed`: key, separator and a bucket number, which spreads a large tenant over partitions. " +
				"`prefixed`: key, separator and the application's own partition value. " +
				"`native`: the application's own partition value alone, in dedicated tables only.",
			Required: true,
			Validators: []validator.String{stringvalidator.OneOf(string(tenancy.SchemeTenant), string(tenancy.SchemeBucketed),
				string(tenancy.SchemePrefixed), string(tenancy.SchemeNative))},
		},
		"separator": schema.StringAttribute{
			MarkdownDescription: "The text between the tenant's key and what follows it, such as `|`. For `bucketed` and `prefixed`. " +
				"Choose one that no key holds: two tenants whose keys would run into each other are refused.",
			Optional: true,
		},
		"buckets": schema.Int64Attribute{
			MarkdownDescription: fmt.Sprintf("How many buckets there are, from %d to %d. For `bucketed`.", tenancy.MinBuckets, tenancy.MaxBuckets),
			Optional:            true,
		},
		"bucket_property": schema.StringAttribute{
			MarkdownDescription: "The property whose text decides the bucket (CRC-32 of its UTF-8, modulo `buckets`). For `bucketed`. Defaults to the RowKey.",
			Optional:            true,
		},
	}
}

// ValidateConfig checks the model as a whole.
func (r *isolationModelResource) ValidateConfig(ctx context.Context, req resource.ValidateConfigRequest, resp *resource.ValidateConfigResponse) {
	var m isolationModelModel
	resp.Diagnostics.Append(req.Config.Get(ctx, &m)...)
	if resp.Diagnostics.HasError() || m.Account.IsUnknown() {
		return
	}
	m.Account = m.defaultAccount()
	model, known := m.model(ctx, &resp.Diagnostics)
	if !known || resp.Diagnostics.HasError() {
		return
	}
	if err := model.Validate(); err != nil {
		resp.Diagnostics.AddError(m.what()+" is not usable as it is declared", sentence(err))
	}
}

// ModifyPlan fills in the account and refuses what the catalog would refuse.
func (r *isolationModelResource) ModifyPlan(ctx context.Context, req resource.ModifyPlanRequest, resp *resource.ModifyPlanResponse) {
	if req.Plan.Raw.IsNull() {
		return
	}
	var config, plan isolationModelModel
	var state *isolationModelModel
	resp.Diagnostics.Append(req.Config.Get(ctx, &config)...)
	resp.Diagnostics.Append(req.Plan.Get(ctx, &plan)...)
	resp.Diagnostics.Append(req.State.Get(ctx, &state)...)
	if resp.Diagnostics.HasError() {
		return
	}
	if config.Account.IsNull() {
		plan.Account = config.defaultAccount()
		resp.Diagnostics.Append(resp.Plan.SetAttribute(ctx, path.Root("account"), plan.Account)...)
	}
	model, known := plan.model(ctx, &resp.Diagnostics)
	if !known || !r.session.configured() || resp.Diagnostics.HasError() {
		return
	}
	if model.Account != "" {
		if _, err := r.session.accounts.Client(model.Account); err != nil {
			resp.Diagnostics.AddAttributeError(path.Root("account"), "Account "+quote(model.Account)+" is not configured", sentence(err))
			return
		}
	}
	r.session.planned.putModel(model)
	if state == nil || !state.Name.Equal(plan.Name) {
		return
	}
	was, known := state.model(ctx, &resp.Diagnostics)
	if !known || reflect.DeepEqual(was, model) {
		return
	}
	d, err := r.session.lookup(ctx)
	if err != nil {
		addServiceError(&resp.Diagnostics, "The tenants of "+plan.what()+" could not be looked up", err)
		return
	}
	if ids := d.users(model.Name); len(ids) > 0 {
		refuseChange(&resp.Diagnostics, plan, ids)
	}
}

func refuseChange(diags *diag.Diagnostics, m isolationModelModel, tenants []string) {
	diags.AddError(m.what()+" cannot change while tenants use it",
		fmt.Sprintf("These tenants use it: %s. A change would say of their entities that they are where they are not. Declare another model with the new rule, "+
			"and set `isolation_model` of each tenant to it: that moves them.", enumerate(tenants)))
}

// Create adds the model to the catalog.
func (r *isolationModelResource) Create(ctx context.Context, req resource.CreateRequest, resp *resource.CreateResponse) {
	var m isolationModelModel
	resp.Diagnostics.Append(req.Plan.Get(ctx, &m)...)
	s := r.ready(&resp.Diagnostics)
	limit, ds := m.Timeouts.Create(ctx, quickLimits.create)
	resp.Diagnostics.Append(ds...)
	m.Account = m.defaultAccount()
	model, _ := m.model(ctx, &resp.Diagnostics)
	if resp.Diagnostics.HasError() {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()

	if !r.tablesExist(ctx, m, model, &resp.Diagnostics) {
		return
	}
	err := s.ensureCatalog(ctx)
	var rec catalog.ModelRecord
	if err == nil {
		rec, err = s.catalog.CreateModel(ctx, model)
	}
	switch {
	case errors.Is(err, catalog.ErrExists):
		resp.Diagnostics.AddAttributeError(path.Root("name"), m.what()+" exists already, with another rule",
			fmt.Sprintf("To manage it, import it with the id %q. To have another model, choose another `name`.", model.Name))
		return
	case err != nil:
		addServiceError(&resp.Diagnostics, m.what()+" could not be created", err)
		return
	}
	s.putModel(rec)
	m.ID = m.Name
	resp.Diagnostics.Append(resp.Identity.Set(ctx, m.identity())...)
	resp.Diagnostics.Append(resp.State.Set(ctx, &m)...)
}

// tablesExist says whether the shared tables of a model are there. Dedicated tables are made with each tenant.
func (r *isolationModelResource) tablesExist(ctx context.Context, m isolationModelModel, model tenancy.Model, diags *diag.Diagnostics) bool {
	if model.Kind != tenancy.SharedTable {
		return true
	}
	client, err := r.session.accounts.Client(model.Account)
	if err != nil {
		diags.AddAttributeError(path.Root("account"), "Account "+quote(model.Account)+" is not configured", sentence(err))
		return false
	}
	for _, logical := range model.LogicalTables() {
		name := model.Tables[logical]
		_, ok, err := client.TableExists(ctx, name)
		if err != nil {
			addServiceError(diags, fmt.Sprintf("Table %q of %s could not be looked up", name, strings.ToLower(m.what()[:1])+m.what()[1:]), err)
			return false
		}
		if !ok {
			diags.AddAttributeError(path.Root("tables").AtMapKey(logical), fmt.Sprintf("Table %q does not exist in account %q", name, model.Account),
				"A shared model needs its tables. Declare the table as an `aztenancy_table` and refer to its `name`, so that Terraform creates it first.")
			return false
		}
	}
	return true
}

// Read finds the model in the catalog.
func (r *isolationModelResource) Read(ctx context.Context, req resource.ReadRequest, resp *resource.ReadResponse) {
	var m isolationModelModel
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

	d, err := r.session.lookup(ctx)
	if err != nil {
		addServiceError(&resp.Diagnostics, m.what()+" could not be read", err)
		return
	}
	rec, ok := d.models[m.Name.ValueString()]
	if !ok {
		resp.Diagnostics.AddWarning(m.what()+" is gone from the catalog",
			"It was deleted outside Terraform. It is removed from the state; the next apply creates it anew.")
		resp.State.RemoveResource(ctx)
		return
	}
	resp.Diagnostics.Append(m.take(ctx, rec.Model)...)
	resp.Diagnostics.Append(resp.State.Set(ctx, &m)...)
}

// Update changes a model that no tenant uses.
func (r *isolationModelResource) Update(ctx context.Context, req resource.UpdateRequest, resp *resource.UpdateResponse) {
	var m isolationModelModel
	resp.Diagnostics.Append(req.Plan.Get(ctx, &m)...)
	s := r.ready(&resp.Diagnostics)
	limit, ds := m.Timeouts.Update(ctx, quickLimits.update)
	resp.Diagnostics.Append(ds...)
	m.Account = m.defaultAccount()
	model, _ := m.model(ctx, &resp.Diagnostics)
	if resp.Diagnostics.HasError() {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()

	if !r.tablesExist(ctx, m, model, &resp.Diagnostics) {
		return
	}
	rec, err := s.catalog.Model(ctx, model.Name)
	if err == nil && !reflect.DeepEqual(rec.Model, model) {
		rec.Model = model
		rec, err = s.catalog.UpdateModel(ctx, rec)
	}
	switch {
	case errors.Is(err, catalog.ErrInUse):
		s.directory.forget()
		var ids []string
		if d, err := s.lookup(ctx); err == nil {
			ids = d.users(model.Name)
		}
		refuseChange(&resp.Diagnostics, m, ids)
		return
	case err != nil:
		addServiceError(&resp.Diagnostics, m.what()+" could not be changed", err)
		return
	}
	s.putModel(rec)
	resp.Diagnostics.Append(resp.Identity.Set(ctx, m.identity())...)
	resp.Diagnostics.Append(resp.State.Set(ctx, &m)...)
}

// Delete removes a model that no tenant uses.
func (r *isolationModelResource) Delete(ctx context.Context, req resource.DeleteRequest, resp *resource.DeleteResponse) {
	var m isolationModelModel
	resp.Diagnostics.Append(req.State.Get(ctx, &m)...)
	s := r.ready(&resp.Diagnostics)
	limit, ds := m.Timeouts.Delete(ctx, quickLimits.delete)
	resp.Diagnostics.Append(ds...)
	if resp.Diagnostics.HasError() {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()

	err := deleteModel(ctx, s, m.Name.ValueString())
	switch {
	case errors.Is(err, catalog.ErrInUse):
		resp.Diagnostics.AddError(m.what()+" is in use",
			sentence(err)+" Move or destroy its tenants first. To give the model another name, declare the new one beside it, move the tenants, then remove this one; "+
				"`lifecycle { create_before_destroy = true }` does it in one apply.")
		return
	case err != nil && !errors.Is(err, catalog.ErrNotFound) && !errors.Is(err, catalog.ErrNoCatalog):
		addServiceError(&resp.Diagnostics, m.what()+" could not be deleted", err)
		return
	}
	s.dropModel(m.Name.ValueString())
}

// ImportState takes the model's name or identity.
func (r *isolationModelResource) ImportState(ctx context.Context, req resource.ImportStateRequest, resp *resource.ImportStateResponse) {
	id := isolationModelIdentity{Name: types.StringValue(req.ID)}
	if req.ID == "" {
		resp.Diagnostics.Append(req.Identity.Get(ctx, &id)...)
	}
	resp.Diagnostics.Append(resp.Identity.Set(ctx, id)...)
	resp.Diagnostics.Append(resp.State.SetAttribute(ctx, path.Root("name"), id.Name)...)
}
