package tablestorage

import "errors"

// Errors that callers decide on; use errors.Is.
var (
	ErrNotFound          = errors.New("entity not found")
	ErrTableNotFound     = errors.New("table not found")
	ErrExists            = errors.New("entity exists")
	ErrTableExists       = errors.New("table exists")
	ErrTableBeingDeleted = errors.New("table is being deleted")
	ErrConditionNotMet   = errors.New("entity was changed by someone else")
	ErrForbidden         = errors.New("not authorised")
	ErrTooLarge          = errors.New("request too large")
	ErrNeedsAccountKey   = errors.New("needs the account key")
	ErrUnreachable       = errors.New("endpoint unreachable")
)

// Error is a request that the service refused or that got no answer.
type Error struct {
	Status    int    // HTTP status; 0: no answer
	Code      string // the service's error code
	Message   string // the service's text, without the request id
	Operation string // what was asked: "insert entity"
	Account   string
	Table     string
	RequestID string // x-ms-request-id, for support
	Index     int    // operation of a transaction that was refused, from 0; -1: none in particular
	Retried   bool   // an earlier attempt may have been carried out: a conflict may be our own success, so read back
	Err       error  // cause, if there was no answer
}

// Error says what was refused, why, and for the common causes what to do.
func (e *Error) Error() string { panic("under construction") }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }
