package provider

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/hashicorp/terraform-plugin-framework-validators/setvalidator"
	"github.com/hashicorp/terraform-plugin-framework-validators/stringvalidator"
	"github.com/hashicorp/terraform-plugin-framework/ephemeral"
	"github.com/hashicorp/terraform-plugin-framework/ephemeral/schema"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/aztenancy/terraform-provider-aztenancy/internal/access"
	"github.com/aztenancy/terraform-provider-aztenancy/internal/catalog"
	"github.com/aztenancy/terraform-provider-aztenancy/internal/tablestorage"
	"github.com/aztenancy/terraform-provider-aztenancy/internal/tenancy"
)

var (
	_ ephemeral.EphemeralResourceWithConfigure = (*tenantSASEphemeral)(nil)
	_ ephemeral.EphemeralResourceWithRenew     = (*tenantSASEphemeral)(nil)
)

func newTenantSASEphemeral() ephemeral.EphemeralResource { return &tenantSASEphemeral{} }

// tenantSASEphemeral is tokens for one tenant, which neither the state nor a plan ever holds.
type tenantSASEphemeral struct{ client }

type tenantSASModel struct {
	TenantID              types.String             `tfsdk:"tenant_id"`
	Tables                []string                 `tfsdk:"tables"`
	Permissions           []string                 `tfsdk:"permissions"`
	TTL                   types.String             `tfsdk:"ttl"`
	IPRange               types.String             `tfsdk:"ip_range"`
	AllowUnenforcedRanges types.Bool               `tfsdk:"allow_unenforced_ranges"`
	Epoch                 types.Int64              `tfsdk:"epoch"`
	Expiry                types.String             `tfsdk:"expiry"`
	Tokens                map[string]tenantSASItem `tfsdk:"tokens"`
}

type tenantSASItem struct {
	Account           types.String `tfsdk:"account"`
	Table             types.String `tfsdk:"table"`
	URL               types.String `tfsdk:"url"`
	PartitionKeyStart types.String `tfsdk:"partition_key_start"`
	PartitionKeyEnd   types.String `tfsdk:"partition_key_end"`
	SASToken          types.String `tfsdk:"sas_token"`
	ConnectionString  types.String `tfsdk:"connection_string"`
}

// privateExpiry is where the expiry is kept for Renew.
const privateExpiry = "expiry"

// Metadata names the ephemeral resource.
func (e *tenantSASEphemeral) Metadata(_ context.Context, req ephemeral.MetadataRequest, resp *ephemeral.MetadataResponse) {
	resp.TypeName = req.ProviderTypeName + "_tenant_sas"
}

// Schema describes the ephemeral resource.
func (e *tenantSASEphemeral) Schema(_ context.Context, _ ephemeral.SchemaRequest, resp *ephemeral.SchemaResponse) {
	text := func(description string) schema.StringAttribute {
		return schema.StringAttribute{MarkdownDescription: description, Computed: true}
	}
	secret := func(description string) schema.StringAttribute {
		return schema.StringAttribute{MarkdownDescription: description, Computed: true, Sensitive: true}
	}
	item := map[string]schema.Attribute{
		"sas_token": secret("The shared access signature, without a leading `?`."),
		"connection_string": secret("What the clients of every language take in place of endpoint and signature. The provider block takes it too; " +
			"the table's name is not part of it."),
	}
	for name, description := range placementDescriptions {
		item[name] = text(description)
	}
	resp.Schema = schema.Schema{
		MarkdownDescription: "Tokens that reach one tenant's entities and no other's, for a short time: a shared access signature for each logical table, with the key range that the " +
			"tenant has claimed. They are signed with the account key, or with a user delegation key where the account is configured with `entra`. Neither the state nor a plan holds them.\n\n" +
			"A tenant that is created in the same apply has no tokens at the plan: refer to its `id`, which is unknown until then, rather than to its `tenant_id`. " +
			"Tokens to write are refused while a move holds the tenant's writes. Tokens for a shared table are refused where the server does not hold them to their range, as Azurite does not. " +
			"Terraform asks anew in each plan and each apply; tokens cannot be taken back, so let them be short.",
		Attributes: map[string]schema.Attribute{
			"tenant_id": schema.StringAttribute{
				MarkdownDescription: "The tenant's id.",
				Required:            true,
				Validators:          []validator.String{tenantIDValidator()},
			},
			"tables": schema.SetAttribute{
				MarkdownDescription: "The logical tables. Defaults to all of the tenant's.",
				Optional:            true,
				ElementType:         types.StringType,
				Validators:          []validator.Set{setvalidator.SizeAtLeast(1)},
			},
			"permissions": schema.SetAttribute{
				MarkdownDescription: "What the tokens allow: `read`, `add`, `update`, `delete`. An upsert needs `add` and `update`. Defaults to `[\"read\"]`.",
				Optional:            true,
				ElementType:         types.StringType,
				Validators: []validator.Set{
					setvalidator.SizeAtLeast(1),
					setvalidator.ValueStringsAre(stringvalidator.OneOf(access.AllPermissions.Names()...)),
				},
			},
			"ttl": schema.StringAttribute{
				MarkdownDescription: fmt.Sprintf("How long the tokens live, from `1m` to `%s`. It must last for the whole plan or apply that uses them. Defaults to `%s`.",
					durationText(access.MaxTTL), durationText(access.DefaultTTL)),
				Optional:   true,
				Validators: []validator.String{positiveDurationValidator()},
			},
			"ip_range": schema.StringAttribute{
				MarkdownDescription: "The only IPv4 address that may use the tokens, or `FIRST-LAST`. Defaults to everyone.",
				Optional:            true,
				Validators:          []validator.String{stringvalidator.LengthAtLeast(1)},
			},
			"allow_unenforced_ranges": schema.BoolAttribute{
				MarkdownDescription: "Give tokens for shared tables also where the server does not hold them to their key range: there they reach every tenant of the table. For tests against Azurite. Defaults to `false`.",
				Optional:            true,
			},
			"epoch":  schema.Int64Attribute{MarkdownDescription: "The tenant's epoch in the catalog. When it has grown since, the tokens may be for a place that the tenant has left.", Computed: true},
			"expiry": text("When the tokens end, as `2027-01-31T00:00:00Z`."),
			"tokens": schema.MapNestedAttribute{
				MarkdownDescription: "The tokens, by logical table.",
				Computed:            true,
				NestedObject:        schema.NestedAttributeObject{Attributes: item},
			},
		},
	}
}

