// Package catalog is the tenant directory: one table in the home account that records isolation models, tenants,
// claims and migrations. Every change is a compare-and-swap on the ETag of a row.
//
// It may import edm, tenancy and tablestorage. Start with Catalog, then Provisioner; row.go draws the rows.
package catalog
