package tablestorage

import (
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"net/http"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/golang-jwt/jwt/v5"

	"github.com/aztenancy/terraform-provider-aztenancy/internal/edm"
	"github.com/aztenancy/terraform-provider-aztenancy/internal/tableserver"
	"github.com/aztenancy/terraform-provider-aztenancy/internal/tableserver/auth"
	"github.com/aztenancy/terraform-provider-aztenancy/internal/tablestorage/sas"
)

const (
	someDirectory = "11111111-1111-1111-1111-111111111111"
	delegatorID   = "aaaaaaaa-0000-0000-0000-000000000001"
	strangerID    = "aaaaaaaa-0000-0000-0000-000000000002"
)

// directory is an issuer of tokens: a credential for one object id, and the key source of a server.
type directory struct {
	key *ecdsa.PrivateKey
	oid string
}

func (d directory) Key(context.Context, string, string) (crypto.PublicKey, error) {
	return &d.key.PublicKey, nil
}

func (d directory) GetToken(context.Context, policy.TokenRequestOptions) (azcore.AccessToken, error) {
	now := time.Now()
	text, err := jwt.NewWithClaims(jwt.SigningMethodES256, jwt.MapClaims{"aud": "https://storage.azure.com", "tid": someDirectory, "oid": d.oid,
		"iss": "https://sts.windows.net/" + someDirectory + "/", "nbf": now.Add(-time.Minute).Unix(), "exp": now.Add(time.Hour).Unix()}).SignedString(d.key)
	return azcore.AccessToken{Token: text, ExpiresOn: now.Add(time.Hour)}, err
}

// entraWorld is a server over https whose clients have Entra tokens, or none.
type entraWorld struct {
	endpoint string
	d        directory
	options  *ClientOptions
}

func startEntraWorld(t *testing.T) entraWorld {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(t, err)
	d := directory{key: key, oid: delegatorID}
	entra, err := auth.NewEntra(auth.TokenRules{Tenants: []string{someDirectory}, Keys: d},
		auth.NewRoles(auth.Assignment{Principal: delegatorID, Role: auth.Contributor | auth.Delegator, Account: "home"}))
	must(t, err)
	server, err := tableserver.New(tableserver.Options{InMemory: true, Accounts: []tableserver.Account{{Name: "home"}},
		HTTPS: &tableserver.HTTPS{Dir: t.TempDir()}, Entra: entra})
	must(t, err)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- server.Serve(ctx, l) }()
	ca, err := os.ReadFile(server.CAFile())
	must(t, err)
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(ca)
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}}
	t.Cleanup(func() {
		transport.CloseIdleConnections()
		cancel()
		must(t, errors.Join(<-served, server.Close()))
	})
	return entraWorld{endpoint: server.URL(l.Addr()) + "/home", d: d,
		options: &ClientOptions{Transport: &http.Client{Transport: transport}, Retry: policy.RetryOptions{MaxRetries: -1}}}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func (w entraWorld) client(t *testing.T, c Credential) *Client {
	t.Helper()
	client, err := NewClient(Account{Name: "home", TableEndpoint: w.endpoint, Credential: c}, w.options)
	must(t, err)
	return client
}

func TestUserDelegationSASOpensItsRangeAndNoMore(t *testing.T) {
	w := startEntraWorld(t)
	ctx := t.Context()
	owner := w.client(t, Entra{w.d})
	_, err := owner.CreateTable(ctx, "Orders")
	must(t, err)
	row := func(pk string) *edm.Entity { return &edm.Entity{PartitionKey: pk, RowKey: "r"} }
	for _, pk := range []string{"contoso|00", "fabrikam|00"} {
		_, err := owner.Table("Orders").Insert(ctx, row(pk))
		must(t, err)
	}
	key, err := owner.UserDelegationKey(ctx, time.Now().Add(-time.Minute), time.Now().Add(time.Hour), "")
	must(t, err)
	if key.ObjectID != delegatorID || key.TenantID != someDirectory || key.Value == "" {
		t.Errorf("got %v", key)
	}
	first, last := "contoso|00", "contoso|15"
	token, err := owner.SignDelegatedSAS(sas.TableParams{Table: "Orders", Permission: "raud", Expiry: time.Now().Add(time.Minute), Protocol: "https",
		StartPartitionKey: &first, EndPartitionKey: &last}, "", key)
	must(t, err)
	tenant := w.client(t, SAS{NewSecret(token)}).Table("Orders")
	var seen []string
	for e, err := range tenant.Query(ctx, Query{}) {
		must(t, err)
		seen = append(seen, e.PartitionKey)
	}
	if !slices.Equal(seen, []string{"contoso|00"}) {
		t.Errorf("the tenant reads %v", seen)
	}
	_, err = tenant.Insert(ctx, row("contoso|07"))
	must(t, err)
	var refused *Error
	if _, err := tenant.Insert(ctx, row("fabrikam|01")); !errors.As(err, &refused) || refused.Code != "AuthorizationFailure" {
		t.Errorf("beyond the range: %v", err)
	}
}

func TestUserDelegationKeysThatNobodyGets(t *testing.T) {
	w := startEntraWorld(t)
	now := time.Now()
	get := func(c Credential, start, expiry time.Time) error {
		t.Helper()
		_, err := w.client(t, c).UserDelegationKey(t.Context(), start, expiry, "")
		return err
	}
	if err := get(SharedKey{NewSecret("a2V5")}, now, now.Add(time.Hour)); !errors.Is(err, ErrNeedsEntra) {
		t.Errorf("with an account key: %v", err)
	}
	stranger := w.d
	stranger.oid = strangerID
	var refused *Error
	if err := get(Entra{stranger}, now, now.Add(time.Hour)); !errors.As(err, &refused) || refused.Code != "AuthorizationPermissionMismatch" {
		t.Errorf("without the role: %v", err)
	}
	if err := get(Entra{w.d}, now, now.Add(8*24*time.Hour)); err == nil {
		t.Error("a key for 8 days")
	}
	if err := get(Entra{w.d}, now, now); err == nil {
		t.Error("a key for no time")
	}
}
