package tableserver

import (
	"bytes"
	"encoding/xml"
	"strings"

	"github.com/aztenancy/terraform-provider-aztenancy/internal/tableserver/auth"
)

// keyInfo is the document of Get User Delegation Key (reference §7.6).
type keyInfo struct {
	XMLName          xml.Name `xml:"KeyInfo"`
	Start            string
	Expiry           string
	DelegatedUserTid string
}

// userDelegationKey is its answer. The key is in Value alone.
type userDelegationKey struct {
	XMLName                xml.Name `xml:"UserDelegationKey"`
	SignedOid              string
	SignedTid              string
	SignedStart            string
	SignedExpiry           string
	SignedService          string
	SignedVersion          string
	SignedDelegatedUserTid string `xml:",omitempty"`
	Value                  string
}

// getUserDelegationKey answers a principal with a key to sign with in its own name.
func (c *call) getUserDelegationKey() error {
	body, err := c.body()
	if err != nil {
		return err
	}
	var asked keyInfo
	if err := xml.Unmarshal(bytes.TrimPrefix(body, []byte(utf8BOM)), &asked); err != nil {
		return errInvalidXML
	}
	start, okStart := parseACLTime(asked.Start)
	expiry, okExpiry := parseACLTime(asked.Expiry)
	if !okStart || !okExpiry || expiry == nil {
		return xmlFailure("InvalidXmlNodeValue", "The value for one of the XML nodes is not in the correct format.")
	}
	request := auth.DelegationKeyRequest{Expiry: *expiry, DelegatedTenant: strings.TrimSpace(asked.DelegatedUserTid)}
	if start != nil {
		request.Start = *start
	}
	k, err := c.s.auth.DelegationKey(c.grant, request, c.r.Header.Get("x-ms-version"))
	if err != nil {
		return err
	}
	return c.writeXML(userDelegationKey{SignedOid: k.ObjectID, SignedTid: k.TenantID, SignedStart: k.Start, SignedExpiry: k.Expiry,
		SignedService: k.Service, SignedVersion: k.Version, SignedDelegatedUserTid: k.DelegatedTenant, Value: k.Value()})
}
