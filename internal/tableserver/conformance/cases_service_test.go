package conformance

// Access policies (reference §1.6), service properties (§1.7) and CORS (§1.8).

const (
	xmlStart   = "\ufeff<?xml version=\"1.0\" encoding=\"utf-8\"?>"
	badXML     = "XML specified is not syntactically valid."
	acl        = "{T}?comp=acl"
	properties = "?restype=service&comp=properties"
	noCors     = "<StorageServiceProperties><Cors /></StorageServiceProperties>"
	off        = "<RetentionPolicy><Enabled>false</Enabled></RetentionPolicy>"
)

// Clients send and accept XML there.
func putXML(path, body string) step {
	return do("PUT", path, body, "Content-Type", "application/xml", "Accept", "application/xml", "DataServiceVersion", "-")
}

func getXML(path string) step {
	return do("GET", path, "", "Accept", "application/xml", "DataServiceVersion", "-")
}

func policy(id string) string { return "<SignedIdentifier><Id>" + id + "</Id></SignedIdentifier>" }

func policies(list string) string { return "<SignedIdentifiers>" + list + "</SignedIdentifiers>" }

func corsRule(origins, methods, allowed, exposed string) string {
	return "<StorageServiceProperties><Cors><CorsRule><AllowedOrigins>" + origins + "</AllowedOrigins><AllowedMethods>" + methods +
		"</AllowedMethods><AllowedHeaders>" + allowed + "</AllowedHeaders><ExposedHeaders>" + exposed +
		"</ExposedHeaders><MaxAgeInSeconds>5</MaxAgeInSeconds></CorsRule></Cors></StorageServiceProperties>"
}

func preflight(headers ...string) step {
	return do("OPTIONS", "{T}", "", headers...).by(noCredentials)
}

