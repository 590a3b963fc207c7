package conformance

// Forms of errors (reference §8) and authorization (§7).

const jsonError = `{"odata.error":{"code":"ResourceNotFound","message":{"lang":"en-US","value":"The specified resource does not exist.\nRequestId:{guid}\nTime:{any}Z"}}}`

const authenticationFailed = "Server failed to authenticate the request. Make sure the value of Authorization header is formed correctly including the signature."

var errorCases = []exchange{
	{"error in JSON", "§8.1 [R]", all(get(row).gives(404, with(odata, header("Content-Type", jsonMinimal), header("x-ms-error-code", ""),
		header("Transfer-Encoding", "chunked"), body(jsonError))...))},
	{"error at full metadata", "§8.1 [R]", all(get(row, "Accept", acceptFull).gives(404, header("Content-Type", jsonFull), body(jsonError)))},
	{"error without metadata", "§8.1 [R]", all(get(row, "Accept", acceptNone).gives(404, header("Content-Type", jsonNone), body(jsonError)))},
	{"error for any media type", "§8.2 [R]", all(get(row, "Accept", "*/*").gives(404, header("Content-Type", "application/xml;charset=utf-8"),
		body(`<?xml version="1.0" encoding="utf-8"?><error xmlns="http://schemas.microsoft.com/ado/2007/08/dataservices/metadata"><code>ResourceNotFound</code>`+
			`<message xml:lang="en-US">The specified resource does not exist.`+"\nRequestId:{guid}\nTime:{any}Z</message></error>")))},
	{"error of an access policy", "§8.3 [R]", all(putXML(acl, "x").gives(400, with(plain, header("Content-Type", "application/xml"), header("x-ms-error-code", "InvalidXmlDocument"),
		body(`<?xml version="1.0" encoding="utf-8"?><m:error xmlns:m="http://schemas.microsoft.com/ado/2007/08/dataservices/metadata"><m:code>InvalidXmlDocument</m:code>`+
			`<m:message xml:lang="en-US">`+badXML+"\nRequestId:{guid}\nTime:{any}Z</m:message></m:error>"))...))},
	{"error of credentials", "§8.3, §1.4 [R]", all(get("{T}()").by(wrongKey).gives(403, header("Content-Type", "application/xml"), header("x-ms-error-code", "AuthenticationFailed"),
		header("Server", "Microsoft-HTTPAPI/2.0"), has(`<m:error xmlns:m="http://schemas.microsoft.com/ado/2007/08/dataservices/metadata"><m:code>AuthenticationFailed</m:code>`)))},
}

const (
	accountSAS = "sv=2019-02-02&ss=t&srt=sco&se={soon}&sp="
	tableSAS   = "sv=2019-02-02&tn={T}&se={soon}&sp="
)

