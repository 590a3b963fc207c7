package tableserver

import (
	"errors"
	"net/http"
	"strings"

	"github.com/aztenancy/terraform-provider-aztenancy/internal/edm"
	"github.com/aztenancy/terraform-provider-aztenancy/internal/tableserver/auth"
	"github.com/aztenancy/terraform-provider-aztenancy/internal/tableserver/store"
)

// failure is an answer that is an error: status, code and text of the service (Table service error codes, REST
// reference), without RequestId and Time.
type failure struct {
	status        int
	code, message string
	// detail says more to people that read JSON or logs; it is not part of the service's text.
	detail string
	// frontDoor asks for the XML form with an x-ms-error-code header whatever the request accepts.
	frontDoor bool
	challenge string
	// uncached leaves Cache-Control out, as the service does for errors that it finds before it looks at data.
	uncached bool
}

func (f *failure) Error() string { return f.code + ": " + f.message }

// statuses holds the HTTP status of every code that is not 400.
var statuses = map[string]int{
	"AtomFormatNotSupported":          http.StatusUnsupportedMediaType,
	"JsonFormatNotSupported":          http.StatusUnsupportedMediaType,
	"AuthenticationFailed":            http.StatusForbidden,
	"AuthorizationFailure":            http.StatusForbidden,
	"AuthorizationPermissionMismatch": http.StatusForbidden,
	"CorsPreflightFailure":            http.StatusForbidden,
	"InsufficientAccountPermissions":  http.StatusForbidden,
	"ResourceNotFound":                http.StatusNotFound,
	"TableNotFound":                   http.StatusNotFound,
	"MethodNotAllowed":                http.StatusMethodNotAllowed,
	"EntityAlreadyExists":             http.StatusConflict,
	"TableAlreadyExists":              http.StatusConflict,
	"UpdateConditionNotSatisfied":     http.StatusPreconditionFailed,
	"RequestBodyTooLarge":             http.StatusRequestEntityTooLarge,
	"InternalError":                   http.StatusInternalServerError,
	"NotImplemented":                  http.StatusNotImplemented,
	"ServerBusy":                      http.StatusServiceUnavailable,
}

func fail(code, message string) *failure {
	status, ok := statuses[code]
	if !ok {
		status = http.StatusBadRequest
	}
	return &failure{status: status, code: code, message: message}
}

// The errors that more than one place finds.
var (
	errInvalidInput = fail("InvalidInput", "One of the request inputs is not valid.")
	errQuerySyntax  = fail("InvalidInput", "Bad Request - Error in query syntax.")
	errInvalidXML   = xmlFailure("InvalidXmlDocument", "XML specified is not syntactically valid.")
	errTooLarge     = fail("RequestBodyTooLarge", "The request body is too large and exceeds the maximum permissible limit.")
	errMethod       = fail("MethodNotAllowed", "The resource doesn't support specified Http Verb.")
	errNeedValue    = fail("PropertiesNeedValue", "The values are not specified for all properties in the entity.")
	errNotFound     = fail("ResourceNotFound", "The specified resource does not exist.")
	errInternal     = fail("InternalError", "Server encountered an internal error. Please try again after some time.")
	errHeaderValue  = fail("InvalidHeaderValue", "The value for one of the HTTP headers is not in the correct format.")

	// errInvalidURL is the web front end's own answer, plain HTML.
	errInvalidURL = &failure{status: http.StatusBadRequest, code: frontEndCode}
)

// frontEndCode marks an answer that bears no mark of the table service.
const frontEndCode = "Bad Request - Invalid URL"

func xmlFailure(code, message string) *failure {
	f := fail(code, message)
	f.frontDoor = true
	return f
}

func invalidETag(value string) *failure {
	return fail("InvalidInput", "The etag value '"+value+"' specified in one of the request headers is not valid. "+
		"Please make sure only one etag value is specified and is valid.")
}

// failureOf turns any error into the service's answer. What it does not know is an InternalError.
func failureOf(err error) *failure {
	var f *failure
	var service *edm.Error
	var refusal *auth.Error
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &f):
		return f
	case errors.As(err, &service):
		f := fail(service.Code, service.Message)
		f.detail = service.Detail
		f.uncached = strings.HasPrefix(service.Message, "Syntax error")
		return f
	case errors.As(err, &refusal):
		return &failure{status: refusal.Status, code: refusal.Code, message: refusal.Message, detail: refusal.Detail,
			frontDoor: refusal.FrontDoor, challenge: refusal.Challenge}
	case errors.As(err, &tooLarge):
		return errTooLarge
	case errors.Is(err, store.ErrTableNotFound):
		return fail("TableNotFound", "The table specified does not exist.")
	case errors.Is(err, store.ErrTableExists):
		return fail("TableAlreadyExists", "The table specified already exists.")
	case errors.Is(err, store.ErrNotFound):
		return errNotFound
	case errors.Is(err, store.ErrExists):
		return fail("EntityAlreadyExists", "The specified entity already exists.")
	case errors.Is(err, store.ErrFull):
		return fail("ServerBusy", "The disk of this server is full: reads are answered, writes are again when there is space.")
	case errors.Is(err, store.ErrFailed):
		return fail("InternalError", "The disk of this server failed: reads are answered with what was acknowledged, "+
			"writes are refused until the server is restarted.")
	case errors.Is(err, store.ErrConditionNotMet):
		return fail("UpdateConditionNotSatisfied", "The update condition specified in the request was not satisfied.")
	}
	return errInternal
}
