package provider

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/aztenancy/terraform-provider-aztenancy/internal/edm"
)

// propertyModel is one typed value of an entity. Value is its text, so that no type loses anything: Terraform's numbers
// are no Int64 or Double.
type propertyModel struct {
	Type  types.String `tfsdk:"type"`
	Value types.String `tfsdk:"value"`
}

var propertyAttributeTypes = map[string]attr.Type{"type": types.StringType, "value": types.StringType}

// propertyTypes are the service's types by the names that configurations have for them.
var propertyTypes = map[string]edm.Type{
	"String": edm.String, "Boolean": edm.Boolean, "Int32": edm.Int32, "Int64": edm.Int64,
	"Double": edm.Double, "DateTime": edm.DateTime, "Guid": edm.GUID, "Binary": edm.Binary,
}

// propertyTypeNames are those names, in order.
func propertyTypeNames() []string { return slices.Sorted(maps.Keys(propertyTypes)) }

const propertyDescription = "`type` is `String`, `Boolean` (`true`, `false`), `Int32`, `Int64`, `Double`, `DateTime` (ISO 8601), `Guid` or `Binary` (base64); `value` is its text."

func propertiesOf(e *edm.Entity) map[string]propertyModel {
	properties := make(map[string]propertyModel, len(e.Properties))
	for _, p := range e.Properties {
		properties[p.Name] = propertyModel{
			Type:  types.StringValue(strings.TrimPrefix(p.Value.Type().String(), "Edm.")),
			Value: types.StringValue(p.Value.String()),
		}
	}
	return properties
}

// setProperties gives an entity the values that a configuration has for it, and checks it against the service's limits.
func setProperties(e *edm.Entity, properties map[string]propertyModel) error {
	for _, name := range slices.Sorted(maps.Keys(properties)) {
		p := properties[name]
		typ, ok := propertyTypes[p.Type.ValueString()]
		if !ok {
			return fmt.Errorf("property %q: there is no type %q; the types are %s", name, p.Type.ValueString(), strings.Join(propertyTypeNames(), ", "))
		}
		v, err := edm.ParseValue(typ, p.Value.ValueString())
		if err != nil {
			return fmt.Errorf("property %q: its value is no %s", name, p.Type.ValueString())
		}
		e.Set(name, v)
	}
	if err := e.Validate(); err != nil {
		return fmt.Errorf("the service would refuse it: %w", err)
	}
	return nil
}
