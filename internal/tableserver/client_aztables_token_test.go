package tableserver_test

import (
	"bytes"
	"context"
	"crypto"
	"crypto/hmac"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/xml"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/data/aztables"
	"github.com/golang-jwt/jwt/v5"

	"github.com/aztenancy/terraform-provider-aztenancy/internal/tableserver"
	"github.com/aztenancy/terraform-provider-aztenancy/internal/tableserver/auth"
	"github.com/aztenancy/terraform-provider-aztenancy/internal/tableserver/traffic"
)

const (
	directory = "11111111-1111-1111-1111-111111111111"
	readerID  = "aaaaaaaa-0000-0000-0000-000000000001"
	writerID  = "aaaaaaaa-0000-0000-0000-000000000002"
	strangeID = "aaaaaaaa-0000-0000-0000-00000000000f"
)

// directoryKey signs every token of these tests.
var directoryKey = sync.OnceValues(func() (*rsa.PrivateKey, error) { return rsa.GenerateKey(rand.Reader, 2048) })

type oneKey struct{ crypto.PublicKey }

func (k oneKey) Key(context.Context, string, string) (crypto.PublicKey, error) {
	return k.PublicKey, nil
}

// entraServer is a server over HTTPS that takes bearer tokens, with all that it logs.
type entraServer struct {
	t        testing.TB
	endpoint string // of the account
	account  tableserver.Account
	client   *http.Client
	key      *rsa.PrivateKey
	log      *lockedBuffer
}

// lockedBuffer takes the log of a running server.
type lockedBuffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

func startEntra(t testing.TB) *entraServer {
	t.Helper()
	key, err := directoryKey()
	if err != nil {
		t.Fatal(err)
	}
	entra, err := auth.NewEntra(auth.TokenRules{Tenants: []string{directory}, Keys: oneKey{&key.PublicKey}}, auth.NewRoles(
		auth.Assignment{Principal: readerID, Role: auth.Reader | auth.Delegator, Account: "home"},
		auth.Assignment{Principal: writerID, Role: auth.Contributor | auth.Delegator, Account: "home"}))
	if err != nil {
		t.Fatal(err)
	}
	log := &lockedBuffer{}
	server, err := tableserver.New(tableserver.Options{InMemory: true, Accounts: []tableserver.Account{{Name: "home", Key: []byte("the secret of home, sixty-four bytes or not")}},
		HTTPS: &tableserver.HTTPS{Dir: t.TempDir()}, Entra: entra, Testing: tableserver.Testing{AccessLog: log, LogFields: traffic.AzureFields, PartitionKeys: traffic.PlainKeys},
		Logger: slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug}))})
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- server.Serve(ctx, l) }()
	ca, err := os.ReadFile(server.CAFile())
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(ca)
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}}
	t.Cleanup(func() {
		transport.CloseIdleConnections()
		cancel()
		if err := errors.Join(<-served, server.Close()); err != nil {
			t.Error(err)
		}
	})
	return &entraServer{t: t, endpoint: server.Endpoint(l.Addr(), "home"), account: server.Accounts()[0],
		client: &http.Client{Transport: transport}, key: key, log: log}
}

// identity is a credential as azidentity's are: it answers with a token for the scope that the client asks for.
type identity struct {
	s    *entraServer
	oid  string
	life time.Duration
}

func (i identity) GetToken(_ context.Context, o policy.TokenRequestOptions) (azcore.AccessToken, error) {
	if !slices.Equal(o.Scopes, []string{"https://storage.azure.com/.default"}) {
		return azcore.AccessToken{}, errors.New("asked for the scopes " + strings.Join(o.Scopes, " "))
	}
	now := time.Now()
	claims := jwt.MapClaims{"aud": "https://storage.azure.com", "iss": "https://sts.windows.net/" + directory + "/", "tid": directory,
		"oid": i.oid, "nbf": now.Add(-5 * time.Minute).Unix(), "exp": now.Add(i.life).Unix()}
	text, err := jwt.NewWithClaims(jwt.SigningMethodRS256, claims).SignedString(i.s.key)
	return azcore.AccessToken{Token: text, ExpiresOn: now.Add(time.Hour)}, err
}

