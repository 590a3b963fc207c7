package provider

import (
	"archive/zip"
	"context"
	"encoding/json"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"github.com/aztenancy/terraform-provider-aztenancy/internal/acctest"
	"github.com/aztenancy/terraform-provider-aztenancy/internal/edm"
	"github.com/aztenancy/terraform-provider-aztenancy/internal/tenancy"
)

// throughToken writes an entity with nothing but the token of contoso.
const throughToken = `
ephemeral "aztenancy_tenant_sas" "contoso" {
  tenant_id   = aztenancy_tenant.contoso.id
  permissions = ["read", "add", "update", "delete"]
}

provider "aztenancy" {
  alias             = "contoso"
  connection_string = ephemeral.aztenancy_tenant_sas.contoso.tokens["orders"].connection_string
}

variable "partition" { default = "Contoso|00" }

resource "aztenancy_entity" "first" {
  provider      = aztenancy.contoso
  table         = "Orders"
  partition_key = var.partition
  row_key       = "first"
  properties    = { Total = { type = "Int32", value = "1" } }
}
`

// signatures are the signatures that a server was sent.
type signatures struct {
	mu  sync.Mutex
	all map[string]bool
}

func (w *world) signatures() *signatures {
	s := &signatures{all: map[string]bool{}}
	w.server.Wrap(func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
			if sig := r.URL.Query().Get("sig"); sig != "" {
				s.mu.Lock()
				s.all[sig] = true
				s.mu.Unlock()
			}
			next.ServeHTTP(rw, r)
		})
	})
	return s
}

func TestTokenOfATenantWorksInTerraformAndIsNowhereInItsFiles(t *testing.T) {
	w := newWorld(t)
	seen := w.signatures()
	c := w.cli(orders + contoso(as("pool")) + throughToken)
	var printed strings.Builder
	plan := filepath.Join(c.dir, "first.tfplan")
	printed.WriteString(c.run(0, "plan", "-out="+plan))
	printed.WriteString(c.run(0, "apply", "-auto-approve"))
	if _, err := w.client("home").Table("Orders").Get(t.Context(), edm.Key{PartitionKey: "Contoso|00", RowKey: "first"}); err != nil {
		t.Errorf("the entity that was written through the token: %v", err)
	}
	printed.WriteString(c.run(0, "plan", "-detailed-exitcode", "-out="+plan))
	if len(seen.all) == 0 {
		t.Fatal("no token was used")
	}
	files := c.files()
	files["what Terraform printed"] = printed.String()
	if files["terraform.tfstate"] == "" || files["first.tfplan/tfplan"] == "" {
		t.Fatal("there is no state, or no plan, to search")
	}
	for name, text := range files {
		if name != "main.tf" && strings.Contains(text, "SharedAccessSignature=") || strings.Contains(text, "sig=") {
			t.Errorf("%s holds a token", name)
		}
		for sig := range seen.all {
			if strings.Contains(text, sig) {
				t.Errorf("%s holds a signature", name)
			}
		}
	}
	// Another tenant's partition is out of reach.
	mustPrint(t, c.run(1, "apply", "-auto-approve", "-var", "partition=Fabrikam|00"), "outside the key range of the SAS token")
}

// files is what Terraform left in its folder, and what is in the archives among it.
func (c *cli) files() map[string]string {
	c.t.Helper()
	files := map[string]string{}
	entries, err := os.ReadDir(c.dir)
	if err != nil {
		c.t.Fatal(err)
	}
	for _, e := range entries {
		if e.IsDir() {
			continue
		}
		name := filepath.Join(c.dir, e.Name())
		b, err := os.ReadFile(name)
		if err != nil {
			c.t.Fatal(err)
		}
		files[e.Name()] = string(b)
		archive, err := zip.OpenReader(name)
		if err != nil { // it is none
			continue
		}
		for _, f := range archive.File {
			b, err := fs.ReadFile(archive, f.Name)
			if err != nil {
				c.t.Fatal(err)
			}
			files[e.Name()+"/"+f.Name] = string(b)
		}
		if err := archive.Close(); err != nil {
			c.t.Fatal(err)
		}
	}
	return files
}

