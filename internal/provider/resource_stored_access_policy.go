package provider

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/hashicorp/terraform-plugin-framework-timeouts/resource/timeouts"
	"github.com/hashicorp/terraform-plugin-framework-timetypes/timetypes"
	"github.com/hashicorp/terraform-plugin-framework-validators/setvalidator"
	"github.com/hashicorp/terraform-plugin-framework-validators/stringvalidator"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/identityschema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/planmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/stringplanmodifier"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/aztenancy/terraform-provider-aztenancy/internal/tablestorage"
	"github.com/aztenancy/terraform-provider-aztenancy/internal/tenancy"
)

var (
	_ resource.ResourceWithConfigure      = (*policyResource)(nil)
	_ resource.ResourceWithValidateConfig = (*policyResource)(nil)
	_ resource.ResourceWithModifyPlan     = (*policyResource)(nil)
	_ resource.ResourceWithImportState    = (*policyResource)(nil)
	_ resource.ResourceWithIdentity       = (*policyResource)(nil)
)

func newStoredAccessPolicyResource() resource.Resource { return &policyResource{} }

// policyResource is one stored access policy. The service keeps all of a table's policies, five at most, as one document;
// policyDocument in policy_document.go changes one of them and leaves the others alone.
type policyResource struct{ resourceClient }

type policyModel struct {
	ID          types.String      `tfsdk:"id"`
	Account     types.String      `tfsdk:"account"`
	Table       types.String      `tfsdk:"table"`
	PolicyID    types.String      `tfsdk:"policy_id"`
	Permissions types.Set         `tfsdk:"permissions"`
	Start       timetypes.RFC3339 `tfsdk:"start"`
	Expiry      timetypes.RFC3339 `tfsdk:"expiry"`
	Timeouts    timeouts.Value    `tfsdk:"timeouts"`
}

type policyIdentity struct {
	Account  types.String `tfsdk:"account"`
	Table    types.String `tfsdk:"table"`
	PolicyID types.String `tfsdk:"policy_id"`
}

func (m policyModel) identity() policyIdentity {
	return policyIdentity{Account: m.Account, Table: m.Table, PolicyID: m.PolicyID}
}

func (m policyModel) what() string {
	return fmt.Sprintf("Stored access policy %q of table %q", m.PolicyID.ValueString(), tableID(m.Account.ValueString(), m.Table.ValueString()))
}

func (m policyModel) document(s *session) policyDocument {
	return policyDocument{session: s, account: m.Account.ValueString(), table: m.Table.ValueString()}
}

// Metadata names the resource.
func (r *policyResource) Metadata(_ context.Context, req resource.MetadataRequest, resp *resource.MetadataResponse) {
	resp.TypeName = req.ProviderTypeName + "_stored_access_policy"
}

// IdentitySchema describes what identifies a policy.
func (r *policyResource) IdentitySchema(_ context.Context, _ resource.IdentitySchemaRequest, resp *resource.IdentitySchemaResponse) {
	resp.IdentitySchema = identityschema.Schema{Attributes: map[string]identityschema.Attribute{
		"table":     identityschema.StringAttribute{RequiredForImport: true, Description: "The table's name."},
		"policy_id": identityschema.StringAttribute{RequiredForImport: true, Description: "The policy's id."},
		"account":   identityschema.StringAttribute{OptionalForImport: true, Description: "The account that holds the table; home if it is left out."},
	}}
}

