package access

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/aztenancy/terraform-provider-aztenancy/internal/catalog"
	"github.com/aztenancy/terraform-provider-aztenancy/internal/tablestorage"
	"github.com/aztenancy/terraform-provider-aztenancy/internal/tenancy"
)

// How long tokens live.
const (
	MinTTL     = time.Minute
	DefaultTTL = 15 * time.Minute
	MaxTTL     = 24 * time.Hour // the ceiling unless Issuer.Ceiling is lower
)

// Issuer signs tokens for tenants. It is safe for concurrent use.
//
// A token is for the place that the catalog names, and for a range that the tenant has claimed there. A token to write is
// given only while the catalog says that the tenant may be written, and ends at most its TTL after that was read: a move that
// waits for as long after its freeze finds no such token alive, as far as the clocks agree.
type Issuer struct {
	Catalog  *catalog.Catalog
	Accounts *tablestorage.Accounts
	Ceiling  time.Duration // the longest TTL; 0 is MaxTTL

	enforcing sync.Map // storage accounts that were seen to hold tokens to their range
}

// Request is what a caller wants.
type Request struct {
	TenantID    string
	Tables      []string // logical tables; none: all
	Permissions Permissions
	TTL         time.Duration // 0 is DefaultTTL
	IPRange     string        // "168.1.5.60" or "168.1.5.60-168.1.5.70"; "" is everyone
	// AllowUnenforcedRanges gives tokens for shared tables also where the server is known not to hold them to their range, or
	// where nothing is known about it: for tests against Azurite.
	AllowUnenforcedRanges bool
}

// Issue returns tokens for a tenant. Nothing is signed unless all that was asked for can be. Errors: *RequestError,
// catalog.ErrNotFound, ErrNotReady, ErrHeld, *ClaimError, ErrUnenforced, and tablestorage.ErrCannotSign where the account has
// a SAS for its credential.
func (i *Issuer) Issue(ctx context.Context, r Request) (*Grant, error) {
	if err := r.check(i.Ceiling); err != nil {
		return nil, err
	}
	ctx = tablestorage.WithCorrelation(ctx, r.TenantID, "access")
	asked := time.Now() // before the catalog is read: see Issuer
	rec, err := i.Catalog.Tenant(ctx, r.TenantID)
	if err != nil {
		return nil, err
	}
	places, err := i.places(ctx, rec, r)
	if err != nil {
		return nil, fmt.Errorf("token for tenant %q: %w", r.TenantID, err)
	}
	g := &Grant{TenantID: rec.ID, Epoch: rec.Epoch, Permissions: r.Permissions, Expiry: asked.Add(r.ttl()).UTC().Truncate(time.Second)}
	for _, p := range places {
		t, err := i.sign(ctx, p, r, g.Expiry)
		if err != nil {
			return nil, fmt.Errorf("token for tenant %q: %w", r.TenantID, err)
		}
		g.Tokens = append(g.Tokens, t)
	}
	return g, nil
}

// check refuses what is wrong whatever the catalog says.
func (r Request) check(ceiling time.Duration) error {
	if err := tenancy.ValidateID(r.TenantID); err != nil {
		return &RequestError{err}
	}
	if p, err := ParsePermissions(r.Permissions.Names()); err != nil {
		return &RequestError{err}
	} else if !slices.Equal(p, r.Permissions) {
		return wrong("permissions %s: write each once, in the order %s", r.Permissions, AllPermissions)
	}
	longest := MaxTTL
	if ceiling > 0 && ceiling < longest {
		longest = ceiling
	}
	if ttl := r.ttl(); ttl < min(MinTTL, longest) || ttl > longest {
		return wrong("a ttl of %v: a token lives for %v to %v", ttl, min(MinTTL, longest), longest)
	}
	return checkIPRange(r.IPRange)
}

func (r Request) ttl() time.Duration {
	if r.TTL == 0 {
		return DefaultTTL
	}
	return r.TTL
}

// checkIPRange wants IPv4 addresses, as the service does (Create a service SAS).
func checkIPRange(s string) error {
	if s == "" {
		return nil
	}
	first, last, isRange := strings.Cut(s, "-")
	from, err := netip.ParseAddr(first)
	to := from
	if err == nil && isRange {
		to, err = netip.ParseAddr(last)
	}
	if err != nil || !from.Is4() || !to.Is4() || to.Less(from) {
		return wrong("IP range %q: write one IPv4 address, or two in order, like 168.1.5.60-168.1.5.70", s)
	}
	return nil
}

