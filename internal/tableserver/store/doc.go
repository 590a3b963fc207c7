// Package store keeps the tables and entities of several accounts in one ordered Pebble keyspace.
//
// It imports only edm and Pebble. Start with Store, then keys.go, which draws the keyspace, and codec.go, which
// draws an entity's bytes. Writes are atomic per entity group transaction and durable before they return.
package store