// Schema describes the resource.
func (r *policyResource) Schema(ctx context.Context, _ resource.SchemaRequest, resp *resource.SchemaResponse) {
	resp.Schema = schema.Schema{
		MarkdownDescription: "A stored access policy of a table: shared access signatures that name it get their permissions and times from it, and " +
			"removing it revokes them all. A table has at most five. Each resource manages one of them and leaves the others alone, " +
			"those of the mover included, whose ids begin with `" + moverPolicyPrefix + "`.\n\n" +
			"Reading and writing policies needs the account key: the service refuses it to Microsoft Entra and to every SAS. " +
			"A change can take up to 30 seconds to be honoured. Azurite refuses policies that leave out `permissions`, `start` or `expiry`; Azure takes them.",
		Attributes: map[string]schema.Attribute{
			"id":      idAttribute("`TABLE/POLICY_ID`, or `ACCOUNT/TABLE/POLICY_ID` for another account than `home`"),
			"account": accountAttribute("table"),
			"table": schema.StringAttribute{
				MarkdownDescription: "The table. Changing it replaces the policy.",
				Required:            true,
				PlanModifiers:       []planmodifier.String{stringplanmodifier.RequiresReplace()},
				Validators:          []validator.String{tableName{}},
			},
			"policy_id": schema.StringAttribute{
				MarkdownDescription: "The id by which signatures name the policy: 1 to 64 characters, case-sensitive. Ids that begin with `" + moverPolicyPrefix +
					"` belong to the mover and are refused. Changing it replaces the policy and so revokes every signature that names it.",
				Required:      true,
				PlanModifiers: []planmodifier.String{stringplanmodifier.RequiresReplace()},
				Validators:    []validator.String{policyIDValidator()},
			},
			"permissions": schema.SetAttribute{
				MarkdownDescription: "What a signature allows: `read`, `add`, `update`, `delete`. Left out, each signature must say it itself.",
				Optional:            true,
				ElementType:         types.StringType,
				Validators: []validator.Set{
					setvalidator.SizeAtLeast(1),
					setvalidator.ValueStringsAre(stringvalidator.OneOf("read", "add", "update", "delete")),
				},
			},
			"start": schema.StringAttribute{
				MarkdownDescription: "From when signatures are valid, as `2027-01-31T00:00:00Z`. Left out, each signature may say it itself, or is valid at once.",
				Optional:            true,
				CustomType:          timetypes.RFC3339Type{},
			},
			"expiry": schema.StringAttribute{
				MarkdownDescription: "Until when signatures are valid, as `2027-06-30T00:00:00Z`; after `start`. Left out, each signature must say it itself.",
				Optional:            true,
				CustomType:          timetypes.RFC3339Type{},
			},
			"timeouts": quickLimits.attribute(ctx),
		},
	}
}

// ValidateConfig checks that the policy is valid for some time.
func (r *policyResource) ValidateConfig(ctx context.Context, req resource.ValidateConfigRequest, resp *resource.ValidateConfigResponse) {
	var m policyModel
	resp.Diagnostics.Append(req.Config.Get(ctx, &m)...)
	if resp.Diagnostics.HasError() {
		return
	}
	start, expiry := instant(m.Start), instant(m.Expiry)
	if start != nil && expiry != nil && !expiry.After(*start) {
		resp.Diagnostics.AddAttributeError(path.Root("expiry"), "Expiry is not after start",
			fmt.Sprintf("The policy would begin at %s and end at %s, so no signature would ever be valid. Choose a later `expiry` or an earlier `start`.",
				m.Start.ValueString(), m.Expiry.ValueString()))
	}
}

// ModifyPlan refuses what cannot be applied and says when a change revokes signatures.
func (r *policyResource) ModifyPlan(ctx context.Context, req resource.ModifyPlanRequest, resp *resource.ModifyPlanResponse) {
	var state, plan *policyModel
	resp.Diagnostics.Append(req.State.Get(ctx, &state)...)
	resp.Diagnostics.Append(req.Plan.Get(ctx, &plan)...)
	if resp.Diagnostics.HasError() {
		return
	}
	if state != nil && (plan == nil || revokes(*state, *plan)) {
		resp.Diagnostics.AddWarning("Signatures on "+state.what()+" are revoked or cut short",
			"Every shared access signature that names the policy loses what it takes away, up to 30 seconds after the apply. Signatures handed out cannot be changed, only made anew.")
	}
	if plan == nil || !r.session.configured() || plan.Account.IsUnknown() || plan.Table.IsUnknown() || plan.PolicyID.IsUnknown() {
		return
	}
	account := plan.Account.ValueString()
	client, err := r.session.accounts.Client(account)
	if err != nil {
		resp.Diagnostics.AddAttributeError(path.Root("account"), "Account "+quote(account)+" is not configured", sentence(err))
		return
	}
	if !client.CanSignSAS() {
		resp.Diagnostics.AddError(plan.what()+" needs the account key",
			fmt.Sprintf("The service lets neither Microsoft Entra nor a SAS read or write stored access policies, and the provider has no key of account %q. "+
				"Give `account_key` or a connection string that holds the key.", account))
		return
	}
	if ids := r.session.planned.putPolicy(tableKey(account, plan.Table.ValueString()), plan.PolicyID.ValueString()); len(ids) > maxPolicies {
		resp.Diagnostics.AddAttributeError(path.Root("policy_id"), fmt.Sprintf("Table %q would have %d stored access policies", plan.Table.ValueString(), len(ids)),
			fmt.Sprintf("A table has at most %d. Declared are %s. Remove one, or let several signatures share a policy.", maxPolicies, enumerate(ids)))
	}
}