var serviceCases = []exchange{
	{"no access policies", "§1.6 [R]", all(
		getXML(acl).gives(200, with(plain, header("Content-Type", "application/xml"), header("Transfer-Encoding", "chunked"),
			body(xmlStart+"<SignedIdentifiers />"))...))},
	{"access policy", "§1.6 [R]", all(
		putXML(acl, policies("<SignedIdentifier><Id>i</Id><AccessPolicy><Start>2020-01-01T01:01:00Z</Start><Expiry>2020-02-01</Expiry>"+
			"<Permission>raud</Permission></AccessPolicy></SignedIdentifier>")).gives(204, with(plain, header("Content-Length", "0"), body(""))...),
		getXML(acl).gives(200, body(xmlStart+"<SignedIdentifiers><SignedIdentifier><Id>i</Id><AccessPolicy><Start>2020-01-01T01:01:00.0000000Z</Start>"+
			"<Expiry>2020-02-01T00:00:00.0000000Z</Expiry><Permission>raud</Permission></AccessPolicy></SignedIdentifier></SignedIdentifiers>")))},
	{"access policy of an id alone", "§1.6 [R]", all(
		putXML(acl, policies(policy("empty"))).gives(204),
		getXML(acl).gives(200, body(xmlStart+"<SignedIdentifiers><SignedIdentifier><Id>empty</Id></SignedIdentifier></SignedIdentifiers>")))},
	{"access policies behind a byte order mark", "§1.6 [R]", all(
		putXML(acl, "\ufeff"+policies(policy("i"))).gives(204), getXML(acl).gives(200, has("<Id>i</Id>")))},
	{"empty body takes access policies away", "§1.6 [R]", all(
		putXML(acl, policies(policy("i"))), putXML(acl, "").gives(204), getXML(acl).gives(200, lacks("<Id>")))},
	{"access policies are replaced as a whole", "§1.6 [D]", all(
		putXML(acl, policies(policy("one"))), putXML(acl, policies(policy("two"))).gives(204), getXML(acl).gives(200, has("two"), lacks("one")))},
	{"access policies: six", "§1.6 [R]", all(
		putXML(acl, policies(policy("1")+policy("2")+policy("3")+policy("4")+policy("5")+policy("6"))).gives(400,
			header("x-ms-error-code", "InvalidXmlDocument"), failure("InvalidXmlDocument", badXML)))},
	{"access policies: five", "§1.6 [R]", all(
		putXML(acl, policies(policy("1")+policy("2")+policy("3")+policy("4")+policy("5"))).gives(204))},
	{"access policy with a long id", "§1.6 [D]", all(
		putXML(acl, policies(policy(letters(65)))).gives(400, failure("InvalidXmlDocument", "")))},
	{"access policies of a table that is not there", "§1.6 [R]", all(
		getXML("{N}?comp=acl").gives(404, header("Content-Type", "application/xml"), has("<m:error ")),
		putXML("{N}?comp=acl", "").gives(404))},
	{"service properties", "§1.7 [R] for the order of elements", all(
		getXML(properties).gives(200, with(plain, header("Content-Type", "application/xml"), header("Transfer-Encoding", "chunked"),
			body(xmlStart+"<StorageServiceProperties><Logging><Version>1.0</Version><Read>{any}</Read><Write>{any}</Write><Delete>{any}</Delete>"+
				"<RetentionPolicy>{any}</RetentionPolicy></Logging><HourMetrics><Version>1.0</Version><Enabled>{any}</HourMetrics>"+
				"<MinuteMetrics><Version>1.0</Version><Enabled>{any}</MinuteMetrics><Cors{any}</StorageServiceProperties>"))...))},
	{"service properties: a section alone", "§1.7 [R]", all(
		putXML(properties, corsRule("http://a.example", "GET", "x-ms-*,Accept", "y-*,Date")).gives(202,
			with(plain, header("Transfer-Encoding", "chunked"), header("Content-Type", ""), body(""))...),
		putXML(properties, "<StorageServiceProperties><MinuteMetrics><Version>1.0</Version><Enabled>false</Enabled>"+off+"</MinuteMetrics></StorageServiceProperties>").gives(202),
		getXML(properties).gives(200, has("<AllowedOrigins>http://a.example</AllowedOrigins>"),
			has("<MinuteMetrics><Version>1.0</Version><Enabled>false</Enabled>"+off+"</MinuteMetrics>")),
		putXML(properties, noCors).gives(202), getXML(properties).gives(200, has("<Cors />")))},
	{"service properties: lists of headers come back with literal names first", "§1.7 [R]", all(
		putXML(properties, corsRule("*", "GET", "x-ms-*,Accept", "y-*,Date")).gives(202),
		getXML(properties).gives(200, has("<AllowedHeaders>Accept,x-ms-*</AllowedHeaders>"), has("<ExposedHeaders>Date,y-*</ExposedHeaders>")),
		putXML(properties, noCors).gives(202))},
	{"service properties: retention", "§1.7 [T]", all(
		putXML(properties, "<StorageServiceProperties><Logging><Version>1.0</Version><Delete>true</Delete><Read>false</Read><Write>false</Write>"+
			"<RetentionPolicy><Enabled>true</Enabled><Days>3</Days></RetentionPolicy></Logging></StorageServiceProperties>").gives(202),
		getXML(properties).gives(200, has("<Delete>true</Delete><RetentionPolicy><Enabled>true</Enabled><Days>3</Days></RetentionPolicy></Logging>")),
		putXML(properties, "<StorageServiceProperties><Logging><Version>1.0</Version><Delete>false</Delete><Read>false</Read><Write>false</Write>"+
			off+"</Logging></StorageServiceProperties>").gives(202))},
	{"service properties: an empty root", "§1.7 [T]; the code is unconfirmed", all(
		putXML(properties, "<StorageServiceProperties />").gives(400, failure("InvalidXmlDocument", "")))},
	{"service properties: no XML", "§1.7 [D]", all(
		putXML(properties, "nonsense").gives(400, failure("InvalidXmlDocument", badXML)))},
	{"preflight without rules", "§1.8 [A]", all(
		preflight("Origin", "http://a.example", "Access-Control-Request-Method", "GET").gives(403,
			failure("CorsPreflightFailure", "CORS not enabled or no matching rule found for this request.")))},
	{"preflight without its headers", "§1.8 [A]", all(
		preflight().gives(400, failure("InvalidHeaderValue", "A required CORS header is not present.{any}")))},
	{"preflight by a rule", "§1.8 [A]", all(
		putXML(properties, corsRule("http://a.example", "GET,PUT", "x-ms-*,content-type", "")),
		preflight("Origin", "http://a.example", "Access-Control-Request-Method", "PUT", "Access-Control-Request-Headers", "x-ms-date,content-type").gives(200,
			header("Access-Control-Allow-Origin", "http://a.example"), header("Access-Control-Allow-Methods", "PUT"),
			header("Access-Control-Allow-Headers", "x-ms-date,content-type"), header("Access-Control-Max-Age", "5"),
			header("Access-Control-Allow-Credentials", "true")),
		preflight("Origin", "http://b.example", "Access-Control-Request-Method", "PUT").gives(403, failure("CorsPreflightFailure", "")),
		preflight("Origin", "http://a.example", "Access-Control-Request-Method", "POST").gives(403),
		preflight("Origin", "http://a.example", "Access-Control-Request-Method", "GET", "Access-Control-Request-Headers", "authorization").gives(403),
		putXML(properties, noCors))},
	{"request of another origin", "§1.8 [A]", all(
		putXML(properties, corsRule("http://a.example", "GET", "", "x-ms-request-id")),
		get("{T}()", "Origin", "http://a.example").gives(200, header("Access-Control-Allow-Origin", "http://a.example"),
			header("Access-Control-Allow-Credentials", "true"), header("Vary", "Origin"), header("Access-Control-Expose-Headers", "x-ms-request-id")),
		get("{T}()", "Origin", "http://b.example").gives(200, header("Access-Control-Allow-Origin", "")),
		putXML(properties, noCors))},
	{"reads vary by origin once there are rules", "§1.4 [R]", all(
		putXML(properties, corsRule("http://a.example", "GET", "", "")),
		get("{T}()").gives(200, header("Vary", "Origin")),
		putXML(properties, noCors), get("{T}()").gives(200, header("Vary", "")))},
	{"request of any origin", "§1.8 [A]", all(
		putXML(properties, corsRule("*", "GET", "", "")),
		get("{T}()", "Origin", "http://b.example").gives(200, header("Access-Control-Allow-Origin", "*"), header("Access-Control-Allow-Credentials", "")),
		putXML(properties, noCors))},
}
