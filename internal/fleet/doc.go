// Package fleet moves many tenants: an evacuation is a named list of moves in the catalog, and any number of workers, in any
// number of processes, take its tenants by lease and run package migration for each. The limits (moves out of one table, into
// one account, tenants whose writes are held, failures) hold across all of them, because each decision is one
// compare-and-swap on the head of the list.
//
// It may import tenancy, tablestorage, catalog and migration; of migration it knows Run, Release and Progress. Start with schedule.go, which decides and does
// no I/O, then worker.go.
package fleet
