package tablestorage

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"

	"github.com/aztenancy/terraform-provider-aztenancy/internal/edm"
	"github.com/aztenancy/terraform-provider-aztenancy/internal/tablestorage/sas"
)

var (
	aKey      = edm.Key{PartitionKey: "p", RowKey: "r"}
	anEntity  = &edm.Entity{PartitionKey: "p", RowKey: "r"}
	noContent = answer{status: 204, header: map[string]string{"ETag": "e2"}}
)

// The service signs the path exactly as on the wire (reference §7.3), keys with quotes doubled and everything but
// unreserved characters encoded, and of the query only comp.
func TestRequestsAreSignedAsTheyTravel(t *testing.T) {
	for name, c := range map[string]struct {
		send     func(context.Context, *Client) error
		url      string
		resource string
	}{
		"odd key": {
			func(ctx context.Context, c *Client) error {
				return c.Table("Orders").Delete(ctx, edm.Key{PartitionKey: "O'Hare %+*é"}, AnyETag)
			},
			"https://acct.table.core.windows.net/Orders(PartitionKey=%27O%27%27Hare%20%25%2B%2A%C3%A9%27,RowKey=%27%27)",
			"/acct/Orders(PartitionKey=%27O%27%27Hare%20%25%2B%2A%C3%A9%27,RowKey=%27%27)",
		},
		"comp": {
			func(ctx context.Context, c *Client) error { return c.SetAccessPolicies(ctx, "Orders", nil) },
			"https://acct.table.core.windows.net/Orders?comp=acl",
			"/acct/Orders?comp=acl",
		},
		"transaction": {
			func(ctx context.Context, c *Client) error {
				_, err := c.Table("Orders").Submit(ctx, []Operation{{Kind: OpUpsertMerge, Entity: anEntity}})
				return err
			},
			"https://acct.table.core.windows.net/$batch", "/acct/$batch",
		},
	} {
		t.Run(name, func(t *testing.T) {
			client, transport := cannedClient(t, noContent)
			_ = c.send(t.Context(), client) // 204 is no answer to a transaction; the request is what counts
			s := transport.sent[0]
			if s.url != c.url {
				t.Errorf("sent to  %s\nwant %s", s.url, c.url)
			}
			date := s.header.Get("x-ms-date")
			mac := hmac.New(sha256.New, []byte("a test key, not a secret"))
			mac.Write([]byte(date + "\n" + c.resource))
			want := "SharedKeyLite acct:" + base64.StdEncoding.EncodeToString(mac.Sum(nil))
			if got := s.header.Get("Authorization"); got != want {
				t.Errorf("signed %s, want %s", got, want)
			}
			if at, err := http.ParseTime(date); err != nil || time.Since(at).Abs() > time.Minute {
				t.Errorf("dated %s", date)
			}
		})
	}
}

func TestEachTryIsAuthorisedOnce(t *testing.T) {
	c, transport := cannedClientWith(t, SAS{NewSecret("sv=1&sig=s")}, answer{status: 503}, answer{status: 500}, noContent)
	if _, err := c.Table("Orders").UpsertReplace(t.Context(), anEntity); err != nil {
		t.Fatal(err)
	}
	if len(transport.sent) != 3 {
		t.Fatalf("%d tries", len(transport.sent))
	}
	for _, s := range transport.sent {
		if !strings.HasSuffix(s.url, "RowKey=%27r%27)?sv=1&sig=s") || s.header.Get("Authorization") != "" {
			t.Errorf("sent to %s with %v", s.url, s.header)
		}
		if s.body == "" || s.body != transport.sent[0].body {
			t.Errorf("sent body %q", s.body)
		}
	}
}

// staticToken is an Entra credential.
type staticToken struct{ err error }

func (s staticToken) GetToken(context.Context, policy.TokenRequestOptions) (azcore.AccessToken, error) {
	return azcore.AccessToken{Token: "jwt", ExpiresOn: time.Now().Add(time.Hour)}, s.err
}

func TestEntraTokensAreSent(t *testing.T) {
	c, transport := cannedClientWith(t, Entra{staticToken{}}, noContent)
	if _, err := c.Table("Orders").Insert(t.Context(), anEntity); err != nil {
		t.Fatal(err)
	}
	if got := transport.sent[0].header.Get("Authorization"); got != "Bearer jwt" {
		t.Errorf("Authorization: %s", got)
	}
}

