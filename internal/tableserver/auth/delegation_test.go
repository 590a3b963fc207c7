package auth

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/aztenancy/terraform-provider-aztenancy/internal/edm"
)

const delegationVersion = "2025-07-05"

// keyOf asks for a key as the delegator.
func keyOf(t testing.TB, a *Authenticator, asked DelegationKeyRequest) DelegationKey {
	t.Helper()
	g, err := a.Authenticate(bearerRequest(tokenOf(t, delegator)), DevelopmentAccount)
	if err != nil {
		t.Fatal(err)
	}
	k, err := a.DelegationKey(g, asked, delegationVersion)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

var oneDay = DelegationKeyRequest{Start: noon.Add(-time.Hour), Expiry: noon.Add(24 * time.Hour)}

// delegated returns the query of a SAS for the table orders: fields are added to those of the key, and replace them.
// The string-to-sign is written out from reference §7.6 and signed with the key's value.
func delegated(t testing.TB, k DelegationKey, fields string) string {
	t.Helper()
	v := url.Values{"sv": {delegationVersion}, "tn": {"Orders"}, "sp": {"raud"}, "se": {"2026-06-01T13:00:00Z"}, "skoid": {k.ObjectID},
		"sktid": {k.TenantID}, "skt": {k.Start}, "ske": {k.Expiry}, "sks": {k.Service}, "skv": {k.Version}}
	if k.DelegatedTenant != "" {
		v.Set("skdutid", k.DelegatedTenant)
	}
	others, err := url.ParseQuery(fields)
	if err != nil {
		t.Fatal(err)
	}
	for name, values := range others {
		v[name] = values
	}
	text := strings.Join([]string{v.Get("sp"), v.Get("st"), v.Get("se"), "/table/devstoreaccount1/" + strings.ToLower(v.Get("tn")),
		v.Get("skoid"), v.Get("sktid"), v.Get("skt"), v.Get("ske"), v.Get("sks"), v.Get("skv"), v.Get("skdutid"), v.Get("sduoid"),
		v.Get("sip"), v.Get("spr"), v.Get("sv"), v.Get("spk"), v.Get("srk"), v.Get("epk"), v.Get("erk")}, "\n")
	secret, err := base64.StdEncoding.DecodeString(k.Value())
	if err != nil {
		t.Fatal(err)
	}
	mac := hmac.New(sha256.New, secret)
	mac.Write([]byte(text))
	v.Set("sig", base64.StdEncoding.EncodeToString(mac.Sum(nil)))
	return v.Encode()
}

func TestUserDelegationKeysAreGivenForSevenDaysAtMost(t *testing.T) {
	a := newEntraAuthenticator(t, TokenRules{Keys: issuerKeys})
	g, err := a.Authenticate(bearerRequest(tokenOf(t, delegator)), DevelopmentAccount)
	if err != nil {
		t.Fatal(err)
	}
	week := 7 * 24 * time.Hour
	for _, c := range []struct {
		name    string
		asked   DelegationKeyRequest
		version string
		want    string
	}{
		{"7 days", DelegationKeyRequest{Start: noon, Expiry: noon.Add(week)}, delegationVersion, ""},
		{"a second more", DelegationKeyRequest{Start: noon, Expiry: noon.Add(week + time.Second)}, delegationVersion, "InvalidXmlNodeValue"},
		{"7 days, but later", DelegationKeyRequest{Start: noon.Add(time.Hour), Expiry: noon.Add(time.Hour + week)}, delegationVersion, "InvalidXmlNodeValue"},
		{"no start", DelegationKeyRequest{Expiry: noon.Add(time.Hour)}, delegationVersion, ""},
		{"no expiry", DelegationKeyRequest{Start: noon}, delegationVersion, "InvalidXmlNodeValue"},
		{"past", DelegationKeyRequest{Start: noon.Add(-time.Hour), Expiry: noon}, delegationVersion, "InvalidXmlNodeValue"},
		{"turned round", DelegationKeyRequest{Start: noon.Add(2 * time.Hour), Expiry: noon.Add(time.Hour)}, delegationVersion, "InvalidXmlNodeValue"},
		{"newer version", oneDay, "2026-10-06", ""},
		{"older version", oneDay, "2025-05-05", "InvalidHeaderValue"},
		{"no version", oneDay, "", "InvalidHeaderValue"},
		{"other directory", DelegationKeyRequest{Expiry: noon.Add(time.Hour), DelegatedTenant: otherTid}, delegationVersion, ""},
		{"no directory", DelegationKeyRequest{Expiry: noon.Add(time.Hour), DelegatedTenant: "contoso"}, delegationVersion, "InvalidXmlNodeValue"},
	} {
		if _, err := a.DelegationKey(g, c.asked, c.version); codeOf(t, err) != c.want {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
	}
	if _, err := a.DelegationKey(&Grant{scheme: SharedKey, account: DevelopmentAccount}, oneDay, delegationVersion); codeOf(t, err) != "AuthenticationFailed" {
		t.Errorf("a shared key gets a delegation key: %v", err)
	}
	k := keyOf(t, a, oneDay)
	want := DelegationKey{ObjectID: delegator, TenantID: testTenant, Start: "2026-06-01T11:00:00Z", Expiry: "2026-06-02T12:00:00Z",
		Service: "t", Version: delegationVersion, value: k.value}
	if k != want {
		t.Errorf("got %+v", k)
	}
}

func TestUserDelegationKeysDifferInEverythingThatTheySay(t *testing.T) {
	a := newEntraAuthenticator(t, TokenRules{Keys: issuerKeys})
	seen := map[string]string{}
	key := func(name string, change func(*DelegationKey), account string) {
		k := DelegationKey{ObjectID: reader, TenantID: testTenant, Start: "s", Expiry: "e", Service: "t", Version: "v"}
		change(&k)
		value := k.derive(account, a.keys[DevelopmentAccount]).Reveal()
		if other, twice := seen[value]; twice {
			t.Errorf("%s has the key of %s", name, other)
		}
		seen[value] = name
	}
	key("base", func(*DelegationKey) {}, "a")
	key("account", func(*DelegationKey) {}, "b")
	key("object", func(k *DelegationKey) { k.ObjectID = writer }, "a")
	key("directory", func(k *DelegationKey) { k.TenantID = otherTid }, "a")
	key("start", func(k *DelegationKey) { k.Start = "s2" }, "a")
	key("expiry", func(k *DelegationKey) { k.Expiry = "e2" }, "a")
	key("service", func(k *DelegationKey) { k.Service = "b" }, "a")
	key("version", func(k *DelegationKey) { k.Version = "v2" }, "a")
	key("delegated", func(k *DelegationKey) { k.DelegatedTenant = otherTid }, "a")
}

// The rules of reference §7.6. The principal is a reader who may also delegate.
func TestWhatAUserDelegationTokenSaysIsHeld(t *testing.T) {
	a := newEntraAuthenticator(t, TokenRules{Keys: issuerKeys})
	k := keyOf(t, a, oneDay)
	later := keyOf(t, a, DelegationKeyRequest{Start: noon.Add(time.Second), Expiry: noon.Add(time.Hour)})
	const failed = "AuthenticationFailed"
	for _, c := range []struct{ name, query, want string }{
		{"good", delegated(t, k, ""), ""},
		{"newer sv", delegated(t, k, "sv=2026-10-06"), ""},
		{"ids in capitals, as signed", delegated(t, k, "skoid="+strings.ToUpper(delegator)), ""},
		{"another form of the same time", delegated(t, k, "skt=2026-06-01T11:00Z"), ""},
		{"older sv", delegated(t, k, "sv=2025-05-05"), failed},
		{"older skv", delegated(t, k, "skv=2025-05-05"), failed},
		{"other skv", delegated(t, k, "skv=2025-11-05"), failed},
		{"other service", delegated(t, k, "sks=b"), failed},
		{"stored policy", delegated(t, k, "") + "&si=p", failed},
		{"empty stored policy", delegated(t, k, "") + "&si=", failed},
		{"services of an account", delegated(t, k, "") + "&ss=t", failed},
		{"expired", delegated(t, k, "se=2026-06-01T11:59:59Z"), failed},
		{"not begun", delegated(t, k, "st=2026-06-01T12:00:01Z"), failed},
		{"outlives its key", delegated(t, k, "se=2027-06-01"), ""}, // and ends with it, below
		{"key has not begun", delegated(t, later, ""), failed},
		{"longer key than was given", delegated(t, k, "ske=2026-06-03T12:00:00Z"), failed},
		{"earlier key than was given", delegated(t, k, "skt=2026-05-01T11:00:00Z"), failed},
		{"key of another principal", delegated(t, k, "skoid="+writer), failed},
		{"key of another directory", delegated(t, k, "sktid="+otherTid), failed},
		{"no expiry", delegated(t, k, "se="), failed},
		{"no permissions", delegated(t, k, "sp="), failed},
		{"no table", delegated(t, k, "tn="), failed},
		{"no key times", delegated(t, k, "ske="), failed},
		{"key time is no time", delegated(t, k, "ske=later"), failed},
		{"unknown letter", delegated(t, k, "sp=rx"), failed},
		{"srk without spk", delegated(t, k, "srk=a"), failed},
		{"delegated directory without a user", delegated(t, k, "skdutid="+otherTid), failed},
		{"other address", delegated(t, k, "sip=192.0.2.1"), "AuthorizationSourceIPMismatch"},
		{"this address", delegated(t, k, "sip=127.0.0.1&spr=https"), ""},
		{"changed range", strings.Replace(delegated(t, k, "spk=b"), "spk=b", "spk=a", 1), failed},
		{"signed with the account key", func() string {
			secret := k
			secret.value = a.keys[DevelopmentAccount]
			return delegated(t, secret, "")
		}(), failed},
		{"bound to a user who does not show", delegated(t, k, "sduoid="+reader), "InvalidAuthenticationInfo"},
	} {
		g, err := a.Authenticate(sasRequest(c.query), DevelopmentAccount)
		if got := codeOf(t, err); got != c.want || (g == nil) != (got != "") {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
		if err != nil && (strings.Contains(err.Error(), k.Value()) || strings.Contains(err.Error(), url.QueryEscape(k.Value()))) {
			t.Errorf("%s: the key is in %v", c.name, err)
		}
	}
	a.clock = func() time.Time { return noon.Add(24*time.Hour + time.Second) }
	if _, err := a.Authenticate(sasRequest(delegated(t, k, "se=2027-06-01")), DevelopmentAccount); codeOf(t, err) != failed {
		t.Errorf("after the end of its key: %v", err)
	}
}

func TestUserDelegationTokenNeedsAServerWithRoles(t *testing.T) {
	k := keyOf(t, newEntraAuthenticator(t, TokenRules{Keys: issuerKeys}), oneDay)
	_, err := newTestAuthenticator(t, nil).Authenticate(sasRequest(delegated(t, k, "")), DevelopmentAccount)
	if codeOf(t, err) != "AuthenticationFailed" {
		t.Errorf("got %v", err)
	}
}

// Reference §7.6: the right is what the SAS and the roles of its principal both give.
func TestUserDelegationTokenGivesNoMoreThanItsPrincipalHas(t *testing.T) {
	a := newEntraAuthenticator(t, TokenRules{Keys: issuerKeys})
	k := keyOf(t, a, oneDay)
	grant := func(fields string) *Grant {
		t.Helper()
		g, err := a.Authenticate(sasRequest(delegated(t, k, fields)), DevelopmentAccount)
		if err != nil {
			t.Fatal(err)
		}
		return g
	}
	g := grant("sp=raud&spk=b&epk=c")
	if g.Scheme() != DelegationSAS || g.Scheme().String() != "DelegationSas" {
		t.Errorf("scheme %s", g.Scheme())
	}
	for _, op := range allOperations {
		want := "AuthorizationPermissionMismatch" // the principal only reads
		switch {
		case op == GetUserDelegationKey:
			want = "AuthenticationFailed"
		case !isEntityOperation(op):
			want = "AuthorizationFailure"
		case op == QueryEntities || op == GetEntity:
			want = ""
		}
		if got := codeOf(t, allow(g, op, "ORDERS")); got != want {
			t.Errorf("operation %d: %q, want %q", op, got, want)
		}
	}
	if got := codeOf(t, g.AllowEntities(GetEntity, "others")); got != "AuthenticationFailed" {
		t.Errorf("another table: %q", got)
	}
	if g.AllowKey(edm.Key{PartitionKey: "c", RowKey: "z"}) != nil || g.AllowKey(edm.Key{PartitionKey: "d"}) == nil {
		t.Error("the range is not held")
	}
	if got := codeOf(t, grant("sp=a").AllowEntities(GetEntity, "orders")); got != "AuthorizationPermissionMismatch" {
		t.Errorf("letters that the SAS lacks: %q", got)
	}
	// A principal that has lost its role has lost its tokens.
	a.entra.roles = NewRoles(Assignment{Principal: delegator, Role: Delegator, Account: DevelopmentAccount})
	if got := codeOf(t, grant("").AllowEntities(GetEntity, "orders")); got != "AuthorizationPermissionMismatch" {
		t.Errorf("without a role: %q", got)
	}
}

func TestUserDelegationTokenThatIsBoundToAUser(t *testing.T) {
	a := newEntraAuthenticator(t, TokenRules{Keys: issuerKeys, Tenants: []string{testTenant, otherTid}})
	home := keyOf(t, a, oneDay)
	across := keyOf(t, a, DelegationKeyRequest{Start: oneDay.Start, Expiry: oneDay.Expiry, DelegatedTenant: otherTid})
	foreign := with(goodClaims(nobody), map[string]any{"tid": otherTid, "iss": "https://sts.windows.net/" + otherTid + "/"})
	foreigner := token(t, jwt.SigningMethodRS256, issuerKeys.rsa, "rsa", foreign)
	expired := token(t, jwt.SigningMethodRS256, issuerKeys.rsa, "rsa", with(goodClaims(nobody), map[string]any{"exp": noon.Unix()}))
	for _, c := range []struct{ name, query, bearer, want string }{
		{"the user", delegated(t, home, "sduoid="+nobody), tokenOf(t, nobody), ""},
		{"the user in capitals", delegated(t, home, "sduoid="+strings.ToUpper(nobody)), tokenOf(t, nobody), ""},
		{"another user", delegated(t, home, "sduoid="+nobody), tokenOf(t, writer), "AuthenticationFailed"},
		{"the principal itself", delegated(t, home, "sduoid="+nobody), tokenOf(t, delegator), "AuthenticationFailed"},
		{"expired token of the user", delegated(t, home, "sduoid="+nobody), expired, "InvalidAuthenticationInfo"},
		{"user of another directory", delegated(t, home, "sduoid="+nobody), foreigner, "AuthenticationFailed"},
		{"user of the other directory", delegated(t, across, "sduoid="+nobody), foreigner, ""},
		{"same id in the principal's directory", delegated(t, across, "sduoid="+nobody), tokenOf(t, nobody), "AuthenticationFailed"},
		{"directory that was not asked for", delegated(t, home, "skdutid="+otherTid+"&sduoid="+nobody), foreigner, "AuthenticationFailed"},
	} {
		r := sasRequest(c.query)
		r.Header.Set("Authorization", "Bearer "+c.bearer)
		r.Header.Set("x-ms-version", delegationVersion)
		g, err := a.Authenticate(r, DevelopmentAccount)
		if got := codeOf(t, err); got != c.want {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
		if err == nil && (g.Scheme() != DelegationSAS || g.AllowEntities(GetEntity, "orders") != nil || g.AllowEntities(InsertEntity, "orders") == nil) {
			t.Errorf("%s: wrong grant", c.name)
		}
		// With http, or a shared key beside it, nothing of it counts.
		r.TLS = nil
		if g, err := a.Authenticate(r, DevelopmentAccount); g != nil || err == nil {
			t.Errorf("%s over http: %v", c.name, err)
		}
		r.TLS = sasRequest("").TLS
		r.Header.Set("Authorization", "SharedKeyLite devstoreaccount1:eA==")
		r.Header.Set("x-ms-date", noon.Format(http.TimeFormat))
		if _, err := a.Authenticate(r, DevelopmentAccount); codeOf(t, err) != "AuthenticationFailed" {
			t.Errorf("%s with a shared key: %v", c.name, err)
		}
	}
}

// A vector that was computed without this module, from reference §7.6, by Python:
//
//	import base64, hashlib, hmac
//	key = base64.b64encode(bytes(range(32)))
//	text = "\n".join(["r", "2026-06-01T11:00:00Z", "2026-06-01T13:00:00Z", "/table/devstoreaccount1/orders",
//	  "aaaaaaaa-0000-0000-0000-000000000003", "11111111-1111-1111-1111-111111111111", "2026-06-01T11:00:00Z",
//	  "2026-06-02T12:00:00Z", "t", "2025-07-05", "", "", "127.0.0.1", "https", "2025-07-05", "contoso|00", "", "contoso|15", ""])
//	print(base64.b64encode(hmac.new(base64.b64decode(key), text.encode(), hashlib.sha256).digest()).decode())
func TestStringToSignOfAUserDelegationTokenHasNineteenLines(t *testing.T) {
	fields := sasToken{"sv": "2025-07-05", "tn": "Orders", "st": "2026-06-01T11:00:00Z", "se": "2026-06-01T13:00:00Z", "sp": "r",
		"skoid": delegator, "sktid": testTenant, "skt": "2026-06-01T11:00:00Z", "ske": "2026-06-02T12:00:00Z", "sks": "t", "skv": "2025-07-05",
		"sip": "127.0.0.1", "spr": "https", "spk": "contoso|00", "epk": "contoso|15"}
	text := delegationStringToSign(DevelopmentAccount, fields)
	secret := make([]byte, 32)
	for i := range secret {
		secret[i] = byte(i)
	}
	if got := NewKey(secret).signature(text); got != delegationVector || strings.Count(text, "\n") != 18 {
		t.Errorf("signature %s of %q", got, text)
	}
}

const delegationVector = "XOsuH3MwlWN1QNHHiJeUGc7w7M+lX2ygj1pbU66OHRw="
