package auth

import "net/http"

// Error is a refusal. What Authenticate returns is answered in the XML form of authentication failures (FrontDoor);
// what a Grant returns in the form of the operation, JSON when the request accepts it (reference §8.3).
type Error struct {
	Status        int    // HTTP status
	Code, Message string // the service error code and its text, without RequestId and Time
	// Detail is the text of an AuthenticationErrorDetail element. It never holds a key or a signature.
	Detail string
	// FrontDoor asks for the prefixed XML form with an x-ms-error-code header, whatever the request accepts.
	FrontDoor bool
	// Challenge is the value of a WWW-Authenticate header, if not empty.
	Challenge string
}

func (e *Error) Error() string {
	if e.Detail != "" {
		return e.Code + ": " + e.Message + " (" + e.Detail + ")"
	}
	return e.Code + ": " + e.Message
}

// authenticationFailed is the answer to a credential that is wrong, malformed, expired or revoked (reference §7.5).
func authenticationFailed(detail string) *Error {
	return &Error{
		Status: http.StatusForbidden,
		Code:   "AuthenticationFailed",
		Message: "Server failed to authenticate the request. Make sure the value of Authorization header is formed " +
			"correctly including the signature.",
		Detail:    detail,
		FrontDoor: true,
	}
}

// malformedHeader is the answer to an Authorization header that names no scheme and account.
func malformedHeader() *Error {
	return &Error{
		Status: http.StatusBadRequest,
		Code:   "InvalidAuthenticationInfo",
		Message: "The authentication information was not provided in the correct format. Verify the value of " +
			"Authorization header.",
		FrontDoor: true,
	}
}

// mismatch is the answer to a valid signature that does not cover the way in which the request came.
func mismatch(code, what string) *Error {
	return &Error{
		Status:    http.StatusForbidden,
		Code:      code,
		Message:   "This request is not authorized to perform this operation using this " + what + ".",
		FrontDoor: true,
	}
}

// forbidden is the answer to a valid credential that does not allow the operation; using is "" or ends the text.
func forbidden(code, using string) *Error {
	return &Error{
		Status:  http.StatusForbidden,
		Code:    code,
		Message: "This request is not authorized to perform this operation" + using + ".",
	}
}

// noACL is the answer to Get and Set Table ACL with a bearer token: they are not offered (reference §7.7, seen).
func noACL() *Error {
	return &Error{
		Status:    http.StatusNotFound,
		Code:      "ResourceNotFound",
		Message:   "The specified resource does not exist.",
		FrontDoor: true,
	}
}
