package access_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/aztenancy/terraform-provider-aztenancy/internal/access"
	"github.com/aztenancy/terraform-provider-aztenancy/internal/acctest"
	"github.com/aztenancy/terraform-provider-aztenancy/internal/catalog"
	"github.com/aztenancy/terraform-provider-aztenancy/internal/edm"
	"github.com/aztenancy/terraform-provider-aztenancy/internal/tablestorage"
	"github.com/aztenancy/terraform-provider-aztenancy/internal/tenancy"
)

// contosoWorld has the tenants contoso and fabrikam in the shared table Orders, with an entity each.
func contosoWorld(t *testing.T) *world {
	t.Helper()
	w := newWorld(t, acctest.StartServer(t, acctest.WithAccounts(account)), "")
	w.contoso()
	return w
}

func (w *world) contoso() {
	w.t.Helper()
	w.shared("pool", "Orders", tenancy.KeyScheme{Kind: tenancy.SchemeBucketed, Separator: "|", Buckets: 16})
	for _, id := range []string{"contoso", "fabrikam"} {
		rec, _ := w.tenant(id, "", "pool")
		w.put(rec.Placement["orders"], &edm.Entity{RowKey: "1"})
	}
}

var reads = access.Permissions{access.Read}

func TestTokenHasTheRangeOfItsScheme(t *testing.T) {
	w := newWorld(t, acctest.StartServer(t, acctest.WithAccounts(account)), "")
	w.shared("tenant", "ByTenant", tenancy.KeyScheme{Kind: tenancy.SchemeTenant})
	w.shared("bucketed", "ByBucket", tenancy.KeyScheme{Kind: tenancy.SchemeBucketed, Separator: "|", Buckets: 16})
	w.shared("prefixed", "ByPrefix", tenancy.KeyScheme{Kind: tenancy.SchemePrefixed, Separator: "|"})
	own := tenancy.Model{Kind: tenancy.DedicatedTable, Account: "home", Tables: map[string]string{"orders": "Orders{tenant}"}}
	own.Name, own.KeyScheme = "own-native", tenancy.KeyScheme{Kind: tenancy.SchemeNative}
	w.model(own)
	own.Name, own.KeyScheme = "own-tenant", tenancy.KeyScheme{Kind: tenancy.SchemeTenant}
	w.model(own)
	// DESIGN §4: the range of each scheme.
	for model, want := range map[string]string{
		"tenant":     "spk=Contoso&epk=Contoso",
		"bucketed":   "spk=Contoso%7C00&epk=Contoso%7C15",
		"prefixed":   "spk=Contoso%7C&epk=Contoso%7D&erk=",
		"own-native": "",
		"own-tenant": "spk=Contoso&epk=Contoso", // no more than the tenant's keys, also where the table is its own
	} {
		id := "in-" + model
		w.tenant(id, "Contoso", model)
		token := w.issue(access.Request{TenantID: id, Permissions: reads})
		got := token.SAS.Reveal()
		got, _, _ = strings.Cut(strings.TrimPrefix(got[strings.Index(got, "&sp=r")+len("&sp=r"):], "&"), "sig=")
		if strings.TrimSuffix(got, "&") != want {
			t.Errorf("%s: %s, want %s", model, got, want)
		}
	}
}

