package auth

import (
	"context"
	"crypto"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/aztenancy/terraform-provider-aztenancy/internal/tableserver/keyspan"
)

// algorithms are the signatures that count, all with public keys. Neither "none" nor an HMAC is among them: a public
// key taken for an HMAC secret would let everybody sign.
var algorithms = []string{"RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512"}

// KeySource finds the public key that a token names. It is safe for concurrent use.
type KeySource interface {
	// Key returns the key for an algorithm. kid is "" in a token that names none.
	Key(ctx context.Context, kid, algorithm string) (crypto.PublicKey, error)
}

// TokenRules say which bearer tokens count.
type TokenRules struct {
	// Tenants are the directories whose tokens count, at least one; the first stands in challenges. GUIDs.
	Tenants []string
	// Issuer is what iss must be; "" for the issuers that Microsoft Entra has for the directory.
	Issuer string
	// Audiences count besides those of Azure Storage.
	Audiences []string
	// Keys check signatures. nil takes tokens by their claims alone, and those only from this machine.
	Keys KeySource
}

// Entra is who may come with a bearer token, and what for.
type Entra struct {
	rules TokenRules
	roles Roles
}

// NewEntra checks the rules.
func NewEntra(rules TokenRules, roles Roles) (*Entra, error) {
	if len(rules.Tenants) == 0 {
		return nil, errors.New("bearer tokens need the id of the directory that issues them")
	}
	rules.Tenants = slices.Clone(rules.Tenants)
	for i, t := range rules.Tenants {
		if !guidForm.MatchString(t) {
			return nil, fmt.Errorf("directory id %q is not a GUID", t)
		}
		rules.Tenants[i] = strings.ToLower(t)
	}
	if rules.Issuer != "" {
		if u, err := url.Parse(rules.Issuer); err != nil || u.Scheme == "" || u.Host == "" {
			return nil, fmt.Errorf("issuer %q is not a URL", rules.Issuer)
		}
	}
	return &Entra{rules: rules, roles: roles}, nil
}

// ChecksSignatures says whether tokens need the signature of a known key.
func (e *Entra) ChecksSignatures() bool { return e.rules.Keys != nil }

// Principal is who a bearer token speaks for. The ids are in lower case.
type Principal struct{ ObjectID, TenantID string }

// firstBearer is the x-ms-version from which the storage services take bearer tokens; the one for tables is
// unconfirmed (reference §7.7).
const firstBearer = "2017-11-09"

// authenticateBearer checks a request with a bearer token and looks up the roles of its principal.
func (a *Authenticator) authenticateBearer(r *http.Request, account string) (*Grant, error) {
	p, err := a.bearer(r, account)
	if err != nil {
		return nil, err
	}
	return &Grant{scheme: Bearer, account: account, span: keyspan.Whole(), principal: p,
		roles: a.entra.roles.of(account, p.ObjectID)}, nil
}

// bearer returns the principal of the token in the Authorization header.
func (a *Authenticator) bearer(r *http.Request, account string) (Principal, error) {
	scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	switch {
	case scheme != "Bearer":
		return Principal{}, a.challenged("A bearer token is missing.")
	case a.entra == nil:
		return Principal{}, authenticationFailed("Bearer tokens are not supported by this server.")
	case r.TLS == nil:
		return Principal{}, authenticationFailed("A bearer token needs https.")
	case r.Header.Get("x-ms-version") < firstBearer:
		return Principal{}, authenticationFailed("A bearer token needs x-ms-version " + firstBearer + " or newer.")
	case !a.entra.ChecksSignatures() && !fromThisMachine(r):
		return Principal{}, authenticationFailed("This server cannot check signatures of tokens and takes them from this machine only.")
	}
	p, reason := a.entra.verify(r.Context(), strings.TrimSpace(token), account, a.clock())
	if reason != "" {
		return Principal{}, a.challenged(reason)
	}
	return p, nil
}

// tokenClaims are the claims that count. The rest, groups and scopes among it, grants nothing here.
type tokenClaims struct {
	jwt.RegisteredClaims
	TenantID string `json:"tid"`
	ObjectID string `json:"oid"`
}

