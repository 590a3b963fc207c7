package auth

import (
	"context"
	"net/http"
	"strings"
	"time"

	"github.com/aztenancy/terraform-provider-aztenancy/internal/tableserver/keyspan"
)

// Policy is a stored access policy of a table. Zero times and an empty Permission are left to the token.
type Policy struct {
	ID            string
	Start, Expiry time.Time
	Permission    string
}

// Policies answers which stored access policies a table has. It is asked at each request with an si field, so that
// revoking a policy has effect at once. Table names come in lower case. A missing table has none, without error.
type Policies interface {
	AccessPolicies(ctx context.Context, account, table string) ([]Policy, error)
}

// Authenticator checks credentials. It is safe for concurrent use.
type Authenticator struct {
	keys     map[string]Key
	policies Policies
	clock    func() time.Time
}

// New returns an Authenticator for the accounts. clock is the time against which skew, start and expiry are measured.
func New(accounts []Account, policies Policies, clock func() time.Time) *Authenticator {
	a := &Authenticator{keys: make(map[string]Key, len(accounts)), policies: policies, clock: clock}
	for _, account := range accounts {
		a.keys[account.Name] = account.Key
	}
	return a
}

// Authenticate finds out what a request to an account may do. account is the name without "-secondary" that the
// caller took from the host or path; r is the request as it came: method, RequestURI and headers are signed. A
// refusal is an *Error; another error is a failure of Policies.
func (a *Authenticator) Authenticate(r *http.Request, account string) (*Grant, error) {
	key, known := a.keys[account]
	header := r.Header.Get("Authorization")
	sas, err := parseSAS(r.URL.RawQuery)
	switch {
	case header == "" && err == nil && sas == nil:
		return nil, noCredentials(r.Header.Get("x-ms-version"))
	case !known:
		return nil, authenticationFailed("The account does not exist here.")
	case header == "" && err != nil:
		return nil, err
	case header == "":
		return a.authenticateSAS(r, account, key, sas)
	}
	scheme, credential, _ := strings.Cut(header, " ")
	switch scheme {
	case "SharedKey", "SharedKeyLite":
		if err := a.checkSharedKey(r, account, key, scheme, credential); err != nil {
			return nil, err
		}
		return &Grant{scheme: SharedKey, account: account, span: keyspan.Whole()}, nil
	case "Bearer":
		return nil, authenticationFailed("Bearer tokens are not supported by this server.")
	default:
		return nil, malformedHeader()
	}
}

// firstChallengeVersion is the x-ms-version from which a request without credentials is answered with a challenge.
// Seen: 2020-12-06 with, 2019-07-07 without (reference §7.7); the exact version is unconfirmed.
const firstChallengeVersion = "2019-12-12"

// noCredentials is the answer to a request without any credential. Clients of newer versions find the identity
// provider by the challenge; this server has none, so that the tenant is the nil GUID.
func noCredentials(version string) *Error {
	if version < firstChallengeVersion {
		return authenticationFailed("")
	}
	return &Error{
		Status: http.StatusUnauthorized,
		Code:   "InvalidAuthenticationInfo",
		Message: "Server failed to authenticate the request. Please refer to the information in the " +
			"www-authenticate header.",
		FrontDoor: true,
		Challenge: "Bearer authorization_uri=https://login.microsoftonline.com/00000000-0000-0000-0000-000000000000" +
			"/oauth2/authorize resource_id=https://storage.azure.com",
	}
}