// place is one logical table of a tenant, with what a token for it needs.
type place struct {
	logical   string
	placement tenancy.TablePlacement
	client    *tablestorage.Client
}

// places returns the tables that are asked for, in order of name, once all of them may be opened.
func (i *Issuer) places(ctx context.Context, rec catalog.TenantRecord, r Request) ([]place, error) {
	switch {
	case rec.State != tenancy.Active && rec.State != tenancy.Frozen:
		return nil, fmt.Errorf("it is %s: %w", rec.State, ErrNotReady)
	case rec.State == tenancy.Frozen && r.Permissions.Write():
		return nil, ErrHeld
	}
	wanted, err := wantedTables(rec, r.Tables)
	if err != nil {
		return nil, err
	}
	var out []place
	for _, claim := range rec.Placement.Claims(rec.Tenant) {
		if !slices.Contains(wanted, claim.Logical) {
			continue
		}
		p, err := i.place(ctx, claim, rec.Placement[claim.Logical], r)
		if err != nil {
			return nil, err
		}
		out = append(out, p)
	}
	slices.SortFunc(out, func(a, b place) int { return strings.Compare(a.logical, b.logical) })
	return out, nil
}

// wantedTables returns the logical tables that are asked for.
func wantedTables(rec catalog.TenantRecord, names []string) ([]string, error) {
	known := rec.Placement.LogicalTables()
	if len(names) == 0 {
		return known, nil
	}
	for _, name := range names {
		if !slices.Contains(known, name) {
			return nil, wrong("it has no logical table %q: there is %s", name, strings.Join(known, ", "))
		}
	}
	return names, nil
}

// place checks that the tenant owns the keys of a placement, and that a token on them reaches nothing else.
func (i *Issuer) place(ctx context.Context, claim tenancy.Claim, placement tenancy.TablePlacement, r Request) (place, error) {
	table, err := i.Accounts.At(placement)
	if err != nil {
		return place{}, err
	}
	held, err := i.Catalog.ClaimAt(ctx, claim)
	switch {
	case errors.Is(err, catalog.ErrNotFound):
		return place{}, &ClaimError{Wanted: claim}
	case err != nil:
		return place{}, err
	case held.TenantID != claim.TenantID || held.Range != claim.Range:
		return place{}, &ClaimError{Wanted: claim, Held: &held}
	}
	p := place{claim.Logical, placement, table.Client()}
	if placement.Dedicated || r.AllowUnenforcedRanges {
		return p, nil
	}
	return p, i.checkEnforced(ctx, p)
}

// checkEnforced refuses servers that do not hold a token to its range. What was seen of an account is remembered.
func (i *Issuer) checkEnforced(ctx context.Context, p place) error {
	if _, seen := i.enforcing.Load(p.placement.Storage); seen {
		return nil
	}
	enforced, err := p.client.ProbeRanges(ctx, p.placement.Table)
	if err != nil {
		return fmt.Errorf("find out whether storage account %s holds tokens to their key range: %w", p.placement.Storage, err)
	}
	if !enforced {
		return fmt.Errorf("table %s of storage account %s: %w", p.placement.Table, p.placement.Storage, ErrUnenforced)
	}
	i.enforcing.Store(p.placement.Storage, true)
	return nil
}

// sign makes the token of one logical table.
func (i *Issuer) sign(ctx context.Context, p place, r Request, expiry time.Time) (Token, error) {
	rights := tableRights(p.placement)
	rights.Permission, rights.Expiry, rights.IPRange = r.Permissions.letters(), expiry, r.IPRange
	if strings.HasPrefix(p.client.Endpoint(), "https://") {
		rights.Protocol = "https"
	}
	token, err := p.client.IssueTableSAS(ctx, rights)
	if err != nil {
		return Token{}, err
	}
	// The catalog's URL is for those who route by it; ours is where the token was found to work.
	p.placement.URL = p.client.TableURL(p.placement.Table)
	return Token{Logical: p.logical, Placement: p.placement, Endpoint: p.client.Endpoint(), SAS: tablestorage.NewSecret(token)}, nil
}
