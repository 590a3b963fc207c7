// Package valet is an HTTP service that gives authenticated callers tokens for their tenant (the valet key pattern):
// a caller shows a JWT, and is answered with what access issues for the tenant that one of its claims names.
//
// It imports access, and catalog and tablestorage for their errors; tenantctl runs it. Start with New.
package valet
