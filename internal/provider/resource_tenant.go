package provider

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/hashicorp/terraform-plugin-framework-validators/stringvalidator"
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

	"github.com/aztenancy/terraform-provider-aztenancy/internal/catalog"
	"github.com/aztenancy/terraform-provider-aztenancy/internal/tablestorage"
	"github.com/aztenancy/terraform-provider-aztenancy/internal/tenancy"
)

var (
	_ resource.ResourceWithConfigure   = (*tenantResource)(nil)
	_ resource.ResourceWithModifyPlan  = (*tenantResource)(nil)
	_ resource.ResourceWithImportState = (*tenantResource)(nil)
	_ resource.ResourceWithIdentity    = (*tenantResource)(nil)
)

func newTenantResource() resource.Resource { return &tenantResource{} }

// tenantResource is one tenant. What it plans is in tenant_plan.go, and how it moves in tenant_move.go.
type tenantResource struct{ resourceClient }

// tenantLimits leave a move two hours: that is the time of a few million entities.
var tenantLimits = limits{create: 10 * time.Minute, read: 2 * time.Minute, update: 2 * time.Hour, delete: time.Hour}

// Metadata names the resource.
func (r *tenantResource) Metadata(_ context.Context, req resource.MetadataRequest, resp *resource.MetadataResponse) {
	resp.TypeName = req.ProviderTypeName + "_tenant"
}

// IdentitySchema describes what identifies a tenant.
func (r *tenantResource) IdentitySchema(_ context.Context, _ resource.IdentitySchemaRequest, resp *resource.IdentitySchemaResponse) {
	resp.IdentitySchema = identityschema.Schema{Attributes: map[string]identityschema.Attribute{
		"tenant_id": identityschema.StringAttribute{RequiredForImport: true, Description: "The tenant's id."},
	}}
}

// Schema describes the resource.
func (r *tenantResource) Schema(ctx context.Context, _ resource.SchemaRequest, resp *resource.SchemaResponse) {
	resp.Schema = schema.Schema{
		MarkdownDescription: "A tenant: one customer, placed by an isolation model. The catalog records where its entities live, and gives it a claim on its key " +
			"range that no other tenant can have.\n\n" +
			"**Changing `isolation_model` or `account` moves the tenant** when it is applied: its entities are copied, what the tenant writes meanwhile is carried over, " +
			"every property and type of every entity is compared, and only then the catalog names the new place. Only for the last pass and the comparison of what " +
			"changed may applications not write the tenant's entities (its state is `frozen`): see `max_freeze`. What is left at the old place stays there until `tenantctl purge`. " +
			"An interrupted move goes on with the next apply; setting the old model again before it has switched undoes it.",
		Attributes: map[string]schema.Attribute{
			"id": idAttribute("the tenant's id"),
			"tenant_id": schema.StringAttribute{
				MarkdownDescription: "The tenant's id: 1 to 63 characters of `a-z`, `0-9`, `.`, `_` and `-`. Changing it replaces the tenant.",
				Required:            true,
				PlanModifiers:       []planmodifier.String{stringplanmodifier.RequiresReplace()},
				Validators:          []validator.String{tenantIDValidator()},
			},
			"key": schema.StringAttribute{
				MarkdownDescription: "The text that stands for the tenant in PartitionKeys, so that entities that exist already are declared as they are: `Contoso` for a " +
					"tenant with the id `contoso`. Not empty, no `/`, `\\`, `#`, `?` or control characters. Defaults to the id. Changing it replaces the tenant.",
				Optional: true,
				Computed: true,
				PlanModifiers: []planmodifier.String{
					stringplanmodifier.RequiresReplaceIfConfigured(),
					stringplanmodifier.UseStateForUnknown(),
				},
				Validators: []validator.String{tenantKeyValidator()},
			},
			"isolation_model": schema.StringAttribute{
				MarkdownDescription: "The name of the isolation model that places the tenant: `aztenancy_isolation_model.NAME.name`. Changing it moves the tenant.",
				Required:            true,
				Validators:          []validator.String{text{"Isolation model", tenancy.ValidateModelName}},
			},
			"account": schema.StringAttribute{
				MarkdownDescription: "The account of a tenant whose model is of the kind `dedicated_account` and names none: a name of the provider's `accounts`. Changing it moves the tenant.",
				Optional:            true,
				Validators:          []validator.String{stringvalidator.LengthAtLeast(1)},
			},
			"labels": schema.MapAttribute{
				MarkdownDescription: "Texts by name, kept in the catalog for whoever reads it.",
				Optional:            true,
				ElementType:         types.StringType,
			},
			"adopt_existing": schema.BoolAttribute{
				MarkdownDescription: "Whether dedicated tables that exist and hold entities already are taken over when the tenant is created. Defaults to `false`.",
				Optional:            true,
				Computed:            true,
				Default:             booldefault.StaticBool(false),
			},
			"deletion_protection": deletionProtectionAttribute("tenant"),
			"destroy_policy": destroyPolicyAttribute("What destroying the resource does when the tenant has entities: `refuse_if_not_empty`, the default, " +
				"is an error; `delete` deletes them. There is no way back from that."),
			"migration": schema.SingleNestedAttribute{
				MarkdownDescription: "How the tenant is moved when its place changes.",
				Optional:            true,
				Attributes:          migrationAttributes(),
				Validators:          []validator.Object{moveTimesValidator{}},
			},
			"state": schema.StringAttribute{
				MarkdownDescription: "What may be done with the tenant's entities: `active`, read and write; `frozen`, read only, as it is being moved; `provisioning` and `deleting`, nothing.",
				Computed:            true,
			},
			"epoch": schema.Int64Attribute{
				MarkdownDescription: "A number that grows with every change of the tenant's place or state. Applications that keep what the catalog says compare it.",
				Computed:            true,
			},
			"tables":   tablesAttribute(),
			"timeouts": tenantLimits.attribute(ctx),
		},
	}
}

