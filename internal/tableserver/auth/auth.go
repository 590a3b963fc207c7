package auth

import (
	"context"
	"net/http"
	"net/netip"
	"regexp"
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

// Config says whom an Authenticator lets in.
type Config struct {
	Accounts []Account
	Policies Policies
	// AnyAccount is the key of every account that Accounts does not name; nil: those do not exist.
	AnyAccount *Key
	// Clock is the time against which skew, start and expiry are measured.
	Clock func() time.Time
	// Entra says which bearer tokens count; nil refuses them all, and every user delegation SAS with them.
	Entra *Entra
	// SkipAuthentication lets every request from this machine do everything, whatever it carries.
	SkipAuthentication bool
}

// Authenticator checks credentials. It is safe for concurrent use.
type Authenticator struct {
	keys     map[string]Key
	anyKey   *Key
	policies Policies
	clock    func() time.Time
	entra    *Entra
	open     bool
}

// New returns an Authenticator.
func New(c Config) *Authenticator {
	a := &Authenticator{keys: make(map[string]Key, len(c.Accounts)), anyKey: c.AnyAccount, policies: c.Policies, clock: c.Clock, entra: c.Entra,
		open: c.SkipAuthentication}
	for _, account := range c.Accounts {
		a.keys[account.Name] = account.Key
	}
	return a
}

// key returns the key of an account that exists.
func (a *Authenticator) key(account string) (Key, bool) {
	if k, ok := a.keys[account]; ok {
		return k, true
	}
	if a.anyKey == nil || !accountForm.MatchString(account) {
		return Key{}, false
	}
	return *a.anyKey, true
}

// accountForm is the form of the names of storage accounts.
var accountForm = regexp.MustCompile(`^[a-z0-9]{3,24}$`)

// Authenticate finds out what a request to an account may do. account is the name without "-secondary" that the
// caller took from the host or path; r is the request as it came: method, RequestURI and headers are signed. A
// refusal is an *Error; another error is a failure of Policies.
func (a *Authenticator) Authenticate(r *http.Request, account string) (*Grant, error) {
	if a.open {
		return a.letIn(r, account)
	}
	key, known := a.key(account)
	header := r.Header.Get("Authorization")
	sas, err := parseSAS(r.URL.RawQuery)
	switch {
	case header == "" && err == nil && sas == nil:
		return nil, a.noCredentials(r.Header.Get("x-ms-version"))
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
		if err == nil && sas.boundToUser() { // the token says who uses the SAS, and grants nothing itself
			return a.authenticateSAS(r, account, key, sas)
		}
		return a.authenticateBearer(r, account)
	default:
		return nil, malformedHeader()
	}
}

// letIn is what stands in the place of every check when the operator has turned them off. It holds for this machine
// only, whatever the server listens on.
func (a *Authenticator) letIn(r *http.Request, account string) (*Grant, error) {
	if _, known := a.key(account); !known {
		return nil, authenticationFailed("The account does not exist here.")
	}
	if !fromThisMachine(r) {
		return nil, authenticationFailed("Without authentication only this machine is answered.")
	}
	return &Grant{scheme: Anonymous, account: account, span: keyspan.Whole()}, nil
}

// fromThisMachine says whether the other end of the connection has a loopback address.
func fromThisMachine(r *http.Request) bool {
	peer, err := netip.ParseAddrPort(r.RemoteAddr)
	return err == nil && peer.Addr().Unmap().IsLoopback()
}

// firstChallengeVersion is the x-ms-version from which a request without credentials is answered with a challenge.
// Seen: 2020-12-06 with, 2019-07-07 without (reference §7.7); the exact version is unconfirmed.
const firstChallengeVersion = "2019-12-12"

// noCredentials is the answer to a request without any credential. Clients of newer versions find the identity
// provider by the challenge.
func (a *Authenticator) noCredentials(version string) *Error {
	if version < firstChallengeVersion {
		return authenticationFailed("")
	}
	return a.challenged("")
}

// nilTenant is the directory in the challenge of a server that takes no bearer tokens.
const nilTenant = "00000000-0000-0000-0000-000000000000"

// challenged is the answer that names the identity provider: to a request without credentials, and to one with a
// bearer token that does not count (reference §7.7).
func (a *Authenticator) challenged(detail string) *Error {
	tenant := nilTenant
	if a.entra != nil {
		tenant = a.entra.rules.Tenants[0]
	}
	return &Error{
		Status: http.StatusUnauthorized,
		Code:   "InvalidAuthenticationInfo",
		Message: "Server failed to authenticate the request. Please refer to the information in the " +
			"www-authenticate header.",
		Detail:    detail,
		FrontDoor: true,
		Challenge: "Bearer authorization_uri=https://login.microsoftonline.com/" + tenant +
			"/oauth2/authorize resource_id=https://storage.azure.com",
	}
}