// A move may start right after the catalog was read, and waits from then on: no token may outlive its ttl from there.
func TestTokenEndsAtMostItsTTLAfterItWasAskedFor(t *testing.T) {
	w := contosoWorld(t)
	before := time.Now()
	g, err := w.issuer.Issue(t.Context(), access.Request{TenantID: "contoso", Permissions: reads, TTL: 2 * time.Minute, IPRange: "127.0.0.1"})
	must(t, err)
	after := time.Now()
	if g.Expiry.Before(before.Add(2*time.Minute-time.Second)) || g.Expiry.After(after.Add(2*time.Minute)) {
		t.Errorf("it was asked for at %v and ends at %v", before, g.Expiry)
	}
	q, err := url.ParseQuery(g.Tokens[0].SAS.Reveal())
	must(t, err)
	if q.Get("se") != g.Expiry.Format(time.RFC3339) || q.Get("sp") != "r" || q.Get("sip") != "127.0.0.1" || q.Get("tn") != "Orders" {
		t.Errorf("the token is for %v", q)
	}
	if _, err := holder(t, g.Tokens[0]).Insert(t.Context(), &edm.Entity{PartitionKey: "contoso|00", RowKey: "x"}); !errors.Is(err, tablestorage.ErrForbidden) {
		t.Errorf("a write with a token to read: %v", err)
	}
}

func TestTokensToWriteAreRefusedWhileAMoveHoldsTheTenant(t *testing.T) {
	w := contosoWorld(t)
	w.set("contoso", tenancy.Frozen)
	for _, p := range access.AllPermissions[1:] {
		if _, err := w.issuer.Issue(t.Context(), access.Request{TenantID: "contoso", Permissions: access.Permissions{p}}); !errors.Is(err, access.ErrHeld) {
			t.Errorf("%s: %v", p, err)
		}
	}
	w.issue(access.Request{TenantID: "contoso", Permissions: reads})
	for _, s := range []tenancy.State{tenancy.Provisioning, tenancy.Deleting} {
		w.set("contoso", s)
		if _, err := w.issuer.Issue(t.Context(), access.Request{TenantID: "contoso", Permissions: reads}); !errors.Is(err, access.ErrNotReady) {
			t.Errorf("%s: %v", s, err)
		}
	}
}

// set gives a tenant another state.
func (w *world) set(id string, s tenancy.State) {
	w.t.Helper()
	rec, err := w.catalog.Tenant(w.ctx, id)
	must(w.t, err)
	rec.State = s
	_, err = w.catalog.UpdateTenant(w.ctx, rec)
	must(w.t, err)
}

func TestWhatCannotBeGivenIsRefused(t *testing.T) {
	w := contosoWorld(t)
	w.issuer.Ceiling = time.Hour
	for name, r := range map[string]access.Request{
		"no permission":               {},
		"permissions in another form": {Permissions: access.Permissions{"write"}},
		"permissions twice":           {Permissions: access.Permissions{access.Read, access.Read}},
		"ttl above the ceiling":       {Permissions: reads, TTL: time.Hour + 1},
		"ttl below zero":              {Permissions: reads, TTL: -time.Minute},
		"ttl of nothing":              {Permissions: reads, TTL: time.Second},
		"no such logical table":       {Permissions: reads, Tables: []string{"orders", "invoices"}},
		"IPv6":                        {Permissions: reads, IPRange: "::1"},
		"IP range in reverse":         {Permissions: reads, IPRange: "10.0.0.2-10.0.0.1"},
		"IP with a line feed":         {Permissions: reads, IPRange: "10.0.0.2\n"},
	} {
		r.TenantID = "contoso"
		var refused *access.RequestError
		if g, err := w.issuer.Issue(t.Context(), r); !errors.As(err, &refused) {
			t.Errorf("%s: %v %v", name, g, err)
		}
	}
	if _, err := w.issuer.Issue(t.Context(), access.Request{TenantID: "nobody", Permissions: reads}); !errors.Is(err, catalog.ErrNotFound) {
		t.Errorf("unknown tenant: %v", err)
	}
}