func migrationAttributes() map[string]schema.Attribute {
	return map[string]schema.Attribute{
		"verify": schema.StringAttribute{
			MarkdownDescription: "How thoroughly source and target are compared before the switch. `full`, the default: every entity, every property, every type. " +
				"There is no weaker level in this version.",
			Optional:   true,
			Validators: []validator.String{stringvalidator.OneOf("full")},
		},
		"drain": schema.StringAttribute{
			MarkdownDescription: "How long to wait between holding the tenant's writes and the last pass, such as `30s`: the longest for which an application goes on writing " +
				"by a tenant's row that it keeps. Part of `max_freeze`, so it must be shorter. Defaults to no wait.",
			Optional:   true,
			Validators: []validator.String{positiveDurationValidator()},
		},
		"max_freeze": schema.StringAttribute{
			MarkdownDescription: "The longest that the tenant's writes may be held, such as `30s`: a freeze that would take longer is not begun, one that does is undone, and the tenant is " +
				"written where it was; the next apply tries again. Defaults to `5m` and the drain. The copy before it, during which the tenant is written, has `timeouts.update`.",
			Optional:   true,
			Validators: []validator.String{positiveDurationValidator()},
		},
		"reverse_window": schema.StringAttribute{
			MarkdownDescription: "For how long after a move what was left at the old place is kept at least, such as `24h`. Nothing deletes it but `tenantctl purge`, " +
				"which refuses within this time unless it is told twice. It counts for the moves that are made while it is set.",
			Optional:   true,
			Validators: []validator.String{positiveDurationValidator()},
		},
	}
}

func tablesAttribute() schema.Attribute {
	text := func(description string) schema.StringAttribute {
		return schema.StringAttribute{MarkdownDescription: description, Computed: true}
	}
	return schema.MapNestedAttribute{
		MarkdownDescription: "Where the tenant's entities live, by logical table.",
		Computed:            true,
		NestedObject: schema.NestedAttributeObject{Attributes: map[string]schema.Attribute{
			"account":             text(placementDescriptions["account"]),
			"table":               text(placementDescriptions["table"]),
			"url":                 text(placementDescriptions["url"]),
			"partition_key_start": text(placementDescriptions["partition_key_start"]),
			"partition_key_end":   text(placementDescriptions["partition_key_end"]),
		}},
	}
}

