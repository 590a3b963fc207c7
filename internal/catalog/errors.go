package catalog

import (
	"errors"
	"fmt"

	"github.com/aztenancy/terraform-provider-aztenancy/internal/tenancy"
)

// Errors that callers decide on; use errors.Is.
var (
	ErrNotFound    = errors.New("not in the catalog")
	ErrExists      = errors.New("already in the catalog")
	ErrChanged     = errors.New("changed by someone else in the meantime; read it again")
	ErrNewerSchema = errors.New("written by a newer version of aztenancy")
	ErrInUse       = errors.New("in use")
	ErrUnclear     = errors.New("it is unknown whether the change was made")
	ErrNoCatalog   = errors.New("the catalog table does not exist")
	ErrConflict    = errors.New("overlaps a claim of another tenant")
	ErrNotEmpty    = errors.New("not empty")
)

// ClaimConflictError says that a claim overlaps another tenant's. It is ErrConflict.
type ClaimConflictError struct {
	Wanted tenancy.Claim
	Held   tenancy.Claim
}

func (e *ClaimConflictError) Error() string {
	return fmt.Sprintf("%v %v: under construction", e.Wanted, e.Held)
}

// Is makes the error an ErrConflict.
func (e *ClaimConflictError) Is(target error) bool { return target == ErrConflict }
