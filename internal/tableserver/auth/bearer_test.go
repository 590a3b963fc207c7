package auth

import (
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
)

const (
	testTenant = "11111111-1111-1111-1111-111111111111"
	otherTid   = "22222222-2222-2222-2222-222222222222"
	reader     = "aaaaaaaa-0000-0000-0000-000000000001"
	writer     = "aaaaaaaa-0000-0000-0000-000000000002"
	delegator  = "aaaaaaaa-0000-0000-0000-000000000003"
	narrow     = "aaaaaaaa-0000-0000-0000-000000000004" // reads one table
	nobody     = "aaaaaaaa-0000-0000-0000-00000000000f"
)

var testRoles = NewRoles(
	Assignment{Principal: reader, Role: Reader, Account: DevelopmentAccount},
	Assignment{Principal: writer, Role: Contributor, Account: DevelopmentAccount},
	Assignment{Principal: delegator, Role: Delegator, Account: DevelopmentAccount},
	Assignment{Principal: delegator, Role: Reader, Account: DevelopmentAccount},
	Assignment{Principal: narrow, Role: Reader, Account: DevelopmentAccount, Table: "Orders"},
)

// signer holds keys as an issuer does; made once, as RSA keys take their time.
type signer struct {
	rsa, otherRSA *rsa.PrivateKey
	ec            *ecdsa.PrivateKey
}

var issuerKeys = func() signer {
	var s signer
	var errs [3]error
	s.rsa, errs[0] = rsa.GenerateKey(rand.Reader, 2048)
	s.otherRSA, errs[1] = rsa.GenerateKey(rand.Reader, 2048)
	s.ec, errs[2] = ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err := errors.Join(errs[:]...); err != nil {
		panic(err)
	}
	return s
}()

// Key serves the public halves under the names rsa and ec.
func (s signer) Key(_ context.Context, kid, algorithm string) (crypto.PublicKey, error) {
	return findKey([]webKey{{kid: "rsa", key: &s.rsa.PublicKey}, {kid: "ec", key: &s.ec.PublicKey}}, kid, algorithm)
}

// goodClaims are those of a token that counts at noon.
func goodClaims(oid string) jwt.MapClaims {
	return jwt.MapClaims{"aud": "https://storage.azure.com", "iss": "https://sts.windows.net/" + testTenant + "/",
		"tid": testTenant, "oid": oid, "nbf": noon.Add(-time.Minute).Unix(), "exp": noon.Add(time.Hour).Unix()}
}

