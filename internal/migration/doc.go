// Package migration moves one tenant from its placement to another: plan, copy, verify, switch, and later purge.
//
// It may import edm, tenancy, tablestorage and catalog. The protocol is data: the table in steps.go is what a run walks
// and what the crash tests kill at every point; guard.go says what keeps a sleeping mover out of the target, seal.go what
// a purge may delete. Writes are held by the tenant's state in the catalog alone, and every report says so. Work never prints: it
// reports to Progress. Start with Engine and commands.go, then steps.go.
package migration
