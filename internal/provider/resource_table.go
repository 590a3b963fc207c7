package provider

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework-timeouts/resource/timeouts"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/identityschema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/booldefault"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/planmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/stringplanmodifier"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/aztenancy/terraform-provider-aztenancy/internal/tablestorage"
	"github.com/aztenancy/terraform-provider-aztenancy/internal/tenancy"
)

var (
	_ resource.ResourceWithConfigure   = (*tableResource)(nil)
	_ resource.ResourceWithModifyPlan  = (*tableResource)(nil)
	_ resource.ResourceWithImportState = (*tableResource)(nil)
	_ resource.ResourceWithIdentity    = (*tableResource)(nil)
)

func newTableResource() resource.Resource { return &tableResource{} }

// tableResource is one physical table. It never touches the table's stored access policies: the service refuses that
// to Entra tokens, and a table must be declarable on accounts whose keys are off.
type tableResource struct{ resourceClient }

type tableModel struct {
	ID                 types.String   `tfsdk:"id"`
	Name               types.String   `tfsdk:"name"`
	Account            types.String   `tfsdk:"account"`
	DeletionProtection types.Bool     `tfsdk:"deletion_protection"`
	DestroyPolicy      types.String   `tfsdk:"destroy_policy"`
	AdoptExisting      types.Bool     `tfsdk:"adopt_existing"`
	URL                types.String   `tfsdk:"url"`
	Timeouts           timeouts.Value `tfsdk:"timeouts"`
}

type tableIdentity struct {
	Account types.String `tfsdk:"account"`
	Name    types.String `tfsdk:"name"`
}

func (m tableModel) identity() tableIdentity { return tableIdentity{Account: m.Account, Name: m.Name} }

// what names the table in messages.
func (m tableModel) what() string {
	return "Table " + quote(tableID(m.Account.ValueString(), m.Name.ValueString()))
}

// Metadata names the resource.
func (r *tableResource) Metadata(_ context.Context, req resource.MetadataRequest, resp *resource.MetadataResponse) {
	resp.TypeName = req.ProviderTypeName + "_table"
}

// IdentitySchema describes what identifies a table.
func (r *tableResource) IdentitySchema(_ context.Context, _ resource.IdentitySchemaRequest, resp *resource.IdentitySchemaResponse) {
	resp.IdentitySchema = identityschema.Schema{Attributes: map[string]identityschema.Attribute{
		"name":    identityschema.StringAttribute{RequiredForImport: true, Description: "The table's name."},
		"account": identityschema.StringAttribute{OptionalForImport: true, Description: "The account that holds it; home if it is left out."},
	}}
}

// Schema describes the resource.
func (r *tableResource) Schema(ctx context.Context, _ resource.SchemaRequest, resp *resource.SchemaResponse) {
	resp.Schema = schema.Schema{
		MarkdownDescription: "A physical table of a storage account, such as the shared table of an isolation model. Tables of dedicated " +
			"models are made with their tenants and need no resource. Stored access policies are resources of their own; this one " +
			"never reads or writes them, so it works on accounts whose keys are turned off.\n\n" +
			"A table that the provider azurerm manages is taken over by a `moved` block from its `azurerm_storage_table`; for that one run azurerm must be installed, too. " +
			"Its access policies stay as they are: declare and import them as `aztenancy_stored_access_policy`.",
		Attributes: map[string]schema.Attribute{
			"id": idAttribute("`NAME`, or `ACCOUNT/NAME` for another account than `home`"),
			"name": schema.StringAttribute{
				MarkdownDescription: "The table's name: 3 to 63 letters and digits, a letter first. Names that differ only in the case of letters are " +
					"the same table. Changing the name replaces the table and loses what is in it.",
				Required:      true,
				PlanModifiers: []planmodifier.String{stringplanmodifier.RequiresReplace()},
				Validators:    []validator.String{tableName{}},
			},
			"account":             accountAttribute("table"),
			"deletion_protection": deletionProtectionAttribute("table"),
			"destroy_policy": destroyPolicyAttribute("What destroying the resource does when the table holds entities: `refuse_if_not_empty`, " +
				"the default, is an error; `delete` drops the table with all in it. There is no way back from that."),
			"adopt_existing": schema.BoolAttribute{
				MarkdownDescription: "Whether a table that exists already is taken over instead of refused when the resource is created. Defaults to `false`.",
				Optional:            true,
				Computed:            true,
				Default:             booldefault.StaticBool(false),
			},
			"url": schema.StringAttribute{
				MarkdownDescription: "The table's address.",
				Computed:            true,
				PlanModifiers:       []planmodifier.String{stringplanmodifier.UseStateForUnknown()},
			},
			"timeouts": quickLimits.attribute(ctx),
		},
	}
}

