package catalog_test

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/aztenancy/terraform-provider-aztenancy/internal/catalog"
	"github.com/aztenancy/terraform-provider-aztenancy/internal/tenancy"
)

func claimOn(id, key string, buckets int) tenancy.Claim {
	s := tenancy.KeyScheme{Kind: tenancy.SchemeBucketed, Separator: "|", Buckets: buckets}
	return tenancy.Claim{Storage: "home1", Table: "Orders", TenantID: id, TenantKey: key, Logical: "orders", Range: s.Range(key)}
}

// withTenants writes rows, without which claims count as abandoned.
func (w *world) withTenants(ids ...string) *world {
	w.t.Helper()
	for _, id := range ids {
		if _, err := w.catalog.CreateTenant(w.t.Context(), tenancy.Tenant{ID: id, Key: id}); err != nil {
			w.t.Fatal(err)
		}
	}
	return w
}

func (w *world) claimed() []string {
	w.t.Helper()
	claims, err := w.operator(w.t).catalog.Claims(w.t.Context(), "home1", "ORDERS")
	if err != nil {
		w.t.Fatal(err)
	}
	var all []string
	for _, c := range claims {
		all = append(all, c.TenantID+" "+c.Range.String())
	}
	return all
}

func TestAbandonedClaimsGiveWay(t *testing.T) {
	w := newWorld(t).withTenants("b", "c")
	for _, claims := range [][]tenancy.Claim{{claimOn("gone", "k", 16)}, {claimOn("c", "z", 16)}} {
		if err := w.catalog.Claim(t.Context(), claims[0].TenantID, claims); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []tenancy.Claim{claimOn("b", "k", 16), claimOn("b", "k|0", 16)} { // the same first row, and another
		if err := w.catalog.CheckClaims(t.Context(), "b", []tenancy.Claim{c}); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.catalog.Claim(t.Context(), "b", []tenancy.Claim{claimOn("b", "k", 32)}); err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(w.claimed(), ", "); got != "b `k|00` … `k|31`, c `z|00` … `z|15`" {
		t.Errorf("claims: %s", got)
	}
	if err := w.catalog.Claim(t.Context(), "b", []tenancy.Claim{claimOn("b", "z", 16)}); !errors.Is(err, catalog.ErrConflict) {
		t.Errorf("a claim of a tenant that exists: %v", err)
	}
}

func TestTenantDoesNotClaimARangeTwice(t *testing.T) {
	w := newWorld(t).withTenants("a")
	for range 2 {
		if err := w.catalog.Claim(t.Context(), "a", []tenancy.Claim{claimOn("a", "a", 16)}); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.catalog.Claim(t.Context(), "a", []tenancy.Claim{claimOn("a", "a", 32)}); err == nil || !strings.Contains(err.Error(), "already holds") {
		t.Errorf("an overlapping range of its own: %v", err)
	}
	if got := w.claimed(); len(got) != 1 {
		t.Errorf("claims: %q", got)
	}
}

func TestReleaseTakesOnlyWhatIsTheTenants(t *testing.T) {
	w := newWorld(t).withTenants("a", "b")
	other := w.operator(t)
	if err := other.catalog.Claim(t.Context(), "a", []tenancy.Claim{claimOn("a", "a", 16)}); err != nil {
		t.Fatal(err)
	}
	if err := w.catalog.Claim(t.Context(), "b", []tenancy.Claim{claimOn("b", "b", 16)}); err != nil {
		t.Fatal(err)
	}
	if err := w.catalog.Release(t.Context(), "b", []tenancy.Claim{claimOn("a", "a", 16), claimOn("b", "b", 32)}); err != nil {
		t.Fatal(err)
	}
	if got := w.claimed(); len(got) != 2 {
		t.Errorf("claims: %q", got)
	}
	// other has not seen b's claim, nor that a second release has nothing to do.
	for _, o := range []*world{other, w} {
		if err := o.catalog.Release(t.Context(), "b", []tenancy.Claim{claimOn("b", "b", 16)}); err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(w.claimed(), ", "); got != "a `a|00` … `a|15`" {
			t.Errorf("claims: %s", got)
		}
	}
}

func TestTransactionWhoseAnswerIsLostIsFoundMade(t *testing.T) {
	w := newWorld(t).withTenants("a")
	lost := 0
	w.wire.set(nil, func(_ int, r *http.Request) error {
		if strings.HasSuffix(r.URL.Path, "/$batch") && lost == 0 {
			lost++
			return errCut
		}
		return nil
	})
	if err := w.catalog.Claim(t.Context(), "a", []tenancy.Claim{claimOn("a", "a", 16)}); err != nil || lost != 1 {
		t.Fatalf("%v, %d answers lost", err, lost)
	}
	if got := w.claimed(); len(got) != 1 {
		t.Errorf("claims: %q", got)
	}
}
