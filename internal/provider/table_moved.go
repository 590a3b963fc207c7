package provider

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"path"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	tfpath "github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/aztenancy/terraform-provider-aztenancy/internal/tablestorage"
	"github.com/aztenancy/terraform-provider-aztenancy/internal/tenancy"
)

var _ resource.ResourceWithMoveState = (*tableResource)(nil)

// movedStorageKey is where MoveState leaves the storage account's own name in private state: it has no provider
// configuration that would tell what the account is called there. The Read that follows has.
const movedStorageKey = "moved_from_storage_account"

// azurermTable is what a state of azurerm_storage_table says, in each of its forms.
type azurermTable struct {
	ID             string `json:"id"`
	Name           string `json:"name"`
	StorageAccount string `json:"storage_account_name"`
	StorageID      string `json:"storage_account_id"`
}

// storage is the storage account's own name.
func (t azurermTable) storage() (string, error) {
	if t.StorageAccount != "" {
		return t.StorageAccount, nil
	}
	if t.StorageID != "" {
		return path.Base(t.StorageID), nil
	}
	if m := armTable.FindStringSubmatch(t.ID); m != nil {
		return m[1], nil
	}
	if u, err := url.Parse(t.ID); err == nil && u.Host != "" {
		name, _, err := tablestorage.AccountOfEndpoint(u.Scheme + "://" + u.Host)
		return name, err
	}
	return "", errors.New("the state does not say which storage account holds the table")
}

// MoveState takes over a table of the provider azurerm, for a `moved` block.
func (r *tableResource) MoveState(context.Context) []resource.StateMover {
	return []resource.StateMover{{StateMover: moveAzurermTable}}
}

func moveAzurermTable(ctx context.Context, req resource.MoveStateRequest, resp *resource.MoveStateResponse) {
	if req.SourceTypeName != "azurerm_storage_table" || !strings.HasSuffix(req.SourceProviderAddress, "/hashicorp/azurerm") || req.SourceRawState == nil {
		return // Terraform says that it cannot be moved
	}
	var t azurermTable
	err := json.Unmarshal(req.SourceRawState.JSON, &t)
	var storage string
	if err == nil {
		storage, err = t.storage()
	}
	if err == nil {
		err = checkTableName(t.Name)
	}
	if err != nil {
		resp.Diagnostics.AddError("The state of azurerm_storage_table cannot be read", sentence(err)+" Remove it from the state with a `removed` block, and import the table instead.")
		return
	}
	for name, v := range map[string]any{"name": t.Name, "account": tenancy.HomeAccount, "deletion_protection": true, "destroy_policy": refuseIfNotEmpty, "adopt_existing": false} {
		resp.Diagnostics.Append(resp.TargetState.SetAttribute(ctx, tfpath.Root(name), v)...)
	}
	word, err := json.Marshal(storage)
	if err != nil {
		resp.Diagnostics.AddError("The state of azurerm_storage_table cannot be kept", sentence(err))
		return
	}
	resp.Diagnostics.Append(resp.TargetPrivate.SetKey(ctx, movedStorageKey, word)...)
}

// settleMoved gives a table that was moved from azurerm the name that the configuration has for its storage account.
func (r *tableResource) settleMoved(word []byte, m *tableModel, diags *diag.Diagnostics) {
	var storage string
	err := json.Unmarshal(word, &storage)
	if err == nil {
		var account string
		account, err = accountByStorage(r.session.accounts, storage)
		m.Account = types.StringValue(account)
	}
	if err != nil {
		diags.AddError(fmt.Sprintf("Table %q that was azurerm's has no account here", m.Name.ValueString()),
			sentence(err)+" Add the storage account to the provider's `accounts`.")
	}
}
