// Package ingest loads rows of a CSV or NDJSON file into the tenants' tables: it finds each row's tenant in the
// catalog, computes its keys by the tenant's placement and writes it, in three passes over the file, so that nothing
// is written before every row was found good. It never prints: it reports to a Progress and returns a Report.
//
// It imports edm, tenancy, tablestorage and catalog. Start with Importer.Run, then Reader and Column.
package ingest