// Configure takes the session.
func (e *tenantSASEphemeral) Configure(_ context.Context, req ephemeral.ConfigureRequest, resp *ephemeral.ConfigureResponse) {
	e.take(req.ProviderData, &resp.Diagnostics)
}

// Open signs the tokens.
func (e *tenantSASEphemeral) Open(ctx context.Context, req ephemeral.OpenRequest, resp *ephemeral.OpenResponse) {
	var m tenantSASModel
	resp.Diagnostics.Append(req.Config.Get(ctx, &m)...)
	s := e.ready(&resp.Diagnostics)
	if resp.Diagnostics.HasError() {
		return
	}
	request, err := m.request()
	if err != nil {
		resp.Diagnostics.AddError("The tokens cannot be issued as they are asked for", sentence(err))
		return
	}
	grant, err := s.issuer.Issue(ctx, request)
	if err != nil {
		e.explain(request.TenantID, err, resp)
		return
	}
	m.take(grant)
	resp.RenewAt = grant.Expiry
	resp.Diagnostics.Append(resp.Private.SetKey(ctx, privateExpiry, fmt.Appendf(nil, "%q", m.Expiry.ValueString()))...)
	resp.Diagnostics.Append(resp.Result.Set(ctx, &m)...)
}

// request is what the configuration asks for.
func (m tenantSASModel) request() (access.Request, error) {
	r := access.Request{TenantID: m.TenantID.ValueString(), Tables: m.Tables, Permissions: access.Permissions{access.Read},
		IPRange: m.IPRange.ValueString(), AllowUnenforcedRanges: m.AllowUnenforcedRanges.ValueBool()}
	var err error
	if m.Permissions != nil {
		if r.Permissions, err = access.ParsePermissions(m.Permissions); err != nil {
			return r, err
		}
	}
	if !m.TTL.IsNull() {
		r.TTL, err = time.ParseDuration(m.TTL.ValueString())
	}
	return r, err
}

// take makes the model hold the tokens.
func (m *tenantSASModel) take(g *access.Grant) {
	m.Epoch = types.Int64Value(g.Epoch)
	m.Expiry = types.StringValue(g.Expiry.Format(time.RFC3339))
	m.Tokens = make(map[string]tenantSASItem, len(g.Tokens))
	for _, t := range g.Tokens {
		p := t.Placement
		item := tenantSASItem{Account: types.StringValue(p.Account), Table: types.StringValue(p.Table), URL: types.StringValue(p.URL),
			PartitionKeyStart: optional(p.Range.First.PartitionKey), SASToken: types.StringValue(t.SAS.Reveal()),
			ConnectionString: types.StringValue(t.ConnectionString())}
		if p.Range.End != tenancy.EndTable {
			item.PartitionKeyEnd = types.StringValue(p.Range.Last.PartitionKey)
		}
		m.Tokens[t.Logical] = item
	}
}

// explain says why there are no tokens, and what to do about it.
func (e *tenantSASEphemeral) explain(id string, err error, resp *ephemeral.OpenResponse) {
	summary := "Tenant " + quote(id) + " gets no tokens"
	var refused *access.RequestError
	switch {
	case errors.Is(err, catalog.ErrNotFound):
		resp.Diagnostics.AddAttributeError(path.Root("tenant_id"), "Tenant "+quote(id)+" does not exist",
			sentence(err)+" If it is created in the same apply, refer to the `id` of its `aztenancy_tenant`: that is unknown until the tenant is there, and Terraform waits for it.")
	case errors.Is(err, access.ErrUnenforced):
		resp.Diagnostics.AddError(summary, sentence(err)+" Set `allow_unenforced_ranges = true` for tests, or use a server that enforces ranges: `tableserver` does.")
	case errors.Is(err, tablestorage.ErrCannotSign), errors.As(err, &refused):
		resp.Diagnostics.AddError(summary, sentence(err))
	default:
		addServiceError(&resp.Diagnostics, summary, err)
	}
}

// Renew is called at the expiry. Tokens cannot be prolonged, and those that were handed out cannot be exchanged.
func (e *tenantSASEphemeral) Renew(ctx context.Context, req ephemeral.RenewRequest, resp *ephemeral.RenewResponse) {
	kept, diags := req.Private.GetKey(ctx, privateExpiry)
	resp.Diagnostics.Append(diags...)
	expiry, err := time.Parse(`"`+time.RFC3339+`"`, string(kept))
	if err == nil && time.Now().Before(expiry) {
		resp.RenewAt = expiry
		return
	}
	resp.Diagnostics.AddError("The tenant's tokens have expired while they were in use",
		"They lived until "+string(kept)+", and the run takes longer. Tokens cannot be prolonged: raise `ttl` of the `aztenancy_tenant_sas` and run again.")
}
