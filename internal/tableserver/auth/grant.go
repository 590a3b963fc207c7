package auth

import (
	"strings"

	"github.com/aztenancy/terraform-provider-aztenancy/internal/edm"
	"github.com/aztenancy/terraform-provider-aztenancy/internal/tableserver/keyspan"
)

// Scheme is the kind of credential behind a Grant.
type Scheme uint8

// The schemes.
const (
	SharedKey     Scheme = iota + 1 // also SharedKeyLite
	AccountSAS                      // signs services, resource types and permissions
	TableSAS                        // signs one table, permissions and a key range
	DelegationSAS                   // a table SAS that is signed with a user delegation key
	Bearer                          // a token of Microsoft Entra
	Anonymous                       // no credential, on a server that was told to ask for none
)

// String returns the name that storage logs use.
func (s Scheme) String() string {
	switch s {
	case SharedKey:
		return "AccountKey"
	case Bearer:
		return "OAuth"
	case DelegationSAS:
		return "DelegationSas"
	case Anonymous:
		return "Anonymous"
	default:
		return "SAS"
	}
}

// Grant is what an authenticated request may do. It is read-only.
type Grant struct {
	scheme      Scheme
	account     string
	types       string // account SAS: srt
	permissions string // sp, of the token or its policy
	table       string // table and delegation SAS: lower case
	span        keyspan.Span
	principal   Principal // of a bearer token
	roles       roleSet   // of the principal, or of the one that delegated
}

// Account returns the name of the account that the request may use.
func (g *Grant) Account() string { return g.account }

// Scheme returns the kind of credential.
func (g *Grant) Scheme() Scheme { return g.scheme }

// AllowTables checks an operation on the service, on tables or on an ACL. A refusal is an *Error.
func (g *Grant) AllowTables(op Operation) error {
	if op == GetUserDelegationKey && g.scheme != Bearer {
		return authenticationFailed("Only a bearer token can ask for a user delegation key.")
	}
	switch g.scheme {
	case SharedKey, Anonymous:
		return nil
	case AccountSAS:
		return g.allowByAccountSAS(op)
	case Bearer:
		return g.roles.allowTables(op)
	default:
		return forbidden("AuthorizationFailure", "")
	}
}

// AllowEntities checks an operation on entities of a table. A refusal is an *Error. What it allows holds only inside
// Range: check each key with AllowKey and clip queries with Range.
func (g *Grant) AllowEntities(op Operation, table string) error {
	switch g.scheme {
	case SharedKey, Anonymous:
		return nil
	case AccountSAS:
		return g.allowByAccountSAS(op)
	case Bearer:
		return g.roles.allowEntities(op, table)
	case DelegationSAS: // what the SAS and the roles of the one who delegated both allow (reference §7.6)
		if err := g.allowByTableSAS(op, table); err != nil {
			return err
		}
		return g.roles.allowEntities(op, table)
	default:
		return g.allowByTableSAS(op, table)
	}
}

func (g *Grant) allowByTableSAS(op Operation, table string) error {
	if strings.ToLower(table) != g.table {
		// Unconfirmed; likely, because the canonical resource of the request is another one.
		return authenticationFailed("The signature is for another table.")
	}
	needed := requirements[op].table
	if needed == "" {
		return forbidden("AuthorizationFailure", "")
	}
	if !hasAll(g.permissions, needed) {
		return forbidden("AuthorizationPermissionMismatch", " using this permission")
	}
	return nil
}

func (g *Grant) allowByAccountSAS(op Operation) error {
	need := requirements[op]
	if need.types == "" {
		return forbidden("AuthorizationFailure", "")
	}
	if !strings.ContainsAny(g.types, need.types) {
		return forbidden("AuthorizationResourceTypeMismatch", " using this resource type")
	}
	for _, letters := range need.account {
		if hasAll(g.permissions, letters) {
			return nil
		}
	}
	return forbidden("AuthorizationPermissionMismatch", " using this permission")
}

// hasAll says whether all letters are in permissions.
func hasAll(permissions, letters string) bool {
	for _, l := range letters {
		if !strings.ContainsRune(permissions, l) {
			return false
		}
	}
	return true
}

// Range returns the keys that the grant reaches; the whole table unless a SAS narrows it.
func (g *Grant) Range() keyspan.Span { return g.span }

// AllowKey checks that a key lies in Range. A refusal is an *Error AuthorizationFailure (reference §7.5; that a point
// read is answered so as well is unconfirmed).
func (g *Grant) AllowKey(key edm.Key) error {
	if g.span.Contains(key) {
		return nil
	}
	return forbidden("AuthorizationFailure", "")
}
