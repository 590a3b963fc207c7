package auth

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/data/aztables"
)

const (
	noonText = "Mon, 01 Jun 2026 12:00:00 GMT"
	dev      = "/devstoreaccount1"
)

// Each string-to-sign is written out by hand from reference §7.1 to §7.3.
func TestSignaturesOfWholeRequests(t *testing.T) {
	for _, c := range []struct {
		name, method, target, scheme string
		headers                      map[string]string
		stringToSign                 string
	}{
		{"lite", "GET", dev + "/Tables", "SharedKeyLite", nil, noonText + "\n/devstoreaccount1/devstoreaccount1/Tables"},
		{"full, empty lines", "GET", dev + "/Tables", "SharedKey", nil,
			"GET\n\n\n" + noonText + "\n/devstoreaccount1/devstoreaccount1/Tables"},
		{"full, MD5 and type", "POST", dev + "/Orders", "SharedKey",
			map[string]string{"Content-MD5": "bWQ1", "Content-Type": "application/json;odata=nometadata"},
			"POST\nbWQ1\napplication/json;odata=nometadata\n" + noonText + "\n/devstoreaccount1/devstoreaccount1/Orders"},
		{"only comp of the query", "PUT", dev + "/Orders?timeout=30&comp=acl&x=1", "SharedKeyLite", nil,
			noonText + "\n/devstoreaccount1/devstoreaccount1/Orders?comp=acl"},
		{"restype is not signed", "GET", dev + "/?restype=service&comp=properties", "SharedKey", nil,
			"GET\n\n\n" + noonText + "\n/devstoreaccount1/devstoreaccount1/?comp=properties"},
		{"escapes as sent", "GET", dev + "/Orders(PartitionKey=%27a%20b%27,RowKey='c%c3%a9')", "SharedKeyLite", nil,
			noonText + "\n/devstoreaccount1/devstoreaccount1/Orders(PartitionKey=%27a%20b%27,RowKey='c%c3%a9')"},
		{"bytes that Go would escape", "GET", dev + `/Orders(PartitionKey='"^|',RowKey='')`, "SharedKeyLite", nil,
			noonText + "\n" + `/devstoreaccount1/devstoreaccount1/Orders(PartitionKey='"^|',RowKey='')`},
		{"host style", "GET", "/Tables", "SharedKeyLite", nil, noonText + "\n/devstoreaccount1/Tables"},
		{"root", "GET", "/?restype=service&comp=stats", "SharedKeyLite", nil, noonText + "\n/devstoreaccount1/?comp=stats"},
		{"absolute target", "GET", "http://devstoreaccount1.table.localhost/Tables?a=b", "SharedKeyLite", nil,
			noonText + "\n/devstoreaccount1/Tables"},
		{"secondary with suffix", "GET", dev + "-secondary/Tables", "SharedKeyLite", nil,
			noonText + "\n/devstoreaccount1/devstoreaccount1-secondary/Tables"},
		{"secondary without suffix", "GET", dev + "-secondary/Tables", "SharedKeyLite", nil,
			noonText + "\n/devstoreaccount1/devstoreaccount1/Tables"},
		{"batch", "POST", dev + "/$batch", "SharedKeyLite", nil, noonText + "\n/devstoreaccount1/devstoreaccount1/$batch"},
		{"Date alone", "GET", dev + "/Tables", "SharedKeyLite", map[string]string{"x-ms-date": "", "Date": noonText},
			noonText + "\n/devstoreaccount1/devstoreaccount1/Tables"},
		{"x-ms-date before Date", "GET", dev + "/Tables", "SharedKeyLite", map[string]string{"Date": "Mon, 01 Jan 2001 00:00:00 GMT"},
			noonText + "\n/devstoreaccount1/devstoreaccount1/Tables"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := httptest.NewRequest(c.method, "/", nil)
			r.RequestURI = c.target
			_, r.URL.RawQuery, _ = strings.Cut(c.target, "?")
			r.Header.Set("x-ms-date", noonText)
			for name, value := range c.headers {
				if r.Header.Set(name, value); value == "" {
					r.Header.Del(name)
				}
			}
			r.Header.Set("Authorization", c.scheme+" devstoreaccount1:"+hmacOf(t, c.stringToSign))
			a := newTestAuthenticator(t, nil)
			g, err := a.Authenticate(r, DevelopmentAccount)
			if err != nil {
				t.Fatal(err)
			}
			if g.Scheme() != SharedKey || g.Account() != DevelopmentAccount || !g.Range().IsWhole() {
				t.Errorf("wrong grant %+v", g)
			}
			r.Header.Set("Authorization", c.scheme+" devstoreaccount1:"+hmacOf(t, c.stringToSign+"\n"))
			if _, err := a.Authenticate(r, DevelopmentAccount); codeOf(t, err) != "AuthenticationFailed" {
				t.Errorf("another signature gives %v", err)
			}
		})
	}
}

