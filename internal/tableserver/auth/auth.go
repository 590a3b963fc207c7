package auth

import (
	"context"
	"net/http"
	"time"

	"github.com/aztenancy/terraform-provider-aztenancy/internal/edm"
	"github.com/aztenancy/terraform-provider-aztenancy/internal/tableserver/keyspan"
)

// The account that the storage emulators publish. Neither is a secret.
const (
	DevelopmentAccount = "devstoreaccount1"
	DevelopmentKey     = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="
)

// Key is the secret of an account. It prints as REDACTED in every verb.
type Key struct{ secret string }

// NewKey returns a key of the decoded bytes.
func NewKey(secret []byte) Key { return Key{string(secret)} }

// ParseKey decodes the base64 form of a key. The error does not show it.
func ParseKey(text string) (Key, error) { panic("under construction") }

// Reveal returns the base64 form, for connection strings and files only.
func (k Key) Reveal() string { panic("under construction") }

// Account is an account that can sign.
type Account struct {
	Name string
	Key  Key
}

// Policy is a stored access policy of a table. Zero times and an empty Permission are left to the token.
type Policy struct {
	ID            string
	Start, Expiry time.Time
	Permission    string
}

// Policies answers which stored access policies a table has. It is asked at each request with an si field, so that
// revoking a policy has effect at once. A missing table has none, without error.
type Policies interface {
	AccessPolicies(ctx context.Context, account, table string) ([]Policy, error)
}

// Authenticator checks credentials. It is safe for concurrent use.
type Authenticator struct{}

// New returns an Authenticator for the accounts. clock is the time against which skew, start and expiry are measured.
func New(accounts []Account, policies Policies, clock func() time.Time) *Authenticator {
	panic("under construction")
}

// Authenticate finds out what a request to an account may do. account is the name without "-secondary" that the
// caller took from the host or path. A refusal is an *Error; another error is a failure of Policies.
func (a *Authenticator) Authenticate(r *http.Request, account string) (*Grant, error) {
	panic("under construction")
}

// Error is a refusal.
type Error struct {
	Status        int    // HTTP status
	Code, Message string // the service error code and its text, without RequestId and Time
	// Detail is the text of an AuthenticationErrorDetail element. It never holds a secret or a signature.
	Detail string
	// FrontDoor asks for the XML form of authentication failures, with an x-ms-error-code header, whatever the
	// request accepts; otherwise the form follows the operation (reference §8.3).
	FrontDoor bool
	// Challenge is the value of a WWW-Authenticate header, if not empty.
	Challenge string
}

func (e *Error) Error() string { return e.Code + ": " + e.Message }

// Operation is one operation of the service, as far as permissions tell them apart.
type Operation uint8

// The operations. A batch is authorized by its parts.
const (
	GetServiceProperties Operation = iota + 1
	SetServiceProperties
	GetServiceStats
	GetUserDelegationKey
	QueryTables // also one entry of Tables
	CreateTable
	DeleteTable
	GetTableACL
	SetTableACL
	QueryEntities
	GetEntity
	InsertEntity
	UpdateEntity // replace with If-Match
	MergeEntity  // merge with If-Match
	InsertOrReplaceEntity
	InsertOrMergeEntity
	DeleteEntity
)

// Grant is what an authenticated request may do.
type Grant struct{}

// AllowTables checks an operation on the service, on tables or on an ACL. A refusal is an *Error.
func (g *Grant) AllowTables(op Operation) error { panic("under construction") }

// AllowEntities checks an operation on entities of a table. A refusal is an *Error. What it allows holds only inside
// Range: check keys with AllowKey, clip queries with Range.
func (g *Grant) AllowEntities(op Operation, table string) error { panic("under construction") }

// Range returns the keys that the grant reaches; the whole table unless a SAS narrows it.
func (g *Grant) Range() keyspan.Span { panic("under construction") }

// AllowKey checks that a key lies in Range. A refusal is an *Error AuthorizationFailure.
func (g *Grant) AllowKey(key edm.Key) error { panic("under construction") }