// An answer that follows a try without a definite answer may be about our own success.
func TestErrorsSayWhetherTheRequestMayHaveBeenCarriedOut(t *testing.T) {
	exists := answer{status: 409, body: jsonError("EntityAlreadyExists", "The specified entity already exists.")}
	refused := answer{err: &net.OpError{Op: "dial", Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)}}
	reset := answer{err: &net.OpError{Op: "read", Err: os.NewSyscallError("read", syscall.ECONNRESET)}}
	for name, c := range map[string]struct {
		answers []answer
		retried bool
		tries   int
	}{
		"at once":                   {[]answer{exists}, false, 1},
		"after a server error":      {[]answer{{status: 500}, exists}, true, 2},
		"after a busy server":       {[]answer{{status: 503}, exists}, true, 2},
		"after a lost answer":       {[]answer{reset, exists}, true, 2},
		"after a refused connect":   {[]answer{refused, exists}, false, 2},
		"throttled":                 {[]answer{{status: 429}, exists}, false, 2},
		"server error to the end":   {[]answer{{status: 500}}, true, 4},
		"lost answer to the end":    {[]answer{reset}, true, 4},
		"refused connect, given up": {[]answer{refused}, false, 2},
	} {
		t.Run(name, func(t *testing.T) {
			client, transport := cannedClient(t, c.answers...)
			_, err := client.Table("Orders").Insert(t.Context(), anEntity)
			if e := asError(t, err); e.Retried != c.retried || len(transport.sent) != c.tries {
				t.Errorf("retried %v after %d tries: %v", e.Retried, len(transport.sent), err)
			}
		})
	}
}

func TestErrorsAreToldApart(t *testing.T) {
	for _, c := range []struct {
		status int
		code   string
		is     error
	}{
		{404, "ResourceNotFound", ErrNotFound}, {404, "TableNotFound", ErrTableNotFound}, {404, "", ErrNotFound},
		{409, "EntityAlreadyExists", ErrExists}, {409, "TableAlreadyExists", ErrTableExists},
		{409, "TableBeingDeleted", ErrTableBeingDeleted}, {412, "UpdateConditionNotSatisfied", ErrConditionNotMet},
		{403, "AuthenticationFailed", ErrForbidden}, {401, "InvalidAuthenticationInfo", ErrForbidden},
		{413, "RequestBodyTooLarge", ErrTooLarge}, {503, "ServerBusy", ErrThrottled},
	} {
		client, _ := cannedClient(t, answer{status: c.status, body: jsonError(c.code, "x")})
		_, err := client.Table("Orders").Insert(t.Context(), anEntity)
		for _, sentinel := range []error{ErrNotFound, ErrTableNotFound, ErrExists, ErrTableExists, ErrTableBeingDeleted,
			ErrConditionNotMet, ErrForbidden, ErrTooLarge, ErrThrottled, ErrUnreachable} {
			if got := errors.Is(err, sentinel); got != errors.Is(c.is, sentinel) {
				t.Errorf("%d %s: Is(%v) = %v", c.status, c.code, sentinel, got)
			}
		}
	}
	client, _ := cannedClient(t, answer{status: 404, body: jsonError("ResourceNotFound", "x")})
	if err := client.DeleteTable(t.Context(), "Orders"); !errors.Is(err, ErrTableNotFound) || errors.Is(err, ErrNotFound) {
		t.Errorf("a missing table on delete: %v", err)
	}
}

