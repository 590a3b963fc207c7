package provider

import (
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/aztenancy/terraform-provider-aztenancy/internal/tablestorage"
	"github.com/aztenancy/terraform-provider-aztenancy/internal/tenancy"
)

// tableID is the id of a table: its name, after the account's unless that is home.
func tableID(account, name string) string {
	if account == "" || account == tenancy.HomeAccount {
		return name
	}
	return account + "/" + name
}

// policyResourceID is the id of a stored access policy.
func policyResourceID(account, table, policy string) string {
	return tableID(account, table) + "/" + policy
}

// armTable matches the Azure Resource Manager id of a table.
var armTable = regexp.MustCompile(`(?i)^/subscriptions/[^/]+/resourceGroups/[^/]+/providers/Microsoft\.Storage/storageAccounts/([^/]+)/tableServices/default/tables/([^/]+)$`)

// errNoARMTable says what an ARM id of a table looks like.
var errNoARMTable = errors.New("it looks like an ARM id, but not like one of a table: /subscriptions/…/storageAccounts/ACCOUNT/tableServices/default/tables/NAME")

// tableSegment matches the last part of a table's address: NAME or Tables('NAME').
var tableSegment = regexp.MustCompile(`^(?:Tables\('([^']+)'\)|([^/()']+))$`)

// parseTableID reads what people have to name a table: NAME, ACCOUNT/NAME, the table's address, or its ARM id. Addresses
// and ARM ids name a storage account, which must be one of the configured.
func parseTableID(accounts *tablestorage.Accounts, id string) (account, name string, err error) {
	switch {
	case strings.Contains(id, "://"):
		account, name, err = parseTableURL(accounts, id)
	case strings.HasPrefix(id, "/"):
		m := armTable.FindStringSubmatch(id)
		if m == nil {
			return "", "", errNoARMTable
		}
		name = m[2]
		account, err = accountByStorage(accounts, m[1])
	default:
		account, name = splitTableID(id)
		_, err = accounts.Client(account)
	}
	if err != nil {
		return "", "", err
	}
	if err := checkTableName(name); err != nil {
		return "", "", fmt.Errorf("table name %q: %w", name, err)
	}
	return account, name, nil
}

func parseTableURL(accounts *tablestorage.Accounts, id string) (account, name string, err error) {
	u, err := url.Parse(id)
	if err != nil {
		return "", "", errors.New("it looks like an address, but is none")
	}
	address := u.Scheme + "://" + u.Host + u.Path
	for _, account := range accounts.Names() {
		client, err := accounts.Client(account)
		if err != nil {
			return "", "", err
		}
		rest, found := strings.CutPrefix(strings.ToLower(address), strings.ToLower(client.Endpoint())+"/")
		if !found {
			continue
		}
		m := tableSegment.FindStringSubmatch(address[len(address)-len(rest):])
		if m == nil {
			return "", "", fmt.Errorf("the part after %s/ is neither NAME nor Tables('NAME')", client.Endpoint())
		}
		return account, m[1] + m[2], nil
	}
	return "", "", fmt.Errorf("no configured account has this endpoint; the accounts are %s", enumerate(accounts.Names()))
}

// accountByStorage finds the configured account by the storage account's own name.
func accountByStorage(accounts *tablestorage.Accounts, storage string) (string, error) {
	for _, account := range accounts.Names() {
		client, err := accounts.Client(account)
		if err != nil {
			return "", err
		}
		if strings.EqualFold(client.AccountName(), storage) {
			return account, nil
		}
	}
	return "", fmt.Errorf("no configured account is the storage account %q; the accounts are %s", storage, enumerate(accounts.Names()))
}

// parsePolicyID reads TABLE/POLICY or ACCOUNT/TABLE/POLICY. The policy's own id may hold slashes.
func parsePolicyID(accounts *tablestorage.Accounts, id string) (account, table, policy string, err error) {
	account, rest := tenancy.HomeAccount, id
	if first, after, found := strings.Cut(id, "/"); found && strings.Contains(after, "/") && slices.Contains(accounts.Names(), first) {
		account, rest = first, after
	}
	table, policy, found := strings.Cut(rest, "/")
	if !found || policy == "" {
		return "", "", "", errors.New("write TABLE/POLICY_ID, or ACCOUNT/TABLE/POLICY_ID for another account than home")
	}
	if err := checkTableName(table); err != nil {
		return "", "", "", fmt.Errorf("table name %q: %w", table, err)
	}
	return account, table, policy, nil
}

// enumerate lists names for a message.
func enumerate(names []string) string {
	const most = 10
	quoted := make([]string, 0, most)
	for i, n := range names {
		if i == most {
			return fmt.Sprintf("%s and %d more", strings.Join(quoted, ", "), len(names)-most)
		}
		quoted = append(quoted, quote(n))
	}
	return strings.Join(quoted, ", ")
}

// sameTable says whether a claim is on a physical table. Table names are case-insensitive.
func sameTable(c tenancy.Claim, storage, table string) bool {
	return strings.EqualFold(c.Storage, storage) && strings.EqualFold(c.Table, table)
}

// entityID is the id of an entity. Keys hold no "/", and are percent-encoded so that the id has one spelling.
func entityID(m entityResourceModel) string {
	return tableID(m.Account.ValueString(), m.Table.ValueString()) + "/" + url.PathEscape(m.PartitionKey.ValueString()) + "/" + url.PathEscape(m.RowKey.ValueString())
}

// parseEntityID reads TABLE/PARTITION_KEY/ROW_KEY or ACCOUNT/TABLE/PARTITION_KEY/ROW_KEY.
func parseEntityID(id string) (entityIdentity, error) {
	parts := strings.Split(id, "/")
	if len(parts) == 3 {
		parts = append([]string{tenancy.HomeAccount}, parts...)
	}
	if len(parts) != 4 || parts[0] == "" {
		return entityIdentity{}, errors.New("write TABLE/PARTITION_KEY/ROW_KEY, or ACCOUNT/TABLE/PARTITION_KEY/ROW_KEY for another account than home, with percent-encoded keys")
	}
	if err := checkTableName(parts[1]); err != nil {
		return entityIdentity{}, fmt.Errorf("table name %q: %w", parts[1], err)
	}
	for i := 2; i < 4; i++ {
		key, err := url.PathUnescape(parts[i])
		if err != nil {
			return entityIdentity{}, fmt.Errorf("key %q is not percent-encoded: write %%25 for a percent sign", parts[i])
		}
		parts[i] = key
	}
	return entityIdentity{types.StringValue(parts[0]), types.StringValue(parts[1]), types.StringValue(parts[2]), types.StringValue(parts[3])}, nil
}
