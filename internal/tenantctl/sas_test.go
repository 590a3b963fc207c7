package tenantctl

import (
	"encoding/json"
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/aztenancy/terraform-provider-aztenancy/internal/access"
	"github.com/aztenancy/terraform-provider-aztenancy/internal/edm"
	"github.com/aztenancy/terraform-provider-aztenancy/internal/tablestorage"
	"github.com/aztenancy/terraform-provider-aztenancy/internal/tenancy"
)

// seen are the PartitionKeys that the holder of a document's connection string finds in its table strikes.
func seen(t *testing.T, d access.Document) []string {
	t.Helper()
	table := heldTable(t, d)
	var keys []string
	for e, err := range table.Query(t.Context(), tablestorage.Query{}) {
		must(t, err)
		keys = append(keys, e.PartitionKey)
	}
	return keys
}

func heldTable(t *testing.T, d access.Document) *tablestorage.Table {
	t.Helper()
	a, err := tablestorage.AccountConfig{ConnectionString: d.Tables["strikes"].ConnectionString}.Account()
	must(t, err)
	c, err := tablestorage.NewClient(a, nil)
	must(t, err)
	return c.Table(d.Tables["strikes"].Table)
}

func TestSASOpensOneTenant(t *testing.T) {
	w := importStrikes(t)
	var d access.Document
	decode(t, w.mustRun(exitDone, "sas", "contoso", "--json").stdout, &d)
	keys := seen(t, d)
	for _, key := range keys {
		if !strings.HasPrefix(key, "Contoso Air*|") {
			t.Errorf("key %q", key)
		}
	}
	if len(keys) != 2 {
		t.Errorf("keys %q", keys)
	}
	strikes := d.Tables["strikes"]
	if d.Tenant != "contoso" || strikes.URL != w.accounts.Home().TableURL("Strikes") || strikes.Range.First.PartitionKey != "Contoso Air*|00" ||
		strikes.KeyScheme.Buckets != 4 || strikes.Key != "Contoso Air*" {
		t.Errorf("document %+v", d)
	}
	if err := heldTable(t, d).Delete(t.Context(), edm.Key{PartitionKey: keys[0], RowKey: "x"}, tablestorage.AnyETag); !errors.Is(err, tablestorage.ErrForbidden) {
		t.Errorf("a token is for read unless more is asked for: %v", err)
	}
	text := w.mustRun(exitDone, "sas", "contoso", "--permissions", "add,read").stdout
	wants(t, text, "Tenant contoso: read, add, until ", "home/Strikes (homeacct), keys `Contoso Air*|00` … `Contoso Air*|03`", "connection string  TableEndpoint=", "sas token          sv=")
}

func TestSASInAFileIsForItsOwnerAlone(t *testing.T) {
	w := importStrikes(t)
	must(t, os.WriteFile("token.json", []byte("an older one"), 0o644))
	for _, args := range [][]string{{}, {"--json"}} {
		o := w.mustRun(exitDone, append([]string{"sas", "contoso", "--permissions", "read,update", "--out", "token.json"}, args...)...)
		wants(t, o.stdout, "token.json", "contoso")
	}
	info, err := os.Stat("token.json")
	must(t, err)
	if info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v", info.Mode())
	}
	text, err := os.ReadFile("token.json")
	must(t, err)
	var d access.Document
	must(t, json.Unmarshal(text, &d))
	if len(seen(t, d)) != 2 {
		t.Error("the file's token does not open the table")
	}
	left, err := os.ReadDir(".")
	must(t, err)
	for _, f := range left {
		if strings.HasPrefix(f.Name(), ".tenantctl") {
			t.Errorf("%s is left", f.Name())
		}
	}
	assertNoSecrets(t, w) // nothing but the file has the token
}

func TestSASIsRefusedWithTheReason(t *testing.T) {
	w := importStrikes(t)
	must(t, os.Mkdir("folder", 0o700))
	for _, c := range []struct {
		code int
		want string
		args []string
	}{
		{exitUsage, `permission "write" is none: there are read, add, update, delete`, []string{"contoso", "--permissions", "write"}},
		{exitUsage, "a token lives for 1m0s to 24h0m0s", []string{"contoso", "--ttl", "25h"}},
		{exitUsage, "folder: it is there, and no file", []string{"contoso", "--out", "folder"}},
		{exitUsage, "nowhere: no such file", []string{"contoso", "--out", "nowhere/token.json"}},
		{exitUsage, `no logical table "orders": there is strikes`, []string{"contoso", "--tables", "orders"}},
		{exitError, "not in the catalog", []string{"nobody"}},
	} {
		o := w.runBoth(append([]string{"sas"}, c.args...)...)
		if o.code != c.code || o.stdout != "" || !strings.Contains(o.stderr, c.want) {
			t.Errorf("%q ended with %d: %s%s", c.args, o.code, o.stdout, o.stderr)
		}
	}
	rec, err := w.catalog.Tenant(t.Context(), "contoso")
	must(t, err)
	rec.State = tenancy.Frozen
	_, err = w.catalog.UpdateTenant(t.Context(), rec)
	must(t, err)
	wants(t, w.mustRun(exitTemporary, "sas", "contoso", "--permissions", "read,add").stderr, "its writes are held by a move")
	w.mustRun(exitDone, "sas", "contoso")
}
