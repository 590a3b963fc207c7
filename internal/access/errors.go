package access

import (
	"errors"
	"fmt"

	"github.com/aztenancy/terraform-provider-aztenancy/internal/tenancy"
)

// Errors that callers decide on; use errors.Is. A tenant that is not there is a catalog.ErrNotFound, and an account
// without a credential that can sign a tablestorage.ErrCannotSign.
var (
	// ErrHeld says that a token to write was asked for while a migration holds the tenant's writes.
	ErrHeld = errors.New("its writes are held by a move: ask again when the move has ended, or for read alone")
	// ErrNotReady says that a tenant is being made or removed.
	ErrNotReady = errors.New("there are no tokens for it")
	// ErrUnenforced says that a server does not hold a token to its key range, or that nothing is known about it.
	ErrUnenforced = errors.New("the server does not hold tokens to their key range: this one would reach every tenant of the table")
)

// RequestError says what is wrong about a Request.
type RequestError struct{ err error }

func (e *RequestError) Error() string { return e.err.Error() }

// Unwrap returns the cause.
func (e *RequestError) Unwrap() error { return e.err }

func wrong(format string, args ...any) error { return &RequestError{fmt.Errorf(format, args...)} }

// ClaimError says that the catalog does not guarantee a tenant the keys that its placement names: what a token on them
// reached could be another tenant's.
type ClaimError struct {
	Wanted tenancy.Claim
	Held   *tenancy.Claim // what stands in the catalog in its place; nil: nothing
}

func (e *ClaimError) Error() string {
	text := fmt.Sprintf("tenant %q has no claim on %v in table %s of storage account %s", e.Wanted.TenantID, e.Wanted.Range, e.Wanted.Table, e.Wanted.Storage)
	if e.Held != nil {
		text += fmt.Sprintf(" (there is one on %v of tenant %q)", e.Held.Range, e.Held.TenantID)
	}
	return text + ": the catalog does not guarantee that these keys are the tenant's alone, so there is no token for them; see `tenantctl status " + e.Wanted.TenantID + "`"
}
