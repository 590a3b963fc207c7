package tablestorage

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"strings"
)

// Errors that callers decide on; use errors.Is.
var (
	ErrNotFound          = errors.New("entity not found")
	ErrTableNotFound     = errors.New("table not found")
	ErrExists            = errors.New("entity exists")
	ErrTableExists       = errors.New("table exists")
	ErrTableBeingDeleted = errors.New("table is being deleted")
	ErrConditionNotMet   = errors.New("entity was changed by someone else")
	ErrForbidden         = errors.New("not authorised")                         // 401 and 403
	ErrTooLarge          = errors.New("request too large")                      // more than 4 MiB
	ErrThrottled         = errors.New("throttled")                              // ServerBusy, or 429, after all retries
	ErrNeedsAccountKey   = errors.New("only the account key can do this")       // asked with a SAS or with Entra
	ErrUnreachable       = errors.New("endpoint unreachable")                   // no connection could be made
	ErrGuardGone         = errors.New("the guard row is gone")                  // BatchWriter.Guard
	ErrNoETag            = errors.New("an ETag or AnyETag is needed, not \"\"") // a write that would be an upsert
)

// Error is a request that the service refused or that got no answer.
type Error struct {
	Status    int    // HTTP status; 0: no answer
	Code      string // the service's error code
	Message   string // the service's text, without the request id
	Operation string // what was asked: "insert entity"
	Account   string
	Table     string // "" where the request was not about one table
	RequestID string // x-ms-request-id, for support
	Index     int    // operation of a transaction that was refused, from 0; -1: none in particular
	// Retried says that the request may have been carried out in spite of this error, because a try ended without
	// a definite answer. A conflict, or an absence, may then be our own success: read back.
	Retried bool
	Err     error // cause, if there was no answer

	advice string // what to do about it
}

// Error says what was asked of what, what went wrong, and for the common causes what to do.
func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString(e.Operation)
	if e.Index >= 0 {
		fmt.Fprintf(&b, " %d", e.Index)
	}
	if e.Table != "" {
		fmt.Fprintf(&b, " in table %s", e.Table)
	}
	fmt.Fprintf(&b, " of account %q: ", e.Account)
	switch {
	case e.advice != "":
		b.WriteString(e.advice)
	case e.Message != "":
		b.WriteString(e.Message)
	case e.Err != nil:
		b.WriteString(e.Err.Error())
	default:
		b.WriteString(http.StatusText(e.Status))
	}
	if e.Status == 0 {
		return b.String()
	}
	fmt.Fprintf(&b, " (%d", e.Status)
	if e.Code != "" {
		b.WriteString(" " + e.Code)
	}
	if e.RequestID != "" {
		b.WriteString(", request " + e.RequestID)
	}
	b.WriteString(")")
	return b.String()
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Is makes errors.Is know the service's codes.
func (e *Error) Is(target error) bool {
	switch target {
	case ErrNotFound:
		return e.Status == http.StatusNotFound && !e.tableMissing()
	case ErrTableNotFound:
		return e.tableMissing()
	case ErrExists:
		return e.Code == "EntityAlreadyExists"
	case ErrTableExists:
		return e.Code == "TableAlreadyExists"
	case ErrTableBeingDeleted:
		return e.Code == "TableBeingDeleted"
	case ErrConditionNotMet:
		return e.Status == http.StatusPreconditionFailed
	case ErrForbidden:
		return e.Status == http.StatusForbidden || e.Status == http.StatusUnauthorized
	case ErrTooLarge:
		return e.Status == http.StatusRequestEntityTooLarge || e.Code == "RequestBodyTooLarge"
	case ErrThrottled:
		return e.Status == http.StatusServiceUnavailable || e.Status == http.StatusTooManyRequests
	case ErrUnreachable:
		return e.Err != nil && !wasSent(e.Err)
	}
	return false
}

// tableMissing tells the two absences apart. What is asked of a table itself is answered ResourceNotFound where the
// table is absent (reference: Delete Table, Get Table ACL).
func (e *Error) tableMissing() bool {
	if e.Status != http.StatusNotFound {
		return false
	}
	switch e.Operation {
	case opDeleteTable, opGetPolicies, opSetPolicies:
		return true
	}
	return e.Code == "TableNotFound"
}

// Operations on tables as a whole, in words.
const (
	opDeleteTable = "delete table"
	opGetPolicies = "read stored access policies"
	opSetPolicies = "write stored access policies"
)

// describe fills in what every error of the client has.
func (c *Client) describe(r request) *Error {
	return &Error{Operation: r.operation, Account: c.account.Name, Table: r.table, Index: -1}
}

// refusal makes an error of an answer.
func (c *Client) refusal(r request, resp *http.Response, body []byte, tries *attempts) *Error {
	e := c.describe(r)
	e.Status = resp.StatusCode
	e.RequestID = resp.Header.Get("x-ms-request-id")
	e.Retried = tries.uncertain
	e.Code, e.Message = parseErrorBody(body)
	e.Code = cmp.Or(e.Code, resp.Header.Get("x-ms-error-code"))
	if e.Code == "" && e.Message == "" {
		e.Message = fmt.Sprintf("the answer does not look like one of a table service: %s, %s", resp.Status,
			cmp.Or(resp.Header.Get("Content-Type"), "no content type"))
	}
	e.advice = c.advise(e, resp.Header)
	return e
}
