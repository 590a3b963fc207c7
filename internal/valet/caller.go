package valet

import (
	"crypto"
	"errors"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/golang-jwt/jwt/v5"
)

// leeway is how far the issuer's clock and ours may differ.
const leeway = 30 * time.Second

// The scopes. Write includes read.
const (
	scopeRead  = "read"
	scopeWrite = "write"
)

// caller is who sent a request, as its JWT says.
type caller struct {
	subject string
	tenant  string // id; "" where the claim names none
	scopes  []string
}

var errNoToken = errors.New("no bearer token")

// parser takes only what the configuration and the two algorithms allow. A key of one kind verifies nothing of the other:
// a public key can never be taken for an HMAC secret.
func (c Config) parser() *jwt.Parser {
	return jwt.NewParser(jwt.WithValidMethods([]string{"RS256", "ES256"}), jwt.WithIssuer(c.Issuer), jwt.WithAudience(c.Audience),
		jwt.WithExpirationRequired(), jwt.WithIssuedAt(), jwt.WithLeeway(leeway))
}

// authenticate returns who sent a request.
func (s *Server) authenticate(r *http.Request) (caller, error) {
	token, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	if !ok {
		return caller{}, errNoToken
	}
	claims := jwt.MapClaims{}
	_, err := s.parser.ParseWithClaims(token, claims, func(t *jwt.Token) (any, error) {
		id, _ := t.Header["kid"].(string)
		key, ok := s.keys[id]
		if !ok {
			return nil, errors.New("the token names no key of the issuer")
		}
		return crypto.PublicKey(key), nil
	})
	if err != nil {
		return caller{}, err
	}
	who := caller{scopes: scopesOf(claims[s.config.ScopeClaim])}
	who.subject, _ = claims["sub"].(string)
	named, _ := claims[s.config.TenantClaim].(string)
	if s.config.Tenants == nil {
		who.tenant = named
	} else {
		who.tenant = s.config.Tenants[named]
	}
	return who, nil
}

// scopesOf reads a claim that is a text with spaces (RFC 8693 §4.2) or a list of texts.
func scopesOf(claim any) []string {
	switch v := claim.(type) {
	case string:
		return strings.Fields(v)
	case []any:
		var all []string
		for _, one := range v {
			if s, ok := one.(string); ok {
				all = append(all, s)
			}
		}
		return all
	}
	return nil
}

// may says whether the caller has a scope.
func (c caller) may(scope string) bool {
	return slices.Contains(c.scopes, scope) || scope == scopeRead && slices.Contains(c.scopes, scopeWrite)
}
