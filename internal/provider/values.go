package provider

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"github.com/hashicorp/terraform-plugin-framework/types/basetypes"

	"github.com/aztenancy/terraform-provider-aztenancy/internal/tenancy"
)

// objectAsOptions reads objects whose values are known.
var objectAsOptions = basetypes.ObjectAsOptions{}

// isKnown says whether a value and everything in it is known.
func isKnown(ctx context.Context, v attr.Value) bool {
	t, err := v.ToTerraformValue(ctx)
	return err == nil && t.IsFullyKnown()
}

// optional is a text that catalog and service write as "" where a configuration leaves it out.
func optional(s string) types.String {
	if s == "" {
		return types.StringNull()
	}
	return types.StringValue(s)
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

// tablePlacementModel is where one logical table of a tenant lives.
type tablePlacementModel struct {
	Account           types.String `tfsdk:"account"`
	Table             types.String `tfsdk:"table"`
	URL               types.String `tfsdk:"url"`
	PartitionKeyStart types.String `tfsdk:"partition_key_start"`
	PartitionKeyEnd   types.String `tfsdk:"partition_key_end"`
}

var tablePlacementTypes = map[string]attr.Type{
	"account":             types.StringType,
	"table":               types.StringType,
	"url":                 types.StringType,
	"partition_key_start": types.StringType,
	"partition_key_end":   types.StringType,
}

// placementValue is a tenant's tables. The ends of a range are those that a SAS needs; a range that is open to the
// table's end has none.
func placementValue(ctx context.Context, p tenancy.Placement) (types.Map, diag.Diagnostics) {
	tables := make(map[string]tablePlacementModel, len(p))
	for logical, t := range p {
		m := tablePlacementModel{
			Account:           types.StringValue(t.Account),
			Table:             types.StringValue(t.Table),
			URL:               types.StringValue(t.URL),
			PartitionKeyStart: optional(t.Range.First.PartitionKey),
			PartitionKeyEnd:   types.StringNull(),
		}
		if t.Range.End != tenancy.EndTable {
			m.PartitionKeyEnd = types.StringValue(t.Range.Last.PartitionKey)
		}
		tables[logical] = m
	}
	return types.MapValueFrom(ctx, types.ObjectType{AttrTypes: tablePlacementTypes}, tables)
}
