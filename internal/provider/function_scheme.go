package provider

import (
	"context"
	"errors"
	"fmt"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/function"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/aztenancy/terraform-provider-aztenancy/internal/edm"
	"github.com/aztenancy/terraform-provider-aztenancy/internal/tenancy"
)

// schemeParameter takes a key scheme as an isolation model has it, or as an object that leaves out what it does not need.
func schemeParameter() function.Parameter {
	return function.DynamicParameter{
		Name: "key_scheme",
		MarkdownDescription: "The key scheme: the `key_scheme` of an isolation model, or an object with `kind` and what the kind needs of `separator`, `buckets` " +
			"and `bucket_property`.",
	}
}

// schemeOf reads such an argument.
func schemeOf(d types.Dynamic) (tenancy.KeyScheme, error) {
	var attributes map[string]attr.Value
	switch v := d.UnderlyingValue().(type) {
	case types.Object:
		attributes = v.Attributes()
	case types.Map:
		attributes = v.Elements()
	default:
		return tenancy.KeyScheme{}, errors.New("a key scheme is an object, such as `{ kind = \"tenant\" }`")
	}
	var s tenancy.KeyScheme
	for name, v := range attributes {
		if inner, ok := v.(types.Dynamic); ok {
			v = inner.UnderlyingValue()
		}
		if v == nil || v.IsNull() {
			continue
		}
		if err := setSchemePart(&s, name, v); err != nil {
			return s, err
		}
	}
	return s, s.Validate()
}

func setSchemePart(s *tenancy.KeyScheme, name string, v attr.Value) error {
	texts := map[string]*string{"separator": &s.Separator, "bucket_property": &s.BucketProperty, "kind": (*string)(&s.Kind)}
	into, isText := texts[name]
	switch v := v.(type) {
	case types.String:
		if isText {
			*into = v.ValueString()
			return nil
		}
	case types.Number:
		n, accuracy := v.ValueBigFloat().Int64()
		if name == "buckets" && accuracy == 0 && int64(int(n)) == n {
			s.Buckets = int(n)
			return nil
		}
	case types.Int64:
		if name == "buckets" {
			s.Buckets = int(v.ValueInt64())
			return nil
		}
	}
	if isText || name == "buckets" {
		return fmt.Errorf("%s of a key scheme has the wrong type: kind, separator and bucket_property are texts, buckets is a whole number", name)
	}
	return fmt.Errorf("a key scheme has no %s: it has kind, separator, buckets and bucket_property", name)
}

func newPartitionKeyFunction() function.Function {
	return pureFunction{"partition_key", function.Definition{
		Summary: "Compute the PartitionKey of a tenant's entity",
		MarkdownDescription: "The PartitionKey under which a key scheme stores an entity of a tenant.\n\n" +
			"`value` is what the scheme adds to the tenant's key: for `bucketed` the text that is hashed, which is the RowKey unless the scheme names a `bucket_property`; " +
			"for `prefixed` and `native` the application's own partition value; for `tenant` nothing, so that it must be an empty text.",
		Parameters: []function.Parameter{
			schemeParameter(),
			textParameter("tenant_key", "The tenant's key, which is its id unless it was declared with another."),
			textParameter("value", "What the scheme adds; see above."),
		},
		Return: function.StringReturn{},
	}, runPartitionKey}
}

func runPartitionKey(ctx context.Context, arguments function.ArgumentsData) (any, *function.FuncError) {
	var d types.Dynamic
	var key, value string
	if err := arguments.Get(ctx, &d, &key, &value); err != nil {
		return nil, err
	}
	scheme, err := schemeOf(d)
	if err != nil {
		return nil, argumentError(0, err)
	}
	if err := tenancy.ValidateKey(key); err != nil {
		return nil, argumentError(1, err)
	}
	entity := edm.Entity{PartitionKey: value}
	if scheme.Kind == tenancy.SchemeBucketed {
		scheme.BucketProperty = "" // value is the property's text already
		entity = edm.Entity{RowKey: value}
	}
	pk, err := scheme.PartitionKey(key, &entity)
	return pk, argumentError(2, err)
}

// keyRangeModel is a range in the terms of a SAS; null is open.
type keyRangeModel struct {
	PartitionKeyStart types.String `tfsdk:"partition_key_start"`
	RowKeyStart       types.String `tfsdk:"row_key_start"`
	PartitionKeyEnd   types.String `tfsdk:"partition_key_end"`
	RowKeyEnd         types.String `tfsdk:"row_key_end"`
	Filter            types.String `tfsdk:"filter"`
}

var keyRangeTypes = map[string]attr.Type{
	"partition_key_start": types.StringType,
	"row_key_start":       types.StringType,
	"partition_key_end":   types.StringType,
	"row_key_end":         types.StringType,
	"filter":              types.StringType,
}

func keyRangeOf(r tenancy.KeyRange) keyRangeModel {
	m := keyRangeModel{
		PartitionKeyStart: optional(r.First.PartitionKey),
		RowKeyStart:       optional(r.First.RowKey),
		Filter:            optional(r.Filter()),
	}
	if r.End != tenancy.EndTable {
		m.PartitionKeyEnd = types.StringValue(r.Last.PartitionKey)
	}
	if r.End == tenancy.EndKey {
		m.RowKeyEnd = types.StringValue(r.Last.RowKey)
	}
	return m
}

func newKeyRangeFunction() function.Function {
	return pureFunction{"key_range", function.Definition{
		Summary: "Compute the key range of a tenant",
		MarkdownDescription: "The range that holds all keys that a key scheme gives a tenant, and none that another tenant of the same table can have. The result is an object:\n\n" +
			"* `partition_key_start`, `row_key_start`, `partition_key_end`, `row_key_end`: the ends, both included, as a SAS takes them (`spk`, `srk`, `epk`, `erk`); null where " +
			"the range is open. With the scheme `prefixed` the end is the next possible prefix with an empty `row_key_end`.\n" +
			"* `filter`: the OData `$filter` that selects the range; null for a whole table.",
		Parameters: []function.Parameter{
			schemeParameter(),
			textParameter("tenant_key", "The tenant's key, which is its id unless it was declared with another."),
		},
		Return: function.ObjectReturn{AttributeTypes: keyRangeTypes},
	}, runKeyRange}
}

func runKeyRange(ctx context.Context, arguments function.ArgumentsData) (any, *function.FuncError) {
	var d types.Dynamic
	var key string
	if err := arguments.Get(ctx, &d, &key); err != nil {
		return nil, err
	}
	scheme, err := schemeOf(d)
	if err != nil {
		return nil, argumentError(0, err)
	}
	if err := tenancy.ValidateKey(key); err != nil {
		return nil, argumentError(1, err)
	}
	return keyRangeOf(scheme.Range(key)), nil
}
