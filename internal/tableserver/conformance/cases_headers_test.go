package conformance

import "strings"

// Headers of requests and answers (reference §1.3, §1.4), and addresses (§1.1).

func letters(n int) string { return strings.Repeat("a", n) }

const (
	row      = "{T}(PartitionKey='p',RowKey='r')"
	rowURL   = "{U}" + row
	rowBody  = `{"PartitionKey":"p","RowKey":"r","n":1}`
	anyMatch = "*"
)

func put(path, body string, headers ...string) step   { return do("PUT", path, body, headers...) }
func merge(path, body string, headers ...string) step { return do("MERGE", path, body, headers...) }

var odata = []want{header("Cache-Control", "no-cache"), header("X-Content-Type-Options", "nosniff")}
var plain = []want{header("Cache-Control", ""), header("X-Content-Type-Options", "")}

// with joins expectations.
func with(wants []want, more ...want) []want { return append(append([]want{}, wants...), more...) }

var headerCases = []exchange{
	{"version is echoed", "§1.4 [R]", all(
		get("{T}()").gives(200, header("x-ms-version", "2019-02-02")),
		get("{T}()", "x-ms-version", "2020-12-06").gives(200, header("x-ms-version", "2020-12-06")),
		get("{T}()", "x-ms-version", "2017-07-29").gives(200, header("x-ms-version", "2017-07-29")))},
	{"version that is none", "§1.3 [A]", all(
		get("{T}()", "x-ms-version", "latest").gives(400, failure("InvalidHeaderValue", "")))},
	{"client request id is echoed", "§1.3 [R]", all(
		get("{T}()", "x-ms-client-request-id", "mine 1").gives(200, header("x-ms-client-request-id", "mine 1")),
		get("None()", "x-ms-client-request-id", "mine 2").gives(404, header("x-ms-client-request-id", "mine 2")))},
	{"answers name the service", "§1.4 [R]", all(
		get("{T}()").gives(200, header("Server", "Windows-Azure-Table/1.0 Microsoft-HTTPAPI/2.0"), header("x-ms-request-id", "{guid}"),
			header("DataServiceVersion", "")))},
	{"insert with content", "§1.4 [R]", all(
		insert(rowBody).gives(201, header("ETag", "{etag}"), header("Location", rowURL), header("Content-Type", jsonMinimal),
			header("Transfer-Encoding", "chunked"), header("Preference-Applied", ""), header("DataServiceId", "")))},
	{"insert without content", "§1.4 [R]", all(
		insert(rowBody, "Prefer", noContent).gives(204, header("ETag", "{etag}"), header("Location", rowURL),
			header("DataServiceId", rowURL), header("Preference-Applied", noContent), body("")))},
	{"insert that prefers content", "§1.4 [D]", all(
		insert(rowBody, "Prefer", "return-content").gives(201, header("Preference-Applied", "return-content")))},
	{"refused insert keeps the preference", "§1.4 [R]", all(
		insert(rowBody),
		insert(rowBody, "Prefer", noContent).gives(409, header("Preference-Applied", noContent), failure("EntityAlreadyExists", "")))},
	{"upsert", "§1.4 [R]", all(
		put(row, `{"n":1}`).gives(204, header("ETag", "{etag}"), header("Location", ""), body("")))},
	{"merge", "§1.4 [R]", all(
		merge(row, `{"n":1}`).gives(204, header("ETag", "{etag}"), body("")))},
	{"delete entity", "§1.4 [R]", all(
		insert(rowBody),
		do("DELETE", row, "", "If-Match", anyMatch).gives(204, header("ETag", ""), body("")))},
	{"point get", "§1.4 [R]", all(
		insert(rowBody),
		get(row).gives(200, header("ETag", "{E}"), header("Transfer-Encoding", "chunked"), header("Content-Type", jsonMinimal)))},
	{"query", "§1.4 [R]", all(
		get("{T}()").gives(200, header("Content-Type", jsonMinimal), header("Transfer-Encoding", "chunked"), header("ETag", "")))},
	{"content type at each level", "§1.4 [R][T]", all(
		get("{T}()").gives(200, header("Content-Type", "application/json;odata=minimalmetadata;streaming=true;charset=utf-8")),
		get("{T}()", "Accept", acceptNone).gives(200, header("Content-Type", "application/json;odata=nometadata;streaming=true;charset=utf-8")),
		get("{T}()", "Accept", acceptFull).gives(200, header("Content-Type", "application/json;odata=fullmetadata;streaming=true;charset=utf-8")))},
	{"answers of OData are not cached", "§1.4 [R]", all(
		get("{T}()").gives(200, odata...), insert(rowBody).gives(201, odata...), put(row, `{}`).gives(204, odata...), get(row).gives(200, odata...))},
	{"empty answers have a length", "§1.4 [R]", all(
		insert(rowBody, "Prefer", noContent).gives(204, header("Content-Length", "0")), put(row, `{}`).gives(204, header("Content-Length", "0")),
		do("DELETE", row, "", "If-Match", anyMatch).gives(204, header("Content-Length", "0")))},
	{"format in the URL beats Accept", "§1.3 [R]", all(
		get("{T}()?$format=application/json;odata=nometadata", "Accept", acceptFull).gives(200, header("Content-Type", jsonNone), body(`{"value":[]}`)))},
	{"blanks in Accept", "§1.3, §11.3 [S]", all(
		get("{T}()", "Accept", "application/json; odata=nometadata").gives(200, header("Content-Type", jsonNone), body(`{"value":[]}`)))},
	{"plain JSON is minimal metadata", "§2.1 [R]", all(
		get("{T}()", "Accept", "application/json").gives(200, header("Content-Type", jsonMinimal)))},
	{"Atom is refused", "§1.3 [A]", all(
		get("{T}()", "Accept", "application/atom+xml").gives(415, failure("AtomFormatNotSupported", "Atom format is not supported.")))},
	{"entities of a table without parentheses", "§1.1 [D]", all(
		insert(rowBody), get("{T}").gives(200, rows("r")))},
	{"blank after the comma of a key", "§1.1 [D]", all(
		insert(rowBody), get("{T}(PartitionKey='p',%20RowKey='r')").gives(200, has(`"n":1`)))},
	{"key with a quote", "§1.1 [D]", all(
		insert(`{"PartitionKey":"it's","RowKey":"''","n":1}`).gives(201),
		get("{T}(PartitionKey='it%27%27s',RowKey='%27%27%27%27')").gives(200, has(`"PartitionKey":"it's","RowKey":"''"`)))},
	{"key with odd characters", "§1.1 [D]", all(
		insert(`{"PartitionKey":"a b+c%&=é","RowKey":"日本:@!$*(),;~","n":1}`).gives(201),
		get("{T}(PartitionKey='a%20b%2Bc%25%26%3D%C3%A9',RowKey='%E6%97%A5%E6%9C%AC%3A%40%21%24%2A%28%29%2C%3B~')").gives(200, has(`"n":1`)),
		do("DELETE", "{T}(PartitionKey='a%20b%2Bc%25%26%3D%C3%A9',RowKey='%E6%97%A5%E6%9C%AC%3A%40%21%24%2A%28%29%2C%3B~')", "", "If-Match", anyMatch).gives(204))},
	{"empty keys", "§1.1 [issues]", all(
		insert(`{"PartitionKey":"","RowKey":""}`).gives(201),
		get("{T}(PartitionKey='',RowKey='')").gives(200, has(`"PartitionKey":"","RowKey":""`)),
		do("DELETE", "{T}(PartitionKey='',RowKey='')", "", "If-Match", anyMatch).gives(204))},
	{"table in another letter case", "§1.5, §3 [T]", all(
		insert(rowBody), get("{t}(PartitionKey='p',RowKey='r')").gives(200))},
	{"reads at the secondary", "§1.1 [D]", all(
		get("Tables", "Accept", acceptNone).atSecondary().gives(200, has(`"value":[`)))},
	{"stats at the secondary", "§1.7 [R]", all(
		getXML("?restype=service&comp=stats").atSecondary().gives(200, header("Content-Type", "application/xml"),
			body("\ufeff<?xml version=\"1.0\" encoding=\"utf-8\"?><StorageServiceStats><GeoReplication><Status>live</Status>"+
				"<LastSyncTime>{any} GMT</LastSyncTime></GeoReplication></StorageServiceStats>")))},
	{"timeout is taken", "§1.2 [D]", all(get("{T}()?timeout=30").gives(200))},
}