// ModifyPlan refuses at plan time what apply would refuse.
func (r *tableResource) ModifyPlan(ctx context.Context, req resource.ModifyPlanRequest, resp *resource.ModifyPlanResponse) {
	var state, plan *tableModel
	resp.Diagnostics.Append(req.State.Get(ctx, &state)...)
	resp.Diagnostics.Append(req.Plan.Get(ctx, &plan)...)
	if resp.Diagnostics.HasError() {
		return
	}
	if plan != nil && state != nil && !plan.Name.IsUnknown() {
		was, is := state.Name.ValueString(), plan.Name.ValueString()
		if was != is && strings.EqualFold(was, is) && state.Account.Equal(plan.Account) {
			resp.Diagnostics.AddAttributeError(path.Root("name"), fmt.Sprintf("Table %q cannot become %q", was, is),
				fmt.Sprintf("Table names are case-insensitive, and the service keeps the letters that the table was created with. "+
					"Write `name = %q`: every way of writing it reaches the same table.", was))
			return
		}
	}
	replaces := plan != nil && state != nil && (!plan.Name.Equal(state.Name) || !plan.Account.Equal(state.Account))
	if state != nil && (plan == nil || replaces) {
		r.planDelete(ctx, *state, &resp.Diagnostics)
	}
	if plan != nil && (state == nil || replaces) {
		r.planCreate(*plan, &resp.Diagnostics)
	}
}

func (r *tableResource) planDelete(ctx context.Context, state tableModel, diags *diag.Diagnostics) {
	if state.DeletionProtection.ValueBool() {
		refuseProtected(diags, state.what())
		return
	}
	if !r.session.configured() || state.DestroyPolicy.ValueString() == deleteData {
		return
	}
	empty, err := r.isEmpty(ctx, state)
	if err != nil || empty {
		return // Delete looks again, and an account that does not answer is said by Read
	}
	// Its tenants and entities may be destroyed before it, in this very plan, which does not say so to the table.
	diags.AddWarning(state.what()+" is not empty",
		"It is destroyed only if the tenants and entities that are in it are gone by then; otherwise the apply refuses it, and nothing of it is lost. "+
			"To drop it with all that is in it, set `destroy_policy = \"delete\"`, apply, and destroy it then.")
}

func refuseNotEmpty(diags *diag.Diagnostics, m tableModel) {
	diags.AddError(m.what()+" is not empty",
		"Its `destroy_policy` is `refuse_if_not_empty`. Remove the entities first, or set `destroy_policy = \"delete\"`, apply, and destroy it "+
			"then: everything in it is lost, the service keeps no copy. To keep the table and only stop managing it, use a `removed` block or `terraform state rm`.")
}

func (r *tableResource) planCreate(plan tableModel, diags *diag.Diagnostics) {
	if !r.session.configured() || plan.Name.IsUnknown() || plan.Account.IsUnknown() {
		return
	}
	account, name := plan.Account.ValueString(), plan.Name.ValueString()
	client, err := r.session.accounts.Client(account)
	if err != nil {
		diags.AddAttributeError(path.Root("account"), "Account "+quote(account)+" is not configured", sentence(err))
		return
	}
	if r.session.isCatalog(client.AccountName(), name) {
		diags.AddAttributeError(path.Root("name"), plan.what()+" is the catalog",
			"It records all tenants, and the provider makes it when it is first needed. Choose another `name`, or another `catalog_table` in the provider block.")
	}
}

