// Package auth decides who sent a request and what it may do: shared keys, shared access
// signatures (of accounts, of tables, of delegated users) and bearer tokens with roles.
//
// It imports only edm and keyspan, and knows no handlers and no store: stored access policies come through Policies.
// Start with Authenticator.Authenticate, whose Grant the handlers ask before each effect; sas.go reads and checks
// tokens, sharedkey.go checks signatures of whole requests, bearer.go checks tokens of Microsoft Entra.
package auth