// Forms of reference §8.1 to §8.3, and what proxies and web front ends send.
func TestErrorBodiesOfEveryFormAreRead(t *testing.T) {
	const tail = "\nRequestId:fc611b9c-5002-0093-06c7-e3337f000000\nTime:2020-07-23T16:43:14.3010508Z"
	for name, c := range map[string]struct{ body, code, message string }{
		"JSON": {jsonError("ResourceNotFound", "The specified resource does not exist."), "ResourceNotFound", "The specified resource does not exist."},
		"XML": {`<?xml version="1.0" encoding="utf-8"?><error xmlns="http://schemas.microsoft.com/ado/2007/08/dataservices/metadata"><code>TableAlreadyExists</code><message xml:lang="en-US">The table specified already exists.` + tail + `</message></error>`,
			"TableAlreadyExists", "The table specified already exists."},
		"prefixed XML": {"\xef\xbb\xbf" + `<m:error xmlns:m="http://schemas.microsoft.com/ado/2007/08/dataservices/metadata"><m:code>AuthenticationFailed</m:code><m:message xml:lang="en-US">Server failed.` + tail + `</m:message></m:error>`,
			"AuthenticationFailed", "Server failed."},
		"front door": {`<?xml version="1.0"?><Error><Code>InvalidUri</Code><Message>Bad.` + tail + `</Message></Error>`, "InvalidUri", "Bad."},
		"Cosmos":     {`{"odata.error":{"code":"X","message":{"lang":"en-us","value":"Text\n\nRequestID:1\n"}}}`, "X", "Text"},
		"HTML":       {"<!DOCTYPE HTML><HTML><BODY><h2>Bad Request - Invalid URL</h2></BODY></HTML>", "", ""},
		"other JSON": {`{"error":"x"}`, "", ""},
		"torn JSON":  {`{"odata.error":{"code":"X"`, "", ""},
		"empty":      {"", "", ""},
	} {
		if code, message := parseErrorBody([]byte(c.body)); code != c.code || message != c.message {
			t.Errorf("%s: got %q, %q", name, code, message)
		}
	}
}

func TestErrorsSayWhatToDo(t *testing.T) {
	key, token, entra := SharedKey{NewSecret(testKey)}, SAS{NewSecret("sig=x")}, Entra{staticToken{}}
	denied := func(code string) answer { return answer{status: 403, body: jsonError(code, "no")} }
	late := denied("AuthenticationFailed")
	late.header = map[string]string{"Date": time.Now().Add(-20 * time.Minute).UTC().Format(http.TimeFormat)}
	dns := answer{err: &net.OpError{Op: "dial", Err: &net.DNSError{Err: "no such host", Name: "acct.table.core.windows.net", IsNotFound: true}}}
	for name, c := range map[string]struct {
		credential Credential
		answer     answer
		want       string
	}{
		"wrong key":          {key, denied("AuthenticationFailed"), `insert entity in table Orders of account "acct": the account key of account "acct" was refused: check`},
		"wrong key, Azurite": {key, answer{status: 403, body: jsonError("AuthorizationFailure", "Server failed to authenticate the request.")}, "was refused: check"},
		"network rules":      {key, denied("AuthorizationFailure"), "network rules"},
		"wrong clock":        {key, late, "this machine's clock is 20m"},
		"bad SAS":            {token, denied("AuthenticationFailed"), "the SAS token of account \"acct\" was refused: it may be expired"},
		"weak SAS":           {token, denied("AuthorizationPermissionMismatch"), "lacks the permission"},
		"out of range":       {token, denied("AuthorizationFailure"), "outside the key range"},
		"no role":            {entra, denied("AuthorizationPermissionMismatch"), "Storage Table Data Contributor"},
		"no sign-in":         {Entra{staticToken{fmt.Errorf("no identity")}}, noContent, "no identity"},
		"keys are off":       {key, denied("KeyBasedAuthenticationNotPermitted"), "use Entra"},
		"no table":           {key, answer{status: 404, body: jsonError("TableNotFound", "x")}, "the table does not exist (404 TableNotFound)"},
		"no such host":       {key, dns, "host acct.table.core.windows.net is not known"},
		"nobody there":       {key, answer{err: &net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}}, "nothing listens at acct.table.core.windows.net (connection refused)"},
		"other server":       {key, answer{status: 302, header: map[string]string{"Content-Type": "text/html"}}, "does not look like one of a table service"},
		"service's own":      {key, answer{status: 400, body: jsonError("PropertyNameInvalid", "The property name is invalid.")}, "The property name is invalid. (400 PropertyNameInvalid"},
	} {
		t.Run(name, func(t *testing.T) {
			client, _ := cannedClientWith(t, c.credential, c.answer)
			_, err := client.Table("Orders").Insert(t.Context(), anEntity)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %q, want it to say %q", err, c.want)
			}
		})
	}
}

