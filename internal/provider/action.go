package provider

import (
	"context"
	"errors"
	"fmt"

	"github.com/hashicorp/terraform-plugin-framework/action"
	"github.com/hashicorp/terraform-plugin-framework/action/schema"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/aztenancy/terraform-provider-aztenancy/internal/migration"
)

// tenantAction is something that is done with one tenant's moves, as the command of tenantctl does it. Its result is the line
// that Terraform prints.
type tenantAction struct {
	client
	name        string
	description string
	do          func(ctx context.Context, s *session, tenantID string) (string, error)
}

var _ action.ActionWithConfigure = (*tenantAction)(nil)

type tenantActionModel struct {
	TenantID types.String `tfsdk:"tenant_id"`
}

// Metadata names the action.
func (a *tenantAction) Metadata(_ context.Context, req action.MetadataRequest, resp *action.MetadataResponse) {
	resp.TypeName = req.ProviderTypeName + "_" + a.name
}

// Schema describes the action.
func (a *tenantAction) Schema(_ context.Context, _ action.SchemaRequest, resp *action.SchemaResponse) {
	resp.Schema = schema.Schema{
		MarkdownDescription: a.description + " Needs Terraform 1.14.",
		Attributes: map[string]schema.Attribute{"tenant_id": schema.StringAttribute{
			MarkdownDescription: "The tenant's id.",
			Required:            true,
			Validators:          []validator.String{tenantIDValidator()},
		}},
	}
}

// Configure takes the session.
func (a *tenantAction) Configure(_ context.Context, req action.ConfigureRequest, resp *action.ConfigureResponse) {
	a.take(req.ProviderData, &resp.Diagnostics)
}

// Invoke does it.
func (a *tenantAction) Invoke(ctx context.Context, req action.InvokeRequest, resp *action.InvokeResponse) {
	var m tenantActionModel
	resp.Diagnostics.Append(req.Config.Get(ctx, &m)...)
	s := a.ready(&resp.Diagnostics)
	if resp.Diagnostics.HasError() {
		return
	}
	done, err := a.do(ctx, s, m.TenantID.ValueString())
	s.directory.forget()
	if err != nil {
		resp.Diagnostics.AddError(fmt.Sprintf("Action %s of tenant %q did not succeed", a.name, m.TenantID.ValueString()), sentence(err))
		return
	}
	resp.SendProgress(action.InvokeProgressEvent{Message: done})
}

func newVerifyTenantAction() action.Action {
	return &tenantAction{name: "verify_tenant", do: verifyTenant,
		description: "Compares the source of the tenant's latest move, where it is still kept, with the target: every entity, every property, every type. " +
			"Anything but equal is an error, also where there is nothing to compare with."}
}

func verifyTenant(ctx context.Context, s *session, id string) (string, error) {
	report, err := s.engine(ctx, id).Verify(ctx, id)
	if err != nil {
		return "", err
	}
	if report.Result != migration.ResultEqual {
		return "", fmt.Errorf("verify tenant %q: source and target are %s", id, report.Result)
	}
	return fmt.Sprintf("source and target of tenant %q are equal: %d entities", id, report.Equal), nil
}

func newResumeMigrationAction() action.Action {
	return &tenantAction{name: "resume_migration", do: resumeMigration,
		description: "Goes on with a move of the tenant that was interrupted, to where it was going. A tenant that is not moving is an error."}
}

func resumeMigration(ctx context.Context, s *session, id string) (string, error) {
	rec, err := s.catalog.Tenant(ctx, id)
	if err != nil {
		return "", err
	}
	if rec.Migration == "" {
		return "", fmt.Errorf("tenant %q is not moving: nothing was interrupted", id)
	}
	m, err := s.catalog.Migration(ctx, rec.Migration)
	if err != nil {
		return "", err
	}
	report, err := s.engine(ctx, id).Run(ctx, id, migration.Target{Model: m.To, Account: s.targetAccount(ctx, m.To, placementAccount(m.Target))}, migration.Options{})
	if err != nil && !errors.Is(err, migration.ErrNothingToDo) {
		return "", err
	}
	return fmt.Sprintf("tenant %q has moved from %q to %q: %d entities", id, m.From, m.To, report.Entities), nil
}

// targetAccount is the account that a move must name: none where the model itself does.
func (s *session) targetAccount(ctx context.Context, model, account string) string {
	if s.opensAccount(ctx, model) {
		return account
	}
	return ""
}
