package provider

import (
	"context"
	"errors"
	"fmt"

	"github.com/hashicorp/terraform-plugin-framework/action"
	"github.com/hashicorp/terraform-plugin-framework/action/schema"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/aztenancy/terraform-provider-aztenancy/internal/migration"
)

// purgeSourceAction deletes what a tenant's moves have left. Whether that is archived first has to be said: exactly one of archive
// and no_archive.
type purgeSourceAction struct{ client }

var (
	_ action.ActionWithConfigure      = (*purgeSourceAction)(nil)
	_ action.ActionWithValidateConfig = (*purgeSourceAction)(nil)
)

type purgeSourceModel struct {
	TenantID  types.String `tfsdk:"tenant_id"`
	Archive   types.String `tfsdk:"archive"`
	NoArchive types.Bool   `tfsdk:"no_archive"`
}

func newPurgeSourceAction() action.Action { return &purgeSourceAction{} }

// Metadata names the action.
func (a *purgeSourceAction) Metadata(_ context.Context, req action.MetadataRequest, resp *action.MetadataResponse) {
	resp.TypeName = req.ProviderTypeName + "_purge_source"
}

// Schema describes the action.
func (a *purgeSourceAction) Schema(_ context.Context, _ action.SchemaRequest, resp *action.SchemaResponse) {
	resp.Schema = schema.Schema{
		MarkdownDescription: "Deletes what the tenant's finished moves left at the old place, after it was compared with the target and archived. " +
			"**There is no way back from that but the archive.** That nothing is left is no error. Needs Terraform 1.14.",
		Attributes: map[string]schema.Attribute{
			"tenant_id": schema.StringAttribute{
				MarkdownDescription: "The tenant's id.",
				Required:            true,
				Validators:          []validator.String{tenantIDValidator()},
			},
			"archive": schema.StringAttribute{
				MarkdownDescription: "Where the entities are archived before they are deleted, below the migration's id: a folder, or the address of a Blob container with or without a prefix. " +
					"Give it, or `no_archive`.",
				Optional: true,
			},
			"no_archive": schema.BoolAttribute{
				MarkdownDescription: "`true` deletes without an archive.",
				Optional:            true,
			},
		},
	}
}

// ValidateConfig wants exactly one word about the archive.
func (a *purgeSourceAction) ValidateConfig(ctx context.Context, req action.ValidateConfigRequest, resp *action.ValidateConfigResponse) {
	var m purgeSourceModel
	resp.Diagnostics.Append(req.Config.Get(ctx, &m)...)
	if resp.Diagnostics.HasError() || m.Archive.IsUnknown() || m.NoArchive.IsUnknown() {
		return
	}
	m.checkArchive(&resp.Diagnostics)
}

func (m purgeSourceModel) checkArchive(diags *diag.Diagnostics) {
	if (m.Archive.ValueString() != "") == m.NoArchive.ValueBool() {
		diags.AddError("Say whether the old place is archived", "Set archive to the place for it, or no_archive to true, and not both.")
	}
}

// Configure takes the session.
func (a *purgeSourceAction) Configure(_ context.Context, req action.ConfigureRequest, resp *action.ConfigureResponse) {
	a.take(req.ProviderData, &resp.Diagnostics)
}

// Invoke does it.
func (a *purgeSourceAction) Invoke(ctx context.Context, req action.InvokeRequest, resp *action.InvokeResponse) {
	var m purgeSourceModel
	resp.Diagnostics.Append(req.Config.Get(ctx, &m)...)
	m.checkArchive(&resp.Diagnostics)
	s := a.ready(&resp.Diagnostics)
	if resp.Diagnostics.HasError() {
		return
	}
	id := m.TenantID.ValueString()
	report, err := s.engine(ctx, id).Purge(ctx, id, migration.Options{ArchiveTo: m.Archive.ValueString()})
	s.directory.forget()
	switch {
	case errors.Is(err, migration.ErrNothingToDo):
		resp.SendProgress(action.InvokeProgressEvent{Message: fmt.Sprintf("nothing is left of tenant %q at an old place", id)})
	case err != nil:
		resp.Diagnostics.AddError(fmt.Sprintf("Action purge_source of tenant %q did not succeed", id), sentence(err))
	default:
		resp.SendProgress(action.InvokeProgressEvent{Message: fmt.Sprintf("the old place of tenant %q is gone: %d entities deleted", id, report.Purged)})
	}
}
