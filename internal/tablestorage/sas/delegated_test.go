package sas

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"
)

var delegationKey = DelegationKey{ObjectID: "aaaaaaaa-0000-0000-0000-000000000003", TenantID: "11111111-1111-1111-1111-111111111111",
	Start: "2027-06-29T00:00:00Z", Expiry: "2027-06-30T12:00:00Z", Service: "t", Version: "2025-07-05", Value: testKey}

// The signatures were worked out apart from this code, from the 19 lines of the reference (§7.6), as those of
// TestTableSASHasTheSignatureOfItsText.
func TestUserDelegationSASHasTheSignatureOfItsText(t *testing.T) {
	const key = "&skoid=aaaaaaaa-0000-0000-0000-000000000003&sktid=11111111-1111-1111-1111-111111111111" +
		"&skt=2027-06-29T00%3A00%3A00Z&ske=2027-06-30T12%3A00%3A00Z&sks=t&skv=2025-07-05"
	bound := delegationKey
	bound.DelegatedTenant = "22222222-2222-2222-2222-222222222222"
	for name, c := range map[string]struct {
		params TableParams
		user   string
		key    DelegationKey
		want   string
	}{
		"range": {
			params: TableParams{Account: "acct", Table: "Orders", Permission: "duar", Expiry: expiry, Protocol: "https",
				StartPartitionKey: ptr("contoso|00"), EndPartitionKey: ptr("contoso|15"), EndRowKey: ptr("")}, key: delegationKey,
			want: "sv=2025-07-05&tn=Orders&se=2027-06-30T00%3A00%3A00Z&sp=raud&spr=https" + key + "&spk=contoso%7C00&epk=contoso%7C15&erk=&sig=gmeDffHmlKjPw2MHKNxmeUH0OHRWGtrdeN0DMZ%2BUqyw%3D",
		},
		"bound to a user": {
			params: TableParams{Account: "acct", Table: "Orders", Permission: "r", Expiry: expiry, Start: expiry.Add(-time.Hour), IPRange: "10.0.0.1"},
			user:   "bbbbbbbb-0000-0000-0000-000000000001", key: bound,
			want: "sv=2025-07-05&tn=Orders&st=2027-06-29T23%3A00%3A00Z&se=2027-06-30T00%3A00%3A00Z&sp=r&sip=10.0.0.1" + key +
				"&skdutid=22222222-2222-2222-2222-222222222222&sduoid=bbbbbbbb-0000-0000-0000-000000000001&sig=tXmXlLhjkkHZBL%2B3EhE9LNMxaUjlrRz3VC76GNhabdU%3D",
		},
	} {
		got, err := SignDelegated(c.params, c.user, c.key)
		if err != nil {
			t.Fatal(err)
		}
		if got != c.want {
			t.Errorf("%s:\ngot  %s\nwant %s", name, got, c.want)
		}
	}
}

func TestUserDelegationSASThatTheServiceWouldRefuseIsNotSigned(t *testing.T) {
	good := TableParams{Account: "acct", Table: "Orders", Permission: "r", Expiry: expiry}
	for name, spoil := range map[string]func(*TableParams, *DelegationKey){
		"stored access policy":     func(p *TableParams, _ *DelegationKey) { p.PolicyID = "readers" },
		"no expiry":                func(p *TableParams, _ *DelegationKey) { p.Expiry = time.Time{} },
		"outlives its key":         func(p *TableParams, _ *DelegationKey) { p.Expiry = expiry.Add(13 * time.Hour) },
		"starts before its key":    func(p *TableParams, _ *DelegationKey) { p.Start = expiry.Add(-25 * time.Hour) },
		"unknown permission":       func(p *TableParams, _ *DelegationKey) { p.Permission = "rx" },
		"row key without its own":  func(p *TableParams, _ *DelegationKey) { p.StartRowKey = ptr("a") },
		"key without times":        func(_ *TableParams, k *DelegationKey) { k.Expiry = "" },
		"key without service":      func(_ *TableParams, k *DelegationKey) { k.Service = "" },
		"key that is not base64":   func(_ *TableParams, k *DelegationKey) { k.Value = "no base64!" },
		"other directory, no user": func(_ *TableParams, k *DelegationKey) { k.DelegatedTenant = "22222222-2222-2222-2222-222222222222" },
	} {
		p, k := good, delegationKey
		spoil(&p, &k)
		if token, err := SignDelegated(p, "", k); err == nil || strings.Contains(err.Error(), k.Value) {
			t.Errorf("%s: %q, %v", name, token, err)
		}
	}
	if _, err := SignDelegated(good, "", delegationKey); err != nil {
		t.Error(err)
	}
}

func TestUserDelegationKeyIsNeverPrinted(t *testing.T) {
	text, err := json.Marshal(delegationKey)
	if err != nil {
		t.Fatal(err)
	}
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x"} {
		for _, thing := range []any{delegationKey, &delegationKey, []DelegationKey{delegationKey}} {
			text = fmt.Appendf(text, verb, thing)
		}
	}
	if strings.Contains(string(text), testKey) || strings.Contains(string(text), fmt.Sprintf("%x", testKey)) {
		t.Errorf("the key is in %s", text)
	}
}