// verify checks a token and returns why it does not count. The texts are those of Azure Storage for blobs as far as
// they are known; for tables they are unconfirmed.
func (e *Entra) verify(ctx context.Context, token, account string, now time.Time) (Principal, string) {
	var claims tokenClaims
	// Claims are checked below, all of them and each by its own rule.
	parser := jwt.NewParser(jwt.WithValidMethods(algorithms), jwt.WithStrictDecoding(), jwt.WithoutClaimsValidation())
	var err error
	if e.rules.Keys == nil {
		var t *jwt.Token
		if t, _, err = parser.ParseUnverified(token, &claims); err == nil && !slices.Contains(algorithms, t.Method.Alg()) {
			err = jwt.ErrTokenSignatureInvalid
		}
	} else {
		_, err = parser.ParseWithClaims(token, &claims, func(t *jwt.Token) (any, error) {
			kid, _ := t.Header["kid"].(string)
			if _, critical := t.Header["crit"]; critical { // RFC 7515 §4.1.11: not understood, so not accepted
				return nil, errors.New("the token has critical extensions")
			}
			return e.rules.Keys.Key(ctx, kid, t.Method.Alg())
		})
	}
	switch {
	case errors.Is(err, jwt.ErrTokenMalformed):
		return Principal{}, "The token is malformed."
	case err != nil: // what it says may quote the token
		return Principal{}, "Signature validation failed. No matching key, or another signature."
	}
	return e.checkClaims(&claims, account, now)
}

func (e *Entra) checkClaims(c *tokenClaims, account string, now time.Time) (Principal, string) {
	p := Principal{ObjectID: strings.ToLower(c.ObjectID), TenantID: strings.ToLower(c.TenantID)}
	switch {
	case c.ExpiresAt == nil || c.NotBefore == nil:
		return Principal{}, "Lifetime validation failed. The token does not say from when to when it counts."
	case !now.Before(c.ExpiresAt.Time):
		return Principal{}, "Lifetime validation failed. The token is expired."
	case now.Before(c.NotBefore.Time):
		return Principal{}, "Lifetime validation failed. The token is not valid yet."
	case !slices.ContainsFunc(c.Audience, func(aud string) bool { return e.isAudience(aud, account) }):
		return Principal{}, "Audience validation failed. Audience did not match."
	case !slices.Contains(e.rules.Tenants, p.TenantID):
		return Principal{}, "Issuer validation failed. The token is of another directory."
	case !e.isIssuer(c.Issuer, p.TenantID):
		return Principal{}, "Issuer validation failed. Issuer did not match."
	case !guidForm.MatchString(p.ObjectID):
		return Principal{}, "The token names no object id."
	}
	return p, ""
}

// storageAudiences are those of every account: the resource of Azure Storage, and its application id (reference §7.7).
var storageAudiences = []string{"https://storage.azure.com", "e406a681-f3d4-42a8-90b6-c2b029497af1"}

// tableHosts are the table endpoints of the clouds, each an audience with the account before it.
var tableHosts = []string{"table.core.windows.net", "table.core.chinacloudapi.cn", "table.core.usgovcloudapi.net"}

// isAudience says whether a token for aud is for the account. A token for another account's endpoint is not.
func (e *Entra) isAudience(aud, account string) bool {
	aud = strings.TrimSuffix(aud, "/")
	if slices.Contains(storageAudiences, aud) || slices.Contains(e.rules.Audiences, aud) {
		return true
	}
	return slices.ContainsFunc(tableHosts, func(host string) bool { return aud == "https://"+account+"."+host })
}

// entraIssuers are the issuers of tokens, of both versions and in every cloud, around the directory's id.
var entraIssuers = [][2]string{
	{"https://sts.windows.net/", "/"}, {"https://login.microsoftonline.com/", "/v2.0"},
	{"https://sts.chinacloudapi.cn/", "/"}, {"https://login.partner.microsoftonline.cn/", "/v2.0"},
	{"https://login.microsoftonline.us/", "/v2.0"},
}

func (e *Entra) isIssuer(iss, tenant string) bool {
	if e.rules.Issuer != "" {
		return iss == e.rules.Issuer
	}
	return slices.ContainsFunc(entraIssuers, func(around [2]string) bool { return iss == around[0]+tenant+around[1] })
}
