package provider

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"path"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/function"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/aztenancy/terraform-provider-aztenancy/internal/tablestorage"
	"github.com/aztenancy/terraform-provider-aztenancy/internal/tenancy"
)

// connectionStringModel is what a connection string says without its secrets.
type connectionStringModel struct {
	AccountName   types.String `tfsdk:"account_name"`
	TableEndpoint types.String `tfsdk:"table_endpoint"`
	Credential    types.String `tfsdk:"credential"`
}

func newParseConnectionStringFunction() function.Function {
	return pureFunction{"parse_connection_string", function.Definition{
		Summary: "Read a storage connection string",
		MarkdownDescription: "Says what a connection string names, and leaves its secrets out. The result is an object: `account_name`, `table_endpoint`, and `credential`, which is " +
			"`account_key`, `sas_token`, or `none` where the string holds neither.\n\n" +
			"`UseDevelopmentStorage=true` is understood. The result of a sensitive string is sensitive for Terraform; as it holds no secret, `nonsensitive` may lift that.",
		Parameters: []function.Parameter{textParameter("connection_string", "The connection string.")},
		Return: function.ObjectReturn{AttributeTypes: map[string]attr.Type{
			"account_name": types.StringType, "table_endpoint": types.StringType, "credential": types.StringType,
		}},
	}, runParseConnectionString}
}

func runParseConnectionString(ctx context.Context, arguments function.ArgumentsData) (any, *function.FuncError) {
	var text string
	if err := arguments.Get(ctx, &text); err != nil {
		return nil, err
	}
	parts, err := tablestorage.DescribeConnectionString(text)
	if err != nil {
		return nil, argumentError(0, err)
	}
	return connectionStringModel{types.StringValue(parts.AccountName), types.StringValue(parts.TableEndpoint), types.StringValue(parts.Credential)}, nil
}

// tableIDModel is what a table's id says; null where it does not say it.
type tableIDModel struct {
	Name           types.String `tfsdk:"name"`
	Account        types.String `tfsdk:"account"`
	StorageAccount types.String `tfsdk:"storage_account"`
	Endpoint       types.String `tfsdk:"endpoint"`
}

func newParseTableIDFunction() function.Function {
	return pureFunction{"parse_table_id", function.Definition{
		Summary: "Read an id of a table",
		MarkdownDescription: "Reads what people have to name a table, in any form that the import of `aztenancy_table` takes. The result is an object, with null for what the form does not say:\n\n" +
			"* `name`: the table's name.\n" +
			"* `account`: the account as the provider block calls it, of `NAME` (`home`) and `ACCOUNT/NAME`.\n" +
			"* `storage_account`: the storage account's own name, of an address or an ARM id.\n" +
			"* `endpoint`: the table endpoint, of an address.",
		Parameters: []function.Parameter{textParameter("id", "`NAME`, `ACCOUNT/NAME`, the table's address, or its ARM id.")},
		Return: function.ObjectReturn{AttributeTypes: map[string]attr.Type{
			"name": types.StringType, "account": types.StringType, "storage_account": types.StringType, "endpoint": types.StringType,
		}},
	}, runParseTableID}
}

func runParseTableID(ctx context.Context, arguments function.ArgumentsData) (any, *function.FuncError) {
	var id string
	if err := arguments.Get(ctx, &id); err != nil {
		return nil, err
	}
	m, err := describeTableID(id)
	if err == nil {
		err = checkTableName(m.Name.ValueString())
	}
	return m, argumentError(0, err)
}

// describeTableID is parseTableID without accounts to look the id up in.
func describeTableID(id string) (tableIDModel, error) {
	switch {
	case strings.Contains(id, "://"):
		return describeTableURL(id)
	case strings.HasPrefix(id, "/"):
		m := armTable.FindStringSubmatch(id)
		if m == nil {
			return tableIDModel{}, errNoARMTable
		}
		return tableIDModel{Name: types.StringValue(m[2]), StorageAccount: types.StringValue(m[1])}, nil
	}
	account, name := splitTableID(id)
	if account == "" {
		return tableIDModel{}, fmt.Errorf("%q names no account before the \"/\"", id)
	}
	return tableIDModel{Name: types.StringValue(name), Account: types.StringValue(account)}, nil
}

func describeTableURL(id string) (tableIDModel, error) {
	u, err := url.Parse(id)
	if err != nil || u.Host == "" {
		return tableIDModel{}, errors.New("it looks like an address, but is none")
	}
	dir, last := path.Split(strings.TrimRight(u.Path, "/"))
	m := tableSegment.FindStringSubmatch(last)
	if m == nil {
		return tableIDModel{}, errors.New("the last part of the address is neither NAME nor Tables('NAME')")
	}
	storage, endpoint, err := tablestorage.AccountOfEndpoint(u.Scheme + "://" + u.Host + dir)
	if err != nil {
		return tableIDModel{}, err
	}
	return tableIDModel{Name: types.StringValue(m[1] + m[2]), StorageAccount: types.StringValue(storage), Endpoint: types.StringValue(endpoint)}, nil
}

// splitTableID splits NAME or ACCOUNT/NAME.
func splitTableID(id string) (account, name string) {
	if before, after, found := strings.Cut(id, "/"); found {
		return before, after
	}
	return tenancy.HomeAccount, id
}
