package provider

import (
	"github.com/hashicorp/terraform-plugin-framework/function"

	"github.com/aztenancy/terraform-provider-aztenancy/internal/tablestorage"
	"github.com/aztenancy/terraform-provider-aztenancy/internal/tenancy"
)

func newEncodeKeyFunction() function.Function {
	return textFunction("encode_key", function.Definition{
		Summary: "Make any text fit to stand in a key",
		MarkdownDescription: "Writes what the service refuses in a PartitionKey or RowKey (`/`, `\\`, `#`, `?`, control characters), and `~` itself, as `~` and two hexadecimal " +
			"digits, so that `decode_key` gives the text back. Different texts stay different. `tenantctl import` encodes in the same way.",
		Parameters: []function.Parameter{textParameter("text", "The text.")},
		Return:     function.StringReturn{},
	}, func(s string) (string, error) { return tenancy.EncodeKey(s), nil })
}

func newDecodeKeyFunction() function.Function {
	return textFunction("decode_key", function.Definition{
		Summary:             "Give back the text of an encoded key",
		MarkdownDescription: "The inverse of `encode_key`. A text that `encode_key` does not produce is an error.",
		Parameters:          []function.Parameter{textParameter("key", "The encoded key.")},
		Return:              function.StringReturn{},
	}, decodeText)
}

func newODataQuoteFunction() function.Function {
	return textFunction("odata_quote", function.Definition{
		Summary: "Write a text as a literal of a filter",
		MarkdownDescription: "Puts a text between single quotes and doubles those that it holds, as an OData `$filter` wants it. It is not percent-encoded: " +
			"whoever puts the filter into an address does that.",
		Parameters: []function.Parameter{textParameter("text", "The text.")},
		Return:     function.StringReturn{},
	}, func(s string) (string, error) { return tablestorage.QuoteLiteral(s), nil })
}
