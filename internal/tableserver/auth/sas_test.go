package auth

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/data/aztables"
)

// Tokens of `az storage table generate-sas` and `az storage account generate-sas` 2.45 with the published key.
func TestTokensOfAzureCLIAreAccepted(t *testing.T) {
	a := newTestAuthenticator(t, testPolicies{"devstoreaccount1/orders": {{ID: "readers", Expiry: noon, Permission: "r"}}})
	for query, span := range map[string]string{
		"se=2036-01-01T00%3A00Z&sp=r&sv=2019-02-02&tn=Orders&sig=/VnpTFvLdb1u4OhHWNH3q5ddNNCttJljSYiSySaq2Hg%3D":                                                                    `[before ("", ""), end]`,
		"st=2026-01-01T00%3A00Z&se=2036-01-01T00%3A00Z&sp=raud&sv=2019-02-02&tn=Orders&spk=a%20b&srk=x&epk=b%2B%C3%A9&erk=y&sig=D%2BPAykXRxlgkOcx16Vj/7iQroLCsKIR3R%2BQdnU1UxJU%3D": `[before ("a b", "x"), after ("b+é", "y")]`,
		"sv=2019-02-02&si=readers&tn=Orders&sig=jmhW/S4fw77fqt8YmxH8NCGdjlQ20GtEiNDsHOjM4AU%3D":                                                                                     `[before ("", ""), end]`,
		"sv=2019-02-02&si=readers&tn=Orders&spk=contoso%7C00&epk=contoso%7C15&sig=hAlIQFvlQFHFWiIRiEAT392HScphFacfu44WlAHqTI0%3D":                                                   `[before ("contoso|00", ""), after "contoso|15"]`,
		"se=2036-01-01T00%3A00Z&sp=raud&spr=https&sv=2019-02-02&tn=Orders&sig=dhE0NJkL0CSRGx4RuexiIuhHPtbKYgbO608Xq6ZPuJg%3D":                                                       `[before ("", ""), end]`,
		"se=2036-01-01T00%3A00Z&sp=rwdlacu&sv=2021-06-08&ss=tb&srt=sco&sig=5uE5fSxd0lkNVWukCJ51E1cTWN07n13E3r2u4VI0EnM%3D":                                                          `[before ("", ""), end]`,
		"st=2026-01-01&se=2036-01-01T00%3A00Z&sp=rl&sip=127.0.0.1&spr=https&sv=2021-06-08&ss=t&srt=o&sig=Tz0LrX%2BdKKxT6VXWkhE%2BndDWuNVPlik%2BjP3%2B2u/cf9E%3D":                    `[before ("", ""), end]`,
	} {
		g, err := a.Authenticate(sasRequest(query), DevelopmentAccount)
		if err != nil {
			t.Errorf("%s: %v", query, err)
			continue
		}
		if err := g.AllowEntities(GetEntity, "orders"); err != nil {
			t.Errorf("%s: %v", query, err)
		}
		if g.Range().String() != span {
			t.Errorf("%s reaches %s, want %s", query, g.Range(), span)
		}
	}
}

