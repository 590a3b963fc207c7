package conformance

// difference is what a target is known to do in another way than the service, with the cases that show it.
type difference struct {
	reason string
	cases  []string
}

// azuriteDifferences are those of the Azurite that internal/acctest pins. A case stands under the first difference
// that it shows.
var azuriteDifferences = []difference{
	{"It does not give the address of what was made: no Location, no DataServiceId.", []string{
		"create table at minimal metadata", "create table without content", "insert without content",
	}},
	{"It gives no address, and applies a preference that nobody sent.", []string{"insert with content"}},
	{"It writes the members of full metadata in another order, odata.type behind TableName.", []string{
		"create table at full metadata", "query tables at full metadata",
	}},
	{"Its answer for one table is an empty list of entities.", []string{"created table appears", "get one table"}},
	{"It says TableNotFound of an entry of Tables; the service says ResourceNotFound.", []string{
		"get one table that is not there",
	}},
	{"An error does not name the preference that was applied.", []string{
		"refused create table keeps the preference", "refused insert keeps the preference",
	}},
	{"Its continuation tokens are plain names and plain base64, not 1!length!text, and it takes any text for one.", []string{
		"query tables page by page", "top", "token names the first of the next page", "pages of a filter",
		"token of a partition alone", "malformed token",
	}},
	{"It leaves an empty PartitionKey out of a token, and so starts over.", []string{"token of an empty key"}},
	{"It answers with a 500 that has no body where the service has a code.", []string{
		"query tables by another property", "transaction with a query and a change", "transaction updates what is not there",
		"transaction with an old ETag", "key with / in a URL",
	}},
	{"It checks the name of a table that is to be deleted.", []string{
		"delete table of a malformed name", "delete table of a wrong length", "delete table of the reserved name",
	}},
	{"Its errors of table names have no code, or one of its own.", []string{
		"table name with a bad character", "table name that begins with a digit", "table name too short",
		"table name too long", "reserved table name", "table without a name",
	}},
	{"It takes names of tables that differ by letter case for two tables.", []string{
		"table names keep their letter case", "table in another letter case",
	}},
	{"It answers with its own version whatever the request's; the tests start it without its check of versions.", []string{
		"version is echoed", "version that is none",
	}},
	{"It does not echo the client's request id in an error.", []string{"client request id is echoed"}},
	{"It names itself in Server.", []string{"answers name the service", "error of credentials"}},
	{"It sends no streaming=true;charset=utf-8.", []string{"content type at each level"}},
	{"It sends neither Cache-Control nor X-Content-Type-Options outside of transactions.", []string{
		"answers of OData are not cached", "error in JSON", "transaction of every kind",
	}},
	{"It sends no Content-Length with a 204.", []string{"empty answers have a length", "access policy"}},
	{"Its XML has another declaration, no byte order mark, other errors.", []string{
		"stats at the secondary", "no access policies", "access policies of a table that is not there",
		"error of an access policy",
	}},
	{"It takes only policies that have all their elements, and refuses others without a body.", []string{
		"access policy of an id alone", "access policies behind a byte order mark", "empty body takes access policies away",
		"access policies are replaced as a whole", "access policies: six", "access policies: five",
		"access policy with a long id", "table SAS by a policy",
	}},
	{"Its logging is on at first, and elements are in another order.", []string{
		"service properties", "service properties: retention",
	}},
	{"It sends an empty body with a length where the service sends none in chunks.", []string{
		"service properties: a section alone",
	}},
	{"It gives lists of headers back as they came.", []string{
		"service properties: lists of headers come back with literal names first",
	}},
	{"It refuses bad XML without a body, or with 500.", []string{
		"service properties: an empty root", "service properties: no XML",
	}},
	{"It answers a preflight without rules with 200.", []string{"preflight without rules"}},
	{"It takes only CORS rules whose lists are not empty.", []string{
		"preflight by a rule", "request of another origin", "reads vary by origin once there are rules",
		"request of any origin",
	}},
	{"It writes Timestamp last, and a DateTime as it came.", []string{
		"entity at minimal metadata", "entity at full metadata", "entity without metadata", "query without metadata",
		"answer to an insert", "DateTime is trimmed",
	}},
	{"Its metadata URL of a query is that of one table, and never names what was selected.", []string{
		"query at minimal metadata", "query at full metadata", "select in a query", "select in a point get",
		"empty select is all",
	}},
	{"It leaves selected properties out that an entity lacks (issue 2535).", []string{"select what is missing"}},
	{"It takes the last of two properties of one name.", []string{"property twice"}},
	{"It does not check names of properties.", []string{
		"property with a hyphen", "property that begins with a digit", "name of 256 characters",
	}},
	{"It refuses bad JSON without a code.", []string{"body that is no JSON"}},
	{"It does not check ranges and forms of values.", []string{
		"Int32 out of range", "Int64 out of range", "Double out of range", "DateTime out of range", "Guid that is none",
		"Binary that is none",
	}},
	{"It reads 1.0 without a type as an integer.", []string{"Double has a point"}},
	{"It has no limits for the number of properties and the size of an entity.", []string{
		"253 properties", "entity of more than 1 MiB",
	}},
	{"It says InvalidInput of bad keys, with a text of its own.", []string{
		"key of 2048 characters in a body", "key of 2048 characters in an upsert", "key with / in a body",
		`key with \\ in a body`, "key with # in a body", "key with ? in a body", `key with \u0000 in a body`,
		`key with \u001f in a body`, `key with \u007f in a body`, `key with \u009f in a body`, "key with # in a URL",
		"key with ? in a URL", "key with U+0085 in a URL", `key with \ in a URL`,
	}},
	{"No web front end answers before it.", []string{
		"key with U+0001 in a URL", "key with U+001F in a URL", "key with U+007F in a URL", "key with U+0081 in a URL",
	}},
	{"It takes any property that is there for true.", []string{"bare property that is no Boolean"}},
	{"It compares properties with each other, and with null, and refuses constants as a bad query.", []string{
		"property with property", "constant with constant", "nonsense that looks like code", "null",
	}},
	{"Its syntax errors have another text.", []string{"syntax error"}},
	{"It compares times by the millisecond.", []string{"DateTime with datetime'2020-01-22T00:00:00.0000001Z'"}},
	{"It compares values of two types as JavaScript does, and fails where one is a BigInt.", []string{
		"Int64 with 3", "Double with 4L", "Double with 3L", "Int32 with 3L", "Int32 with 3.0", "Int64 with 3.0",
		"Int32 with true", "Int32 with '3'", "Int32 with guid'08260b3f-beab-45e2-b900-33e2b442e724'", "Int32 with X'00'",
		"Int64 with true", "Int64 with '3'", "Double with true", "Double with '3'",
		"Double with guid'08260b3f-beab-45e2-b900-33e2b442e724'", "Double with X'00'",
		"Boolean with guid'08260b3f-beab-45e2-b900-33e2b442e724'", "Boolean with X'00'", "String with 2", "String with true",
		"String with datetime'2019-01-22T00:00:00Z'", "String with guid'08260b3f-beab-45e2-b900-33e2b442e724'",
		"String with X'00'", "DateTime with 2", "DateTime with true", "Guid with 2", "Guid with true", "Guid with '3'",
		"Guid with datetime'2019-01-22T00:00:00Z'", "Guid with X'00'", "Binary with 2", "Binary with true", "Binary with '3'",
		"Binary with datetime'2019-01-22T00:00:00Z'",
	}},
	{"It gives as many rows as $top asks for, and an error without a code for a number below zero.", []string{
		"top of more", "top of less than nothing",
	}},
	{"It does not take X-HTTP-Method within a transaction.", []string{"transaction with a tunnelled merge"}},
	{"It answers inserts of a transaction with 201 and no content.", []string{"transaction answers inserts with content"}},
	{"It does not see a Prefer in lower case within a transaction.", []string{"transaction with lower-case headers"}},
	{"It takes a query string within a transaction for a part of the path.", []string{
		"transaction with query strings in its URLs",
	}},
	{"It has no queries within a batch, and answers point gets there in a form of its own.", []string{
		"transaction with a single query", "transaction with a single point get",
	}},
	{"The part of a failure names a Content-ID that nobody sent.", []string{"failed transaction has one part"}},
	{"It words repeated rows otherwise, and counts too many operations as operation 0.", []string{
		"transaction names a row twice", "transaction of 101",
	}},
	{"It takes transactions across partitions.", []string{
		"transaction across partitions", "refusals before any data have no Cache-Control",
	}},
	{"It reads URLs within a transaction by patterns that bad keys do not fit.", []string{
		"transaction with a bad key in a body", "transaction with a bad key in a URL", "transaction with a slash in a key",
	}},
	{"It words malformed ETags otherwise (issues 730, 2013).", []string{
		"replace with an ETag that is none", "merge with an ETag that is none", "delete with an ETag that is none",
	}},
	{"It ignores or refuses unknown methods without a code.", []string{
		"X-HTTP-Method without POST", "method that a resource has not",
	}},
	{"Its code for bad credentials is AuthorizationFailure, and there is no challenge.", []string{
		"wrong signature", "no credentials, older version", "no credentials, newer version", "account SAS that expired",
	}},
	{"It does not look at the date of a request.", []string{"request of twenty minutes ago"}},
	{"It takes any of the letters that a SAS needs for all of them.", []string{"upsert by SAS needs two letters"}},
	{"It does not enforce the key range of a SAS.", []string{
		"table SAS with a range: queries", "table SAS with a range: writes", "table SAS with a range of rows",
	}},
	{"It takes */* for Atom.", []string{"error for any media type"}},
}
