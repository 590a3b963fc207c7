// Package edm is the data model of the Azure Table service: keys, typed values and entities, their JSON at
// three metadata levels, their limits, their order, their canonical form and digest, and their billed size.
//
// It does no I/O and imports nothing of this module. Start with Value, then Entity; json_*.go have the wire form.
package edm