func (s *entraServer) identity(oid string) identity { return identity{s, oid, time.Hour} }

func (s *entraServer) token(oid string) string {
	s.t.Helper()
	token, err := s.identity(oid).GetToken(s.t.Context(), policy.TokenRequestOptions{Scopes: []string{"https://storage.azure.com/.default"}})
	if err != nil {
		s.t.Fatal(err)
	}
	return token.Token
}

func (s *entraServer) options() *aztables.ClientOptions {
	return &aztables.ClientOptions{ClientOptions: policy.ClientOptions{Transport: s.client, Retry: policy.RetryOptions{MaxRetries: -1}}}
}

func (s *entraServer) service(i identity) *aztables.ServiceClient {
	s.t.Helper()
	service, err := aztables.NewServiceClient(s.endpoint, i, s.options())
	if err != nil {
		s.t.Fatal(err)
	}
	return service
}

func TestAztablesWithATokenCredentialDoesWhatItsRoleAllows(t *testing.T) {
	s := startEntra(t)
	ctx := t.Context()
	writer := s.service(s.identity(writerID))
	table := newTable(t, writer, "Orders")
	add(t, table, entity("p", "1", nil))
	if _, err := table.SubmitTransaction(ctx, []aztables.TransactionAction{
		{ActionType: aztables.TransactionTypeAdd, Entity: body(t, entity("p", "2", nil))},
		{ActionType: aztables.TransactionTypeInsertMerge, Entity: body(t, entity("p", "3", nil))}}, nil); err != nil {
		t.Fatal(err)
	}
	_, err := table.GetAccessPolicy(ctx, nil) // reference §7.7
	wantError(t, err, http.StatusNotFound, "ResourceNotFound")
	_, err = writer.GetProperties(ctx, nil)
	wantError(t, err, http.StatusForbidden, "AuthorizationPermissionMismatch")

	service := s.service(s.identity(readerID))
	read := service.NewClient("Orders")
	if keys, _ := keysOf(t, read, nil); len(keys) != 3 {
		t.Errorf("the reader sees %v", keys)
	}
	if page, err := service.NewListTablesPager(nil).NextPage(ctx); err != nil || len(page.Tables) != 1 {
		t.Errorf("the reader lists %v, %v", page.Tables, err)
	}
	_, err = read.AddEntity(ctx, body(t, entity("p", "new", nil)), nil)
	wantError(t, err, http.StatusForbidden, "AuthorizationPermissionMismatch")
	_, err = read.DeleteEntity(ctx, "p", "1", nil)
	wantError(t, err, http.StatusForbidden, "AuthorizationPermissionMismatch")
	_, err = read.SubmitTransaction(ctx, []aztables.TransactionAction{
		{ActionType: aztables.TransactionTypeInsertReplace, Entity: body(t, entity("p", "1", nil))}}, nil)
	wantError(t, err, http.StatusForbidden, "AuthorizationPermissionMismatch")
	_, err = service.CreateTable(ctx, "Others", nil)
	wantError(t, err, http.StatusForbidden, "AuthorizationPermissionMismatch")

	_, err = s.service(s.identity(strangeID)).NewClient("Orders").GetEntity(ctx, "p", "1", nil)
	wantError(t, err, http.StatusForbidden, "AuthorizationPermissionMismatch")
	_, err = s.service(identity{s, writerID, -time.Second}).NewClient("Orders").GetEntity(ctx, "p", "1", nil)
	wantError(t, err, http.StatusUnauthorized, "InvalidAuthenticationInfo")
	if keys, _ := keysOf(t, table, nil); len(keys) != 3 {
		t.Errorf("the table holds %v", keys)
	}
}

