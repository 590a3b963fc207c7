package provider

import (
	"context"
	"errors"
	"fmt"
	"unicode/utf8"

	"github.com/hashicorp/terraform-plugin-framework/function"

	"github.com/aztenancy/terraform-provider-aztenancy/internal/tenancy"
)

// decodeText decodes a key whose text Terraform can hold: it has no texts that are not UTF-8.
func decodeText(key string) (string, error) {
	text, err := tenancy.DecodeKey(key)
	if err == nil && !utf8.ValidString(text) {
		err = errors.New("the key stands for bytes that are not UTF-8, which Terraform cannot hold")
	}
	return text, err
}

func newBucketFunction() function.Function {
	return pureFunction{"bucket", function.Definition{
		Summary: "Compute the bucket of a text",
		MarkdownDescription: "The number of the bucket into which the key scheme `bucketed` puts an entity: CRC-32 (IEEE 802.3) of the text's UTF-8 bytes, modulo the number of " +
			"buckets. Every language has it in its standard library; the guide on keys shows four. It never changes.",
		Parameters: []function.Parameter{
			textParameter("text", "The text that is hashed: the entity's RowKey, or the text of its `bucket_property`."),
			function.Int64Parameter{Name: "buckets", MarkdownDescription: fmt.Sprintf("The number of buckets, %d to %d.", tenancy.MinBuckets, tenancy.MaxBuckets)},
		},
		Return: function.Int64Return{},
	}, runBucket}
}

func runBucket(ctx context.Context, arguments function.ArgumentsData) (any, *function.FuncError) {
	var text string
	var buckets int64
	if err := arguments.Get(ctx, &text, &buckets); err != nil {
		return nil, err
	}
	if buckets < tenancy.MinBuckets || buckets > tenancy.MaxBuckets {
		return nil, argumentError(1, fmt.Errorf("%d buckets: choose %d to %d", buckets, tenancy.MinBuckets, tenancy.MaxBuckets))
	}
	return int64(tenancy.Bucket(text, int(buckets))), nil
}

func newTableNameFunction() function.Function {
	return pureFunction{"table_name", function.Definition{
		Summary: "Render the name of a tenant's own table",
		MarkdownDescription: "The physical name that a dedicated isolation model gives a tenant's table. Table names have no room for `-`, `.` and `_`, so these become `z0`, `z1` and " +
			"`z2`, and `z` becomes `zz`: two tenants never get one name.",
		Parameters: []function.Parameter{
			textParameter("template", "The name in the model's `tables`, with `{tenant}` in it: `Orders{tenant}`."),
			textParameter("tenant_id", "The tenant's id."),
		},
		Return: function.StringReturn{},
	}, runTableName}
}

func runTableName(ctx context.Context, arguments function.ArgumentsData) (any, *function.FuncError) {
	var template, tenantID string
	if err := arguments.Get(ctx, &template, &tenantID); err != nil {
		return nil, err
	}
	if err := tenancy.ValidateID(tenantID); err != nil {
		return nil, argumentError(1, err)
	}
	name, err := tenancy.TableName(template, tenantID)
	return name, argumentError(0, err)
}
