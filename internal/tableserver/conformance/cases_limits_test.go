package conformance

import (
	"fmt"
	"strings"
)

// Limits (reference §3), bad characters in keys (§3.1), and concurrency (§6).

// numbered is n properties.
func numbered(n int) string {
	list := make([]string, n)
	for i := range list {
		list[i] = fmt.Sprintf(`"p%d":%d`, i, i)
	}
	return strings.Join(list, ",")
}

// kilobytes is n properties of 32 KiB as the service counts them.
func kilobytes(n int) string {
	list := make([]string, n)
	for i := range list {
		list[i] = fmt.Sprintf(`"p%d":"%s"`, i, letters(16<<10))
	}
	return strings.Join(list, ",")
}

func limitCases() []exchange {
	const outOfRange = "One of the request inputs is out of range."
	const querySyntax = "Bad Request - Error in query syntax."
	at := func(escaped string) string { return "{T}(PartitionKey='a" + escaped + "',RowKey='r')" }
	list := []exchange{
		stored("252 properties", "§3 [R]", numbered(252), numbered(252)),
		refused("253 properties", "§3 [R]", numbered(253), "TooManyProperties", "The entity contains more properties than allowed. "+
			"Each entity can include up to 252 properties to store data. Each entity also has 3 system properties."),
		stored("name of 255 characters", "§3 [D]", `"`+letters(255)+`":1`, `"`+letters(255)+`":1`),
		refused("name of 256 characters", "§3 [D]", `"`+letters(256)+`":1`, "PropertyNameTooLong", "The property name exceeds the maximum allowed length (255)."),
		refused("entity of more than 1 MiB", "§3 [R]", kilobytes(33), "EntityTooLarge", "The entity is larger than the maximum allowed size (1MB)."),
		{"body of more than 4 MiB", "§3 [A]", all(
			insert(`{"PartitionKey":"p","RowKey":"r","v":"`+letters(5<<20)+`"}`).gives(413, failure("RequestBodyTooLarge", "")))},
		{"key of 512 characters", "§3 [D][A]", all(
			insert(`{"PartitionKey":"` + letters(512) + `","RowKey":"` + letters(512) + `"}`).gives(201))},
		{"key of 2048 characters in a body", "§3 [t]", all(
			insert(`{"PartitionKey":"`+letters(2048)+`","RowKey":"r"}`).gives(400, failure("PropertyValueTooLarge", "")),
			insert(`{"PartitionKey":"p","RowKey":"`+letters(2048)+`"}`).gives(400, failure("PropertyValueTooLarge", "")))},
		{"key of 2048 characters in an upsert", "§3 [t]", all(
			put("{T}(PartitionKey='p',RowKey='"+letters(2048)+"')", `{}`).gives(400, failure("PropertyValueTooLarge", "")))},
		{"key of 2048 characters that is looked for", "§3 [t][T]", all(
			get("{T}(PartitionKey='p',RowKey='"+letters(2048)+"')").gives(404, failure("ResourceNotFound", "")),
			do("DELETE", "{T}(PartitionKey='p',RowKey='"+letters(2048)+"')", "", "If-Match", anyMatch).gives(404, failure("ResourceNotFound", "")))},
	}
	for _, bad := range []string{"/", `\\`, "#", "?", `\u0000`, `\u001f`, `\u007f`, `\u009f`} {
		value := strings.NewReplacer(`\\`, `\`, `\u0000`, "\x00", `\u001f`, "\x1f", `\u007f`, "\x7f", `\u009f`, "\u009f").Replace(bad)
		list = append(list, exchange{"key with " + bad + " in a body", "§3.1 [T]", all(
			insert(`{"PartitionKey":"a`+bad+`","RowKey":"r"}`).gives(400, failure("OutOfRangeInput", "The 'PartitionKey' parameter of value 'a"+value+"' is out of range.")),
			insert(`{"PartitionKey":"p","RowKey":"`+bad+`"}`).gives(400, failure("OutOfRangeInput", "The 'RowKey' parameter of value '"+value+"' is out of range.")))})
	}
	for _, bad := range []struct{ what, escaped string }{{"#", "%23"}, {"?", "%3F"}, {"U+0085", "%C2%85"}} {
		list = append(list, exchange{"key with " + bad.what + " in a URL", "§3.1 [T]", all(
			put(at(bad.escaped), `{}`).gives(400, failure("OutOfRangeInput", outOfRange)),
			merge(at(bad.escaped), `{}`).gives(400, failure("OutOfRangeInput", outOfRange)),
			do("DELETE", at(bad.escaped), "", "If-Match", anyMatch).gives(400, failure("OutOfRangeInput", outOfRange)))})
	}
	for _, bad := range []struct{ what, escaped string }{{"/", "%2F"}, {`\`, "%5C"}} {
		list = append(list, exchange{"key with " + bad.what + " in a URL", "§3.1 [T]", all(
			put(at(bad.escaped), `{}`).gives(400, failure("InvalidInput", querySyntax)),
			do("DELETE", at(bad.escaped), "", "If-Match", anyMatch).gives(400, failure("InvalidInput", querySyntax)))})
	}
	for _, bad := range []struct{ what, escaped string }{{"U+0001", "%01"}, {"U+001F", "%1F"}, {"U+007F", "%7F"}, {"U+0081", "%C2%81"}} {
		list = append(list, exchange{"key with " + bad.what + " in a URL", "§3.1 [T]", all(
			put(at(bad.escaped), `{}`).gives(400, header("x-ms-request-id", ""), header("x-ms-version", ""), has("Bad Request - Invalid URL")))})
	}
	return list
}

const (
	conditionFailed = "The update condition specified in the request was not satisfied."
	otherETag       = `W/"datetime'2001-01-01T00%3A00%3A00Z'"`
)

var concurrencyCases = []exchange{
	{"insert what exists", "§6 [R]", all(insert(rowBody), insert(rowBody).gives(409, failure("EntityAlreadyExists", "The specified entity already exists.")))},
	{"insert into no table", "§6 [R]", all(do("POST", "{N}", rowBody).gives(404, failure("TableNotFound", noTable)))},
	{"point get from no table", "§4.5 [T] for the status", all(get("{N}(PartitionKey='p',RowKey='r')").gives(404, failure("TableNotFound", noTable)))},
	{"query of no table", "§6 [R]", all(get("{N}()").gives(404, failure("TableNotFound", noTable)))},
	{"upsert into no table", "§6 [R]", all(put("{N}(PartitionKey='p',RowKey='r')", `{}`).gives(404, failure("TableNotFound", noTable)))},
	{"get what is not there", "§6 [R]", all(get(row).gives(404, failure("ResourceNotFound", notThere)))},
	{"replace upserts without a condition", "§6 [D]", all(put(row, `{"n":1}`).gives(204), put(row, `{"n":2}`).gives(204), get(row).gives(200, has(`"n":2`)))},
	{"merge upserts without a condition", "§6 [D]", all(do("PATCH", row, `{"n":1}`).gives(204), merge(row, `{"m":2}`).gives(204), get(row).gives(200, own(`"n":1,"m":2`)))},
	{"merge through POST", "§1.2 [S]", all(insert(rowBody), do("POST", row, `{"m":2}`, "X-HTTP-Method", "MERGE").gives(204), get(row).gives(200, own(`"n":1,"m":2`)))},
	{"update with * needs the entity", "§6 [D]", all(
		put(row, `{}`, "If-Match", anyMatch).gives(404, failure("ResourceNotFound", notThere)),
		merge(row, `{}`, "If-Match", anyMatch).gives(404, failure("ResourceNotFound", notThere)),
		do("PATCH", row, `{}`, "If-Match", anyMatch).gives(404, failure("ResourceNotFound", notThere)),
		do("DELETE", row, "", "If-Match", anyMatch).gives(404, failure("ResourceNotFound", notThere)))},
	{"update with the entity's ETag", "§6 [R]", all(insert(rowBody),
		put(row, `{"n":2}`, "If-Match", "{E}").gives(204, header("ETag", "{etag}")),
		merge(row, `{"n":3}`, "If-Match", "{E}").gives(204), do("DELETE", row, "", "If-Match", "{E}").gives(204))},
	{"update with an old ETag", "§6 [R]", all(insert(rowBody), put(row, `{"n":2}`, "If-Match", anyMatch),
		put(row, `{}`, "If-Match", "{E0}").gives(412, failure("UpdateConditionNotSatisfied", conditionFailed)),
		merge(row, `{}`, "If-Match", "{E0}").gives(412, failure("UpdateConditionNotSatisfied", conditionFailed)),
		do("DELETE", row, "", "If-Match", "{E0}").gives(412, failure("UpdateConditionNotSatisfied", conditionFailed)))},
	{"update of nothing with an ETag", "§6 [R]", all(
		put(row, `{}`, "If-Match", otherETag).gives(404, failure("ResourceNotFound", notThere)),
		do("DELETE", row, "", "If-Match", otherETag).gives(404, failure("ResourceNotFound", notThere)))},
	{"ETag of another form", "§6 [issues]", all(insert(rowBody), put(row, `{}`, "If-Match", `W/"whatever"`).gives(412, failure("UpdateConditionNotSatisfied", "")))},
	{"replace with an ETag that is none", "§6 [issues 730, 2013]", all(insert(rowBody), put(row, `{}`, "If-Match", "test").gives(400, failure("InvalidInput", "{any}etag value{any}")))},
	{"merge with an ETag that is none", "§6 [issues 730, 2013]", all(insert(rowBody), merge(row, `{}`, "If-Match", "test").gives(400, failure("InvalidInput", "{any}etag value{any}")))},
	{"delete with an ETag that is none", "§6, §11.7", all(insert(rowBody), do("DELETE", row, "", "If-Match", "test").gives(400, failure("InvalidInput", "{any}etag value{any}")))},
	{"write without a difference changes the ETag", "§6 [D]", all(insert(rowBody), put(row, `{"n":1}`),
		put(row, `{"n":1}`, "If-Match", "{E0}").gives(412), put(row, `{"n":1}`, "If-Match", "{E}").gives(204))},
	{"X-HTTP-Method without POST", "§8.4 [D]", all(insert(rowBody), do("GET", row, "", "X-HTTP-Method", "MERGE").gives(400, failure("XMethodNotUsingPost", "")))},
	{"method that a resource has not", "§8.4 [D]", all(do("PUT", "Tables", `{}`).gives(405, failure("MethodNotAllowed", "")))},
}
