package sas

import (
	"net/url"
	"strings"
	"testing"
	"time"
	"unicode"

	"pgregory.net/rapid"
)

// testKey is base64 of "a test key, not a secret".
const testKey = "YSB0ZXN0IGtleSwgbm90IGEgc2VjcmV0"

var expiry = time.Date(2027, 6, 30, 0, 0, 0, 0, time.UTC)

func ptr(s string) *string { return &s }

// The signatures were worked out apart from this code, for the strings that the reference describes, with
//
//	python3 -c 'import base64,hmac,hashlib
//	print(base64.b64encode(hmac.new(b"a test key, not a secret", TEXT.encode(), hashlib.sha256).digest()).decode())'
func TestTableSASHasTheSignatureOfItsText(t *testing.T) {
	for name, c := range map[string]struct {
		params TableParams
		want   string
	}{
		"everything": {
			params: TableParams{Account: "acct", Table: "Orders", Permission: "duar", Expiry: expiry,
				Start: time.Date(2026, 1, 2, 3, 4, 5, 678, time.UTC), IPRange: "168.1.5.60-168.1.5.70", Protocol: "https",
				StartPartitionKey: ptr("contoso|00"), StartRowKey: ptr(""),
				EndPartitionKey: ptr("contoso|15"), EndRowKey: ptr("a'b %+é")},
			want: "sv=2019-02-02&tn=Orders&st=2026-01-02T03%3A04%3A05Z&se=2027-06-30T00%3A00%3A00Z&sp=raud" +
				"&sip=168.1.5.60-168.1.5.70&spr=https&spk=contoso%7C00&srk=&epk=contoso%7C15&erk=a%27b%20%25%2B%C3%A9" +
				"&sig=vZkv5iOaO3WYWWjmymHtDGYqOqkzFHNL8Gb2zz8vBZs%3D",
		},
		"rights of a stored policy": {
			params: TableParams{Account: "acct", Table: "orders", PolicyID: "readers",
				StartPartitionKey: ptr("US AIRWAYS*"), EndPartitionKey: ptr("US AIRWAYS*")},
			want: "sv=2019-02-02&tn=orders&si=readers&spk=US%20AIRWAYS%2A&epk=US%20AIRWAYS%2A" +
				"&sig=iciB7ereCvCziRqcexCwLBLDwlLNWbh6u26H3%2F9y1kI%3D",
		},
		"range that ends with an empty row key": {
			params: TableParams{Account: "acct", Table: "Orders", Permission: "r", Expiry: expiry,
				StartPartitionKey: ptr("contoso_"), EndPartitionKey: ptr("contoso`"), EndRowKey: ptr("")},
			want: "sv=2019-02-02&tn=Orders&se=2027-06-30T00%3A00%3A00Z&sp=r&spk=contoso_&epk=contoso%60&erk=" +
				"&sig=m9LYXtR4lTSjy5a8wep8qaDCadK4u4Ko%2BgJ8fSLx8oM%3D",
		},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := SignTable(c.params, testKey)
			if err != nil {
				t.Fatal(err)
			}
			if got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}

// The signatures are those of `az storage table generate-sas` and `az storage account generate-sas`, azure-cli 2.45.0,
// which writes times without seconds, an account SAS with sv 2021-06-08, and no empty row keys.
func TestTableSASAgreesWithTheAzureCLI(t *testing.T) {
	for name, c := range map[string]struct {
		params     TableParams
		sp, st, se string
		want       string
	}{
		// --permissions raud --start 2026-01-02T03:04Z --expiry 2027-06-30T00:00Z --https-only
		// --start-pk 'contoso|00' --end-pk 'contoso|15' --end-rk "a'b %+é"
		"range": {
			params: TableParams{Account: "acct", Table: "Orders", Protocol: "https", StartPartitionKey: ptr("contoso|00"),
				EndPartitionKey: ptr("contoso|15"), EndRowKey: ptr("a'b %+é")},
			sp: "raud", st: "2026-01-02T03:04Z", se: "2027-06-30T00:00Z",
			want: "sSjY6vjwdizMTtAQSo2dbUpnIEMb2j5G+3dGkwOEiY4=",
		},
		// --permissions r --expiry 2027-06-30T00:00Z
		"whole table": {
			params: TableParams{Account: "acct", Table: "Orders"}, sp: "r", se: "2027-06-30T00:00Z",
			want: "7R+RxkfaAxYUnlFYJYaA9V0073Um3l9nghFPceK+VVE=",
		},
		// --policy-name readers --start-pk 'US AIRWAYS*' --end-pk 'US AIRWAYS*'
		"policy": {
			params: TableParams{Account: "acct", Table: "Orders", PolicyID: "readers",
				StartPartitionKey: ptr("US AIRWAYS*"), EndPartitionKey: ptr("US AIRWAYS*")},
			want: "iciB7ereCvCziRqcexCwLBLDwlLNWbh6u26H3/9y1kI=",
		},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := sign(c.params.stringToSign(c.sp, c.st, c.se), testKey)
			if err != nil {
				t.Fatal(err)
			}
			if got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
		})
	}
}