func TestTokensOfAztablesAreAccepted(t *testing.T) {
	cred, err := aztables.NewSharedKeyCredential(DevelopmentAccount, DevelopmentKey)
	if err != nil {
		t.Fatal(err)
	}
	service, err := aztables.NewServiceClientWithSharedKey("https://127.0.0.1:10002/devstoreaccount1", cred, nil)
	if err != nil {
		t.Fatal(err)
	}
	accountURL, err := service.GetAccountSASURL(aztables.AccountSASResourceTypes{Service: true, Container: true, Object: true},
		aztables.AccountSASPermissions{Read: true, Write: true, List: true}, noon, noon.Add(time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	tableURL, err := service.NewClient("Orders").GetTableSASURL(aztables.SASPermissions{Read: true, Add: true}, noon, noon.Add(time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{accountURL, tableURL} {
		_, query, _ := strings.Cut(text, "?")
		if _, err := newTestAuthenticator(t, nil).Authenticate(sasRequest(query), DevelopmentAccount); err != nil {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// Each string-to-sign is written out by hand from reference §7.5.
func TestSignaturesOfEachVersion(t *testing.T) {
	for _, c := range []struct{ name, query, stringToSign string }{
		{"table, 2019-02-02, every field",
			"sv=2019-02-02&tn=Orders&st=2026-01-01&se=2026-07-01T00:00Z&sp=raud&sip=127.0.0.1&spr=https,http&spk=a&srk=b&epk=c&erk=d",
			"raud\n2026-01-01\n2026-07-01T00:00Z\n/table/devstoreaccount1/orders\n\n127.0.0.1\nhttps,http\n2019-02-02\na\nb\nc\nd"},
		{"table, 2015-04-05", "sv=2015-04-05&tn=orders&se=2026-07-01T00:00:00Z&sp=r",
			"r\n\n2026-07-01T00:00:00Z\n/table/devstoreaccount1/orders\n\n\n\n2015-04-05\n\n\n\n"},
		{"table, 2020-12-06", "sv=2020-12-06&tn=orders&se=2026-07-01&sp=r",
			"r\n\n2026-07-01\n/table/devstoreaccount1/orders\n\n\n\n2020-12-06\n\n\n\n"},
		{"table, 2015-02-21", "sv=2015-02-21&tn=Orders&se=2026-07-01&sp=r&spk=a",
			"r\n\n2026-07-01\n/table/devstoreaccount1/orders\n\n2015-02-21\na\n\n\n"},
		{"table, 2012-02-12", "sv=2012-02-12&tn=Orders&se=2026-07-01&sp=r",
			"r\n\n2026-07-01\n/devstoreaccount1/orders\n\n2012-02-12\n\n\n\n"},
		{"table, 2012-02-12, name as given", "sv=2012-02-12&tn=Orders&se=2026-07-01&sp=r",
			"r\n\n2026-07-01\n/devstoreaccount1/Orders\n\n2012-02-12\n\n\n\n"},
		{"table, empty erk is signed as an absent one", "sv=2019-02-02&tn=orders&se=2026-07-01&sp=r&spk=a&epk=b&erk=",
			"r\n\n2026-07-01\n/table/devstoreaccount1/orders\n\n\n\n2019-02-02\na\n\nb\n"},
		{"account, 2019-02-02", "sv=2019-02-02&ss=t&srt=sco&sp=lr&st=2026-01-01&se=2026-07-01&sip=127.0.0.1&spr=https&ses=unsigned",
			"devstoreaccount1\nlr\nt\nsco\n2026-01-01\n2026-07-01\n127.0.0.1\nhttps\n2019-02-02\n"},
		{"account, 2015-04-05", "sv=2015-04-05&ss=t&srt=o&sp=r&se=2026-07-01", "devstoreaccount1\nr\nt\no\n\n2026-07-01\n\n\n2015-04-05\n"},
		{"account, 2020-12-06", "sv=2020-12-06&ss=t&srt=o&sp=r&se=2026-07-01",
			"devstoreaccount1\nr\nt\no\n\n2026-07-01\n\n\n2020-12-06\n\n"},
		{"account, 2020-12-06, scope", "sv=2020-12-06&ss=t&srt=o&sp=r&se=2026-07-01&ses=scope",
			"devstoreaccount1\nr\nt\no\n\n2026-07-01\n\n\n2020-12-06\nscope\n"},
	} {
		a := newTestAuthenticator(t, nil)
		if _, err := a.Authenticate(sasRequest(signed(t, c.query, c.stringToSign)), DevelopmentAccount); err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
		for _, other := range []string{c.stringToSign + "\n", strings.TrimSuffix(c.stringToSign, "\n") + "x", "\n" + c.stringToSign} {
			_, err := a.Authenticate(sasRequest(signed(t, c.query, other)), DevelopmentAccount)
			if codeOf(t, err) != "AuthenticationFailed" {
				t.Errorf("%s: the signature of %q gives %v", c.name, other, err)
			}
		}
	}
}

// tableToken signs the fields of a table SAS of version 2019-02-02 for the table orders.
func tableToken(t testing.TB, fields string) string {
	t.Helper()
	v, err := url.ParseQuery(fields)
	if err != nil {
		t.Fatal(err)
	}
	return signed(t, "sv=2019-02-02&tn=orders&"+fields, strings.Join([]string{v.Get("sp"), v.Get("st"), v.Get("se"),
		"/table/devstoreaccount1/orders", v.Get("si"), v.Get("sip"), v.Get("spr"), "2019-02-02", v.Get("spk"), v.Get("srk"),
		v.Get("epk"), v.Get("erk")}, "\n"))
}

// accountToken signs the fields of an account SAS of version 2019-02-02.
func accountToken(t testing.TB, fields string) string {
	t.Helper()
	v, err := url.ParseQuery(fields)
	if err != nil {
		t.Fatal(err)
	}
	return signed(t, "sv=2019-02-02&"+fields, strings.Join([]string{"devstoreaccount1", v.Get("sp"), v.Get("ss"), v.Get("srt"),
		v.Get("st"), v.Get("se"), v.Get("sip"), v.Get("spr"), "2019-02-02", ""}, "\n"))
}

func TestWhatATokenSaysIsHeld(t *testing.T) {
	policies := testPolicies{"devstoreaccount1/orders": {
		{ID: "full", Start: noon.Add(-time.Hour), Expiry: noon.Add(time.Hour), Permission: "ra"},
		{ID: "expired", Expiry: noon.Add(-time.Second), Permission: "r"},
		{ID: "letters", Permission: "u"},
		{ID: "times", Start: noon.Add(time.Hour), Expiry: noon.Add(2 * time.Hour)},
		{ID: "odd", Expiry: noon.Add(time.Hour), Permission: "rx"},
		{ID: "empty"},
	}}
	const failed, good = "AuthenticationFailed", ""
	for _, c := range []struct{ name, query, want string }{
		// times, reference §7.5: three forms, as given
		{"date alone", tableToken(t, "se=2026-06-02&sp=r"), good},
		{"date alone is its midnight", tableToken(t, "se=2026-06-01&sp=r"), failed},
		{"minutes", tableToken(t, "se=2026-06-01T12:00Z&sp=r"), good},
		{"seconds", tableToken(t, "se=2026-06-01T12:00:00Z&sp=r"), good},
		{"expired a second ago", tableToken(t, "se=2026-06-01T11:59:59Z&sp=r"), failed},
		{"starts now", tableToken(t, "st=2026-06-01T12:00:00Z&se=2026-07-01&sp=r"), good},
		{"starts in a second", tableToken(t, "st=2026-06-01T12:00:01Z&se=2026-07-01&sp=r"), failed},
		{"another form of time", tableToken(t, "se=2026-07-01T00:00:00%2B02:00&sp=r"), failed},
		{"start is no time", tableToken(t, "st=x&se=2026-07-01&sp=r"), failed},
		// required fields
		{"no expiry", tableToken(t, "sp=r"), failed},
		{"no permissions", tableToken(t, "se=2026-07-01"), failed},
		{"unknown letter", tableToken(t, "se=2026-07-01&sp=rw"), failed},
		{"srk without spk", tableToken(t, "se=2026-07-01&sp=r&srk=a"), failed},
		{"erk without epk", tableToken(t, "se=2026-07-01&sp=r&erk=a"), failed},
		{"srk with an empty spk", tableToken(t, "se=2026-07-01&sp=r&spk=&srk=a"), good},
		// policies
		{"policy has all", tableToken(t, "si=full"), good},
		{"unknown policy", tableToken(t, "si=none&se=2026-07-01&sp=r"), failed},
		{"other case", tableToken(t, "si=Full"), failed},
		{"policy expired", tableToken(t, "si=expired"), failed},
		{"policy not begun", tableToken(t, "si=times&sp=r"), failed},
		{"times of the token, letters of the policy", tableToken(t, "si=letters&se=2026-07-01"), good},
		{"expiry nowhere", tableToken(t, "si=letters"), failed},
		{"letters nowhere", tableToken(t, "si=empty&se=2026-07-01"), failed},
		{"all in the token", tableToken(t, "si=empty&se=2026-07-01&sp=r"), good},
		{"unknown letter in the policy", tableToken(t, "si=odd"), failed},
		{"permission twice", tableToken(t, "si=full&sp=r"), "InvalidQueryParameterValue"},
		{"expiry twice", tableToken(t, "si=full&se=2026-07-01"), "InvalidQueryParameterValue"},
		{"start twice", tableToken(t, "si=times&sp=r&st=2026-01-01"), "InvalidQueryParameterValue"},
		// origin; the request comes from 127.0.0.1 over HTTPS
		{"address", tableToken(t, "se=2026-07-01&sp=r&sip=127.0.0.1"), good},
		{"range of addresses", tableToken(t, "se=2026-07-01&sp=r&sip=127.0.0.0-127.0.0.5"), good},
		{"other address", tableToken(t, "se=2026-07-01&sp=r&sip=127.0.0.2"), "AuthorizationSourceIPMismatch"},
		{"other range", tableToken(t, "se=2026-07-01&sp=r&sip=10.0.0.1-10.0.0.9"), "AuthorizationSourceIPMismatch"},
		{"no address", tableToken(t, "se=2026-07-01&sp=r&sip=localhost"), failed},
		{"https", tableToken(t, "se=2026-07-01&sp=r&spr=https"), good},
		{"http alone", tableToken(t, "se=2026-07-01&sp=r&spr=http"), failed},
		// account SAS
		{"account", accountToken(t, "ss=bqtf&srt=o&sp=r&se=2026-07-01"), good},
		{"account, odd order of letters", accountToken(t, "ss=t&srt=ocs&sp=racupwdl&se=2026-07-01"), good}, // §11.7
		{"account, other service", accountToken(t, "ss=b&srt=o&sp=r&se=2026-07-01"), "AuthorizationServiceMismatch"},
		{"account, expired", accountToken(t, "ss=t&srt=o&sp=r&se=2026-05-01"), failed},
		{"account, no expiry", accountToken(t, "ss=t&srt=o&sp=r"), failed},
		{"account, no types", accountToken(t, "ss=t&sp=r&se=2026-07-01"), failed},
		{"account, unknown type", accountToken(t, "ss=t&srt=ox&sp=r&se=2026-07-01"), failed},
		{"account, bad time", accountToken(t, "ss=t&srt=o&sp=r&se=soon"), failed},
		{"account, other address", accountToken(t, "ss=t&srt=o&sp=r&se=2026-07-01&sip=1.2.3.4"), "AuthorizationSourceIPMismatch"},
		{"account of an old version", signed(t, "sv=2014-02-14&ss=t&srt=o&sp=r&se=2026-07-01",
			"devstoreaccount1\nr\nt\no\n\n2026-07-01\n\n\n2014-02-14\n"), failed},
		// what cannot be signed must not be there
		{"account with a table", accountToken(t, "ss=t&srt=o&sp=r&se=2026-07-01") + "&tn=orders", failed},
		{"account with a range", accountToken(t, "ss=t&srt=o&sp=r&se=2026-07-01") + "&spk=a", failed},
		{"table with services", tableToken(t, "se=2026-07-01&sp=r") + "&srt=o", failed},
		{"field twice", tableToken(t, "se=2026-07-01&sp=r") + "&sp=raud", failed},
		{"field twice, escaped name", tableToken(t, "se=2026-07-01&sp=r") + "&%73p=raud", failed},
		{"field twice, same value", tableToken(t, "se=2026-07-01&sp=r") + "&sp=r", failed},
		{"address before it was signed", signed(t, "sv=2015-02-21&tn=orders&se=2026-07-01&sp=r",
			"r\n\n2026-07-01\n/table/devstoreaccount1/orders\n\n2015-02-21\n\n\n\n") + "&sip=127.0.0.1", failed},
		{"other parameters are free", tableToken(t, "se=2026-07-01&sp=r") + "&$filter=a%20eq%201&timeout=30&timeout=31", good},
		{"bad escape", tableToken(t, "se=2026-07-01&sp=r") + "&si=%zz", failed},
		{"no version", strings.TrimPrefix(tableToken(t, "se=2026-07-01&sp=r"), "sv=2019-02-02&"), failed},
		{"old version", signed(t, "sv=2011-08-18&tn=orders&se=2026-07-01&sp=r",
			"r\n\n2026-07-01\n/devstoreaccount1/orders\n\n2011-08-18\n\n\n\n"), failed},
		{"no signature", "sv=2019-02-02&tn=orders&se=2026-07-01&sp=r", failed},
		{"no table", signed(t, "sv=2019-02-02&tn=&se=2026-07-01&sp=r", "r\n\n2026-07-01\n/table/devstoreaccount1/\n\n\n\n2019-02-02\n\n\n\n"), failed},
		{"user delegation is not supported", "sv=2025-07-05&tn=orders&se=2026-07-01&sp=r&skoid=x&sig=x", failed},
	} {
		g, err := newTestAuthenticator(t, policies).Authenticate(sasRequest(c.query), DevelopmentAccount)
		if got := codeOf(t, err); got != c.want || (g == nil) != (got != "") {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
		values, _ := url.ParseQuery(c.query)
		if sig := values.Get("sig"); err != nil && len(sig) > 1 && strings.Contains(err.Error(), sig) {
			t.Errorf("%s: the signature is in %v", c.name, err)
		}
	}
}

func TestHTTPIsRefusedToATokenForHTTPS(t *testing.T) {
	for spr, want := range map[string]string{"https": "AuthorizationProtocolMismatch", "https,http": "", "": ""} {
		r := sasRequest(tableToken(t, "se=2026-07-01&sp=r&spr="+spr))
		r.TLS = nil
		if _, err := newTestAuthenticator(t, nil).Authenticate(r, DevelopmentAccount); codeOf(t, err) != want {
			t.Errorf("spr=%s: %v", spr, err)
		}
	}
}

func TestTokenOfOneAccountOpensNoOther(t *testing.T) {
	for _, query := range []string{tableToken(t, "se=2026-07-01&sp=r"), accountToken(t, "ss=t&srt=o&sp=r&se=2026-07-01")} {
		_, err := newTestAuthenticator(t, nil).Authenticate(sasRequest(query), "other")
		if codeOf(t, err) != "AuthenticationFailed" {
			t.Errorf("%s: %v", query, err)
		}
	}
}

func TestPolicyThatCannotBeReadIsNoRefusal(t *testing.T) {
	query := signed(t, "sv=2019-02-02&tn=broken&si=a", "\n\n\n/table/devstoreaccount1/broken\na\n\n\n2019-02-02\n\n\n\n")
	_, err := newTestAuthenticator(t, nil).Authenticate(sasRequest(query), DevelopmentAccount)
	var refusal *Error
	if err == nil || errors.As(err, &refusal) || !strings.Contains(err.Error(), "disk on fire") {
		t.Errorf("got %v", err)
	}
}

func TestRevokedPolicyEndsItsTokensAtOnce(t *testing.T) {
	policies := testPolicies{"devstoreaccount1/orders": {{ID: "p", Expiry: noon.Add(time.Hour), Permission: "r"}}}
	a, query := newTestAuthenticator(t, policies), tableToken(t, "si=p")
	if _, err := a.Authenticate(sasRequest(query), DevelopmentAccount); err != nil {
		t.Fatal(err)
	}
	delete(policies, "devstoreaccount1/orders")
	if _, err := a.Authenticate(sasRequest(query), DevelopmentAccount); codeOf(t, err) != "AuthenticationFailed" {
		t.Errorf("got %v", err)
	}
}

func TestAuthorizationHeaderComesBeforeATokenInTheURL(t *testing.T) {
	r := httptest.NewRequest(http.MethodGet, "/devstoreaccount1/Orders()?"+tableToken(t, "se=2026-07-01&sp=r"), nil)
	r.Header.Set("Authorization", "SharedKeyLite devstoreaccount1:bm9wZQ==")
	r.Header.Set("x-ms-date", noonText)
	if _, err := newTestAuthenticator(t, nil).Authenticate(r, DevelopmentAccount); codeOf(t, err) != "AuthenticationFailed" {
		t.Errorf("got %v", err)
	}
}
