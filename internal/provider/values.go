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
