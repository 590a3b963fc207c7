// Package provider is the Terraform provider aztenancy: accounts, isolation models, tables, stored access policies and
// tenants, declared. One file per resource and data source, named kind first; the schemas' descriptions are the
// documentation. It holds no rule of tenancy and no protocol: it asks tenancy, catalog, tablestorage and migration.
//
// Start with New in provider.go, then session.go (what a configured provider shares), then resource_tenant.go.
package provider
