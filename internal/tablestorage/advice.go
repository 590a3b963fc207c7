package tablestorage

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
	"syscall"
	"time"
)

// advise says what to do about the refusals that users meet; "" where the service's own text says it.
func (c *Client) advise(e *Error, h http.Header) string {
	switch e.Code {
	case "TableNotFound":
		return "the table does not exist"
	case "TableBeingDeleted":
		return "the table is being deleted, which takes at least 40 s: try again after that"
	case "KeyBasedAuthenticationNotPermitted":
		return "the account does not permit account keys and SAS: use Entra"
	case "AccountIsDisabled":
		return "the storage account is disabled"
	case "AuthorizationPermissionMismatch":
		if isEntra(c.account.Credential) {
			return "the identity lacks a role for this: assign Storage Table Data Contributor (it takes minutes to bite)"
		}
		return "the SAS token lacks the permission for this"
	case "AuthorizationFailure":
		return c.adviseAuthorizationFailure(e, h)
	case "ServerBusy":
		return "the service is throttling this account or partition: run fewer requests at once"
	}
	switch e.Status {
	case http.StatusUnauthorized:
		return fmt.Sprintf("the %s was refused: the service asks for another kind of credential", kindOf(c.account.Credential))
	case http.StatusForbidden:
		if e.Code == "" || e.Code == "AuthenticationFailed" || e.Code == "InvalidAuthenticationInfo" {
			return c.adviseRefusedCredential(h)
		}
	}
	return ""
}

// adviseAuthorizationFailure names what this credential is not authorised for. Azurite answers a wrong key or signature
// with this code and the text of AuthenticationFailed.
func (c *Client) adviseAuthorizationFailure(e *Error, h http.Header) string {
	_, isSAS := c.account.Credential.(SAS)
	switch {
	case strings.HasPrefix(e.Message, "Server failed to authenticate"):
		return c.adviseRefusedCredential(h)
	case isSAS:
		return "not authorised: outside the key range of the SAS token, or the account's network rules refuse this machine"
	}
	return "not authorised: the account's network rules may refuse this machine"
}

// adviseRefusedCredential names what is wrong with a credential that was refused.
func (c *Client) adviseRefusedCredential(h http.Header) string {
	if skew := clockSkew(h); skew.Abs() > 10*time.Minute {
		return fmt.Sprintf("the %s of account %q was refused: this machine's clock is %s off the service's: set it right",
			kindOf(c.account.Credential), c.account.Name, skew.Abs().Round(time.Second))
	}
	switch c.account.Credential.(type) {
	case SharedKey:
		return fmt.Sprintf("the account key of account %q was refused: check that it is this account's key and was not rotated",
			c.account.Name)
	case SAS:
		return fmt.Sprintf("the SAS token of account %q was refused: it may be expired, for another table, or its stored "+
			"access policy may be gone or less than 30 s old", c.account.Name)
	}
	return fmt.Sprintf("the Entra token for account %q was refused", c.account.Name)
}

// clockSkew is how far this machine's clock is ahead of an answer's.
func clockSkew(h http.Header) time.Duration {
	date, err := http.ParseTime(h.Get("Date"))
	if err != nil {
		return 0
	}
	return time.Since(date)
}

// noAnswer makes an error of a request that got none.
func (c *Client) noAnswer(ctx context.Context, r request, cause error, tries *attempts) *Error {
	e := c.describe(r)
	e.Retried = tries.uncertain
	e.Err = cause
	if isCanceled(ctx, cause) {
		e.Retried = true // it may have been on its way
		return e
	}
	host := c.account.TableEndpoint
	if u, err := url.Parse(host); err == nil {
		host = u.Host
	}
	e.advice = adviseNoAnswer(host, cause)
	if isEntra(c.account.Credential) && isSignInError(cause) {
		e.advice = fmt.Sprintf("no Entra token: %v", cause)
	}
	return e
}

// isSignInError says whether azidentity gave up: its errors end the retries, and are not hopelessError of ours.
func isSignInError(err error) bool {
	var ours hopelessError
	var final interface{ NonRetriable() }
	return errors.As(err, &final) && !errors.As(err, &ours)
}

// adviseNoAnswer names host and cause.
func adviseNoAnswer(host string, cause error) string {
	var dns *net.DNSError
	var timeout net.Error
	switch {
	case errors.As(cause, &dns):
		return fmt.Sprintf("host %s is not known (%v): check the account name and the endpoint", cmp.Or(dns.Name, host), dns)
	case errors.Is(cause, syscall.ECONNREFUSED):
		return fmt.Sprintf("nothing listens at %s (connection refused): check the endpoint, or start the service", host)
	case isPermanent(cause):
		return fmt.Sprintf("no secure connection to %s: %v", host, cause)
	case errors.As(cause, &timeout) && timeout.Timeout():
		return fmt.Sprintf("%s does not answer: %v", host, cause)
	case !wasSent(cause):
		return fmt.Sprintf("no connection to %s: %v", host, cause)
	}
	return fmt.Sprintf("%s: %v", host, cause)
}
