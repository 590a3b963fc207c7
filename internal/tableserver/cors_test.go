package tableserver

import (
	"net/http"
	"strings"
	"testing"
)

// rules is a document of service properties with these rules.
func rules(rule ...string) string {
	return "<StorageServiceProperties><Cors><CorsRule>" + strings.Join(rule, "</CorsRule><CorsRule>") + "</CorsRule></Cors></StorageServiceProperties>"
}

func rule(origins, methods, allowed, exposed, age string) string {
	return "<AllowedOrigins>" + origins + "</AllowedOrigins><AllowedMethods>" + methods + "</AllowedMethods><MaxAgeInSeconds>" + age +
		"</MaxAgeInSeconds><ExposedHeaders>" + exposed + "</ExposedHeaders><AllowedHeaders>" + allowed + "</AllowedHeaders>"
}

const propertiesAt = "?restype=service&comp=properties"

// preflight sends OPTIONS without credentials.
func (c *client) preflight(path string, headers ...string) answer {
	c.t.Helper()
	r := c.request("OPTIONS", path, "", headers...)
	r.Header.Del("Authorization")
	return c.send(r)
}

func (a answer) wantHeaders(t *testing.T, pairs ...string) {
	t.Helper()
	for i := 0; i < len(pairs); i += 2 {
		if got := a.header.Get(pairs[i]); got != pairs[i+1] {
			t.Errorf("%s: %q, want %q", pairs[i], got, pairs[i+1])
		}
	}
}

func TestPreflightFollowsTheRules(t *testing.T) { // reference §1.8
	c := newTable(t)
	ask := func(origin, method, headers string) answer {
		return c.preflight("Tab", "Origin", origin, "Access-Control-Request-Method", method, "Access-Control-Request-Headers", headers)
	}
	ask("http://a.example", "GET", "-").want(t, 403, "<m:code>CorsPreflightFailure</m:code>")
	c.do("PUT", propertiesAt, rules(
		rule("http://a.example,http://b.example", "GET,PUT", "x-ms-*,Content-Type", "", "60"),
		rule("*", "DELETE", "", "", "0"))).want(t, 202, "")
	ask("http://A.example", "PUT", "X-MS-date, content-type").want(t, 200, "").wantHeaders(t,
		"Access-Control-Allow-Origin", "http://A.example", "Access-Control-Allow-Methods", "PUT", "Access-Control-Max-Age", "60",
		"Access-Control-Allow-Headers", "X-MS-date, content-type", "Access-Control-Allow-Credentials", "true")
	ask("http://any.example", "DELETE", "-").want(t, 200, "").wantHeaders(t,
		"Access-Control-Allow-Origin", "http://any.example", "Access-Control-Allow-Headers", "")
	const refused = "CORS not enabled or no matching rule found for this request."
	ask("http://c.example", "GET", "-").want(t, 403, refused)
	ask("http://a.example", "POST", "-").want(t, 403, refused)
	ask("http://a.example", "GET", "Authorization").want(t, 403, refused)
	c.preflight("Tab", "Origin", "http://a.example").want(t, 400, "A required CORS header is not present.").
		wantHeaders(t, "x-ms-error-code", "InvalidHeaderValue")
	c.preflight("Tab", "Access-Control-Request-Method", "GET").want(t, 400, "InvalidHeaderValue")
	r := c.request("OPTIONS", "Tab", "", "Origin", "http://a.example", "Access-Control-Request-Method", "GET")
	r.URL.Path = "/nosuchaccount/Tab"
	c.send(r).want(t, 403, refused)
}

func TestAnswersToAnotherOriginSayWhoMayReadThem(t *testing.T) { // reference §1.8
	c := newTable(t)
	get := func(path, origin string) answer { return c.do("GET", path, "", "Origin", origin) }
	get("Tab()", "http://a.example").want(t, 200, "").wantHeaders(t, "Access-Control-Allow-Origin", "", "Vary", "")
	c.do("PUT", propertiesAt, rules(
		rule("http://a.example", "GET", "", "x-ms-r*,ETag", "0"), rule("*", "MERGE", "", "", "0"))).want(t, 202, "")
	get("Tab()", "http://a.example").want(t, 200, "").wantHeaders(t, "Access-Control-Allow-Origin", "http://a.example",
		"Access-Control-Allow-Credentials", "true", "Vary", "Origin", "Access-Control-Expose-Headers", "ETag,x-ms-request-id")
	get("None()", "http://a.example").want(t, 404, "TableNotFound").wantHeaders(t, "Access-Control-Allow-Origin", "http://a.example")
	get("Tab()", "http://b.example").want(t, 200, "").wantHeaders(t, "Access-Control-Allow-Origin", "", "Vary", "Origin")
	c.do("GET", "Tab()", "").want(t, 200, "").wantHeaders(t, "Vary", "Origin")
	c.do("POST", "Tab(PartitionKey='p',RowKey='r')", `{}`, "X-HTTP-Method", "MERGE", "Origin", "http://b.example").want(t, 204, "").
		wantHeaders(t, "Access-Control-Allow-Origin", "*", "Access-Control-Allow-Credentials", "", "Vary", "")
	c.do("PUT", propertiesAt, "<StorageServiceProperties><Cors /></StorageServiceProperties>").want(t, 202, "")
	get("Tab()", "http://a.example").want(t, 200, "").wantHeaders(t, "Access-Control-Allow-Origin", "", "Vary", "")
}

