package provider

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/hashicorp/terraform-plugin-framework-timeouts/resource/timeouts"
	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/aztenancy/terraform-provider-aztenancy/internal/catalog"
	"github.com/aztenancy/terraform-provider-aztenancy/internal/tenancy"
)

type isolationModelModel struct {
	ID        types.String   `tfsdk:"id"`
	Name      types.String   `tfsdk:"name"`
	Kind      types.String   `tfsdk:"kind"`
	Account   types.String   `tfsdk:"account"`
	Tables    types.Map      `tfsdk:"tables"`
	KeyScheme types.Object   `tfsdk:"key_scheme"`
	Timeouts  timeouts.Value `tfsdk:"timeouts"`
}

type isolationModelIdentity struct {
	Name types.String `tfsdk:"name"`
}

func (m isolationModelModel) identity() isolationModelIdentity {
	return isolationModelIdentity{Name: m.Name}
}

func (m isolationModelModel) what() string { return "Isolation model " + quote(m.Name.ValueString()) }

// defaultAccount is the account, or what stands for it where it was left out.
func (m isolationModelModel) defaultAccount() types.String {
	switch {
	case !m.Account.IsNull() && !m.Account.IsUnknown():
		return m.Account
	case m.Kind.IsUnknown():
		return types.StringUnknown()
	case m.Kind.ValueString() == string(tenancy.DedicatedAccount):
		return types.StringNull()
	}
	return types.StringValue(tenancy.HomeAccount)
}

// model is the model as the catalog knows it; known says whether all of it is.
func (m isolationModelModel) model(ctx context.Context, diags *diag.Diagnostics) (model tenancy.Model, known bool) {
	if m.Name.IsUnknown() || m.Kind.IsUnknown() || m.Account.IsUnknown() || !isKnown(ctx, m.Tables) || !isKnown(ctx, m.KeyScheme) {
		return tenancy.Model{}, false
	}
	model = tenancy.Model{
		Name:    m.Name.ValueString(),
		Kind:    tenancy.Kind(m.Kind.ValueString()),
		Account: m.Account.ValueString(),
		Tables:  make(map[string]string),
	}
	diags.Append(m.Tables.ElementsAs(ctx, &model.Tables, false)...)
	var scheme keySchemeModel
	diags.Append(m.KeyScheme.As(ctx, &scheme, objectAsOptions)...)
	model.KeyScheme = scheme.scheme()
	return model, true
}

// keySchemeModel is the key_scheme of an isolation model.
type keySchemeModel struct {
	Kind           types.String `tfsdk:"kind"`
	Separator      types.String `tfsdk:"separator"`
	Buckets        types.Int64  `tfsdk:"buckets"`
	BucketProperty types.String `tfsdk:"bucket_property"`
}

var keySchemeTypes = map[string]attr.Type{
	"kind":            types.StringType,
	"separator":       types.StringType,
	"buckets":         types.Int64Type,
	"bucket_property": types.StringType,
}

func (m keySchemeModel) scheme() tenancy.KeyScheme {
	return tenancy.KeyScheme{
		Kind:           tenancy.Scheme(m.Kind.ValueString()),
		Separator:      m.Separator.ValueString(),
		Buckets:        int(m.Buckets.ValueInt64()),
		BucketProperty: m.BucketProperty.ValueString(),
	}
}

func keySchemeOf(s tenancy.KeyScheme) keySchemeModel {
	m := keySchemeModel{
		Kind:           types.StringValue(string(s.Kind)),
		Separator:      optional(s.Separator),
		BucketProperty: optional(s.BucketProperty),
	}
	if s.Buckets != 0 {
		m.Buckets = types.Int64Value(int64(s.Buckets))
	}
	return m
}

// take makes the model say what the catalog has.
func (m *isolationModelModel) take(ctx context.Context, model tenancy.Model) diag.Diagnostics {
	var diags, ds diag.Diagnostics
	m.ID = types.StringValue(model.Name)
	m.Name = types.StringValue(model.Name)
	m.Kind = types.StringValue(string(model.Kind))
	m.Account = optional(model.Account)
	m.Tables, ds = types.MapValueFrom(ctx, types.StringType, model.Tables)
	diags.Append(ds...)
	m.KeyScheme, ds = types.ObjectValueFrom(ctx, keySchemeTypes, keySchemeOf(model.KeyScheme))
	diags.Append(ds...)
	return diags
}

// modelGrace is how long the deletion of a model waits for tenants that once moved away from it to be deleted, too.
const modelGrace = 10 * time.Second

// deleteModel deletes a model. A move keeps what it left behind until the purge, and so its old model in use; Terraform
// does not know of that, and destroys the model and the tenant side by side. So it waits for such tenants.
func deleteModel(ctx context.Context, s *session, name string) error {
	for begun := time.Now(); ; {
		rec, err := s.catalog.Model(ctx, name)
		if err == nil {
			err = s.catalog.DeleteModel(ctx, rec)
		}
		var inUse *catalog.ModelInUseError
		if !errors.As(err, &inUse) || len(inUse.Tenants) > 0 {
			return err
		}
		snapshot, serr := s.catalog.Snapshot(ctx)
		if serr != nil || time.Since(begun) > modelGrace && !newDirectory(snapshot).deletes(inUse.Migrations) {
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(500 * time.Millisecond):
		}
	}
}

// deletes says whether a tenant of one of the migrations is being deleted.
func (d *directory) deletes(migrations []string) bool {
	return slices.ContainsFunc(migrations, func(id string) bool {
		return d.tenants[d.migrations[id].TenantID].State == tenancy.Deleting
	})
}
