// Package acctest starts what tests run against: tableserver in this process, Azurite, Terraform or OpenTofu, and the
// Azure CLI. Everything is stopped when the test ends.
//
// It imports tableserver and the standard library. Start with StartServer.
package acctest