var authorizationCases = []exchange{
	{"Shared Key", "§7.1", all(get("{T}()").by(sharedKey).gives(200), insert(rowBody).by(sharedKey).gives(201), getXML(acl).by(sharedKey).gives(200))},
	{"wrong signature", "§7.5 [R]", all(get("{T}()").by(wrongKey).gives(403, failure("AuthenticationFailed", authenticationFailed)))},
	{"request of twenty minutes ago", "§7.4 [D]", all(get("{T}()").by(oldDate).gives(403, failure("AuthenticationFailed", authenticationFailed)))},
	{"no credentials, older version", "§7.7 [R]", all(get("{T}()").by(noCredentials).gives(403, failure("AuthenticationFailed", authenticationFailed)))},
	{"no credentials, newer version", "§7.7 [R]", all(get("{T}()", "x-ms-version", "2020-12-06").by(noCredentials).gives(401,
		header("WWW-Authenticate", "Bearer authorization_uri={any}"), header("x-ms-error-code", "InvalidAuthenticationInfo")))},
	{"account SAS", "§7.5", all(insert(rowBody).by(sharedKeyLite), get("{T}()?"+accountSAS+"r").by(withSAS).gives(200, rows("r")),
		do("POST", "{T}?"+accountSAS+"a", `{"PartitionKey":"p","RowKey":"s"}`).by(withSAS).gives(201), do("DELETE", row+"?"+accountSAS+"d", "", "If-Match", "*").by(withSAS).gives(204))},
	{"account SAS without the letter", "§7.5 [R]", all(do("POST", "{T}?"+accountSAS+"r", rowBody).by(withSAS).gives(403,
		failure("AuthorizationPermissionMismatch", "This request is not authorized to perform this operation using this permission.")))},
	{"account SAS for other resource types", "§7.5 [D]", all(get("{T}()?sv=2019-02-02&ss=t&srt=s&se={soon}&sp=r").by(withSAS).gives(403, failure("AuthorizationResourceTypeMismatch", "")))},
	{"account SAS for other services", "§7.5 [D]", all(get("{T}()?sv=2019-02-02&ss=b&srt=o&se={soon}&sp=r").by(withSAS).gives(403, failure("AuthorizationServiceMismatch", "")))},
	{"account SAS that expired", "§7.5", all(get("{T}()?sv=2019-02-02&ss=t&srt=o&se={past}&sp=r").by(withSAS).gives(403, failure("AuthenticationFailed", "")))},
	{"SAS reaches no access policy", "§7.5 [D]", all(do("GET", acl+"&"+accountSAS+"rwdlacu", "").by(withSAS).gives(403))},
	{"upsert by SAS needs two letters", "§7.5 [D]", all(
		put(row+"?"+accountSAS+"u", `{}`).by(withSAS).gives(403, failure("AuthorizationPermissionMismatch", "")),
		put(row+"?"+accountSAS+"a", `{}`).by(withSAS).gives(403), put(row+"?"+accountSAS+"au", `{}`).by(withSAS).gives(204))},
	{"table SAS", "§7.5", all(insert(rowBody), get("{T}()?"+tableSAS+"r").by(withSAS).gives(200, rows("r")), do("POST", "{T}?"+tableSAS+"a", `{"PartitionKey":"p","RowKey":"s"}`).by(withSAS).gives(201))},
	{"table SAS for another table", "§7.5; the code is unconfirmed", all(create("{N}"), get("{N}()?"+tableSAS+"r").by(withSAS).gives(403))},
	{"table SAS lists no tables", "§7.5 [D]", all(get("Tables?" + tableSAS + "r").by(withSAS).gives(403))},
	{"table SAS with a range: queries", "§7.5 [R]", all(insert(`{"PartitionKey":"a","RowKey":"1"}`), insert(`{"PartitionKey":"b","RowKey":"2"}`), insert(`{"PartitionKey":"c","RowKey":"3"}`),
		get("{T}()?"+tableSAS+"r&spk=b&epk=b", "Accept", acceptNone).by(withSAS).gives(200, rows("2")))},
	{"table SAS with a range: writes", "§7.5 [R]", all(
		do("POST", "{T}?"+tableSAS+"a&spk=b&epk=b", `{"PartitionKey":"b","RowKey":"1"}`).by(withSAS).gives(201),
		do("POST", "{T}?"+tableSAS+"a&spk=b&epk=b", `{"PartitionKey":"c","RowKey":"1"}`).by(withSAS).gives(403,
			failure("AuthorizationFailure", "This request is not authorized to perform this operation.")))},
	{"table SAS with a range of rows", "§7.5 [D]", all(
		do("POST", "{T}?"+tableSAS+"a&spk=b&srk=2&epk=b&erk=3", `{"PartitionKey":"b","RowKey":"2"}`).by(withSAS).gives(201),
		do("POST", "{T}?"+tableSAS+"a&spk=b&srk=2&epk=b&erk=3", `{"PartitionKey":"b","RowKey":"1"}`).by(withSAS).gives(403))},
	{"table SAS by a policy", "§7.5 [D]", all(
		putXML(acl, policies("<SignedIdentifier><Id>readers</Id><AccessPolicy><Expiry>2099-01-01</Expiry><Permission>r</Permission></AccessPolicy></SignedIdentifier>")),
		get("{T}()?sv=2019-02-02&tn={T}&si=readers").by(withSAS).gives(200),
		putXML(acl, ""), get("{T}()?sv=2019-02-02&tn={T}&si=readers").by(withSAS).gives(403, failure("AuthenticationFailed", "")))},
}
