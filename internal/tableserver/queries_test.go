package tableserver

import (
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"
)

// keysOf returns the keys of a page, as "pk/rk".
func keysOf(t *testing.T, a answer) []string {
	t.Helper()
	var page struct {
		Value []struct{ PartitionKey, RowKey string }
	}
	if err := json.Unmarshal([]byte(a.body), &page); err != nil {
		t.Fatalf("%v in %s", err, a.body)
	}
	out := make([]string, len(page.Value))
	for i, e := range page.Value {
		out[i] = e.PartitionKey + "/" + e.RowKey
	}
	return out
}

func TestPagesContinueWhereTheTokenSays(t *testing.T) { // reference §4.4 and §4.5
	c := newTable(t)
	var want []string
	for _, pk := range []string{"partition-1", "partition-10", "partition-2", "\U0001F600", "\uFF5E"} { // ordinal order
		for rk := range 3 {
			want = append(want, fmt.Sprintf("%s/%d", pk, rk))
			c.do("POST", "Tab", fmt.Sprintf(`{"PartitionKey":"%s","RowKey":"%d"}`, pk, rk)).want(t, 201, "")
		}
	}
	for _, top := range []int{1, 2, 4, 15, 1000} {
		var got []string
		next := ""
		for pages := 0; ; pages++ {
			a := c.do("GET", fmt.Sprintf("Tab()?$top=%d%s", top, next), "").want(t, 200, "")
			got = append(got, keysOf(t, a)...)
			pk, rk := a.header.Get("x-ms-continuation-NextPartitionKey"), a.header.Get("x-ms-continuation-NextRowKey")
			if pk == "" && rk == "" {
				break
			}
			if decoded, err := decodeToken(pk); err != nil || !strings.HasPrefix(want[len(got)], decoded+"/") {
				t.Fatalf("token %q decodes to %q, %v; next is %q", pk, decoded, err, want[len(got)])
			}
			next = "&NextPartitionKey=" + url.QueryEscape(pk) + "&NextRowKey=" + url.QueryEscape(rk)
			if pages > 20 {
				t.Fatal("pages without end")
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("$top=%d: got %q, want %q", top, got, want)
		}
	}
}

func TestTokensHaveTheRecordedForm(t *testing.T) { // reference §4.5, recorded
	if got := encodeToken("pk801016e8"); got != "1!16!cGs4MDEwMTZlOA--" {
		t.Errorf("got %s", got)
	}
	if got, err := decodeToken("1!16!cGs4MDEwMTZlOA--"); err != nil || got != "pk801016e8" {
		t.Errorf("got %q, %v", got, err)
	}
}

func FuzzDecodeToken(f *testing.F) {
	f.Add("1!16!cGs4MDEwMTZlOA--")
	f.Add("1!0!")
	f.Add("1!!x")
	f.Fuzz(func(t *testing.T, token string) {
		key, err := decodeToken(token)
		if err != nil {
			return
		}
		if again, err := decodeToken(encodeToken(key)); err != nil || again != key {
			t.Errorf("%q came back as %q, %v", key, again, err)
		}
	})
}

func TestQueryParametersAreChecked(t *testing.T) { // reference §3, §4
	c := newTable(t)
	for i := range 3 {
		c.do("POST", "Tab", fmt.Sprintf(`{"PartitionKey":"p","RowKey":"%d","n":%d}`, i, i)).want(t, 201, "")
	}
	cases := []struct {
		query  string
		status int
		text   string
	}{
		{"$top=0", 200, `"value":[]`},
		{"$top=-1", 400, "InvalidInput"},
		{"$top=1001", 400, "InvalidInput"},
		{"$top=x", 400, "InvalidInput"},
		{"$filter=", 200, `"RowKey":"2"`},
		{"$select=&$filter=&$top=1000", 200, `"RowKey":"2"`}, // Storage Explorer
		{"$filter=n+gt+1&NextRowKey=", 200, `"n":2`},
		{"$filter=n%20eq%20m", 501, "NotImplemented"},
		{"$filter=n%20eq%20'x", 400, "InvalidInput"},
		{"$filter=n%20eq%201&$filter=n%20eq%202", 400, "InvalidQueryParameterValue"},
		{"$filter=RowKey%20eq%20';'", 200, `"value":[]`},
		{"$filter=RowKey%20eq%20';'%20or%20n%20eq%201;", 400, "InvalidInput"},
		{"$filter=%FF", 400, "InvalidInput"},
		{"NextPartitionKey=x", 400, "InvalidInput"},
		{"NextPartitionKey=1!5!cA--", 400, "InvalidInput"},
		{"NextPartitionKey=1!4!cA--", 200, `"RowKey":"0"`},
		{"comp=nonsense", 400, "InvalidQueryParameterValue"},
		{"timeout=30", 200, `"RowKey":"0"`},
	}
	for _, tc := range cases {
		t.Run(tc.query, func(t *testing.T) { c.do("GET", "Tab()?"+tc.query, "").want(t, tc.status, tc.text) })
	}
	if a := c.do("GET", "Tab()?$top=0", ""); a.header.Get("x-ms-continuation-NextPartitionKey") != "" {
		t.Error("an empty page by $top=0 continues: a client that follows would never end")
	}
}

func TestVeryLongFiltersAreTaken(t *testing.T) { // reference §11.9: Orleans and others beyond 16 KiB
	c := newTable(t)
	c.do("POST", "Tab", `{"PartitionKey":"p","RowKey":"777"}`).want(t, 201, "")
	terms := make([]string, 1500)
	for i := range terms {
		terms[i] = fmt.Sprintf("(PartitionKey eq 'p' and RowKey eq '%d')", i)
	}
	filter := url.QueryEscape(strings.Join(terms, " or "))
	c.do("GET", "Tab()?$filter="+filter, "").want(t, 200, `"RowKey":"777"`)
}

func TestTablesAreMadeListedAndDeletedWithoutRegardToCase(t *testing.T) { // reference §1.5 and §3
	c := newClient(t)
	for _, name := range []string{"Beta", "alpha", "gamma"} {
		c.do("POST", "Tables", `{"TableName":"`+name+`"}`, "Prefer", "return-no-content").want(t, 204, "")
	}
	for _, tc := range []struct {
		name, code string
		status     int
	}{
		{"BETA", "TableAlreadyExists", 409}, {"ab", "OutOfRangeInput", 400}, {strings.Repeat("a", 64), "OutOfRangeInput", 400},
		{"a-b", "InvalidResourceName", 400}, {"tables", "InvalidInput", 400}, {"1abc", "InvalidResourceName", 400},
	} {
		a := c.do("POST", "Tables", `{"TableName":"`+tc.name+`"}`, "Prefer", "return-no-content").want(t, tc.status, `"code":"`+tc.code+`"`)
		if a.header.Get("Preference-Applied") != "return-no-content" {
			t.Errorf("%s: %v", tc.name, a.header)
		}
	}
	a := c.do("POST", "Tables()", `{"TableName":"delta"}`).want(t, 201, `{"odata.metadata":"`+c.endpoint+`$metadata#Tables/@Element","TableName":"delta"}`)
	if a.header.Get("ETag") != "" || a.header.Get("Location") != c.endpoint+"Tables('delta')" {
		t.Errorf("headers %v", a.header)
	}
	if got, want := c.do("GET", "Tables", "").body, `{"odata.metadata":"`+c.endpoint+
		`$metadata#Tables","value":[{"TableName":"alpha"},{"TableName":"Beta"},{"TableName":"delta"},{"TableName":"gamma"}]}`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	c.do("GET", "Tables?$filter=TableName%20ge%20'b'%20and%20TableName%20lt%20'd'", "", "Accept", "application/json;odata=nometadata").
		want(t, 200, `{"value":[{"TableName":"Beta"}]}`)
	c.do("GET", "Tables?$filter=Name%20eq%20'x'", "").want(t, 500, "InternalError")
	a = c.do("GET", "Tables?$top=2", "").want(t, 200, `"value":[{"TableName":"alpha"},{"TableName":"Beta"}]`)
	token := a.header.Get("x-ms-continuation-NextTableName")
	c.do("GET", "Tables?$top=2&NextTableName="+url.QueryEscape(token), "").want(t, 200, `"value":[{"TableName":"delta"},{"TableName":"gamma"}]`)
	c.do("GET", "Tables('BETA')", "").want(t, 200, `"TableName":"Beta"`)
	c.do("GET", "Tables('none')", "").want(t, 404, "ResourceNotFound")
	c.do("DELETE", "Tables('BETA')", "").want(t, 204, "")
	c.do("DELETE", "Tables('a-b')", "").want(t, 404, "ResourceNotFound")
}

func TestHostNamesAndTheSecondaryAddressAnAccount(t *testing.T) { // reference §1.1
	c := newTable(t)
	c.do("POST", "Tab", `{"PartitionKey":"p","RowKey":"r"}`).want(t, 201, "")
	send := func(method, host, path string) answer {
		r := c.request(method, path, "")
		r.Host = host
		r.URL.Path = strings.TrimPrefix(r.URL.Path, "/devstoreaccount1")
		r.URL.RawPath = ""
		c.sign(r)
		return c.send(r)
	}
	send("GET", "devstoreaccount1.table.localhost", "Tab()").want(t, 200, `"odata.metadata":"http://devstoreaccount1.table.localhost/$metadata#Tab"`)
	send("GET", "devstoreaccount1-secondary.table.localhost:10002", "Tab()").want(t, 200, `"RowKey":"r"`)

	c.endpoint = strings.Replace(c.endpoint, "devstoreaccount1", "devstoreaccount1-secondary", 1)
	c.do("GET", "Tab()", "").want(t, 200, `"RowKey":"r"`)
	c.do("POST", "Tab", `{"PartitionKey":"p","RowKey":"s"}`).want(t, 403, "InsufficientAccountPermissions")
	c.do("GET", "?restype=service&comp=stats", "").want(t, 200, "<Status>live</Status>")
}

func TestPoliciesComeBackInTheRecordedForm(t *testing.T) { // reference §1.6
	c := newTable(t)
	const at = "Tab?comp=acl"
	if a := c.do("GET", at, "").want(t, 200, "<SignedIdentifiers />"); a.header.Get("Content-Type") != "application/xml" ||
		a.header.Get("Cache-Control") != "" || !strings.HasPrefix(a.body, "\ufeff<?xml") {
		t.Errorf("%v %q", a.header, a.body)
	}
	c.do("PUT", at, "\ufeff<SignedIdentifiers><SignedIdentifier><Id>a</Id><AccessPolicy><Start>2020-01-01</Start>"+
		"<Expiry>2020-02-01T01:01:00.123456+01:00</Expiry><Permission>raud</Permission></AccessPolicy></SignedIdentifier>"+
		"<SignedIdentifier><Id>b</Id></SignedIdentifier><SignedIdentifier><Id>c</Id><AccessPolicy><Expiry>2020-02-01T01:01Z</Expiry></AccessPolicy></SignedIdentifier></SignedIdentifiers>").want(t, 204, "")
	c.do("GET", at, "").want(t, 200, "<Id>a</Id><AccessPolicy><Start>2020-01-01T00:00:00.0000000Z</Start>"+
		"<Expiry>2020-02-01T00:01:00.1234560Z</Expiry><Permission>raud</Permission></AccessPolicy>").
		want(t, 200, "<SignedIdentifier><Id>b</Id></SignedIdentifier>").
		want(t, 200, "<Id>c</Id><AccessPolicy><Expiry>2020-02-01T01:01:00.0000000Z</Expiry></AccessPolicy>")
	six := strings.Repeat("<SignedIdentifier><Id>x</Id></SignedIdentifier>", 6)
	for _, bad := range []string{"<SignedIdentifiers>" + six + "</SignedIdentifiers>", "<SignedIdentifiers>", "nonsense",
		"<SignedIdentifiers><SignedIdentifier><Id>" + strings.Repeat("i", 65) + "</Id></SignedIdentifier></SignedIdentifiers>",
		"<SignedIdentifiers><SignedIdentifier><Id>a</Id><AccessPolicy><Start>soon</Start></AccessPolicy></SignedIdentifier></SignedIdentifiers>"} {
		c.do("PUT", at, bad).want(t, 400, "<m:code>InvalidXmlDocument</m:code><m:message xml:lang=\"en-US\">XML specified is not syntactically valid.")
	}
	c.do("GET", at, "").want(t, 200, "<Id>a</Id>")
	c.do("PUT", at, "").want(t, 204, "")
	c.do("GET", at, "").want(t, 200, "<SignedIdentifiers />")
}

func TestServicePropertiesKeepWhatASetLeavesOut(t *testing.T) { // reference §1.7
	c := newClient(t)
	const at = "?restype=service&comp=properties"
	c.do("GET", at, "").want(t, 200, "<HourMetrics><Version>1.0</Version><Enabled>true</Enabled><IncludeAPIs>true</IncludeAPIs>"+
		"<RetentionPolicy><Enabled>true</Enabled><Days>7</Days></RetentionPolicy></HourMetrics>").want(t, 200, "<Cors />")
	c.do("PUT", at, "<StorageServiceProperties><Logging><Version>1.0</Version><Delete>true</Delete><Read>false</Read><Write>false</Write>"+
		"<RetentionPolicy><Enabled>false</Enabled></RetentionPolicy></Logging></StorageServiceProperties>").want(t, 202, "")
	c.do("GET", at, "").want(t, 200, "<Delete>true</Delete>").want(t, 200, "<Days>7</Days>")
	c.do("PUT", at, "<StorageServiceProperties></StorageServiceProperties>").want(t, 400, "InvalidXmlDocument")
	c.do("GET", "?restype=service&comp=stats", "").want(t, 400, "InvalidQueryParameterValue")
	c.do("DELETE", at, "").want(t, 405, "MethodNotAllowed")
}

func TestHealthNeedsNoCredentials(t *testing.T) {
	c := newClient(t)
	r := c.request("GET", "", "")
	r.URL.Path = "/healthz"
	r.Header.Del("Authorization")
	c.send(r).want(t, 200, "ok")
	r.URL.Path = "/devstoreaccount1/Tables"
	c.send(r).want(t, 403, "AuthenticationFailed")
}
