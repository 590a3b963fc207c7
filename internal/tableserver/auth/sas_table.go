package auth

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/aztenancy/terraform-provider-aztenancy/internal/edm"
	"github.com/aztenancy/terraform-provider-aztenancy/internal/tableserver/keyspan"
)

// The versions that changed what a table SAS signs (Create a service SAS, REST reference).
const (
	firstTableSAS      = "2012-02-12"
	firstServicePrefix = "2015-02-21" // the resource begins with /table
	firstOriginFields  = "2015-04-05" // sip and spr are signed
)

// tablePermissionLetters are the letters of sp of a table SAS and of a stored access policy.
const tablePermissionLetters = "raud"

// checkTableSAS checks a table service SAS and merges it with its stored access policy. Whether it reaches a table, an
// operation or a key is asked of the Grant.
func (a *Authenticator) checkTableSAS(ctx context.Context, account string, key Key, t sasToken) (*Grant, error) {
	if t["sv"] < firstTableSAS || t["sv"] < firstOriginFields && t.has("sip", "spr") {
		return nil, authenticationFailed("The field sv names a version that has no such signature.")
	}
	if err := t.require("tn"); err != nil {
		return nil, err
	}
	if err := t.checkRange(); err != nil {
		return nil, err
	}
	if err := checkSignature(key, t, tableStringsToSign(account, t)...); err != nil {
		return nil, err
	}
	table := strings.ToLower(t["tn"])
	limits, err := a.mergePolicy(ctx, account, table, t)
	if err != nil {
		return nil, err
	}
	if limits.Permission == "" || limits.Expiry.IsZero() {
		return nil, authenticationFailed("sp and se must stand in the token or in its stored access policy.")
	}
	if !lettersOf(limits.Permission, tablePermissionLetters) {
		return nil, authenticationFailed("The field sp has a letter that is not known.")
	}
	if err := checkTime(a.clock(), limits.Start, limits.Expiry); err != nil {
		return nil, err
	}
	return &Grant{scheme: TableSAS, account: account, table: table, permissions: limits.Permission, span: t.span()}, nil
}

// tableStringsToSign returns what a table SAS may sign: without a line end after the last field. The table stands in
// lower case; before the /table prefix came, tokens with the name as given are taken as well.
func tableStringsToSign(account string, t sasToken) []string {
	sign := func(resource string) string {
		text := t.lines("sp", "st", "se") + "\n" + resource + "\n"
		if t["sv"] >= firstOriginFields {
			return text + t.lines("si", "sip", "spr", "sv", "spk", "srk", "epk", "erk")
		}
		return text + t.lines("si", "sv", "spk", "srk", "epk", "erk")
	}
	lower := "/" + account + "/" + strings.ToLower(t["tn"])
	if t["sv"] >= firstServicePrefix {
		return []string{sign("/table" + lower)}
	}
	return []string{sign("/" + account + "/" + t["tn"]), sign(lower)}
}

// mergePolicy returns st, se and sp of the token, each from the URL or from the policy that si names.
func (a *Authenticator) mergePolicy(ctx context.Context, account, table string, t sasToken) (Policy, error) {
	merged := Policy{ID: t["si"], Permission: t["sp"]}
	var err error
	if merged.Start, merged.Expiry, err = t.times(); err != nil || merged.ID == "" {
		return merged, err
	}
	policies, err := a.policies.AccessPolicies(ctx, account, table)
	if err != nil {
		return Policy{}, fmt.Errorf("read stored access policies of table %s/%s: %w", account, table, err)
	}
	i := slices.IndexFunc(policies, func(p Policy) bool { return p.ID == merged.ID })
	if i < 0 {
		return Policy{}, authenticationFailed("The stored access policy does not exist.")
	}
	stored := policies[i]
	if !fill(&merged.Start, stored.Start) || !fill(&merged.Expiry, stored.Expiry) || !fill(&merged.Permission, stored.Permission) {
		return Policy{}, fieldTwice()
	}
	return merged, nil
}

// fill sets a field of the token that is not there from the policy, and says false when both have it.
func fill[T comparable](field *T, stored T) bool {
	var none T
	if *field == none {
		*field = stored
		return true
	}
	return stored == none
}

// fieldTwice is the answer to a field that stands in the token and in its policy: 400 by the Set Table ACL page; other
// pages suggest 403, and the code is unconfirmed.
func fieldTwice() error {
	return &Error{
		Status:    http.StatusBadRequest,
		Code:      "InvalidQueryParameterValue",
		Message:   "Value for one of the query parameters specified in the request URI is invalid.",
		Detail:    "st, se and sp can each stand in the token or in its stored access policy, not in both.",
		FrontDoor: true,
	}
}

// checkRange refuses a row key without its partition key, which has no place in the order of keys.
func (t sasToken) checkRange() error {
	if t.has("srk") && !t.has("spk") || t.has("erk") && !t.has("epk") {
		return authenticationFailed("srk needs spk, and erk needs epk.")
	}
	return nil
}

// span returns the keys from (spk, srk) to (epk, erk), both included. Without srk or erk the whole first or last
// partition is included; without spk or epk that side is open. A field that is there but empty counts: an empty erk
// closes the range with the empty RowKey.
func (t sasToken) span() keyspan.Span {
	s := keyspan.Whole()
	if t.has("spk") {
		s.From = keyspan.BeforeKey(edm.Key{PartitionKey: t["spk"], RowKey: t["srk"]})
	}
	switch {
	case t.has("erk"):
		s.To = keyspan.AfterKey(edm.Key{PartitionKey: t["epk"], RowKey: t["erk"]})
	case t.has("epk"):
		s.To = keyspan.AfterPartitionOf(t["epk"])
	}
	return s
}
