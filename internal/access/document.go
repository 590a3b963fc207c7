package access

import (
	"time"

	"github.com/aztenancy/terraform-provider-aztenancy/internal/tenancy"
)

// Document is a Grant with its secrets in the open, as a caller gets it: what `tenantctl sas --json` writes. It
// is for the caller alone.
type Document struct {
	Tenant      string                   `json:"tenant"`
	Epoch       int64                    `json:"epoch"`
	Permissions []string                 `json:"permissions"`
	Expiry      time.Time                `json:"expiry"` // UTC, whole seconds
	Tables      map[string]TableDocument `json:"tables"` // by logical table
}

// TableDocument is what a client of one logical table needs. Range has the names of a SAS; SASToken has no leading "?".
type TableDocument struct {
	StorageAccount   string            `json:"storage_account"`
	Table            string            `json:"table"`
	URL              string            `json:"url"` // of the table, without the SAS
	SASToken         string            `json:"sas_token"`
	ConnectionString string            `json:"connection_string"`
	Key              string            `json:"key"`
	KeyScheme        tenancy.KeyScheme `json:"key_scheme"`
	Range            tenancy.KeyRange  `json:"range"`
}

// Reveal returns the grant with its secrets.
func (g *Grant) Reveal() Document {
	d := Document{Tenant: g.TenantID, Epoch: g.Epoch, Permissions: g.Permissions.Names(), Expiry: g.Expiry, Tables: map[string]TableDocument{}}
	for _, t := range g.Tokens {
		p := t.Placement
		d.Tables[t.Logical] = TableDocument{StorageAccount: p.Storage, Table: p.Table, URL: p.URL, SASToken: t.SAS.Reveal(),
			ConnectionString: t.ConnectionString(), Key: p.Key, KeyScheme: p.Scheme, Range: p.Range}
	}
	return d
}
