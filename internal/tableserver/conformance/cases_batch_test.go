package conformance

import (
	"fmt"
	"strings"
)

// Entity group transactions (reference §5).

// part is an operation of a change set.
func part(method, path, body string, headers ...string) string {
	var b strings.Builder
	b.WriteString("Content-Type: application/http\r\nContent-Transfer-Encoding: binary\r\n\r\n" + method + " {U}" + path + " HTTP/1.1\r\n")
	for i := 0; i < len(headers); i += 2 {
		b.WriteString(headers[i] + ": " + headers[i+1] + "\r\n")
	}
	return b.String() + "Accept: application/json;odata=minimalmetadata\r\nContent-Type: application/json\r\nDataServiceVersion: 3.0\r\n\r\n" + body + "\r\n"
}

func add(pk, rk string, headers ...string) string {
	return part("POST", "{T}", fmt.Sprintf(`{"PartitionKey":"%s","RowKey":"%s"}`, pk, rk), append(headers, "Prefer", noContent)...)
}

func at(rk string) string { return "{T}(PartitionKey='p',RowKey='" + rk + "')" }

// changeSet is the body of a transaction.
func changeSet(parts ...string) string {
	return "--batch_1\r\nContent-Type: multipart/mixed; boundary=changeset_1\r\n\r\n--changeset_1\r\n" +
		strings.Join(parts, "--changeset_1\r\n") + "--changeset_1--\r\n--batch_1--\r\n"
}

func send(body string) step {
	return do("POST", "$batch", body, "Content-Type", "multipart/mixed; boundary=batch_1")
}

func submit(parts ...string) step { return send(changeSet(parts...)) }

// fails is a case: a transaction of which nothing is done; it answers with one part.
func fails(name, source string, status, code, text string, parts ...string) exchange {
	return exchange{name, source, all(
		insert(`{"PartitionKey":"p","RowKey":"there"}`),
		submit(parts...).gives(202, has("HTTP/1.1 "+status+"\r\n"), failure(code, text)),
		get("{T}()", "Accept", acceptNone).gives(200, rows("there")))}
}