func TestWhatIsRefusedWithoutASAS(t *testing.T) {
	lite := func(date string) string {
		return "SharedKeyLite devstoreaccount1:" + hmacOf(t, date+"\n/devstoreaccount1/devstoreaccount1/Tables")
	}
	at := func(d time.Duration) string { return noon.Add(d).Format(http.TimeFormat) }
	const failed = "403 AuthenticationFailed"
	for _, c := range []struct{ name, authorization, date, version, account, want string }{
		{"good", lite(noonText), noonText, "2019-02-02", DevelopmentAccount, ""},
		// §7.4
		{"15 minutes old", lite(at(-15 * time.Minute)), at(-15 * time.Minute), "2019-02-02", DevelopmentAccount, ""},
		{"older", lite(at(-901 * time.Second)), at(-901 * time.Second), "2019-02-02", DevelopmentAccount, failed},
		{"from the future", lite(at(901 * time.Second)), at(901 * time.Second), "2019-02-02", DevelopmentAccount, failed},
		{"no date", lite(""), "", "2019-02-02", DevelopmentAccount, failed},
		{"no date at all", lite("today"), "today", "2019-02-02", DevelopmentAccount, failed},
		{"other account in header", strings.Replace(lite(noonText), "devstoreaccount1", "other", 1), noonText, "2019-02-02", DevelopmentAccount, failed},
		{"account of the URL has another key", lite(noonText), noonText, "2019-02-02", "other", failed},
		{"unknown account", lite(noonText), noonText, "2019-02-02", "nobody", failed},
		{"cut signature", lite(noonText)[:60], noonText, "2019-02-02", DevelopmentAccount, failed},
		{"no signature", "SharedKey devstoreaccount1", noonText, "2019-02-02", DevelopmentAccount, "400 InvalidAuthenticationInfo"},
		{"no scheme", "Basic Zm9vOmJhcg==", noonText, "2019-02-02", DevelopmentAccount, "400 InvalidAuthenticationInfo"},
		{"bearer is not supported", "Bearer eyJ0eXAi", noonText, "2020-12-06", DevelopmentAccount, failed},
		// §7.7
		{"nothing, new version", "", "", "2020-12-06", DevelopmentAccount, "401 InvalidAuthenticationInfo"},
		{"nothing, old version", "", "", "2019-07-07", DevelopmentAccount, failed},
		{"nothing, no version", "", "", "", DevelopmentAccount, failed},
	} {
		r := httptest.NewRequest(http.MethodGet, "/devstoreaccount1/Tables", nil)
		for name, value := range map[string]string{"Authorization": c.authorization, "x-ms-date": c.date, "x-ms-version": c.version} {
			if value != "" {
				r.Header.Set(name, value)
			}
		}
		g, err := newTestAuthenticator(t, nil).Authenticate(r, c.account)
		got := ""
		if code := codeOf(t, err); code != "" {
			refusal, _ := err.(*Error) //nolint:errorlint // codeOf has seen it
			got = fmt.Sprint(refusal.Status, " ", code)
			if !refusal.FrontDoor || (refusal.Challenge != "") != (refusal.Status == http.StatusUnauthorized) {
				t.Errorf("%s: wrong form %+v", c.name, refusal)
			}
			if strings.Contains(err.Error(), DevelopmentKey) || len(c.authorization) > 40 && strings.Contains(err.Error(), c.authorization[31:]) {
				t.Errorf("%s: a secret in %v", c.name, err)
			}
		}
		if got != c.want || (g == nil) != (got != "") {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

// capture authenticates the requests of a client instead of sending them.
type capture struct {
	t    *testing.T
	auth *Authenticator
	seen int
}

func (c *capture) Do(r *http.Request) (*http.Response, error) {
	c.seen++
	received := httptest.NewRequest(r.Method, r.URL.RequestURI(), nil)
	received.Header = r.Header
	if _, err := c.auth.Authenticate(received, DevelopmentAccount); err != nil {
		c.t.Errorf("%s %s: %v", r.Method, r.URL, err)
	}
	return &http.Response{StatusCode: http.StatusBadRequest, Body: http.NoBody, Request: r, Header: http.Header{}}, nil
}

func TestRequestsOfAztablesAreAccepted(t *testing.T) {
	cred, err := aztables.NewSharedKeyCredential(DevelopmentAccount, DevelopmentKey)
	if err != nil {
		t.Fatal(err)
	}
	c := &capture{t: t, auth: newTestAuthenticator(t, nil)}
	c.auth.clock = time.Now
	options := &aztables.ClientOptions{ClientOptions: policy.ClientOptions{Transport: c,
		Retry: policy.RetryOptions{MaxRetries: -1}}}
	for _, endpoint := range []string{"http://127.0.0.1:10002/devstoreaccount1", "http://127.0.0.1:10002/devstoreaccount1/",
		"http://127.0.0.1:10002/devstoreaccount1-secondary", "http://devstoreaccount1.table.localhost:10002/"} {
		service, err := aztables.NewServiceClientWithSharedKey(endpoint, cred, options)
		if err != nil {
			t.Fatal(err)
		}
		client, ctx := service.NewClient("Orders"), t.Context()
		calls := []func() error{
			func() error { _, err := service.CreateTable(ctx, "Orders", nil); return err },
			func() error { _, err := service.GetProperties(ctx, nil); return err },
			func() error { _, err := service.GetStatistics(ctx, nil); return err },
			func() error { _, err := service.NewListTablesPager(nil).NextPage(ctx); return err },
			func() error { _, err := client.GetAccessPolicy(ctx, nil); return err },
			func() error { _, err := client.SetAccessPolicy(ctx, nil); return err },
			func() error { _, err := client.GetEntity(ctx, "it's a+b/é", "1%2", nil); return err },
			func() error { _, err := client.DeleteEntity(ctx, "p|00", "😀", nil); return err },
			func() error { _, err := client.NewListEntitiesPager(nil).NextPage(ctx); return err },
			func() error {
				body := []byte(`{"PartitionKey":"p","RowKey":"r"}`)
				_, err := client.SubmitTransaction(ctx, []aztables.TransactionAction{{ActionType: aztables.TransactionTypeAdd, Entity: body}}, nil)
				return err
			},
		}
		c.seen = 0
		for _, call := range calls {
			if call() == nil {
				t.Error("the refusing transport was not used")
			}
		}
		if c.seen != len(calls) {
			t.Errorf("%s: %d requests of %d were seen", endpoint, c.seen, len(calls))
		}
	}
}

func TestKeyIsNeverPrinted(t *testing.T) {
	key, err := ParseKey(DevelopmentKey)
	if err != nil {
		t.Fatal(err)
	}
	account := Account{"a", key}
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d"} {
		for _, thing := range []any{key, &key, account, &account, []Account{account}} {
			text := fmt.Sprintf(verb, thing)
			if strings.Contains(text, "Eby8") || strings.Contains(text, key.secret[:8]) || strings.Contains(text, fmt.Sprintf("%x", key.secret[:8])) {
				t.Errorf("%s of %T shows the key", verb, thing)
			}
		}
	}
	if text, err := key.MarshalText(); err != nil || string(text) != redacted {
		t.Errorf("MarshalText gives %q, %v", text, err)
	}
	if key.Reveal() != DevelopmentKey {
		t.Error("Reveal does not return the key")
	}
	for _, bad := range []string{"", "not base64!", "Zm9v\x00"} {
		if _, err := ParseKey(bad); err == nil || bad != "" && strings.Contains(err.Error(), bad) {
			t.Errorf("ParseKey(%q) gives %v", bad, err)
		}
	}
}