// Create makes the tenant, or finishes what an interrupted apply began. On an error nothing is put into the state:
// Terraform would mark the tenant as tainted and delete it with the next apply.
func (r *tenantResource) Create(ctx context.Context, req resource.CreateRequest, resp *resource.CreateResponse) {
	var m tenantModel
	resp.Diagnostics.Append(req.Plan.Get(ctx, &m)...)
	s := r.ready(&resp.Diagnostics)
	limit, ds := m.Timeouts.Create(ctx, tenantLimits.create)
	resp.Diagnostics.Append(ds...)
	labels, ds := m.labels(ctx)
	resp.Diagnostics.Append(ds...)
	if resp.Diagnostics.HasError() {
		return
	}
	id := m.TenantID.ValueString()
	ctx, cancel := context.WithTimeout(tablestorage.WithCorrelation(ctx, id, "create"), limit)
	defer cancel()

	err := s.ensureCatalog(ctx)
	var rec catalog.TenantRecord
	if err == nil {
		spec := catalog.TenantSpec{
			ID:          id,
			Key:         m.Key.ValueString(),
			Model:       m.IsolationModel.ValueString(),
			Account:     m.Account.ValueString(),
			Labels:      labels,
			AdoptTables: m.AdoptExisting.ValueBool(),
		}
		err = whileTableIsDeleted(ctx, func() (err error) {
			rec, err = s.creator.create(ctx, spec)
			return err
		})
	}
	if err != nil {
		s.directory.forget()
		addCreateError(&resp.Diagnostics, m, err)
		return
	}
	s.putTenant(rec)
	resp.Diagnostics.Append(m.take(ctx, rec, s.opensAccount(ctx, rec.Model))...)
	resp.Diagnostics.Append(resp.Identity.Set(ctx, m.identity())...)
	resp.Diagnostics.Append(resp.State.Set(ctx, &m)...)
}

func addCreateError(diags *diag.Diagnostics, m tenantModel, err error) {
	var conflict *catalog.ClaimConflictError
	switch {
	case errors.As(err, &conflict):
		addConflict(diags, m, conflict.Wanted, conflict.Held)
	case errors.Is(err, catalog.ErrExists):
		refuseExisting(diags, m)
	default:
		diags.AddError(m.what()+" could not be created",
			sentence(err)+"\n\nNothing is in Terraform's state. Where the catalog has begun to record the tenant, the next apply finishes it.")
	}
}

func refuseExisting(diags *diag.Diagnostics, m tenantModel) {
	diags.AddAttributeError(path.Root("tenant_id"), m.what()+" exists already",
		fmt.Sprintf("To manage it, import it with the id %q, or, if it is only declared under another address now, write a `moved` block. "+
			"To have another tenant, choose another `tenant_id`.", m.TenantID.ValueString()))
}

// Read finds the tenant in the catalog, which all tenants share.
func (r *tenantResource) Read(ctx context.Context, req resource.ReadRequest, resp *resource.ReadResponse) {
	var m tenantModel
	resp.Diagnostics.Append(req.State.Get(ctx, &m)...)
	if resp.Diagnostics.HasError() {
		return
	}
	resp.Diagnostics.Append(resp.Identity.Set(ctx, m.identity())...) // first: see tableResource.Read
	if !r.session.configured() {
		return
	}
	limit, ds := m.Timeouts.Read(ctx, tenantLimits.read)
	resp.Diagnostics.Append(ds...)
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()

	d, err := r.session.lookup(ctx)
	if err != nil {
		addServiceError(&resp.Diagnostics, m.what()+" could not be read", err)
		return
	}
	rec, ok := d.tenants[m.TenantID.ValueString()]
	if !ok {
		resp.Diagnostics.AddWarning(m.what()+" is gone from the catalog",
			"It was deleted outside Terraform, perhaps with its entities. It is removed from the state; the next apply creates it anew, "+
				"on whatever entities are still there under its key.")
		resp.State.RemoveResource(ctx)
		return
	}
	if err := r.session.otherStorage(rec.Placement); err != nil {
		resp.Diagnostics.AddError(m.what()+" is not in the account that is configured", sentence(err))
		return
	}
	if rec.State == tenancy.Deleting {
		resp.Diagnostics.AddWarning(m.what()+" is half deleted",
			"A deletion was interrupted. Destroy it again to finish: its entities may be gone in part.")
	}
	before := m
	resp.Diagnostics.Append(m.take(ctx, rec, r.session.opensAccount(ctx, rec.Model))...)
	resp.Diagnostics.Append(resp.Private.SetKey(ctx, movedOutsideKey, movedOutside(before, m))...)
	resp.Diagnostics.Append(resp.State.Set(ctx, &m)...)
}

