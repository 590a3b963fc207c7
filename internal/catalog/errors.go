package catalog

import (
	"errors"
	"fmt"
	"strings"

	"github.com/aztenancy/terraform-provider-aztenancy/internal/tenancy"
)

// Errors that callers decide on; use errors.Is.
var (
	ErrNotFound    = errors.New("not in the catalog")
	ErrExists      = errors.New("already in the catalog")
	ErrChanged     = errors.New("changed by someone else in the meantime; read it again")
	ErrNewerSchema = errors.New("written by a newer version of aztenancy; use that version or a later one")
	ErrInUse       = errors.New("in use")
	ErrUnclear     = errors.New("it is unknown whether the change was made; run the same again, it reads before it writes")
	ErrNoCatalog   = errors.New("there is no catalog")
	ErrConflict    = errors.New("overlaps the range of another tenant")
	ErrNotEmpty    = errors.New("not empty")
)

// ClaimConflictError says that a wanted claim overlaps the claim of another tenant. It is an ErrConflict.
type ClaimConflictError struct {
	Wanted tenancy.Claim
	Held   tenancy.Claim
}

// Error names both tenants, both ranges and the way out.
func (e *ClaimConflictError) Error() string {
	if e.Wanted.Range.IsWholeTable() || e.Held.Range.IsWholeTable() {
		return e.wholeTable()
	}
	return fmt.Sprintf("tenant %q: its key range %v in table %s of storage account %s overlaps the range %v of tenant %q (declared as key %q). "+
		"Give one of them another key, or choose another separator in the model", e.Wanted.TenantID, e.Wanted.Range, e.Wanted.Table, e.Wanted.Storage,
		e.Held.Range, e.Held.TenantID, e.Held.TenantKey)
}

// wholeTable is Error where one of the tenants has the table to itself.
func (e *ClaimConflictError) wholeTable() string {
	if e.Wanted.Range.IsWholeTable() {
		return fmt.Sprintf("tenant %q: it shall have table %s of storage account %s to itself, but tenant %q has %v there (declared as key %q). "+
			"Choose another table name in the model, or another tenant id", e.Wanted.TenantID, e.Wanted.Table, e.Wanted.Storage,
			e.Held.TenantID, e.Held.Range, e.Held.TenantKey)
	}
	return fmt.Sprintf("tenant %q: its key range %v is in table %s of storage account %s, which tenant %q has to itself (declared as key %q). "+
		"Choose another table in the model", e.Wanted.TenantID, e.Wanted.Range, e.Wanted.Table, e.Wanted.Storage, e.Held.TenantID, e.Held.TenantKey)
}

// Is makes the error an ErrConflict.
func (e *ClaimConflictError) Is(target error) bool { return target == ErrConflict }

// ModelInUseError says who uses a model that shall be changed or removed. It is an ErrInUse.
type ModelInUseError struct {
	Model      string
	Tenants    []string // ids in order
	Migrations []string // ids of unfinished migrations that lead to or from it
}

// Error names a few of the users and the way out.
func (e *ModelInUseError) Error() string {
	var by []string
	if len(e.Tenants) > 0 {
		by = append(by, "tenants "+enumerate(e.Tenants))
	}
	if len(e.Migrations) > 0 {
		by = append(by, "unfinished migrations "+enumerate(e.Migrations))
	}
	return fmt.Sprintf("model %q is used by %s: declare a new model beside it and move the tenants there; finish or abort migrations",
		e.Model, strings.Join(by, " and "))
}

// Is makes the error an ErrInUse.
func (e *ModelInUseError) Is(target error) bool { return target == ErrInUse }

// TenantExistsError says that a tenant to be created is there, and is another than the wanted one. It is an ErrExists.
type TenantExistsError struct {
	Existing TenantRecord
	Differs  string // what is different, in words
}

// Error says what differs and the ways out.
func (e *TenantExistsError) Error() string {
	return fmt.Sprintf("tenant %q exists already (state %s) with %s: import it to manage it as it is, or choose another id",
		e.Existing.ID, e.Existing.State, e.Differs)
}

// Is makes the error an ErrExists.
func (e *TenantExistsError) Is(target error) bool { return target == ErrExists }

// NotEmptyError says that a table or range that shall be given to a tenant, or removed with it, holds entities. It is
// an ErrNotEmpty.
type NotEmptyError struct {
	TenantID string
	Place    string // storage account, table and range
	Way      string
}

func (e *NotEmptyError) Error() string {
	return fmt.Sprintf("tenant %q: %s holds entities. %s", e.TenantID, e.Place, e.Way)
}

// Is makes the error an ErrNotEmpty.
func (e *NotEmptyError) Is(target error) bool { return target == ErrNotEmpty }

// enumerate writes at most five names.
func enumerate(names []string) string {
	const most = 5
	var b strings.Builder
	for i, n := range names[:min(most, len(names))] {
		if i > 0 {
			b.WriteString(", ")
		}
		fmt.Fprintf(&b, "%q", n)
	}
	if more := len(names) - most; more > 0 {
		fmt.Fprintf(&b, " and %d more", more)
	}
	return b.String()
}
