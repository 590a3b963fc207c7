// Package tenantctl is the command line: one file a command, each with its options, its help and its run function.
// The result of a command goes to standard output, as text or with --json as one JSON object; progress, notes and
// errors go to standard error, with --json as one JSON object a line.
//
// It imports fleet, ingest, migration and what lies below them. Start with Run, then the file of a command.
package tenantctl
