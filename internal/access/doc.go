// Package access gives callers tokens that reach exactly one tenant: a SAS for each of its logical tables, with the key
// range that the tenant's claim in the catalog guarantees, for a short time.
//
// It imports tenancy, tablestorage and catalog; provider and tenantctl use it. Start with Issuer.Issue.
package access