// The range of a placement is safe only by the claim on it.
func TestRangeWithoutAClaimIsRefused(t *testing.T) {
	for name, spoil := range map[string]func(w *world, rec *catalog.TenantRecord, claim tenancy.Claim){
		"released": func(w *world, _ *catalog.TenantRecord, claim tenancy.Claim) {
			must(t, w.catalog.Release(t.Context(), "contoso", []tenancy.Claim{claim}))
		},
		"of another tenant": func(w *world, _ *catalog.TenantRecord, claim tenancy.Claim) {
			must(t, w.catalog.Release(t.Context(), "contoso", []tenancy.Claim{claim}))
			must(t, w.catalog.Claim(t.Context(), "fabrikam", []tenancy.Claim{claim}))
		},
		"placement wider than its claim": func(_ *world, rec *catalog.TenantRecord, _ tenancy.Claim) {
			p := rec.Placement["orders"]
			p.Range.Last.PartitionKey = "zzz"
			rec.Placement["orders"] = p
		},
	} {
		w := contosoWorld(t)
		rec, err := w.catalog.Tenant(t.Context(), "contoso")
		must(t, err)
		spoil(w, &rec, rec.Placement.Claims(rec.Tenant)[0])
		_, err = w.catalog.UpdateTenant(t.Context(), rec)
		must(t, err)
		var refused *access.ClaimError
		if g, err := w.issuer.Issue(t.Context(), access.Request{TenantID: "contoso", Permissions: reads}); !errors.As(err, &refused) {
			t.Errorf("%s: %v %v", name, g, err)
		}
	}
}

// Azurite takes the range into the signature and lets the token reach the whole table.
func TestServerThatDoesNotEnforceRangesIsRefusedForSharedTables(t *testing.T) {
	w := newWorld(t, acctest.StartAzurite(t, acctest.WithAccounts(account)), "")
	w.contoso()
	request := access.Request{TenantID: "contoso", Permissions: reads}
	if _, err := w.issuer.Issue(t.Context(), request); !errors.Is(err, access.ErrUnenforced) {
		t.Fatalf("shared table: %v", err)
	}
	request.AllowUnenforcedRanges = true
	if _, err := holder(t, w.issue(request)).Get(t.Context(), w.key("fabrikam")); err != nil {
		t.Errorf("Azurite holds the token to its range now, so the refusal can go: %v", err)
	}
	w.model(tenancy.Model{Name: "own", Kind: tenancy.DedicatedTable, Account: "home", Tables: map[string]string{"orders": "Own{tenant}"},
		KeyScheme: tenancy.KeyScheme{Kind: tenancy.SchemeTenant}})
	w.tenant("alone", "", "own")
	w.issue(access.Request{TenantID: "alone", Permissions: reads})
}

func TestProbeChangesNothing(t *testing.T) {
	w := contosoWorld(t)
	before := w.etags("Orders")
	enforced, err := w.accounts.Home().ProbeRanges(t.Context(), "Orders")
	if err != nil || !enforced {
		t.Errorf("tableserver: %v %v", enforced, err)
	}
	if after := w.etags("Orders"); fmt.Sprint(after) != fmt.Sprint(before) {
		t.Errorf("before %v, after %v", before, after)
	}
	if _, err := w.accounts.Home().ProbeRanges(t.Context(), "Nowhere"); !errors.Is(err, tablestorage.ErrTableNotFound) {
		t.Errorf("table that is not there: %v", err)
	}
}

// key is the key of the one entity of a tenant.
func (w *world) key(id string) edm.Key {
	w.t.Helper()
	rec, err := w.catalog.Tenant(w.ctx, id)
	must(w.t, err)
	p := rec.Placement["orders"]
	pk, err := p.Scheme.PartitionKey(p.Key, &edm.Entity{RowKey: "1"})
	must(w.t, err)
	return edm.Key{PartitionKey: pk, RowKey: "1"}
}

func TestTokenIsNotPrinted(t *testing.T) {
	w := contosoWorld(t)
	g, err := w.issuer.Issue(t.Context(), access.Request{TenantID: "contoso", Permissions: reads})
	must(t, err)
	asJSON, err := json.Marshal(g)
	must(t, err)
	for _, text := range []string{fmt.Sprintf("%v %+v %#v %q", g, g, *g, g.Tokens), string(asJSON)} {
		if strings.Contains(text, "sig=") {
			t.Error(text)
		}
	}
}