func batchCases() []exchange {
	many := make([]string, 101)
	for i := range many {
		many[i] = add("p", fmt.Sprint(i))
	}
	const start = "--batchresponse_{guid}\r\nContent-Type: multipart/mixed; boundary=changesetresponse_{guid}\r\n\r\n"
	const next = "--changesetresponse_{guid}\r\nContent-Type: application/http\r\nContent-Transfer-Encoding: binary\r\n\r\nHTTP/1.1 204 No Content\r\n" +
		"X-Content-Type-Options: nosniff\r\nCache-Control: no-cache\r\n"
	const end = "--changesetresponse_{guid}--\r\n--batchresponse_{guid}--\r\n"
	const written = next + "DataServiceVersion: 1.0;\r\nETag: {etag}\r\n\r\n\r\n"
	inserted := func(rk string) string {
		return next + "Preference-Applied: return-no-content\r\nDataServiceVersion: 3.0;\r\nLocation: {U}" + at(rk) + "\r\nDataServiceId: {U}" + at(rk) + "\r\nETag: {etag}\r\n\r\n\r\n"
	}
	query := func(url string) string {
		return "--batch_1\r\nContent-Type: application/http\r\nContent-Transfer-Encoding: binary\r\n\r\nGET {U}" + url +
			" HTTP/1.1\r\nAccept: application/json;odata=nometadata\r\n\r\n\r\n--batch_1--\r\n"
	}
	two := changeSet(add("p", "1"), add("p", "2"))
	return []exchange{
		{"transaction of every kind", "§5.2 [R]", all(
			insert(`{"PartitionKey":"p","RowKey":"d","n":1}`), insert(`{"PartitionKey":"p","RowKey":"m","n":1}`),
			submit(add("p", "i", "Content-ID", "0"), part("DELETE", at("d"), "", "If-Match", "*"), part("PATCH", at("m"), `{"x":1}`, "If-Match", "*"),
				part("PUT", at("r"), `{"x":1}`), part("MERGE", at("u"), `{"x":1}`)).gives(202, with(odata, header("DataServiceVersion", ""),
				header("Content-Type", "multipart/mixed; boundary=batchresponse_{guid}"), header("Transfer-Encoding", "chunked"),
				body(start+inserted("i")+next+"DataServiceVersion: 1.0;\r\n\r\n\r\n"+written+written+written+end))...),
			get("{T}()", "Accept", acceptNone).gives(200, rows("i m r u")),
			get(at("m")).gives(200, own(`"n":1,"x":1`)))},
		{"transaction with a tunnelled merge", "§5.1 [D]", all(
			insert(`{"PartitionKey":"p","RowKey":"m","n":1}`), submit(part("POST", at("m"), `{"x":1}`, "X-HTTP-Method", "MERGE")).gives(202, has("HTTP/1.1 204 ")),
			get(at("m")).gives(200, own(`"n":1,"x":1`)))},
		{"transaction answers inserts with content", "§5.2, by analogy", all(
			submit(part("POST", "{T}", `{"PartitionKey":"p","RowKey":"i"}`)).gives(202, has("HTTP/1.1 201 Created\r\n"), has(`"RowKey":"i"`)))},
		{"transaction of 100", "§3 [D]", all(submit(many[:100]...).gives(202, has("HTTP/1.1 204 "), lacks("HTTP/1.1 4")), get("{T}()?$top=100&$filter=RowKey%20eq%20'99'").gives(200, rows("99")))},
		{"transaction in lines that end with LF", "§5.1", all(send(strings.ReplaceAll(two, "\r\n", "\n")).gives(202, has("204 No Content{any}204 No Content")))},
		{"transaction with a preamble", "§5.1", all(send("preamble\r\n"+two+"epilogue\r\n").gives(202, has("204 No Content{any}204 No Content")))},
		{"transaction without its last boundary", "§5.1", all(send(strings.TrimSuffix(two, "--batch_1--\r\n")).gives(202, has("204 No Content{any}204 No Content")))},
		{"transaction with lower-case headers", "§5.1, §11.5 [S]", all(
			send(strings.NewReplacer("Content-Type", "content-type", "Content-Transfer-Encoding", "content-transfer-encoding", "Prefer", "prefer").Replace(two)).
				gives(202, has("Preference-Applied{any}Preference-Applied")))},
		{"transaction with blank lines before bodies", "§11.5 [R]", all(
			send(strings.ReplaceAll(two, "\r\n\r\n{\"P", "\r\n\r\n\r\n{\"P")).gives(202, has("204 No Content{any}204 No Content")))},
		{"transaction with query strings in its URLs", "§5.1", all(
			submit(part("POST", "{T}?$format=application/json;odata=fullmetadata", `{"PartitionKey":"p","RowKey":"i"}`)).gives(202, has(`"odata.editLink":"{T}(PartitionKey='p',RowKey='i')"`)))},
		{"transaction with a single query", "§5.1 [D]", all(insert(rowBody),
			send(query("{T}()?$filter=RowKey%20eq%20'r'")).gives(202, has("--batchresponse_{guid}\r\nContent-Type: application/http\r\nContent-Transfer-Encoding: binary\r\n\r\nHTTP/1.1 200 OK\r\n"),
				has(`{"value":[{`+keysAndTime+`,"n":1}]}`), lacks("changesetresponse")))},
		{"transaction with a single point get", "§5.1 [D]", all(insert(rowBody),
			send(query(row)).gives(202, has("HTTP/1.1 200 OK\r\n"), has(keysAndTime), lacks("changesetresponse")))},
		{"transaction with a query that finds nothing", "§5.1 [D]", all(
			send(query(row)).gives(202, has("HTTP/1.1 404 Not Found\r\n"), failure("ResourceNotFound", "")))},
		{"transaction with a query and a change", "§5.1 [D]", all(submit(add("p", "1"), part("GET", row, "")).gives(400, failure("InvalidInput", "")),
			get("{T}()", "Accept", acceptNone).gives(200, rows("")))},
		fails("transaction inserts what exists", "§5.3 [R]", "409 Conflict", "EntityAlreadyExists", "1:The specified entity already exists.", add("p", "1"), add("p", "there")),
		{"failed transaction has one part", "§5.3 [R]", all(insert(`{"PartitionKey":"p","RowKey":"there"}`),
			submit(add("p", "1"), add("p", "there")).gives(202, body(start+"--changesetresponse_{guid}\r\nContent-Type: application/http\r\nContent-Transfer-Encoding: binary\r\n\r\n"+
				"HTTP/1.1 409 Conflict\r\nX-Content-Type-Options: nosniff\r\nCache-Control: no-cache\r\nPreference-Applied: return-no-content\r\nDataServiceVersion: 3.0;\r\n"+
				"Content-Type: application/json;odata=minimalmetadata;streaming=true;charset=utf-8\r\n\r\n"+
				`{"odata.error":{"code":"EntityAlreadyExists","message":{"lang":"en-US","value":"1:The specified entity already exists.\nRequestId:{guid}\nTime:{any}Z"}}}`+"\r\n"+end)))},
		fails("transaction names a row twice", "§5.3 [R][T]", "400 Bad Request", "InvalidDuplicateRow",
			"1:The batch request contains multiple changes with same row key. An entity can appear only once in a batch request.", add("p", "1"), add("p", "1")),
		fails("transaction across partitions", "§5.3 [T]", "400 Bad Request", "CommandsInBatchActOnDifferentPartitions",
			"1:All commands in a batch must operate on same entity group.", add("p", "1"), add("q", "2")),
		fails("transaction of 101", "§5.3 [R]", "400 Bad Request", "InvalidInput", "99:The batch request operation exceeds the maximum 100 changes per change set.", many...),
		fails("transaction updates what is not there", "§5.3", "404 Not Found", "ResourceNotFound", "1:"+notThere, add("p", "1"), part("PUT", at("none"), `{}`, "If-Match", "*")),
		fails("transaction deletes what is not there", "§5.3", "404 Not Found", "ResourceNotFound", "0:"+notThere, part("DELETE", at("none"), "", "If-Match", "*")),
		fails("transaction with an old ETag", "§5.3", "412 Precondition Failed", "UpdateConditionNotSatisfied", "1:"+conditionFailed,
			add("p", "1"), part("PUT", at("there"), `{}`, "If-Match", otherETag)),
		fails("transaction with a bad key in a body", "§3.1 [t]", "400 Bad Request", "OutOfRangeInput", "0:The 'RowKey' parameter of value 'a#' is out of range.", add("p", "a#")),
		fails("transaction with a bad key in a URL", "§3.1 [t]", "400 Bad Request", "OutOfRangeInput", "0:One of the request inputs is out of range.", part("PUT", at("a%01"), `{}`)),
		fails("transaction with a slash in a key", "§3.1 [t]", "400 Bad Request", "InvalidInput", "0:Bad Request - Error in query syntax.", part("PUT", at("a%2F"), `{}`)),
		fails("transaction with a value that is too large", "§5.3", "400 Bad Request", "PropertyValueTooLarge", "0:"+tooLarge, part("PUT", at("1"), `{"v":"`+letters(32769)+`"}`)),
		{"transaction on no table", "§5.3 [R][T]", all(
			submit(strings.ReplaceAll(add("p", "1"), "{T}", "{N}")).gives(202, has("HTTP/1.1 404 Not Found\r\n"), lacks("Cache-Control"), failure("TableNotFound", "0:"+noTable)))},
		{"refusals before any data have no Cache-Control", "§5.3 [T]", all(
			submit(add("p", "1"), add("p", "1")).gives(202, lacks("Cache-Control")), submit(add("p", "1"), add("q", "1")).gives(202, lacks("Cache-Control")),
			submit(many...).gives(202, lacks("Cache-Control")))},
		{"transaction of more than 4 MiB", "§5.3 [A]", all(send(changeSet(part("PUT", at("1"), `{"v":"`+letters(5<<20)+`"}`))).gives(413, failure("RequestBodyTooLarge", "")))},
	}
}
