package tablestorage

import (
	"errors"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aztenancy/terraform-provider-aztenancy/internal/edm"
	"github.com/aztenancy/terraform-provider-aztenancy/internal/tablestorage/sas"
)

// keyRequests counts the requests for user delegation keys that a transport sends.
type keyRequests struct {
	inner interface {
		Do(*http.Request) (*http.Response, error)
	}
	n *atomic.Int32
}

func (k keyRequests) Do(r *http.Request) (*http.Response, error) {
	if strings.Contains(r.URL.RawQuery, "userdelegationkey") {
		k.n.Add(1)
	}
	return k.inner.Do(r)
}

func TestTokensAreSignedByEntraWhereThereIsNoAccountKey(t *testing.T) {
	w := startEntraWorld(t)
	asked := &atomic.Int32{}
	w.options.Transport = keyRequests{w.options.Transport, asked}
	c := w.client(t, Entra{w.d})
	if !c.CanIssueSAS() {
		t.Error("an account with Entra cannot issue")
	}
	_, err := c.CreateTable(t.Context(), "Orders")
	must(t, err)
	for _, pk := range []string{"contoso", "fabrikam"} {
		_, err := c.Table("Orders").Insert(t.Context(), &edm.Entity{PartitionKey: pk, RowKey: "1"})
		must(t, err)
	}
	own := "contoso"
	issue := func(ttl time.Duration) *Table {
		token, err := c.IssueTableSAS(t.Context(), sas.TableParams{Table: "Orders", Permission: "r", Expiry: time.Now().Add(ttl),
			StartPartitionKey: &own, EndPartitionKey: &own})
		must(t, err)
		return w.client(t, SAS{NewSecret(token)}).Table("Orders")
	}
	for _, ttl := range []time.Duration{time.Minute, 15 * time.Minute, 24 * time.Hour, 24 * time.Hour, sas.MaxDelegation - 2*delegationSkew} {
		holder := issue(ttl)
		_, err := holder.Get(t.Context(), edm.Key{PartitionKey: "contoso", RowKey: "1"})
		must(t, err)
		if _, err := holder.Get(t.Context(), edm.Key{PartitionKey: "fabrikam", RowKey: "1"}); err == nil {
			t.Error("the token reaches another tenant")
		}
	}
	if n := asked.Load(); n != 3 { // for the first, for the first of a day, for the last
		t.Errorf("asked for %d keys", n)
	}
	enforced, err := c.ProbeRanges(t.Context(), "Orders")
	if err != nil || !enforced {
		t.Errorf("probe: %v %v", enforced, err)
	}
}

func TestAccountWithASASIssuesNoTokens(t *testing.T) {
	w := startEntraWorld(t)
	c := w.client(t, SAS{NewSecret("sv=1&sig=x")})
	if c.CanIssueSAS() {
		t.Error("it can")
	}
	if _, err := c.IssueTableSAS(t.Context(), sas.TableParams{Table: "Orders", Permission: "r", Expiry: time.Now()}); !errors.Is(err, ErrCannotSign) {
		t.Error(err)
	}
}