// The signature was worked out as those of TestTableSASHasTheSignatureOfItsText.
func TestAccountSASHasTheSignatureOfItsText(t *testing.T) {
	got, err := SignAccount(AccountParams{Account: "acct", Permission: "ucaldwr", ResourceTypes: "ocs", Expiry: expiry,
		Protocol: "https"}, testKey)
	if err != nil {
		t.Fatal(err)
	}
	want := "sv=2019-02-02&ss=t&srt=sco&sp=rwdlacu&se=2027-06-30T00%3A00%3A00Z&spr=https" +
		"&sig=RZHziAY9avHF6MjrR1M92Hr2AKVVTD5pgdpGWtuTPM8%3D"
	if got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestRightsThatTheServiceWouldRefuseAreNotSigned(t *testing.T) {
	good := TableParams{Account: "acct", Table: "Orders", Permission: "r", Expiry: expiry}
	for name, spoil := range map[string]func(*TableParams){
		"unknown permission":          func(p *TableParams) { p.Permission = "rx" },
		"no permission":               func(p *TableParams) { p.Permission = "" },
		"no expiry":                   func(p *TableParams) { p.Expiry = time.Time{} },
		"expiry before start":         func(p *TableParams) { p.Start = expiry.Add(time.Second) },
		"row key without partition":   func(p *TableParams) { p.StartRowKey = ptr("r") },
		"end row key alone":           func(p *TableParams) { p.EndRowKey = ptr("r") },
		"line feed in a key":          func(p *TableParams) { p.StartPartitionKey = ptr("a\nb") },
		"line feed in the policy":     func(p *TableParams) { p.PolicyID = "readers\n" },
		"no table":                    func(p *TableParams) { p.Table = "" },
		"policy and unknown letter":   func(p *TableParams) { p.PolicyID, p.Permission = "readers", "w" },
		"policy, expiry before start": func(p *TableParams) { p.PolicyID, p.Start = "readers", expiry },
	} {
		t.Run(name, func(t *testing.T) {
			p := good
			spoil(&p)
			if token, err := SignTable(p, testKey); err == nil {
				t.Errorf("signed %s", token)
			}
		})
	}
	if _, err := SignTable(good, "no base64!"); err == nil || strings.Contains(err.Error(), "no base64!") {
		t.Errorf("error of a bad key: %v", err)
	}
	if _, err := SignAccount(AccountParams{Account: "acct", Permission: "r", Expiry: expiry}, testKey); err == nil {
		t.Error("signed an account SAS without resource types")
	}
}

// The range must be in the query string as it was signed: a SAS whose range is only signed is refused, and one whose
// range is only in the query string would be a hole.
func TestRangeInTheQueryStringIsTheSignedOne(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		key := rapid.StringOfN(rapid.Rune().Filter(func(r rune) bool { return !unicode.IsControl(r) }), 0, 20, -1)
		p := TableParams{Account: "acct", Table: "Orders", Permission: "r", Expiry: expiry,
			StartPartitionKey: ptr(key.Draw(t, "spk")), EndPartitionKey: ptr(key.Draw(t, "epk"))}
		if rapid.Bool().Draw(t, "row keys") {
			p.StartRowKey, p.EndRowKey = ptr(key.Draw(t, "srk")), ptr(key.Draw(t, "erk"))
		}
		token, err := SignTable(p, testKey)
		if err != nil {
			t.Fatal(err)
		}
		q, err := url.ParseQuery(token)
		if err != nil {
			t.Fatal(err)
		}
		for name, want := range map[string]*string{"spk": p.StartPartitionKey, "srk": p.StartRowKey,
			"epk": p.EndPartitionKey, "erk": p.EndRowKey} {
			if q.Has(name) != (want != nil) || q.Get(name) != value(want) {
				t.Errorf("%s is %q in %s", name, q[name], token)
			}
		}
		sig, err := sign(p.stringToSign(q.Get("sp"), "", q.Get("se")), testKey)
		if err != nil || sig != q.Get("sig") {
			t.Errorf("signature %s, want %s (%v)", q.Get("sig"), sig, err)
		}
	})
}
