// Package tenancy is the pure domain of aztenancy: tenant ids and keys, key schemes, key ranges, claims, isolation
// models, the placements they give, and the mapping of keys between two placements. It does no I/O.
//
// It imports only edm. Start with Model and Placement, then KeyScheme and KeyRange, Claim, and last Mapping.
package tenancy
