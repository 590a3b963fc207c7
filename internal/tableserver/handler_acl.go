package tableserver

import (
	"bytes"
	"encoding/xml"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/aztenancy/terraform-provider-aztenancy/internal/tableserver/store"
)

// The limits of stored access policies (Set Table ACL, REST reference).
const (
	maxPolicies      = 5
	maxPolicyIDChars = 64
)

// signedIdentifiers is the document of Get and Set Table ACL. Absent elements stay absent.
type signedIdentifiers struct {
	XMLName     xml.Name           `xml:"SignedIdentifiers"`
	Identifiers []signedIdentifier `xml:"SignedIdentifier"`
}

type signedIdentifier struct {
	ID     string        `xml:"Id"`
	Policy *accessPolicy `xml:"AccessPolicy"`
}

type accessPolicy struct {
	Start      string `xml:"Start,omitempty"`
	Expiry     string `xml:"Expiry,omitempty"`
	Permission string `xml:"Permission,omitempty"`
}

// aclTimeForms are the times that Set Table ACL takes; a fraction of any length may follow the seconds.
var aclTimeForms = []string{"2006-01-02", "2006-01-02T15:04Z07:00", "2006-01-02T15:04:05Z07:00"}

// aclTimeForm is how Get Table ACL writes times: seven digits, not trimmed.
const aclTimeForm = "2006-01-02T15:04:05.0000000Z"

// getACL answers the stored access policies of a table.
func (c *call) getACL() error {
	t, err := c.s.store.Table(c.r.Context(), c.account, c.resource.table)
	if err != nil {
		return err
	}
	var document signedIdentifiers
	for _, p := range t.Policies {
		policy := accessPolicy{Permission: p.Permission}
		if p.Start != nil {
			policy.Start = p.Start.UTC().Format(aclTimeForm)
		}
		if p.Expiry != nil {
			policy.Expiry = p.Expiry.UTC().Format(aclTimeForm)
		}
		identifier := signedIdentifier{ID: p.ID}
		if policy != (accessPolicy{}) { // an id alone comes back alone (recording)
			identifier.Policy = &policy
		}
		document.Identifiers = append(document.Identifiers, identifier)
	}
	return c.writeXML(document)
}

// setACL replaces the stored access policies of a table. An empty body means none.
func (c *call) setACL() error {
	body, err := c.body()
	if err != nil {
		return err
	}
	policies, err := parsePolicies(body)
	if err != nil {
		return err
	}
	err = c.s.delayed.replace(c.account,
		func() (store.Table, error) { return c.s.store.Table(c.r.Context(), c.account, c.resource.table) },
		func() error { return c.s.store.SetPolicies(c.r.Context(), c.account, c.resource.table, policies) })
	if err != nil {
		return err
	}
	return c.writeEmpty()
}

func parsePolicies(body []byte) ([]store.Policy, error) {
	if len(bytes.TrimSpace(bytes.TrimPrefix(body, []byte(utf8BOM)))) == 0 {
		return nil, nil
	}
	var document signedIdentifiers
	if err := parseXML(body, &document); err != nil || len(document.Identifiers) > maxPolicies {
		return nil, errInvalidXML
	}
	policies := make([]store.Policy, len(document.Identifiers))
	seen := make(map[string]bool)
	for i, id := range document.Identifiers {
		if id.ID == "" || utf8.RuneCountInString(id.ID) > maxPolicyIDChars || seen[id.ID] {
			return nil, errInvalidXML
		}
		seen[id.ID] = true
		p := store.Policy{ID: id.ID}
		if id.Policy != nil {
			start, okStart := parseACLTime(id.Policy.Start)
			expiry, okExpiry := parseACLTime(id.Policy.Expiry)
			p.Start, p.Expiry, p.Permission = start, expiry, strings.TrimSpace(id.Policy.Permission)
			if !okStart || !okExpiry || strings.Trim(p.Permission, "raud") != "" {
				return nil, errInvalidXML
			}
		}
		policies[i] = p
	}
	return policies, nil
}

// parseACLTime reads a time; blank text is no time.
func parseACLTime(text string) (*time.Time, bool) {
	if text = strings.TrimSpace(text); text == "" {
		return nil, true
	}
	for _, form := range aclTimeForms {
		if t, err := time.Parse(form, text); err == nil {
			t = t.UTC()
			return &t, true
		}
	}
	return nil, false
}