// send answers a request without a client library.
func (s *entraServer) send(method, path, body string, headers ...string) (*http.Response, string) {
	s.t.Helper()
	r, err := http.NewRequestWithContext(s.t.Context(), method, s.endpoint+path, strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	resp, err := s.client.Do(r)
	if err != nil {
		s.t.Fatal(err)
	}
	text, err := io.ReadAll(resp.Body)
	if err := errors.Join(err, resp.Body.Close()); err != nil {
		s.t.Fatal(err)
	}
	return resp, string(text)
}

func TestARequestWithoutCredentialsLearnsWhereToGetThem(t *testing.T) {
	s := startEntra(t)
	resp, text := s.send("GET", "Tables", "", "x-ms-version", "2020-12-06") // reference §7.7
	if resp.StatusCode != http.StatusUnauthorized || resp.Header.Get("x-ms-error-code") != "InvalidAuthenticationInfo" ||
		resp.Header.Get("WWW-Authenticate") != "Bearer authorization_uri=https://login.microsoftonline.com/"+directory+
			"/oauth2/authorize resource_id=https://storage.azure.com" || !strings.Contains(text, "<m:code>InvalidAuthenticationInfo</m:code>") {
		t.Errorf("got %d %v %s", resp.StatusCode, resp.Header, text)
	}
	if resp, _ := s.send("GET", "Tables", "", "x-ms-version", "2019-07-07"); resp.StatusCode != http.StatusForbidden || resp.Header.Get("WWW-Authenticate") != "" {
		t.Errorf("an older version: %d %v", resp.StatusCode, resp.Header)
	}
}

// delegationKey is the answer of reference §7.6, read by its element names.
type delegationKey struct {
	XMLName                                                     xml.Name `xml:"UserDelegationKey"`
	SignedOid, SignedTid, SignedStart, SignedExpiry             string
	SignedService, SignedVersion, SignedDelegatedUserTid, Value string
}

const keyPath = "?restype=service&comp=userdelegationkey"

func (s *entraServer) delegationKey(oid string) delegationKey {
	s.t.Helper()
	expiry := time.Now().Add(time.Hour).UTC().Format("2006-01-02T15:04:05Z")
	resp, text := s.send("POST", keyPath, `<?xml version="1.0" encoding="utf-8"?><KeyInfo><Start>2026-01-01T00:00:00Z</Start><Expiry>`+expiry+`</Expiry></KeyInfo>`,
		"Authorization", "Bearer "+s.token(oid), "x-ms-version", "2025-07-05")
	var k delegationKey
	if err := xml.Unmarshal([]byte(strings.TrimPrefix(text, "\ufeff")), &k); err != nil || resp.StatusCode != http.StatusOK {
		s.t.Fatalf("%d %s", resp.StatusCode, text)
	}
	if k.SignedOid != oid || k.SignedTid != directory || k.SignedExpiry != expiry || k.SignedService != "t" || k.SignedVersion != "2025-07-05" || k.Value == "" {
		s.t.Fatalf("wrong key %+v", k)
	}
	return k
}

// sas signs the 19 lines of reference §7.6 for the table Orders.
func (s *entraServer) sas(k delegationKey, sp, spk, epk string) string {
	s.t.Helper()
	secret, err := base64.StdEncoding.DecodeString(k.Value)
	if err != nil {
		s.t.Fatal(err)
	}
	mac := hmac.New(sha256.New, secret)
	mac.Write([]byte(strings.Join([]string{sp, "", k.SignedExpiry, "/table/home/orders", k.SignedOid, k.SignedTid, k.SignedStart, k.SignedExpiry,
		k.SignedService, k.SignedVersion, "", "", "", "https", "2025-07-05", spk, "", epk, ""}, "\n")))
	return url.Values{"sv": {"2025-07-05"}, "tn": {"Orders"}, "sp": {sp}, "se": {k.SignedExpiry}, "spr": {"https"}, "skoid": {k.SignedOid},
		"sktid": {k.SignedTid}, "skt": {k.SignedStart}, "ske": {k.SignedExpiry}, "sks": {k.SignedService}, "skv": {k.SignedVersion},
		"spk": {spk}, "epk": {epk}, "sig": {base64.StdEncoding.EncodeToString(mac.Sum(nil))}}.Encode()
}

func TestAztablesWithAUserDelegationTokenReachesItsRangeAndNoMore(t *testing.T) {
	s := startEntra(t)
	ctx := t.Context()
	table := newTable(t, s.service(s.identity(writerID)), "Orders")
	for _, pk := range []string{"a", "contoso|00", "contoso|15", "z"} {
		add(t, table, entity(pk, "r", nil))
	}
	open := func(oid, sp string) *aztables.Client {
		t.Helper()
		client, err := aztables.NewClientWithNoCredential(s.endpoint+"Orders?"+s.sas(s.delegationKey(oid), sp, "contoso|00", "contoso|15"), s.options())
		if err != nil {
			t.Fatal(err)
		}
		return client
	}
	tenant := open(writerID, "raud")
	if keys, _ := keysOf(t, tenant, nil); !slices.Equal(keys, []string{"contoso|00/r", "contoso|15/r"}) {
		t.Errorf("the tenant reads %v", keys)
	}
	add(t, tenant, entity("contoso|07", "r", nil))
	for _, pk := range []string{"a", "contoso|16", "z"} {
		_, err := tenant.GetEntity(ctx, pk, "r", nil)
		wantError(t, err, http.StatusForbidden, "AuthorizationFailure")
		_, err = tenant.UpsertEntity(ctx, body(t, entity(pk, "r", nil)), nil)
		wantError(t, err, http.StatusForbidden, "AuthorizationFailure")
		_, err = tenant.SubmitTransaction(ctx, []aztables.TransactionAction{
			{ActionType: aztables.TransactionTypeDelete, Entity: body(t, entity(pk, "r", nil))}}, nil)
		wantError(t, err, http.StatusForbidden, "AuthorizationFailure")
	}
	// The reader signs more than it has (reference §7.6: SAS ∩ role).
	reader := open(readerID, "raud")
	get(t, reader, "contoso|00", "r")
	_, err := reader.AddEntity(ctx, body(t, entity("contoso|01", "r", nil)), nil)
	wantError(t, err, http.StatusForbidden, "AuthorizationPermissionMismatch")
	_, err = tenant.GetAccessPolicy(ctx, nil)
	wantError(t, err, http.StatusForbidden, "AuthorizationFailure")
	if keys, _ := keysOf(t, table, nil); len(keys) != 5 {
		t.Errorf("the table holds %v", keys)
	}
}

func TestUserDelegationKeysAreForBearersOfTheRole(t *testing.T) {
	s := startEntra(t)
	good := "<KeyInfo><Start></Start><Expiry>" + time.Now().Add(time.Hour).UTC().Format(time.RFC3339) + "</Expiry></KeyInfo>"
	for _, c := range []struct {
		name, body, oid, version string
		status                   int
		code                     string
	}{
		{"good", good, writerID, "2025-07-05", 200, ""},
		{"no role", good, strangeID, "2025-07-05", 403, "AuthorizationPermissionMismatch"},
		{"old version", good, writerID, "2020-12-06", 400, "InvalidHeaderValue"},
		{"no document", "", writerID, "2025-07-05", 400, "InvalidXmlDocument"},
		{"other document", "<Key/>", writerID, "2025-07-05", 400, "InvalidXmlDocument"},
		{"no expiry", "<KeyInfo/>", writerID, "2025-07-05", 400, "InvalidXmlNodeValue"},
		{"no time", "<KeyInfo><Expiry>soon</Expiry></KeyInfo>", writerID, "2025-07-05", 400, "InvalidXmlNodeValue"},
		{"8 days", "<KeyInfo><Expiry>" + time.Now().Add(192*time.Hour).UTC().Format(time.RFC3339) + "</Expiry></KeyInfo>", writerID, "2025-07-05", 400, "InvalidXmlNodeValue"},
	} {
		resp, text := s.send("POST", keyPath, c.body, "Authorization", "Bearer "+s.token(c.oid), "x-ms-version", c.version)
		if resp.StatusCode != c.status || resp.Header.Get("x-ms-error-code") != c.code || (c.code == "") != strings.Contains(text, "<Value>") {
			t.Errorf("%s: %d %s %s", c.name, resp.StatusCode, resp.Header.Get("x-ms-error-code"), text)
		}
	}
	shared, err := aztables.NewServiceClientFromConnectionString(s.account.ConnectionString(s.endpoint), s.options())
	if err != nil {
		t.Fatal(err)
	}
	newTable(t, shared, "Shared") // the account key works over https
}

// What goes wrong must not tell the secrets that it went wrong with.
func TestNoSecretIsAnsweredOrLogged(t *testing.T) {
	s := startEntra(t)
	table := newTable(t, s.service(s.identity(writerID)), "Orders")
	add(t, table, entity("p", "r", nil))
	k := s.delegationKey(writerID)
	token, delegated := s.token(writerID), s.sas(k, "r", "p", "p")
	cred, err := aztables.NewSharedKeyCredential("home", s.account.EncodedKey())
	if err != nil {
		t.Fatal(err)
	}
	sas, err := aztables.SASSignatureValues{TableName: "Orders", Permissions: "r", ExpiryTime: time.Now().Add(time.Hour).UTC()}.Sign(cred)
	if err != nil {
		t.Fatal(err)
	}
	account, err := aztables.AccountSASSignatureValues{Services: "t", ExpiryTime: time.Now().Add(time.Hour).UTC(), Permissions: "r", ResourceTypes: "o"}.Sign(cred)
	if err != nil {
		t.Fatal(err)
	}
	secrets := []string{s.account.EncodedKey(), k.Value, token}
	for _, query := range []string{delegated, sas, account.Encode()} {
		values, err := url.ParseQuery(query)
		if err != nil {
			t.Fatal(err)
		}
		secrets = append(secrets, values.Get("sig"), url.QueryEscape(values.Get("sig")))
	}
	secrets = append(secrets, strings.Split(token, ".")...)
	var answers strings.Builder
	for _, query := range []string{delegated, sas, account.Encode()} {
		for _, path := range []string{"Orders()?", "Orders(PartitionKey='z',RowKey='')?", "Others()?", "Tables?", "Orders?comp=acl&", "Orders()?sp=raud&", "Orders()?$filter=(&", "Orders()?sig=x&"} {
			for _, method := range []string{"GET", "POST", "PUT", "DELETE", "BREW"} {
				resp, text := s.send(method, path+query, "{")
				_ = resp.Header.Write(&answers)
				answers.WriteString(text)
			}
		}
	}
	for _, header := range []string{"Bearer " + token, "Bearer " + token + "x", "Bearer x" + token, "bearer " + token, "SharedKey " + token, "SharedKey home:" + token,
		"SharedKeyLite home:" + s.account.EncodedKey(), "Basic " + s.account.EncodedKey(), s.account.EncodedKey()} {
		for _, path := range []string{"Tables", "Orders?comp=acl", "Orders()?$filter=(", "(", keyPath} {
			resp, text := s.send("GET", path, "", "Authorization", header, "x-ms-version", "2025-07-05", "x-ms-date", time.Now().UTC().Format(http.TimeFormat))
			_ = resp.Header.Write(&answers)
			answers.WriteString(text)
		}
	}
	if !strings.Contains(answers.String(), "AuthenticationFailed") || !strings.Contains(answers.String(), "InvalidAuthenticationInfo") {
		t.Error("nothing went wrong")
	}
	if !strings.Contains(s.log.String(), "sig=REDACTED") {
		t.Error("the requests are not logged")
	}
	for _, secret := range secrets {
		if len(secret) < 16 || strings.Contains(answers.String(), secret) {
			t.Errorf("an answer shows a secret, %.6s…", secret)
		}
		if strings.Contains(s.log.String(), secret) {
			t.Errorf("the log shows a secret, %.6s…", secret)
		}
	}
}