// revokes says whether a change takes something away from signatures that were handed out.
func revokes(state, plan policyModel) bool {
	if !state.PolicyID.Equal(plan.PolicyID) || !state.Table.Equal(plan.Table) || !state.Account.Equal(plan.Account) {
		return true
	}
	if plan.Permissions.IsUnknown() || plan.Start.IsUnknown() || plan.Expiry.IsUnknown() {
		return false
	}
	for _, p := range state.Permissions.Elements() {
		if !slices.ContainsFunc(plan.Permissions.Elements(), p.Equal) {
			return true
		}
	}
	was, is := instant(state.Expiry), instant(plan.Expiry)
	if is != nil && (was == nil || is.Before(*was)) {
		return true
	}
	was, is = instant(state.Start), instant(plan.Start)
	return is != nil && (was == nil || is.After(*was)) && is.After(time.Now())
}

// Create adds the policy to the table's.
func (r *policyResource) Create(ctx context.Context, req resource.CreateRequest, resp *resource.CreateResponse) {
	var m policyModel
	resp.Diagnostics.Append(req.Plan.Get(ctx, &m)...)
	s := r.ready(&resp.Diagnostics)
	limit, ds := m.Timeouts.Create(ctx, quickLimits.create)
	resp.Diagnostics.Append(ds...)
	if resp.Diagnostics.HasError() {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()

	wanted := m.accessPolicy(ctx)
	err := m.document(s).change(ctx, func(all []tablestorage.AccessPolicy) ([]tablestorage.AccessPolicy, error) {
		return addPolicy(all, wanted)
	}, holds(wanted))
	var full *tooManyPoliciesError
	switch {
	case errors.Is(err, errPolicyExists):
		resp.Diagnostics.AddAttributeError(path.Root("policy_id"), m.what()+" exists already",
			fmt.Sprintf("To manage it, import it with the id %q. To have another policy, choose another `policy_id`.",
				policyResourceID(m.Account.ValueString(), m.Table.ValueString(), m.PolicyID.ValueString())))
		return
	case errors.As(err, &full):
		resp.Diagnostics.AddAttributeError(path.Root("policy_id"), m.what()+" would be one too many",
			fmt.Sprintf("A table has at most %d stored access policies, and this one has %s. Remove one of them, or let several signatures share a policy.",
				maxPolicies, enumerate(full.ids)))
		return
	case errors.Is(err, tablestorage.ErrTableNotFound):
		resp.Diagnostics.AddAttributeError(path.Root("table"), "Table "+quote(m.Table.ValueString())+" does not exist",
			"Declare it as an `aztenancy_table` and refer to its `name`, so that Terraform creates it first.")
		return
	case err != nil:
		addServiceError(&resp.Diagnostics, m.what()+" could not be created", err)
		return
	}
	m.ID = types.StringValue(policyResourceID(m.Account.ValueString(), m.Table.ValueString(), m.PolicyID.ValueString()))
	resp.Diagnostics.Append(resp.Identity.Set(ctx, m.identity())...)
	resp.Diagnostics.Append(resp.State.Set(ctx, &m)...)
}

// Read finds the policy in the table's document, which all of its policies share.
func (r *policyResource) Read(ctx context.Context, req resource.ReadRequest, resp *resource.ReadResponse) {
	var m policyModel
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

	all, err := m.document(r.session).read(ctx)
	if err != nil && !errors.Is(err, tablestorage.ErrTableNotFound) {
		addServiceError(&resp.Diagnostics, m.what()+" could not be read", err)
		return
	}
	i := slices.IndexFunc(all, func(p tablestorage.AccessPolicy) bool { return p.ID == m.PolicyID.ValueString() })
	if i < 0 {
		resp.Diagnostics.AddWarning(m.what()+" is gone",
			"It was removed outside Terraform, which revoked every signature that names it. It is removed from the state; the next apply creates it anew, and with it those signatures.")
		resp.State.RemoveResource(ctx)
		return
	}
	m.ID = types.StringValue(policyResourceID(m.Account.ValueString(), m.Table.ValueString(), m.PolicyID.ValueString()))
	resp.Diagnostics.Append(m.take(all[i])...)
	resp.Diagnostics.Append(resp.State.Set(ctx, &m)...)
}

// Update replaces the policy among the table's.
func (r *policyResource) Update(ctx context.Context, req resource.UpdateRequest, resp *resource.UpdateResponse) {
	var m policyModel
	resp.Diagnostics.Append(req.Plan.Get(ctx, &m)...)
	s := r.ready(&resp.Diagnostics)
	limit, ds := m.Timeouts.Update(ctx, quickLimits.update)
	resp.Diagnostics.Append(ds...)
	if resp.Diagnostics.HasError() {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()

	wanted := m.accessPolicy(ctx)
	err := m.document(s).change(ctx, func(all []tablestorage.AccessPolicy) ([]tablestorage.AccessPolicy, error) {
		return replacePolicy(all, wanted)
	}, holds(wanted))
	if err != nil {
		addServiceError(&resp.Diagnostics, m.what()+" could not be changed", err)
		return
	}
	resp.Diagnostics.Append(resp.Identity.Set(ctx, m.identity())...)
	resp.Diagnostics.Append(resp.State.Set(ctx, &m)...)
}

// Delete removes the policy from the table's.
func (r *policyResource) Delete(ctx context.Context, req resource.DeleteRequest, resp *resource.DeleteResponse) {
	var m policyModel
	resp.Diagnostics.Append(req.State.Get(ctx, &m)...)
	s := r.ready(&resp.Diagnostics)
	limit, ds := m.Timeouts.Delete(ctx, quickLimits.delete)
	resp.Diagnostics.Append(ds...)
	if resp.Diagnostics.HasError() {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()

	id := m.PolicyID.ValueString()
	err := m.document(s).change(ctx, func(all []tablestorage.AccessPolicy) ([]tablestorage.AccessPolicy, error) {
		return removePolicy(all, id), nil
	}, lacks(id))
	if err != nil && !errors.Is(err, tablestorage.ErrTableNotFound) {
		addServiceError(&resp.Diagnostics, m.what()+" could not be removed", err)
	}
}

// ImportState takes a policy's id or its identity.
func (r *policyResource) ImportState(ctx context.Context, req resource.ImportStateRequest, resp *resource.ImportStateResponse) {
	s := r.ready(&resp.Diagnostics)
	if s == nil {
		return
	}
	var id policyIdentity
	if req.ID != "" {
		account, table, policy, err := parsePolicyID(s.accounts, req.ID)
		if err != nil {
			resp.Diagnostics.AddError("Import id "+quote(req.ID)+" is not a stored access policy", sentence(err))
			return
		}
		id = policyIdentity{Account: types.StringValue(account), Table: types.StringValue(table), PolicyID: types.StringValue(policy)}
	} else {
		resp.Diagnostics.Append(req.Identity.Get(ctx, &id)...)
		if id.Account.ValueString() == "" {
			id.Account = types.StringValue(tenancy.HomeAccount)
		}
	}
	resp.Diagnostics.Append(resp.Identity.Set(ctx, id)...)
	resp.Diagnostics.Append(resp.State.SetAttribute(ctx, path.Root("account"), id.Account)...)
	resp.Diagnostics.Append(resp.State.SetAttribute(ctx, path.Root("table"), id.Table)...)
	resp.Diagnostics.Append(resp.State.SetAttribute(ctx, path.Root("policy_id"), id.PolicyID)...)
}
