package tablestorage

import (
	"bytes"
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"net/http"
	"time"
)

// AccessPolicy is a stored access policy of a table. Permission holds letters of "raud". A nil time, or "", is left
// to the SAS that names the policy.
type AccessPolicy struct {
	ID         string
	Start      *time.Time
	Expiry     *time.Time
	Permission string
}

// MaxAccessPolicies is how many stored access policies a table may have (Set Table ACL).
const MaxAccessPolicies = 5

// signedIdentifiers is the XML document of a table's policies.
type signedIdentifiers struct {
	XMLName xml.Name           `xml:"SignedIdentifiers"`
	Items   []signedIdentifier `xml:"SignedIdentifier"`
}

type signedIdentifier struct {
	ID     string `xml:"Id"`
	Policy struct {
		Start      string `xml:",omitempty"`
		Expiry     string `xml:",omitempty"`
		Permission string `xml:",omitempty"`
	} `xml:"AccessPolicy"`
}

// aclTimeLayout is the form in which the service answers; it accepts it too (Set Table ACL).
const aclTimeLayout = "2006-01-02T15:04:05.0000000Z"

// aclTimeInputs are the forms that the service keeps or may have been given by others.
var aclTimeInputs = []string{time.RFC3339Nano, "2006-01-02T15:04Z07:00", time.DateOnly}

// AccessPolicies returns the stored access policies of a table, in the service's order. Only the account key may ask:
// otherwise the error is ErrNeedsAccountKey, and nothing is sent.
func (c *Client) AccessPolicies(ctx context.Context, table string) ([]AccessPolicy, error) {
	r := request{operation: opGetPolicies, table: table, method: http.MethodGet, path: escape(table), query: "comp=acl",
		accept: xmlType, want: []int{http.StatusOK}}
	if err := c.needAccountKey(r); err != nil {
		return nil, err
	}
	resp, err := c.do(ctx, r)
	if err != nil {
		return nil, err
	}
	policies, err := parsePolicies(resp.body)
	if err != nil {
		return nil, c.unreadable(r, err)
	}
	return policies, nil
}

// SetAccessPolicies replaces all stored access policies of a table, at most MaxAccessPolicies. It can take 30 s until
// the service honours them. Only the account key may do it, as for AccessPolicies.
func (c *Client) SetAccessPolicies(ctx context.Context, table string, policies []AccessPolicy) error {
	r := request{operation: opSetPolicies, table: table, method: http.MethodPut, path: escape(table), query: "comp=acl",
		accept: xmlType, contentType: xmlType, want: []int{http.StatusNoContent}}
	if err := c.needAccountKey(r); err != nil {
		return err
	}
	if len(policies) > MaxAccessPolicies {
		e := c.describe(r)
		e.advice = fmt.Sprintf("%d policies given, and the service keeps at most %d", len(policies), MaxAccessPolicies)
		return e
	}
	body, err := formatPolicies(policies)
	if err != nil {
		return fmt.Errorf("%s of table %s: %w", opSetPolicies, table, err)
	}
	r.body = body
	_, err = c.do(ctx, r)
	var refused *Error
	if errors.As(err, &refused) && refused.Status == http.StatusBadRequest && refused.Code == "" {
		refused.advice = "the service refused the policies and does not say why: Azurite does so where a policy leaves out " +
			"start, expiry or permissions"
	}
	return err
}

// needAccountKey refuses what the service offers to the account key alone: it answers a SAS with 403 and an Entra token
// with a misleading 404.
func (c *Client) needAccountKey(r request) error {
	if c.CanSignSAS() {
		return nil
	}
	e := c.describe(r)
	e.Err = ErrNeedsAccountKey
	e.advice = fmt.Sprintf("only the account key can do this, and the account is configured with a %s: give the account key",
		kindOf(c.account.Credential))
	return e
}

// formatPolicies writes the document, with a declaration, as the service documents it.
func formatPolicies(policies []AccessPolicy) ([]byte, error) {
	doc := signedIdentifiers{Items: make([]signedIdentifier, len(policies))}
	for i, p := range policies {
		item := &doc.Items[i]
		item.ID, item.Policy.Permission = p.ID, p.Permission
		item.Policy.Start, item.Policy.Expiry = formatPolicyTime(p.Start), formatPolicyTime(p.Expiry)
	}
	body, err := xml.Marshal(doc)
	if err != nil {
		return nil, err
	}
	return append([]byte(xml.Header), body...), nil
}

func formatPolicyTime(t *time.Time) string {
	if t == nil {
		return ""
	}
	return t.UTC().Format(aclTimeLayout)
}

// parsePolicies reads the document, with or without a byte order mark; an empty body is no policies.
func parsePolicies(body []byte) ([]AccessPolicy, error) {
	body = bytes.TrimSpace(bytes.TrimPrefix(body, byteOrderMark))
	if len(body) == 0 {
		return nil, nil
	}
	var doc signedIdentifiers
	if err := xml.Unmarshal(body, &doc); err != nil {
		return nil, err
	}
	policies := make([]AccessPolicy, len(doc.Items))
	for i, item := range doc.Items {
		p := AccessPolicy{ID: item.ID, Permission: item.Policy.Permission}
		var err error
		if p.Start, err = parsePolicyTime(item.Policy.Start); err != nil {
			return nil, fmt.Errorf("policy %q: start: %w", item.ID, err)
		}
		if p.Expiry, err = parsePolicyTime(item.Policy.Expiry); err != nil {
			return nil, fmt.Errorf("policy %q: expiry: %w", item.ID, err)
		}
		policies[i] = p
	}
	return policies, nil
}

func parsePolicyTime(s string) (*time.Time, error) {
	if s == "" {
		return nil, nil
	}
	for _, layout := range aclTimeInputs {
		if t, err := time.Parse(layout, s); err == nil {
			t = t.UTC()
			return &t, nil
		}
	}
	return nil, fmt.Errorf("%q is not a time", s)
}
