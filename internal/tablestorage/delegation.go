package tablestorage

import (
	"bytes"
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/aztenancy/terraform-provider-aztenancy/internal/tablestorage/sas"
)

const opGetDelegationKey = "get user delegation key"

// ErrNeedsEntra is what only an Entra token can do.
var ErrNeedsEntra = errors.New("an Entra token is needed")

// keyInfo and userDelegationKey are the documents of Get User Delegation Key.
type keyInfo struct {
	XMLName          xml.Name `xml:"KeyInfo"`
	Start            string
	Expiry           string
	DelegatedUserTid string `xml:",omitempty"`
}

type userDelegationKey struct {
	XMLName                xml.Name `xml:"UserDelegationKey"`
	SignedOid              string
	SignedTid              string
	SignedStart            string
	SignedExpiry           string
	SignedService          string
	SignedVersion          string
	SignedDelegatedUserTid string
	Value                  string
}

// UserDelegationKey asks for a key to sign SAS in the name of the client's own identity, which needs a role such as
// Storage Table Delegator. expiry lies at most sas.MaxDelegation from now; start and expiry are cut to seconds.
// delegatedTenant is the directory of users that SAS are to be bound to, "" for the identity's own. Without an Entra
// token the error is ErrNeedsEntra, and nothing is sent.
func (c *Client) UserDelegationKey(ctx context.Context, start, expiry time.Time, delegatedTenant string) (sas.DelegationKey, error) {
	var none sas.DelegationKey
	r := request{operation: opGetDelegationKey, method: http.MethodPost, query: "restype=service&comp=userdelegationkey",
		version: sas.DelegationVersion, changesNothing: true, accept: xmlType, contentType: xmlType, want: []int{http.StatusOK}}
	if !isEntra(c.account.Credential) {
		e := c.describe(r)
		e.Err = ErrNeedsEntra
		e.advice = fmt.Sprintf("only an Entra token can ask for such a key, and the account is configured with a %s", kindOf(c.account.Credential))
		return none, e
	}
	if !start.Before(expiry) || expiry.After(time.Now().Add(sas.MaxDelegation)) {
		e := c.describe(r)
		e.advice = "the expiry of the key must lie after its start, and at most 7 days from now"
		return none, e
	}
	body, err := xml.Marshal(keyInfo{Start: formatKeyTime(start), Expiry: formatKeyTime(expiry), DelegatedUserTid: delegatedTenant})
	if err != nil {
		return none, fmt.Errorf("%s: %w", opGetDelegationKey, err)
	}
	r.body = append([]byte(xml.Header), body...)
	resp, err := c.do(ctx, r)
	if err != nil {
		return none, err
	}
	var k userDelegationKey
	if err := xml.Unmarshal(bytes.TrimPrefix(resp.body, byteOrderMark), &k); err != nil {
		return none, c.unreadable(r, err)
	}
	if k.Value == "" {
		return none, c.unreadable(r, errors.New("it holds no key"))
	}
	return sas.DelegationKey{ObjectID: k.SignedOid, TenantID: k.SignedTid, Start: k.SignedStart, Expiry: k.SignedExpiry,
		Service: k.SignedService, Version: k.SignedVersion, DelegatedTenant: k.SignedDelegatedUserTid, Value: k.Value}, nil
}

func formatKeyTime(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05Z") }

// SignDelegatedSAS returns the query string of a user delegation SAS on one table; p.Account may be left empty. See
// sas.SignDelegated.
func (c *Client) SignDelegatedSAS(p sas.TableParams, user string, key sas.DelegationKey) (string, error) {
	p.Account = c.account.Name
	return sas.SignDelegated(p, user, key)
}
