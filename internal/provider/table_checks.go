package provider

import (
	"context"
	"errors"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/diag"

	"github.com/aztenancy/terraform-provider-aztenancy/internal/tablestorage"
)

// createWhenFree creates a table that does not exist. While the service still removes an earlier table of that name it
// waits, as long as the context allows. A request that was sent is waited for even if Terraform is interrupted, so that
// no table is made that the state does not know.
func createWhenFree(ctx context.Context, client *tablestorage.Client, name string) error {
	return whileTableIsDeleted(ctx, func() error {
		once, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
		defer cancel()
		_, err := client.CreateTable(once, name)
		return err
	})
}

// unclaimed says whether no tenant lives in the table.
func (r *tableResource) unclaimed(ctx context.Context, m tableModel, diags *diag.Diagnostics) bool {
	storage, _, err := r.session.accounts.Locate(m.Account.ValueString(), m.Name.ValueString())
	if err != nil {
		diags.AddError(m.what()+" could not be located", sentence(err))
		return false
	}
	r.session.directory.forget() // other programs may have moved a tenant here since the plan
	d, err := r.session.lookup(ctx)
	if err != nil {
		addServiceError(diags, m.what()+" could not be checked for tenants", err)
		return false
	}
	if ids := d.claimants(storage, m.Name.ValueString()); len(ids) > 0 {
		diags.AddError(m.what()+" belongs to tenants",
			"The catalog says that these tenants have a claim on it: "+enumerate(ids)+". Move or destroy them first; a tenant that has left the table "+
				"keeps its claim until `tenantctl purge` removes what it left behind.")
		return false
	}
	return true
}

// isEmpty says whether the table holds no entity. A table that does not exist is empty.
func (r *tableResource) isEmpty(ctx context.Context, m tableModel) (bool, error) {
	client, err := r.session.accounts.Client(m.Account.ValueString())
	if err != nil {
		return false, err
	}
	query := tablestorage.Query{Select: []string{"PartitionKey"}, PageSize: 1}
	for _, err := range client.Table(m.Name.ValueString()).Query(ctx, query) {
		if errors.Is(err, tablestorage.ErrTableNotFound) {
			return true, nil
		}
		return false, err
	}
	return true, nil
}