// Update moves the tenant if its place changes, and then writes what else is new. After an error the state keeps the old
// place, and the catalog the journal from which the next apply goes on.
func (r *tenantResource) Update(ctx context.Context, req resource.UpdateRequest, resp *resource.UpdateResponse) {
	var m, state tenantModel
	resp.Diagnostics.Append(req.Plan.Get(ctx, &m)...)
	resp.Diagnostics.Append(req.State.Get(ctx, &state)...)
	s := r.ready(&resp.Diagnostics)
	limit, ds := m.Timeouts.Update(ctx, tenantLimits.update)
	resp.Diagnostics.Append(ds...)
	labels, ds := m.labels(ctx)
	resp.Diagnostics.Append(ds...)
	if resp.Diagnostics.HasError() {
		return
	}
	id := m.TenantID.ValueString()
	ctx, cancel := context.WithTimeout(tablestorage.WithCorrelation(ctx, id, "update"), limit)
	defer cancel()

	defer s.directory.forget() // a move changes more than the tenant's row
	if !r.settle(ctx, m, state, &resp.Diagnostics) {
		return
	}
	rec, err := setLabels(context.WithoutCancel(ctx), s.catalog, id, labels)
	if err != nil {
		addServiceError(&resp.Diagnostics, m.what()+" could not be written", err)
		return
	}
	resp.Diagnostics.Append(m.take(ctx, rec, s.opensAccount(ctx, rec.Model))...)
	resp.Diagnostics.Append(resp.Private.SetKey(ctx, movedOutsideKey, nil)...)
	resp.Diagnostics.Append(resp.Identity.Set(ctx, m.identity())...)
	resp.Diagnostics.Append(resp.State.Set(ctx, &m)...)
}

// Delete deletes the tenant if nothing stands in the way.
func (r *tenantResource) Delete(ctx context.Context, req resource.DeleteRequest, resp *resource.DeleteResponse) {
	var m tenantModel
	resp.Diagnostics.Append(req.State.Get(ctx, &m)...)
	s := r.ready(&resp.Diagnostics)
	limit, ds := m.Timeouts.Delete(ctx, tenantLimits.delete)
	resp.Diagnostics.Append(ds...)
	if resp.Diagnostics.HasError() {
		return
	}
	if m.DeletionProtection.ValueBool() {
		refuseProtected(&resp.Diagnostics, m.what())
		return
	}
	id := m.TenantID.ValueString()
	ctx, cancel := context.WithTimeout(tablestorage.WithCorrelation(ctx, id, "delete"), limit)
	defer cancel()

	err := s.provisioner.Delete(ctx, id, m.DestroyPolicy.ValueString() == deleteData)
	switch {
	case errors.Is(err, catalog.ErrNotFound), errors.Is(err, catalog.ErrNoCatalog):
	case errors.Is(err, catalog.ErrNotEmpty):
		s.directory.forget()
		refuseTenantNotEmpty(&resp.Diagnostics, m, sentence(err)+" ")
		return
	case err != nil:
		s.directory.forget()
		addServiceError(&resp.Diagnostics, m.what()+" could not be deleted", err)
		return
	}
	s.dropTenant(id)
}

// refuseTenantNotEmpty takes what is known of where the entities are, or "".
func refuseTenantNotEmpty(diags *diag.Diagnostics, m tenantModel, where string) {
	diags.AddError(m.what()+" is not empty",
		where+"Its `destroy_policy` is `refuse_if_not_empty`. To destroy it with its entities, set `destroy_policy = \"delete\"`, apply, and destroy it then: "+
			"the service keeps no copy. To keep the tenant and only stop managing it, use a `removed` block or `terraform state rm`.")
}

// ImportState takes the tenant's id or identity.
func (r *tenantResource) ImportState(ctx context.Context, req resource.ImportStateRequest, resp *resource.ImportStateResponse) {
	id := tenantIdentity{TenantID: types.StringValue(req.ID)}
	if req.ID == "" {
		resp.Diagnostics.Append(req.Identity.Get(ctx, &id)...)
	}
	resp.Diagnostics.Append(resp.Identity.Set(ctx, id)...)
	resp.Diagnostics.Append(resp.State.SetAttribute(ctx, path.Root("tenant_id"), id.TenantID)...)
	resp.Diagnostics.Append(resp.State.SetAttribute(ctx, path.Root("deletion_protection"), true)...)
	resp.Diagnostics.Append(resp.State.SetAttribute(ctx, path.Root("destroy_policy"), refuseIfNotEmpty)...)
	resp.Diagnostics.Append(resp.State.SetAttribute(ctx, path.Root("adopt_existing"), false)...)
}