// Create creates the table, or adopts it if told to.
func (r *tableResource) Create(ctx context.Context, req resource.CreateRequest, resp *resource.CreateResponse) {
	var m tableModel
	resp.Diagnostics.Append(req.Plan.Get(ctx, &m)...)
	s := r.ready(&resp.Diagnostics)
	limit, ds := m.Timeouts.Create(ctx, quickLimits.create)
	resp.Diagnostics.Append(ds...)
	if resp.Diagnostics.HasError() {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()

	client, err := s.accounts.Client(m.Account.ValueString())
	if err != nil {
		resp.Diagnostics.AddAttributeError(path.Root("account"), "Account "+quote(m.Account.ValueString())+" is not configured", sentence(err))
		return
	}
	name := m.Name.ValueString()
	stored, exists, err := client.TableExists(ctx, name)
	if err == nil && !exists {
		err = createWhenFree(ctx, client, name)
	}
	s.forgetTables(m.Account.ValueString())
	switch {
	case errors.Is(err, tablestorage.ErrTableBeingDeleted):
		resp.Diagnostics.AddError(m.what()+" is still being deleted",
			fmt.Sprintf("A table of this name was deleted a short while ago, and the service did not free the name within %s. "+
				"That usually takes less than a minute, sometimes more. Apply again, or raise `timeouts.create`.", limit))
		return
	case err != nil:
		addServiceError(&resp.Diagnostics, m.what()+" could not be created", err)
		return
	case exists && !m.AdoptExisting.ValueBool():
		resp.Diagnostics.AddError(m.what()+" exists already",
			fmt.Sprintf("To manage it, import it with the id %q, or set `adopt_existing = true`. To have another table, choose another `name`.", tableID(m.Account.ValueString(), stored)))
		return
	case exists && stored != name:
		resp.Diagnostics.AddAttributeError(path.Root("name"), m.what()+" exists as "+quote(stored),
			fmt.Sprintf("Table names are case-insensitive, and the service keeps the letters that the table was created with. Write `name = %q` to adopt it.", stored))
		return
	}
	m.ID = types.StringValue(tableID(m.Account.ValueString(), name))
	m.URL = types.StringValue(client.TableURL(name))
	resp.Diagnostics.Append(resp.Identity.Set(ctx, m.identity())...)
	resp.Diagnostics.Append(resp.State.Set(ctx, &m)...)
}

// Read finds the table in the account's list, which all tables share.
func (r *tableResource) Read(ctx context.Context, req resource.ReadRequest, resp *resource.ReadResponse) {
	var m tableModel
	resp.Diagnostics.Append(req.State.Get(ctx, &m)...)
	if resp.Diagnostics.HasError() {
		return
	}
	word, ds := req.Private.GetKey(ctx, movedStorageKey)
	resp.Diagnostics.Append(ds...)
	if len(word) > 0 && r.session.configured() {
		r.settleMoved(word, &m, &resp.Diagnostics)
		resp.Diagnostics.Append(resp.Private.SetKey(ctx, movedStorageKey, nil)...)
		if resp.Diagnostics.HasError() {
			return
		}
	}
	// First, and also when the table is gone: Terraform refuses an answer without identity, and states that were
	// written by Terraform before 1.12 hold none.
	resp.Diagnostics.Append(resp.Identity.Set(ctx, m.identity())...)
	if !r.session.configured() {
		return
	}
	limit, ds := m.Timeouts.Read(ctx, quickLimits.read)
	resp.Diagnostics.Append(ds...)
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()

	stored, ok, err := r.session.table(ctx, m.Account.ValueString(), m.Name.ValueString())
	if err != nil {
		addServiceError(&resp.Diagnostics, m.what()+" could not be read", err)
		return
	}
	if !ok {
		resp.Diagnostics.AddWarning(m.what()+" is gone",
			"It was deleted outside Terraform, with everything in it. It is removed from the state; the next apply creates it anew, empty.")
		resp.State.RemoveResource(ctx)
		return
	}
	client, err := r.session.accounts.Client(m.Account.ValueString())
	if err != nil {
		addServiceError(&resp.Diagnostics, m.what()+" could not be read", err)
		return
	}
	m.Name = types.StringValue(stored)
	m.ID = types.StringValue(tableID(m.Account.ValueString(), stored))
	m.URL = types.StringValue(client.TableURL(stored))
	resp.Diagnostics.Append(resp.Identity.Set(ctx, m.identity())...)
	resp.Diagnostics.Append(resp.State.Set(ctx, &m)...)
}

// Update records settings that the service knows nothing of.
func (r *tableResource) Update(ctx context.Context, req resource.UpdateRequest, resp *resource.UpdateResponse) {
	var m tableModel
	resp.Diagnostics.Append(req.Plan.Get(ctx, &m)...)
	if resp.Diagnostics.HasError() {
		return
	}
	resp.Diagnostics.Append(resp.Identity.Set(ctx, m.identity())...)
	resp.Diagnostics.Append(resp.State.Set(ctx, &m)...)
}

// Delete drops the table if nothing stands in the way. Protection is looked at again: a replacement comes here without
// a plan of its own to destroy.
func (r *tableResource) Delete(ctx context.Context, req resource.DeleteRequest, resp *resource.DeleteResponse) {
	var m tableModel
	resp.Diagnostics.Append(req.State.Get(ctx, &m)...)
	s := r.ready(&resp.Diagnostics)
	limit, ds := m.Timeouts.Delete(ctx, quickLimits.delete)
	resp.Diagnostics.Append(ds...)
	if resp.Diagnostics.HasError() {
		return
	}
	if m.DeletionProtection.ValueBool() {
		refuseProtected(&resp.Diagnostics, m.what())
		return
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()

	account, name := m.Account.ValueString(), m.Name.ValueString()
	client, err := s.accounts.Client(account)
	if err != nil {
		resp.Diagnostics.AddError("Account "+quote(account)+" is not configured", sentence(err))
		return
	}
	if !r.unclaimed(ctx, m, &resp.Diagnostics) {
		return
	}
	if m.DestroyPolicy.ValueString() != deleteData {
		empty, err := r.isEmpty(ctx, m)
		if err != nil {
			addServiceError(&resp.Diagnostics, m.what()+" could not be read before deleting it", err)
			return
		}
		if !empty {
			refuseNotEmpty(&resp.Diagnostics, m)
			return
		}
	}
	err = client.DeleteTable(ctx, name)
	s.forgetTables(account)
	if err != nil && !errors.Is(err, tablestorage.ErrTableNotFound) {
		addServiceError(&resp.Diagnostics, m.what()+" could not be deleted", err)
	}
}

// ImportState takes a table's id, its address, its ARM id, or its identity.
func (r *tableResource) ImportState(ctx context.Context, req resource.ImportStateRequest, resp *resource.ImportStateResponse) {
	s := r.ready(&resp.Diagnostics)
	if s == nil {
		return
	}
	var id tableIdentity
	if req.ID != "" {
		account, name, err := parseTableID(s.accounts, req.ID)
		if err != nil {
			resp.Diagnostics.AddError("Import id "+quote(req.ID)+" is not a table", sentence(err))
			return
		}
		id = tableIdentity{Account: types.StringValue(account), Name: types.StringValue(name)}
	} else {
		resp.Diagnostics.Append(req.Identity.Get(ctx, &id)...)
		if id.Account.ValueString() == "" {
			id.Account = types.StringValue(tenancy.HomeAccount)
		}
	}
	resp.Diagnostics.Append(resp.Identity.Set(ctx, id)...)
	resp.Diagnostics.Append(resp.State.SetAttribute(ctx, path.Root("account"), id.Account)...)
	resp.Diagnostics.Append(resp.State.SetAttribute(ctx, path.Root("name"), id.Name)...)
	resp.Diagnostics.Append(resp.State.SetAttribute(ctx, path.Root("deletion_protection"), true)...)
	resp.Diagnostics.Append(resp.State.SetAttribute(ctx, path.Root("destroy_policy"), refuseIfNotEmpty)...)
	resp.Diagnostics.Append(resp.State.SetAttribute(ctx, path.Root("adopt_existing"), false)...)
}
