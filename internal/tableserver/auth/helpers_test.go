package auth

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"crypto/tls"
	"encoding/base64"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"
	"time"
)

// noon is the time of all tests that do not need another.
var noon = time.Date(2026, 6, 1, 12, 0, 0, 0, time.UTC)

// testPolicies maps account/table to policies.
type testPolicies map[string][]Policy

func (p testPolicies) AccessPolicies(_ context.Context, account, table string) ([]Policy, error) {
	if table == "broken" {
		return nil, errors.New("disk on fire")
	}
	return p[account+"/"+table], nil
}

// newTestAuthenticator knows the development account and another one.
func newTestAuthenticator(t testing.TB, policies testPolicies) *Authenticator {
	t.Helper()
	key, err := ParseKey(DevelopmentKey)
	if err != nil {
		t.Fatal(err)
	}
	accounts := []Account{{DevelopmentAccount, key}, {"other", NewKey([]byte("another key"))}}
	return New(Config{Accounts: accounts, Policies: policies, Clock: func() time.Time { return noon }})
}

// hmacOf signs independently of the package.
func hmacOf(t testing.TB, text string) string {
	t.Helper()
	secret, err := base64.StdEncoding.DecodeString(DevelopmentKey)
	if err != nil {
		t.Fatal(err)
	}
	mac := hmac.New(sha256.New, secret)
	mac.Write([]byte(text))
	return base64.StdEncoding.EncodeToString(mac.Sum(nil))
}

// sasRequest is a request with a SAS, from 127.0.0.1 over HTTPS.
func sasRequest(query string) *http.Request {
	r := httptest.NewRequest(http.MethodGet, "http://127.0.0.1:10002/devstoreaccount1/Orders()", nil)
	r.URL.RawQuery = query
	r.RemoteAddr = "127.0.0.1:50000"
	r.TLS = &tls.ConnectionState{}
	return r
}

// signed appends the signature of the string-to-sign to a query.
func signed(t testing.TB, query, stringToSign string) string {
	t.Helper()
	return query + "&sig=" + url.QueryEscape(hmacOf(t, stringToSign))
}

// codeOf returns the code of a refusal, "" for none.
func codeOf(t testing.TB, err error) string {
	t.Helper()
	var refusal *Error
	if err == nil {
		return ""
	}
	if !errors.As(err, &refusal) {
		t.Fatalf("%v is not a refusal", err)
	}
	return refusal.Code
}
