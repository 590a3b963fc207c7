// Package tablestorage is the client of the Azure Table service: accounts and credentials, tables and their stored
// access policies, entities, paged queries, entity group transactions, and a batch writer. It works alike against
// Azure, Azurite and tableserver.
//
// It imports edm, tenancy, azcore and azidentity. Start with AccountConfig and Client, then Table and Error.
package tablestorage