func TestUnreachableEndpointFailsSoon(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	c, err := NewClient(Account{Name: "acct", TableEndpoint: "http://" + address + "/acct", Credential: SharedKey{NewSecret(testKey)}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	_, err = c.Tables(t.Context(), "")
	if !errors.Is(err, ErrUnreachable) || !strings.Contains(err.Error(), address) || time.Since(began) > 10*time.Second {
		t.Errorf("after %s: %v", time.Since(began), err)
	}
}

func TestCancelledRequestsKeepTheContextsError(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	c, _ := cannedClient(t, answer{err: context.Canceled})
	_, err := c.Table("Orders").Get(ctx, aKey)
	if !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), "get entity in table Orders") {
		t.Errorf("got %v", err)
	}
}

func TestConditionalWritesNeedAnETag(t *testing.T) {
	c, transport := cannedClient(t, noContent)
	table := c.Table("Orders")
	_, replaced := table.Replace(t.Context(), anEntity, "")
	_, merged := table.Merge(t.Context(), anEntity, "")
	_, submitted := table.Submit(t.Context(), []Operation{{Kind: OpInsert, Entity: anEntity}, {Kind: OpDelete, Entity: anEntity}})
	for _, err := range []error{replaced, merged, submitted, table.Delete(t.Context(), aKey, "")} {
		if !errors.Is(err, ErrNoETag) {
			t.Errorf("got %v", err)
		}
	}
	if len(transport.sent) != 0 {
		t.Errorf("sent %v", transport.sent)
	}
}

func TestStoredPoliciesNeedTheAccountKey(t *testing.T) {
	for _, credential := range []Credential{SAS{NewSecret("sig=x")}, Entra{staticToken{}}} {
		c, transport := cannedClientWith(t, credential, noContent)
		_, read := c.AccessPolicies(t.Context(), "Orders")
		_, signed := c.SignTableSAS(sas.TableParams{Table: "Orders", Permission: "r", Expiry: time.Now()})
		for _, err := range []error{read, signed, c.SetAccessPolicies(t.Context(), "Orders", nil)} {
			if !errors.Is(err, ErrNeedsAccountKey) {
				t.Errorf("%s: got %v", kindOf(credential), err)
			}
		}
		if len(transport.sent) != 0 || c.CanSignSAS() {
			t.Errorf("%s: sent %v", kindOf(credential), transport.sent)
		}
	}
}

func TestRequestIDsNameTenantAndOperation(t *testing.T) {
	c, transport := cannedClient(t, noContent)
	for _, ctx := range []context.Context{t.Context(), WithCorrelation(t.Context(), "contoso", "copy"),
		WithCorrelation(t.Context(), "", "a b/\r\nc")} {
		if _, err := c.Table("Orders").Insert(ctx, anEntity); err != nil {
			t.Fatal(err)
		}
	}
	const uuid = "/[0-9a-f-]{36}$"
	for i, want := range []string{"^aztenancy/-/insert_entity" + uuid, "^aztenancy/contoso/copy" + uuid, "^aztenancy/-/a_b___c" + uuid} {
		if got := transport.sent[i].header.Get("x-ms-client-request-id"); !regexp.MustCompile(want).MatchString(got) {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

func TestClientsAreOnlyMadeOfUsableAccounts(t *testing.T) {
	for name, a := range map[string]Account{
		"nothing":          {},
		"no credential":    {Name: "acct"},
		"http elsewhere":   {Name: "acct", TableEndpoint: "http://example.org", Credential: SharedKey{NewSecret(testKey)}},
		"bad key":          {Name: "acct", Credential: SharedKey{NewSecret("!")}},
		"no token":         {Name: "acct", Credential: Entra{}},
		"bad endpoint":     {Name: "acct", TableEndpoint: "ftp://example.org", Credential: SharedKey{NewSecret(testKey)}},
		"nameless account": {TableEndpoint: "http://localhost:1", Credential: SharedKey{NewSecret(testKey)}},
	} {
		if _, err := NewClient(a, nil); err == nil {
			t.Errorf("%s: made a client", name)
		}
	}
}

func TestDeletedTablesStayDeleted(t *testing.T) {
	missing := answer{status: 404, body: jsonError("ResourceNotFound", "x")}
	c, _ := cannedClient(t, answer{status: 500}, missing)
	if err := c.DeleteTable(t.Context(), "Orders"); err != nil {
		t.Errorf("a table that an earlier try may have dropped: %v", err)
	}
}
