package sas

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"time"
)

// DelegationVersion is the sv of every user delegation SAS here, and the x-ms-version with which its key is asked for:
// the first that has them for tables (announced as generally available in March 2026).
const DelegationVersion = "2025-07-05"

// MaxDelegation is how long a user delegation key, and a SAS with it, may live.
const MaxDelegation = 7 * 24 * time.Hour

// DelegationKey is a user delegation key as the service gave it: its fields are signed in its own spelling. Printing
// it in any way hides Value.
type DelegationKey struct {
	ObjectID, TenantID string // of the identity that asked for it; a SAS reaches no more than that identity
	Start, Expiry      string
	Service, Version   string // sks and skv; that sks is "t" for tables is unconfirmed, so what the service says is used
	DelegatedTenant    string // directory of the user that a SAS may be bound to, "" for TenantID
	Value              string // base64
}

// Format prints the key without its value, whatever the verb.
func (k DelegationKey) Format(f fmt.State, _ rune) {
	_, _ = io.WriteString(f, "user delegation key of "+k.ObjectID+" until "+k.Expiry)
}

// MarshalText writes what Format does.
func (k DelegationKey) MarshalText() ([]byte, error) { return fmt.Append(nil, k), nil }

// SignDelegated returns the query string of a user delegation SAS on a table, without "?". A SAS of this kind knows no
// stored access policy, so permissions and expiry are needed. user is the object id of the user whose bearer token must
// come with each request; "" for everybody who holds the SAS.
func SignDelegated(p TableParams, user string, key DelegationKey) (string, error) {
	sp, err := p.checkDelegated(user, key)
	if err != nil {
		return "", fmt.Errorf("sign a user delegation SAS for table %s: %w", p.Table, err)
	}
	st, se := formatTime(p.Start), formatTime(p.Expiry)
	sig, err := sign(p.delegatedStringToSign(sp, st, se, user, key), key.Value)
	if err != nil {
		return "", errors.New("sign a user delegation SAS: the key's value is not base64")
	}
	var q query
	q.add("sv", DelegationVersion)
	q.add("tn", p.Table)
	q.add("st", st)
	q.add("se", se)
	q.add("sp", sp)
	q.add("sip", p.IPRange)
	q.add("spr", p.Protocol)
	q.add("skoid", key.ObjectID)
	q.add("sktid", key.TenantID)
	q.add("skt", key.Start)
	q.add("ske", key.Expiry)
	q.add("sks", key.Service)
	q.add("skv", key.Version)
	q.add("skdutid", key.DelegatedTenant)
	q.add("sduoid", user)
	q.addKey("spk", p.StartPartitionKey)
	q.addKey("srk", p.StartRowKey)
	q.addKey("epk", p.EndPartitionKey)
	q.addKey("erk", p.EndRowKey)
	q.add("sig", sig)
	return string(q), nil
}

// delegatedStringToSign has these 19 lines, joined by LF, an empty one for each that is absent, and no LF at the end.
// They are known from two independent implementations; the service's own page of them was not seen, and whether later
// versions have more lines is unconfirmed:
//
//	sp
//	st
//	se
//	/table/ACCOUNT/table          the table in lower case
//	skoid
//	sktid
//	skt
//	ske
//	sks
//	skv
//	skdutid
//	sduoid
//	sip
//	spr
//	sv
//	spk
//	srk
//	epk
//	erk
func (p TableParams) delegatedStringToSign(sp, st, se, user string, key DelegationKey) string {
	return strings.Join([]string{
		sp, st, se, "/table/" + p.Account + "/" + strings.ToLower(p.Table),
		key.ObjectID, key.TenantID, key.Start, key.Expiry, key.Service, key.Version, key.DelegatedTenant, user,
		p.IPRange, p.Protocol, DelegationVersion,
		value(p.StartPartitionKey), value(p.StartRowKey), value(p.EndPartitionKey), value(p.EndRowKey),
	}, "\n")
}

// checkDelegated returns the permission letters in the service's order.
func (p TableParams) checkDelegated(user string, key DelegationKey) (string, error) {
	if p.PolicyID != "" {
		return "", errors.New("a user delegation SAS cannot refer to a stored access policy")
	}
	sp, err := p.check()
	if err != nil {
		return "", err
	}
	from, errFrom := time.Parse(time.RFC3339, key.Start)
	until, errUntil := time.Parse(time.RFC3339, key.Expiry)
	switch {
	case key.ObjectID == "" || key.TenantID == "" || key.Service == "" || key.Version == "" || errors.Join(errFrom, errUntil) != nil:
		return "", errors.New("the user delegation key is not complete")
	case p.Expiry.After(until):
		return "", fmt.Errorf("it would end at %s, after its user delegation key at %s", formatTime(p.Expiry), key.Expiry)
	case !p.Start.IsZero() && p.Start.Truncate(time.Second).Before(from):
		return "", fmt.Errorf("it would start at %s, before its user delegation key at %s", formatTime(p.Start), key.Start)
	case key.DelegatedTenant != "" && user == "":
		return "", errors.New("a key for users of another directory needs the user that the SAS is bound to")
	}
	return sp, nil
}