func TestServicePropertiesAreChecked(t *testing.T) { // reference §1.7
	c := newClient(t)
	section := func(name, body string) string {
		return "<StorageServiceProperties><" + name + ">" + body + "</" + name + "></StorageServiceProperties>"
	}
	const off = "<RetentionPolicy><Enabled>false</Enabled></RetentionPolicy>"
	const flags = "<Read>true</Read><Write>true</Write><Delete>false</Delete>"
	for name, bad := range map[string]string{
		"no document":            "",
		"another root":           "<Cors />",
		"empty root":             "<StorageServiceProperties />",
		"two documents":          section("Cors", "") + section("Cors", ""),
		"text behind":            section("Cors", "") + "x",
		"no version":             section("Logging", flags+off),
		"another version":        section("Logging", "<Version>2.0</Version>"+flags+off),
		"no Boolean":             section("Logging", "<Version>1.0</Version><Read>perhaps</Read>"+off),
		"days without retention": section("Logging", "<Version>1.0</Version>"+flags+"<RetentionPolicy><Enabled>false</Enabled><Days>3</Days></RetentionPolicy>"),
		"retention without days": section("Logging", "<Version>1.0</Version>"+flags+"<RetentionPolicy><Enabled>true</Enabled></RetentionPolicy>"),
		"too many days":          section("Logging", "<Version>1.0</Version>"+flags+"<RetentionPolicy><Enabled>true</Enabled><Days>366</Days></RetentionPolicy>"),
		"IncludeAPIs missing":    section("HourMetrics", "<Version>1.0</Version><Enabled>true</Enabled>"+off),
		"six rules":              rules(rule("*", "GET", "", "", "0"), rule("*", "GET", "", "", "0"), rule("*", "GET", "", "", "0"), rule("*", "GET", "", "", "0"), rule("*", "GET", "", "", "0"), rule("*", "GET", "", "", "0")),
		"no origin":              rules(rule("", "GET", "", "", "0")),
		"no method":              rules(rule("*", "", "", "", "0")),
		"unknown method":         rules(rule("*", "GET,BREW", "", "", "0")),
		"negative age":           rules(rule("*", "GET", "", "", "-1")),
		"three prefixes":         rules(rule("*", "GET", "a*,b*,c*", "", "0")),
		"long origin":            rules(rule("http://"+strings.Repeat("o", 250), "GET", "", "", "0")),
	} {
		t.Run(name, func(t *testing.T) {
			c.do("PUT", propertiesAt, bad).want(t, 400, "<m:code>InvalidXmlDocument</m:code>")
		})
	}
	c.do("PUT", propertiesAt, rules(rule("*", "GET", "x-ms-*, Accept", "y-*,Date", "5"))).want(t, 202, "")
	c.do("GET", propertiesAt, "").want(t, 200, "<AllowedHeaders>Accept,x-ms-*</AllowedHeaders><ExposedHeaders>Date,y-*</ExposedHeaders>")
	c.do("PUT", propertiesAt, section("MinuteMetrics", "<Version>1.0</Version><Enabled>false</Enabled><IncludeAPIs>true</IncludeAPIs>"+off)).want(t, 202, "")
	c.do("GET", propertiesAt, "").want(t, 200, "<MinuteMetrics><Version>1.0</Version><Enabled>false</Enabled><RetentionPolicy>").
		want(t, 200, "<AllowedMethods>GET</AllowedMethods>")
}

func TestErrorsOfAnURLAreForThoseWithCredentials(t *testing.T) {
	c := newTable(t)
	for _, path := range []string{"Tab(", "Tab()?$top=1&$top=2", "Tab()?$filter=%FF", "Tab?comp=nothing", "Tab(PartitionKey='%23',RowKey='')"} {
		r := c.request("GET", path, "")
		if a := c.send(r); a.status != http.StatusBadRequest {
			t.Errorf("%s with a key: %d %s", path, a.status, a.body)
		}
		r = c.request("GET", path, "")
		r.Header.Del("Authorization")
		c.send(r).want(t, 403, "AuthenticationFailed").wantHeaders(t, "Server", "Microsoft-HTTPAPI/2.0")
	}
}