// open opens the tokens of a tenant, as Terraform does.
func (p *plugin) open(config map[string]any) (map[string]tftypes.Value, *tfprotov6.OpenEphemeralResourceResponse, []string) {
	p.t.Helper()
	typ := p.schemas.EphemeralResourceSchemas["aztenancy_tenant_sas"].ValueType()
	r, err := p.server.OpenEphemeralResource(context.Background(), &tfprotov6.OpenEphemeralResourceRequest{TypeName: "aztenancy_tenant_sas", Config: p.dynamic(p.value(typ, config))})
	if err != nil {
		p.t.Fatal(err)
	}
	if errs := texts(r.Diagnostics, tfprotov6.DiagnosticSeverityError); len(errs) > 0 {
		return nil, r, errs
	}
	v, err := r.Result.Unmarshal(typ)
	if err != nil {
		p.t.Fatal(err)
	}
	var result map[string]tftypes.Value
	if err := v.As(&result); err != nil {
		p.t.Fatal(err)
	}
	return result, r, nil
}

func TestTokensAreRefusedWithTheReason(t *testing.T) {
	w := worldWithoutTerraform(t)
	w.populate()
	p := configuredPlugin(w)
	for text, config := range map[string]map[string]any{
		`refer to the ` + "`id`":            {"tenant_id": "nobody"},
		"a token lives for 1m0s to 24h0m0s": {"tenant_id": "contoso", "ttl": "25h"},
		`no logical table "invoices"`:       {"tenant_id": "contoso", "tables": []string{"invoices"}},
		"IP range":                          {"tenant_id": "contoso", "ip_range": "everywhere"},
	} {
		_, _, errs := p.open(config)
		mustSay(t, errs, text)
	}
	rec := w.tenant("contoso")
	rec.State = tenancy.Frozen
	if _, err := w.catalog.UpdateTenant(t.Context(), rec); err != nil {
		t.Fatal(err)
	}
	_, _, errs := p.open(map[string]any{"tenant_id": "contoso", "permissions": []string{"read", "delete"}})
	mustSay(t, errs, "its writes are held by a move")
	if _, _, errs := p.open(map[string]any{"tenant_id": "contoso"}); len(errs) > 0 {
		t.Errorf("a token to read: %q", errs)
	}
	unknownAccounts := newPlugin(t)
	unknownAccounts.configure(map[string]any{"connection_string": unknown})
	_, _, errs = unknownAccounts.open(map[string]any{"tenant_id": "contoso"})
	mustSay(t, errs, "connection_string")
}

func TestTokensAreNotProlonged(t *testing.T) {
	w := worldWithoutTerraform(t)
	w.populate()
	p := configuredPlugin(w)
	result, opened, errs := p.open(map[string]any{"tenant_id": "contoso", "ttl": "1m"})
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	var expiry string
	if err := result["expiry"].As(&expiry); err != nil || opened.RenewAt.UTC().Format("2006-01-02T15:04:05Z") != expiry {
		t.Errorf("it ends at %s and is to be renewed at %v (%v)", expiry, opened.RenewAt, err)
	}
	renew := func(private []byte) (*tfprotov6.RenewEphemeralResourceResponse, []string) {
		r, err := p.server.RenewEphemeralResource(context.Background(), &tfprotov6.RenewEphemeralResourceRequest{TypeName: "aztenancy_tenant_sas", Private: private})
		if err != nil {
			t.Fatal(err)
		}
		return r, texts(r.Diagnostics, tfprotov6.DiagnosticSeverityError)
	}
	if r, errs := renew(opened.Private); len(errs) > 0 || !r.RenewAt.Equal(opened.RenewAt) {
		t.Errorf("before its end: %v %q", r.RenewAt, errs)
	}
	past, err := json.Marshal(map[string][]byte{privateExpiry: []byte(`"2020-01-01T00:00:00Z"`)}) // as the framework keeps it
	if err != nil {
		t.Fatal(err)
	}
	_, errs = renew(past)
	mustSay(t, errs, "They lived until \"2020-01-01T00:00:00Z\", and the run takes longer")
}

func TestTokensForSharedTablesOfAzuriteAreRefused(t *testing.T) {
	w := worldOn(t, acctest.StartAzurite(t, acctest.WithAccounts(homeAccount, premiumAccount)))
	w.populate()
	p := configuredPlugin(w)
	_, _, errs := p.open(map[string]any{"tenant_id": "contoso"})
	mustSay(t, errs, "allow_unenforced_ranges = true")
	if _, _, errs := p.open(map[string]any{"tenant_id": "contoso", "allow_unenforced_ranges": true}); len(errs) > 0 {
		t.Error(errs)
	}
}
