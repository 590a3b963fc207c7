// Package migration moves one tenant from its placement to another: plan, copy, verify, switch, and later purge.
//
// It may import edm, tenancy, tablestorage and catalog. The protocol is data: the table of steps in steps.go is
// what Run walks, what the guides print and what the crash tests kill at every point. Start with Engine, then
// steps.go, then the file of each step. Work never prints: it reports to Progress.
package migration