// token signs claims; kid is left out if it is "".
func token(t testing.TB, method jwt.SigningMethod, key any, kid string, claims jwt.MapClaims) string {
	t.Helper()
	tok := jwt.NewWithClaims(method, claims)
	if kid != "" {
		tok.Header["kid"] = kid
	}
	text, err := tok.SignedString(key)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// tokenOf is a good token of a principal.
func tokenOf(t testing.TB, oid string) string {
	t.Helper()
	return token(t, jwt.SigningMethodRS256, issuerKeys.rsa, "rsa", goodClaims(oid))
}

func newEntraAuthenticator(t testing.TB, rules TokenRules) *Authenticator {
	t.Helper()
	if rules.Tenants == nil {
		rules.Tenants = []string{testTenant}
	}
	e, err := NewEntra(rules, testRoles)
	if err != nil {
		t.Fatal(err)
	}
	a := newTestAuthenticator(t, nil)
	a.entra = e
	return a
}

// bearerRequest comes from 127.0.0.1 over HTTPS.
func bearerRequest(token string) *http.Request {
	r := httptest.NewRequest(http.MethodGet, "/devstoreaccount1/Orders()", nil)
	r.RemoteAddr, r.TLS = "127.0.0.1:50000", &tls.ConnectionState{}
	r.Header.Set("Authorization", "Bearer "+token)
	r.Header.Set("x-ms-version", "2020-12-06")
	return r
}

// with returns the claims with others set, or taken out by nil.
func with(claims jwt.MapClaims, changes jwt.MapClaims) jwt.MapClaims {
	claims = maps.Clone(claims)
	for name, value := range changes {
		if claims[name] = value; value == nil {
			delete(claims, name)
		}
	}
	return claims
}

// The rules of reference §7.7: claims count always, signed or not.
func TestClaimsThatATokenNeeds(t *testing.T) {
	at := func(d time.Duration) int64 { return noon.Add(d).Unix() }
	for _, c := range []struct {
		name    string
		changes jwt.MapClaims
		refused string // what the detail speaks of
	}{
		{"good", nil, ""},
		{"audience with a slash", jwt.MapClaims{"aud": "https://storage.azure.com/"}, ""},
		{"audience is the application id", jwt.MapClaims{"aud": "e406a681-f3d4-42a8-90b6-c2b029497af1"}, ""},
		{"audience is the account", jwt.MapClaims{"aud": "https://devstoreaccount1.table.core.windows.net"}, ""},
		{"audience is the account in another cloud", jwt.MapClaims{"aud": "https://devstoreaccount1.table.core.usgovcloudapi.net/"}, ""},
		{"one of several audiences", jwt.MapClaims{"aud": []string{"x", "https://storage.azure.com"}}, ""},
		{"audience is another account", jwt.MapClaims{"aud": "https://other.table.core.windows.net"}, "Audience"},
		{"audience only ends like the account", jwt.MapClaims{"aud": "https://evil.com/devstoreaccount1.table.core.windows.net"}, "Audience"},
		{"other audience", jwt.MapClaims{"aud": "https://management.azure.com"}, "Audience"},
		{"no audience", jwt.MapClaims{"aud": nil}, "Audience"},
		{"expires now", jwt.MapClaims{"exp": at(0)}, "expired"},
		{"expires in a second", jwt.MapClaims{"exp": at(time.Second)}, ""},
		{"no expiry", jwt.MapClaims{"exp": nil}, "Lifetime"},
		{"counts from now", jwt.MapClaims{"nbf": at(0)}, ""},
		{"counts in a second", jwt.MapClaims{"nbf": at(time.Second)}, "not valid yet"},
		{"no start", jwt.MapClaims{"nbf": nil}, "Lifetime"},
		{"issuer of version 2", jwt.MapClaims{"iss": "https://login.microsoftonline.com/" + testTenant + "/v2.0"}, ""},
		{"issuer is of another directory", jwt.MapClaims{"iss": "https://sts.windows.net/" + otherTid + "/"}, "Issuer"},
		{"other issuer", jwt.MapClaims{"iss": "https://sts.windows.net.evil.com/" + testTenant + "/"}, "Issuer"},
		{"no issuer", jwt.MapClaims{"iss": nil}, "Issuer"},
		{"other directory", jwt.MapClaims{"tid": otherTid, "iss": "https://sts.windows.net/" + otherTid + "/"}, "another directory"},
		{"no directory", jwt.MapClaims{"tid": nil}, "another directory"},
		{"no object id", jwt.MapClaims{"oid": nil}, "object id"},
		{"object id is no GUID", jwt.MapClaims{"oid": "root"}, "object id"},
		{"expiry is no number", jwt.MapClaims{"exp": "tomorrow"}, "malformed"},
	} {
		for _, rules := range []TokenRules{{Keys: issuerKeys}, {}} {
			a := newEntraAuthenticator(t, rules)
			g, err := a.Authenticate(bearerRequest(token(t, jwt.SigningMethodRS256, issuerKeys.rsa, "rsa", with(goodClaims(reader), c.changes))), DevelopmentAccount)
			if c.refused == "" {
				if err != nil || g.Scheme() != Bearer || g.Account() != DevelopmentAccount {
					t.Errorf("%s: %v", c.name, err)
				}
				continue
			}
			wantChallenge(t, c.name, err, c.refused)
		}
	}
}

// wantChallenge wants the 401 of reference §7.7 that says why.
func wantChallenge(t *testing.T, name string, err error, why string) {
	t.Helper()
	var refusal *Error
	if !errors.As(err, &refusal) || refusal.Status != http.StatusUnauthorized || refusal.Code != "InvalidAuthenticationInfo" ||
		!strings.Contains(refusal.Detail, why) || !strings.Contains(refusal.Challenge, "/"+testTenant+"/oauth2/authorize ") {
		t.Errorf("%s: got %+v, want a challenge that speaks of %q", name, err, why)
	}
}

func TestSignaturesOfTokens(t *testing.T) {
	public, err := x509.MarshalPKIXPublicKey(&issuerKeys.rsa.PublicKey)
	if err != nil {
		t.Fatal(err)
	}
	claims := goodClaims(writer)
	good := tokenOf(t, reader)
	head, _, _ := strings.Cut(good, ".")
	_, forged, _ := strings.Cut(tokenOf(t, writer), ".")
	body, _, _ := strings.Cut(forged, ".")
	critical := jwt.NewWithClaims(jwt.SigningMethodRS256, claims)
	critical.Header["kid"], critical.Header["crit"] = "rsa", []string{"exp"}
	criticalText, err := critical.SignedString(issuerKeys.rsa)
	if err != nil {
		t.Fatal(err)
	}
	encode := base64.RawURLEncoding.EncodeToString
	for _, c := range []struct{ name, token, refused string }{
		{"RS256", good, ""},
		{"PS384", token(t, jwt.SigningMethodPS384, issuerKeys.rsa, "rsa", claims), ""},
		{"ES256", token(t, jwt.SigningMethodES256, issuerKeys.ec, "ec", claims), ""},
		{"no kid, one key fits", token(t, jwt.SigningMethodRS256, issuerKeys.rsa, "", claims), ""},
		{"unknown kid", token(t, jwt.SigningMethodRS256, issuerKeys.rsa, "new", claims), "Signature"},
		{"kid of another type", token(t, jwt.SigningMethodRS256, issuerKeys.rsa, "ec", claims), "Signature"},
		{"another key", token(t, jwt.SigningMethodRS256, issuerKeys.otherRSA, "rsa", claims), "Signature"},
		{"other claims under a good signature", head + "." + body + good[strings.LastIndex(good, "."):], "Signature"},
		{"no signature", good[:strings.LastIndex(good, ".")+1], "Signature"},
		{"none", token(t, jwt.SigningMethodNone, jwt.UnsafeAllowNoneSignatureType, "rsa", claims), "Signature"},
		{"None, as some libraries read it", encode([]byte(`{"alg":"None","typ":"JWT"}`)) + "." + body + ".", "Signature"},
		// The classic confusion: the public key as the secret of an HMAC.
		{"HS256 with the public key", token(t, jwt.SigningMethodHS256, public, "rsa", claims), "Signature"},
		{"HS256 with the modulus", token(t, jwt.SigningMethodHS256, issuerKeys.rsa.N.Bytes(), "rsa", claims), "Signature"},
		{"critical extension", criticalText, "Signature"},
		{"two parts", head + "." + body, "malformed"},
		{"nothing", "", "malformed"},
		{"padding", head + "=." + body + "=.", "malformed"},
	} {
		_, err := newEntraAuthenticator(t, TokenRules{Keys: issuerKeys}).Authenticate(bearerRequest(c.token), DevelopmentAccount)
		if c.refused == "" {
			if err != nil {
				t.Errorf("%s: %v", c.name, err)
			}
			continue
		}
		wantChallenge(t, c.name, err, c.refused)
		for part := range strings.SplitSeq(c.token, ".") {
			if len(part) > 8 && strings.Contains(fmt.Sprintf("%+v", err), part) {
				t.Errorf("%s: the token is in %v", c.name, err)
			}
		}
	}
}

// careless hands out whatever the caller likes.
type careless struct{ key any }

func (c careless) Key(context.Context, string, string) (crypto.PublicKey, error) { return c.key, nil }

func TestAlgorithmsThatAreNotListedAreRefusedWhateverTheKey(t *testing.T) {
	for _, c := range []struct {
		method jwt.SigningMethod
		sign   any
		key    any
	}{{jwt.SigningMethodHS256, []byte("x"), []byte("x")}, {jwt.SigningMethodNone, jwt.UnsafeAllowNoneSignatureType, jwt.UnsafeAllowNoneSignatureType}} {
		_, err := newEntraAuthenticator(t, TokenRules{Keys: careless{c.key}}).Authenticate(
			bearerRequest(token(t, c.method, c.sign, "", goodClaims(writer))), DevelopmentAccount)
		wantChallenge(t, c.method.Alg(), err, "Signature")
	}
}

func TestTokensWithoutAKeySet(t *testing.T) {
	a := newEntraAuthenticator(t, TokenRules{})
	if a.entra.ChecksSignatures() {
		t.Error("no keys, and signatures are checked")
	}
	claims := goodClaims(reader)
	// Whoever signed it: the claims count.
	r := bearerRequest(token(t, jwt.SigningMethodRS256, issuerKeys.otherRSA, "", claims))
	if _, err := a.Authenticate(r, DevelopmentAccount); err != nil {
		t.Error(err)
	}
	for _, bad := range []string{token(t, jwt.SigningMethodNone, jwt.UnsafeAllowNoneSignatureType, "", claims),
		token(t, jwt.SigningMethodHS256, []byte("x"), "", claims)} {
		_, err := a.Authenticate(bearerRequest(bad), DevelopmentAccount)
		wantChallenge(t, "algorithm that is not listed", err, "Signature")
	}
	r.RemoteAddr = "192.0.2.1:50000"
	if _, err := a.Authenticate(r, DevelopmentAccount); codeOf(t, err) != "AuthenticationFailed" {
		t.Errorf("from elsewhere: %v", err)
	}
}

func TestCircumstancesThatABearerTokenNeeds(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*http.Request)
		want   string
	}{
		"as it is":    {func(*http.Request) {}, ""},
		"http":        {func(r *http.Request) { r.TLS = nil }, "AuthenticationFailed"},
		"old version": {func(r *http.Request) { r.Header.Set("x-ms-version", "2017-07-29") }, "AuthenticationFailed"},
		"no version":  {func(r *http.Request) { r.Header.Del("x-ms-version") }, "AuthenticationFailed"},
		"other scheme": {func(r *http.Request) {
			r.Header.Set("Authorization", "bearer "+strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer "))
		}, "InvalidAuthenticationInfo"},
	} {
		r := bearerRequest(tokenOf(t, reader))
		c.change(r)
		_, err := newEntraAuthenticator(t, TokenRules{Keys: issuerKeys}).Authenticate(r, DevelopmentAccount)
		if got := codeOf(t, err); got != c.want {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}

func TestIssuerAndAudienceOfOnesOwn(t *testing.T) {
	a := newEntraAuthenticator(t, TokenRules{Keys: issuerKeys, Issuer: "https://id.example.org/", Audiences: []string{"tables"},
		Tenants: []string{otherTid, testTenant}})
	own := jwt.MapClaims{"iss": "https://id.example.org/", "aud": "tables"}
	for name, c := range map[string]struct {
		changes jwt.MapClaims
		good    bool
	}{
		"own":               {own, true},
		"issuer of Entra":   {jwt.MapClaims{"aud": "tables"}, false},
		"without the slash": {jwt.MapClaims{"iss": "https://id.example.org", "aud": "tables"}, false},
	} {
		_, err := a.Authenticate(bearerRequest(token(t, jwt.SigningMethodRS256, issuerKeys.rsa, "rsa", with(goodClaims(reader), c.changes))), DevelopmentAccount)
		if (err == nil) != c.good {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestRulesThatCannotBeAreRefused(t *testing.T) {
	for _, rules := range []TokenRules{{}, {Tenants: []string{"contoso"}}, {Tenants: []string{testTenant}, Issuer: "contoso"}} {
		if _, err := NewEntra(rules, testRoles); err == nil {
			t.Errorf("%+v is accepted", rules)
		}
	}
}

// Reference §7.7: what the roles of Azure let a principal do.
func TestRolesOfBearerTokens(t *testing.T) {
	const letters, missing = "AuthorizationPermissionMismatch", "ResourceNotFound"
	reads := map[Operation]bool{QueryEntities: true, GetEntity: true}
	for _, oid := range []string{reader, writer, delegator, narrow, nobody} {
		g, err := newEntraAuthenticator(t, TokenRules{Keys: issuerKeys}).Authenticate(bearerRequest(tokenOf(t, oid)), DevelopmentAccount)
		if err != nil {
			t.Fatal(err)
		}
		for _, op := range allOperations {
			for _, table := range []string{"Orders", "orders", "others"} {
				want := letters
				switch {
				case op == GetTableACL || op == SetTableACL:
					want = missing
				case op == GetUserDelegationKey && oid == delegator,
					op == QueryTables && (oid == reader || oid == writer || oid == delegator),
					(op == CreateTable || op == DeleteTable) && oid == writer,
					isEntityOperation(op) && oid == writer,
					reads[op] && (oid == reader || oid == delegator),
					reads[op] && oid == narrow && table != "others":
					want = ""
				}
				if got := codeOf(t, allow(g, op, table)); got != want {
					t.Errorf("%s, operation %d, table %s: %q, want %q", oid, op, table, got, want)
				}
			}
		}
		if g.AllowEntities(SetTableACL, "orders") == nil {
			t.Error("the wrong question is answered with yes")
		}
	}
}

func TestTokenWithRolesOnOneAccountHasNoneOnAnother(t *testing.T) {
	g, err := newEntraAuthenticator(t, TokenRules{Keys: issuerKeys}).Authenticate(bearerRequest(tokenOf(t, writer)), "other")
	if err != nil {
		t.Fatal(err)
	}
	if got := codeOf(t, g.AllowEntities(GetEntity, "orders")); got != "AuthorizationPermissionMismatch" {
		t.Errorf("got %q", got)
	}
}

func TestRolesAreReadStrictly(t *testing.T) {
	good := `{"assignments":[{"principal":"` + reader + `","role":"Storage Table Data Reader","account":"home","table":"Orders"},
		{"principal":"` + strings.ToUpper(reader) + `","role":"0a9a7e1f-b9d0-4cc4-a60d-0319b160aaa3","account":"home","table":"ORDERS"},
		{"principal":"` + delegator + `","role":"delegator","account":"home"}]}`
	roles, err := ParseRoles(strings.NewReader(good))
	if err != nil {
		t.Fatal(err)
	}
	if got := roles.of("home", reader)["orders"]; got != Reader|Contributor {
		t.Errorf("the reader has %b", got)
	}
	if got := roles.of("home", delegator)[""]; got != Delegator || len(roles.of("away", delegator)) != 0 {
		t.Errorf("the delegator has %b", got)
	}
	for names, want := range map[[3]string]Role{ // names and ids of Azure's list of built-in roles, reference §7.6 and §7.7
		{"reader", "Storage Table Data Reader", "76199698-9eea-4c19-bc75-cec21354c6b6"}:           Reader,
		{"contributor", "Storage Table Data Contributor", "0a9a7e1f-b9d0-4cc4-a60d-0319b160aaa3"}: Contributor,
		{"delegator", "Storage Table Delegator", "965033a5-c8eb-4f35-b82f-fef460a3606d"}:          Delegator,
	} {
		for _, name := range names {
			roles, err := ParseRoles(strings.NewReader(`{"assignments":[{"principal":"` + reader + `","role":"` + name + `","account":"home"}]}`))
			if err != nil || roles.of("home", reader)[""] != want {
				t.Errorf("role %s: %v, %v", name, roles, err)
			}
		}
	}
	for name, text := range map[string]string{
		"nothing": ``, "no assignments": `{}`, "unknown member": `{"assignment":[]}`, "not an object": `[]`,
		"unknown role":   `{"assignments":[{"principal":"` + reader + `","role":"owner","account":"home"}]}`,
		"no principal":   `{"assignments":[{"role":"reader","account":"home"}]}`,
		"a name":         `{"assignments":[{"principal":"alice","role":"reader","account":"home"}]}`,
		"no account":     `{"assignments":[{"principal":"` + reader + `","role":"reader"}]}`,
		"misspelt":       `{"assignments":[{"principal":"` + reader + `","role":"reader","account":"home","tabel":"x"}]}`,
		"table delegate": `{"assignments":[{"principal":"` + reader + `","role":"delegator","account":"home","table":"x"}]}`,
		"two documents":  good + good,
	} {
		if _, err := ParseRoles(strings.NewReader(text)); err == nil {
			t.Errorf("%s is accepted", name)
		}
	}
}

func TestWithoutAuthenticationOnlyThisMachineIsAnswered(t *testing.T) {
	a := newTestAuthenticator(t, nil)
	a.open = true
	for _, c := range []struct {
		remote, account string
		good            bool
	}{{"127.0.0.1:1", DevelopmentAccount, true}, {"[::1]:1", DevelopmentAccount, true}, {"[::ffff:127.0.0.9]:1", DevelopmentAccount, true},
		{"192.0.2.1:1", DevelopmentAccount, false}, {"", DevelopmentAccount, false}, {"127.0.0.1:1", "unknown", false}} {
		r := httptest.NewRequest(http.MethodGet, "/devstoreaccount1/Orders()", nil)
		r.RemoteAddr = c.remote
		g, err := a.Authenticate(r, c.account)
		if (err == nil) != c.good {
			t.Errorf("%s for %s: %v", c.remote, c.account, err)
		}
		if err != nil {
			continue
		}
		for _, op := range allOperations {
			if err := allow(g, op, "orders"); (err != nil) != (op == GetUserDelegationKey) {
				t.Errorf("operation %d: %v", op, err)
			}
		}
	}
}

func FuzzAuthorizationHeader(f *testing.F) {
	for _, seed := range []string{"", "Bearer", "Bearer ", "Bearer a.b.c", "bearer x", "SharedKey", "SharedKey :", "SharedKey a:", "SharedKeyLite devstoreaccount1:x",
		"SharedKey devstoreaccount1:\x00", "Basic x", " ", "Bearer eyJhbGciOiJub25lIn0.e30.", "Bearer eyJhbGciOiJSUzI1NiIsImtpZCI6WzFdfQ.eyJleHAiOjFlNDAwfQ.eA",
		"Bearer " + tokenOf(f, reader)[:200]} {
		f.Add(seed)
	}
	authenticators := []*Authenticator{newTestAuthenticator(f, nil), newEntraAuthenticator(f, TokenRules{Keys: issuerKeys})}
	f.Fuzz(func(t *testing.T, header string) {
		r := bearerRequest("")
		r.Header["Authorization"] = []string{header}
		r.Header.Set("x-ms-date", noonText)
		for _, a := range authenticators {
			g, err := a.Authenticate(r, DevelopmentAccount)
			if g != nil || codeOf(t, err) == "" {
				t.Fatalf("%q opens the door: %v", header, err)
			}
			_, credential, _ := strings.Cut(header, " ")
			if len(credential) > 20 && strings.Contains(err.Error(), credential) {
				t.Fatalf("%q is in %v", header, err)
			}
		}
	})
}
