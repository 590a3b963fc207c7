package valet_test

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/aztenancy/terraform-provider-aztenancy/internal/access"
	"github.com/aztenancy/terraform-provider-aztenancy/internal/acctest"
	"github.com/aztenancy/terraform-provider-aztenancy/internal/catalog"
	"github.com/aztenancy/terraform-provider-aztenancy/internal/edm"
	"github.com/aztenancy/terraform-provider-aztenancy/internal/tablestorage"
	"github.com/aztenancy/terraform-provider-aztenancy/internal/tenancy"
	"github.com/aztenancy/terraform-provider-aztenancy/internal/valet"
)

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// world is a valet over a table service with the tenants contoso and fabrikam in one table, and the key of its issuer.
type world struct {
	t       *testing.T
	key     *ecdsa.PrivateKey
	url     string
	catalog *catalog.Catalog
	audit   *lockedBuffer
}

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

const rules = `{"issuer": "https://issuer", "audience": "orders", "jwks_file": "jwks.json", "tenants": {"Contoso Ltd": "contoso", "Ghost": "ghost"},
  "ttl": "15m", "tenant_ttl": {"contoso": "5m"}}`

func newWorld(t *testing.T) *world {
	t.Helper()
	ctx := t.Context()
	server := acctest.StartServer(t, acctest.WithAccounts("home1"))
	accounts, err := tablestorage.NewAccounts(tablestorage.Config{Home: tablestorage.AccountConfig{ConnectionString: server.ConnectionString("home1")}}, nil)
	must(t, err)
	c := catalog.Open(accounts.Home(), "")
	must(t, c.Ensure(ctx))
	_, err = accounts.Home().CreateTable(ctx, "Orders")
	must(t, err)
	_, err = c.CreateModel(ctx, tenancy.Model{Name: "pool", Kind: tenancy.SharedTable, Account: "home", Tables: map[string]string{"orders": "Orders"},
		KeyScheme: tenancy.KeyScheme{Kind: tenancy.SchemeTenant}})
	must(t, err)
	p := &catalog.Provisioner{Catalog: c, Accounts: accounts}
	for _, id := range []string{"contoso", "fabrikam"} {
		_, err := p.Create(ctx, catalog.TenantSpec{ID: id, Model: "pool"})
		must(t, err)
		_, err = accounts.Home().Table("Orders").Insert(ctx, &edm.Entity{PartitionKey: id, RowKey: "1"})
		must(t, err)
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(t, err)
	config := writeRules(t, key, rules)
	audit := &lockedBuffer{}
	v, err := valet.New(config, &access.Issuer{Catalog: c, Accounts: accounts}, slog.New(slog.NewJSONHandler(audit, nil)))
	must(t, err)
	front := httptest.NewServer(v.Handler())
	t.Cleanup(front.Close)
	return &world{t, key, front.URL, c, audit}
}

func writeRules(t *testing.T, key *ecdsa.PrivateKey, text string) valet.Config {
	t.Helper()
	dir := t.TempDir()
	point, err := key.PublicKey.Bytes()
	must(t, err)
	encode := base64.RawURLEncoding.EncodeToString
	set, err := json.Marshal(map[string]any{"keys": []map[string]string{{"kty": "EC", "crv": "P-256", "kid": "one", "use": "sig",
		"x": encode(point[1:33]), "y": encode(point[33:])}, {"kty": "oct", "kid": "other", "k": "c2VjcmV0"}}})
	must(t, err)
	must(t, os.WriteFile(filepath.Join(dir, "jwks.json"), set, 0o600))
	must(t, os.WriteFile(filepath.Join(dir, "rules.json"), []byte(text), 0o600))
	config, err := valet.ReadConfig(filepath.Join(dir, "rules.json"))
	must(t, err)
	return config
}

// claims are those of a good JWT, changed.
func claims(change func(jwt.MapClaims)) jwt.MapClaims {
	now := time.Now()
	c := jwt.MapClaims{"iss": "https://issuer", "aud": "orders", "sub": "app-1", "tenant": "Contoso Ltd", "scope": "openid write",
		"iat": now.Unix(), "exp": now.Add(time.Hour).Unix()}
	change(c)
	return c
}

func same(jwt.MapClaims) {}

func (w *world) sign(c jwt.MapClaims) string {
	w.t.Helper()
	token := jwt.NewWithClaims(jwt.SigningMethodES256, c)
	token.Header["kid"] = "one"
	text, err := token.SignedString(w.key)
	must(w.t, err)
	return text
}

// ask asks for tokens and returns status and body.
func (w *world) ask(tenant, bearer, body string) (int, string) {
	w.t.Helper()
	r, err := http.NewRequestWithContext(w.t.Context(), http.MethodPost, w.url+"/v1/tenants/"+tenant+"/tokens", strings.NewReader(body))
	must(w.t, err)
	if bearer != "" {
		r.Header.Set("Authorization", "Bearer "+bearer)
	}
	resp, err := http.DefaultClient.Do(r)
	must(w.t, err)
	defer func() { must(w.t, resp.Body.Close()) }()
	text, err := io.ReadAll(resp.Body)
	must(w.t, err)
	if resp.Header.Get("Cache-Control") != "no-store" {
		w.t.Error("the answer may be stored")
	}
	return resp.StatusCode, string(text)
}

const (
	forRead  = `{"scope": "read"}`
	forWrite = `{"scope": "write", "tables": ["orders"]}`
)

func TestCallerGetsTokensOfItsTenantAndNoOther(t *testing.T) {
	w := newWorld(t)
	bearer := w.sign(claims(same))
	status, body := w.ask("contoso", bearer, forWrite)
	var d access.Document
	if status != http.StatusOK || json.Unmarshal([]byte(body), &d) != nil {
		t.Fatalf("%d %s", status, body)
	}
	if left := time.Until(d.Expiry); left > 5*time.Minute || left < 4*time.Minute {
		t.Errorf("it lives for %v, and its tenant's tokens for 5 minutes", left)
	}
	a, err := tablestorage.AccountConfig{ConnectionString: d.Tables["orders"].ConnectionString}.Account()
	must(t, err)
	c, err := tablestorage.NewClient(a, nil)
	must(t, err)
	orders := c.Table(d.Tables["orders"].Table)
	_, err = orders.UpsertReplace(t.Context(), &edm.Entity{PartitionKey: "contoso", RowKey: "1"})
	must(t, err)
	if _, err := orders.UpsertReplace(t.Context(), &edm.Entity{PartitionKey: "fabrikam", RowKey: "1"}); !errors.Is(err, tablestorage.ErrForbidden) {
		t.Errorf("another tenant's entity: %v", err)
	}
	// Not there, not the caller's, and the caller's but not there: one answer.
	_, unknown := w.ask("nobody", bearer, forRead)
	for tenant, who := range map[string]string{"fabrikam": bearer, "contoso": w.sign(claims(func(c jwt.MapClaims) { c["tenant"] = "fabrikam" })),
		"ghost": w.sign(claims(func(c jwt.MapClaims) { c["tenant"] = "Ghost" })), "UPPER": bearer} {
		if status, body := w.ask(tenant, who, forRead); status != http.StatusNotFound || body != unknown {
			t.Errorf("%s: %d %s, want %s", tenant, status, body, unknown)
		}
	}
	log := w.audit.String()
	if !strings.Contains(log, `"msg":"issued","subject":"app-1","tenant":"contoso","scope":"write","expiry":`) {
		t.Errorf("audit log: %s", log)
	}
	for _, secret := range []string{"sig=", bearer, bearer[strings.LastIndex(bearer, ".")+1:]} {
		if strings.Contains(log, secret) {
			t.Errorf("the audit log holds %s", secret)
		}
	}
}

func TestBadJWTsAreRefused(t *testing.T) {
	w := newWorld(t)
	good := w.sign(claims(same))
	point, err := w.key.PublicKey.Bytes()
	must(t, err)
	confused := jwt.NewWithClaims(jwt.SigningMethodHS256, claims(same))
	confused.Header["kid"] = "one"
	hmac, err := confused.SignedString(point)
	must(t, err)
	unsigned, err := jwt.NewWithClaims(jwt.SigningMethodNone, claims(same)).SignedString(jwt.UnsafeAllowNoneSignatureType)
	must(t, err)
	other, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(t, err)
	stranger := &world{t: t, key: other}
	parts := strings.Split(good, ".")
	payload, err := base64.RawURLEncoding.DecodeString(parts[1])
	must(t, err)
	parts[1] = base64.RawURLEncoding.EncodeToString(bytes.ReplaceAll(payload, []byte("app-1"), []byte("app-2")))
	with := func(name string, value any) string {
		return w.sign(claims(func(c jwt.MapClaims) { c[name] = value }))
	}
	for name, bearer := range map[string]string{
		"none":                         "",
		"no JWT":                       "a.b.c",
		"expired":                      with("exp", time.Now().Add(-time.Minute).Unix()),
		"without expiry":               w.sign(claims(func(c jwt.MapClaims) { delete(c, "exp") })),
		"not yet valid":                with("nbf", time.Now().Add(time.Hour).Unix()),
		"from the future":              with("iat", time.Now().Add(time.Hour).Unix()),
		"wrong audience":               with("aud", "invoices"),
		"wrong issuer":                 with("iss", "https://other"),
		"tampered":                     strings.Join(parts, "."),
		"other key":                    stranger.sign(claims(same)),
		"unsigned":                     unsigned,
		"public key as an HMAC secret": hmac,
	} {
		if status, body := w.ask("contoso", bearer, forRead); status != http.StatusUnauthorized {
			t.Errorf("%s: %d %s", name, status, body)
		}
	}
	if status, body := w.ask("contoso", good, forRead); status != http.StatusOK {
		t.Errorf("a good one: %d %s", status, body)
	}
}

func TestScopesFreezesAndBadBodiesAreHonoured(t *testing.T) {
	w := newWorld(t)
	good, reader := w.sign(claims(same)), w.sign(claims(func(c jwt.MapClaims) { c["scope"] = []string{"read"} }))
	check := func(name string, want int, bearer, body string) {
		t.Helper()
		if status, text := w.ask("contoso", bearer, body); status != want {
			t.Errorf("%s: %d %s, want %d", name, status, text, want)
		}
	}
	check("write with scope read", http.StatusForbidden, reader, forWrite)
	check("read with scope read", http.StatusOK, reader, forRead)
	check("unknown scope", http.StatusBadRequest, good, `{"scope": "admin"}`)
	check("unknown attribute", http.StatusBadRequest, good, `{"scope": "read", "ttl": "24h"}`)
	check("no JSON", http.StatusBadRequest, good, `scope=read`)
	check("endless", http.StatusBadRequest, good, `{"scope": "read", "tables": ["`+strings.Repeat("x", 1<<20)+`"]}`)
	check("unknown table", http.StatusBadRequest, good, `{"scope": "read", "tables": ["invoices"]}`)
	rec, err := w.catalog.Tenant(t.Context(), "contoso")
	must(t, err)
	rec.State = tenancy.Frozen
	_, err = w.catalog.UpdateTenant(t.Context(), rec)
	must(t, err)
	check("write while a move holds it", http.StatusConflict, good, forWrite)
	check("read while a move holds it", http.StatusOK, good, forRead)
}

func TestRulesThatWouldLetAnybodyInAreRefused(t *testing.T) {
	for name, text := range map[string]string{
		"no issuer":         `{"audience": "a", "jwks_file": "f"}`,
		"no audience":       `{"issuer": "i", "jwks_file": "f"}`,
		"no keys":           `{"issuer": "i", "audience": "a"}`,
		"unknown attribute": `{"issuer": "i", "audience": "a", "jwks_file": "f", "tenant": {}}`,
		"ttl above ceiling": `{"issuer": "i", "audience": "a", "jwks_file": "f", "ttl": "25h"}`,
		"bad tenant id":     `{"issuer": "i", "audience": "a", "jwks_file": "f", "tenants": {"x": "Not An Id"}}`,
	} {
		file := filepath.Join(t.TempDir(), "rules.json")
		must(t, os.WriteFile(file, []byte(text), 0o600))
		if _, err := valet.ReadConfig(file); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}
