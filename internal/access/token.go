package access

import (
	"time"

	"github.com/aztenancy/terraform-provider-aztenancy/internal/tablestorage"
	"github.com/aztenancy/terraform-provider-aztenancy/internal/tablestorage/sas"
	"github.com/aztenancy/terraform-provider-aztenancy/internal/tenancy"
)

// Grant is what a tenant is given: a token for each logical table that was asked for, in order of name. Epoch is the one
// of the placement that the tokens are for: when the catalog has a greater one, they may be for a place that was left.
type Grant struct {
	TenantID    string
	Epoch       int64
	Permissions Permissions
	Expiry      time.Time
	Tokens      []Token
}

// Token opens one logical table of a tenant. Printing it in any way hides the SAS.
type Token struct {
	Logical   string
	Placement tenancy.TablePlacement // its Range is what the SAS reaches
	Endpoint  string                 // of the account, without a trailing slash
	SAS       tablestorage.Secret    // query string, without "?"
}

// ConnectionString returns what the clients of every language take in place of endpoint and SAS: a secret. The table is
// not part of it.
func (t Token) ConnectionString() string {
	return "TableEndpoint=" + t.Endpoint + ";SharedAccessSignature=" + t.SAS.Reveal()
}

// tableRights returns the rights on a range of a table, as a SAS has them. A range that begins with an empty RowKey
// needs no srk. One that ends with one has an erk that is empty: as an absent erk signs alike, a server may read it as
// "the whole partition", which is why nobody can claim a part of that partition (tenancy.Placement.Claims).
func tableRights(p tenancy.TablePlacement) sas.TableParams {
	r := p.Range
	out := sas.TableParams{Account: p.Storage, Table: p.Table}
	if r.First.PartitionKey != "" || r.First.RowKey != "" {
		out.StartPartitionKey = &r.First.PartitionKey
	}
	if r.First.RowKey != "" {
		out.StartRowKey = &r.First.RowKey
	}
	if r.End != tenancy.EndTable {
		out.EndPartitionKey = &r.Last.PartitionKey
	}
	if r.End == tenancy.EndKey {
		out.EndRowKey = &r.Last.RowKey
	}
	return out
}
