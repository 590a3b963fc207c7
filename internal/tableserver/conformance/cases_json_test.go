package conformance

import (
	"fmt"
	"strings"
)

// The metadata levels (reference §2.1), how bodies are read (§2.2, §2.4) and values (§2.3).

const (
	typed = `{"PartitionKey":"p","RowKey":"r","age":39,"married":true,"ratio":3.1,"whole@odata.type":"Edm.Double","whole":4,"sex":"male",` +
		`"big@odata.type":"Edm.Int64","big":"933311100","when@odata.type":"Edm.DateTime","when":"1973-10-04T00:00:00.0000000Z",` +
		`"blob@odata.type":"Edm.Binary","blob":"YmluYXJ5","id@odata.type":"Edm.Guid","id":"c9da6455-213d-42c9-9a79-3e9149a57833"}`
	keysAndTime  = `"PartitionKey":"p","RowKey":"r","Timestamp":"{time}"`
	timeWithType = `"PartitionKey":"p","RowKey":"r","Timestamp@odata.type":"Edm.DateTime","Timestamp":"{time}"`
	annotated    = `"age":39,"married":true,"ratio":3.1,"whole":4.0,"sex":"male","big@odata.type":"Edm.Int64","big":"933311100",` +
		`"when@odata.type":"Edm.DateTime","when":"1973-10-04T00:00:00Z","blob@odata.type":"Edm.Binary","blob":"YmluYXJ5",` +
		`"id@odata.type":"Edm.Guid","id":"c9da6455-213d-42c9-9a79-3e9149a57833"`
	bare = `"age":39,"married":true,"ratio":3.1,"whole":4.0,"sex":"male","big":"933311100","when":"1973-10-04T00:00:00Z",` +
		`"blob":"YmluYXJ5","id":"c9da6455-213d-42c9-9a79-3e9149a57833"`
	element     = `"odata.metadata":"{U}$metadata#{T}/@Element",`
	fullAddress = `"odata.type":"{A}.{T}","odata.id":"` + rowURL + `","odata.etag":"{jetag}","odata.editLink":"` + row + `",`
)

var formatCases = []exchange{
	{"entity at minimal metadata", "§2.1 [R]", all(insert(typed),
		get(row).gives(200, body(`{`+element+`"odata.etag":"{jetag}",`+keysAndTime+`,`+annotated+`}`)))},
	{"entity at full metadata", "§2.1 [R]", all(insert(typed),
		get(row, "Accept", acceptFull).gives(200, header("Content-Type", jsonFull), body(`{`+element+fullAddress+timeWithType+`,`+annotated+`}`)))},
	{"entity without metadata", "§2.1 [R]", all(insert(typed),
		get(row, "Accept", acceptNone).gives(200, header("Content-Type", jsonNone), header("ETag", "{etag}"), body(`{`+keysAndTime+`,`+bare+`}`)))},
	{"query at minimal metadata", "§2.1 [R]", all(insert(typed),
		get("{T}()").gives(200, body(`{"odata.metadata":"{U}$metadata#{T}","value":[{"odata.etag":"{jetag}",`+keysAndTime+`,`+annotated+`}]}`)))},
	{"query at full metadata", "§2.1 [R]", all(insert(typed),
		get("{T}()", "Accept", acceptFull).gives(200, body(`{"odata.metadata":"{U}$metadata#{T}","value":[{`+fullAddress+timeWithType+`,`+annotated+`}]}`)))},
	{"query without metadata", "§2.1 [R]", all(insert(typed),
		get("{T}()", "Accept", acceptNone).gives(200, body(`{"value":[{`+keysAndTime+`,`+bare+`}]}`)))},
	{"answer to an insert", "§2.1 [R]", all(
		insert(typed).gives(201, body(`{`+element+`"odata.etag":"{jetag}",`+keysAndTime+`,`+annotated+`}`)))},
	{"ETag in the body is the one in the header", "§6 [R]", all(insert(rowBody),
		get(row, "Accept", "application/json;odata=minimalmetadata").gives(200, header("ETag", "{E}"), has(`"odata.etag":"{jetag}"`)))},
	{"select in a query", "§2.1, §4.4 [R][T]", all(insert(typed),
		get("{T}()?$select=age,%20sex").gives(200,
			body(`{"odata.metadata":"{U}$metadata#{T}&$select=age,%20sex","value":[{"odata.etag":"{jetag}","age":39,"sex":"male"}]}`)))},
	{"select in a point get", "§2.1, §4.4 [R]", all(insert(typed),
		get(row+"?$select=Timestamp").gives(200,
			body(`{"odata.metadata":"{U}$metadata#{T}/@Element&$select=Timestamp","odata.etag":"{jetag}","Timestamp":"{time}"}`)))},
	{"select without metadata", "§4.4 [T]", all(insert(typed),
		get("{T}()?$select=RowKey,big", "Accept", acceptNone).gives(200, body(`{"value":[{"RowKey":"r","big":"933311100"}]}`)))},
	{"select what is missing", "§4.4 [T]", all(insert(rowBody),
		get("{T}()?$select=n,none", "Accept", acceptNone).gives(200, body(`{"value":[{"n":1,"none":null}]}`)))},
	{"empty select is all", "§2.1, §4.4 [R]", all(insert(rowBody),
		get("{T}()?$select=&$filter=&$top=1000").gives(200,
			body(`{"odata.metadata":"{U}$metadata#{T}&$select=","value":[{"odata.etag":"{jetag}",`+keysAndTime+`,"n":1}]}`)))},
	{"filter by what is not selected", "§4.4 [T]", all(insert(typed),
		get("{T}()?$select=sex&$filter=age%20eq%2039", "Accept", acceptNone).gives(200, body(`{"value":[{"sex":"male"}]}`)))},
}

// stored is a case: a body's own properties, and how they come back at minimal metadata, in any order.
func stored(name, source, given, got string) exchange {
	return exchange{name, source, all(
		insert(`{"PartitionKey":"p","RowKey":"r",`+given+`}`).gives(201),
		get(row).gives(200, own(got)))}
}

// refused is a case: a body's properties, and why they are not taken.
func refused(name, source, given, code, text string) exchange {
	return exchange{name, source, all(
		insert(`{"PartitionKey":"p","RowKey":"r",`+given+`}`).gives(400, failure(code, text)),
		get("{T}()").gives(200, rows("")))}
}

func inputCases() []exchange {
	const names = `"A":1,"a":2,"_x":3,"Äpfel":4,"x9":5`
	return []exchange{
		stored("types are inferred", "§2.2 [R]", `"s":"1","b":false,"i":-5,"d":1.5`, `"s":"1","b":false,"i":-5,"d":1.5`),
		stored("type before or after the value", "§2.2 [R]", `"a@odata.type":"Edm.Int64","a":"1","b":"2","b@odata.type":"Edm.Int64"`,
			`"a@odata.type":"Edm.Int64","a":"1","b@odata.type":"Edm.Int64","b":"2"`),
		stored("types that need no mention", "§2.2 [R]", `"s@odata.type":"Edm.String","s":"x","i@odata.type":"Edm.Int32","i":1,`+
			`"b@odata.type":"Edm.Boolean","b":true,"d@odata.type":"Edm.Double","d":2.5`, `"s":"x","i":1,"b":true,"d":2.5`),
		stored("values as texts", "§2.2 [A]", `"i@odata.type":"Edm.Int32","i":"4","b@odata.type":"Edm.Boolean","b":"true"`, `"i":4,"b":true`),
		stored("integer as a double", "§2.2 [R]", `"d@odata.type":"Edm.Double","d":4`, `"d":4.0`),
		stored("annotations of an answer are ignored", "§2.2 [A]", `"odata.etag":"W/\"x\"","odata.metadata":"m","odata.type":"t","x":1`, `"x":1`),
		stored("types of keys", "§2.2 [R]", `"PartitionKey@odata.type":"Edm.String","RowKey@odata.type":"Edm.String","x":1`, `"x":1`),
		stored("null is not stored", "§2.4 [D][t]", `"a":null,"b":1`, `"b":1`),
		stored("names differ by letter case", "§2.4 [T]", names, names),
		{"client's Timestamp is ignored", "§2.4 [R]", all(
			insert(`{"PartitionKey":"p","RowKey":"r","Timestamp":"2001-01-01T00:00:00Z"}`).gives(201, lacks("2001-01-01")),
			insert(`{"PartitionKey":"p","RowKey":"s","Timestamp":null}`).gives(201))},
		{"keys of an update come from the URL", "§2.2, §11.7", all(
			put(row, `{"n":7}`).gives(204), get(row).gives(200, own(`"n":7`)))},
		{"replace drops what is not sent", "§2.4 [D]", all(
			insert(`{"PartitionKey":"p","RowKey":"r","a":1,"b":2}`), put(row, `{"b":3,"c":null}`, "If-Match", anyMatch).gives(204),
			get(row).gives(200, own(`"b":3`)))},
		{"merge keeps what is not sent, and what is null", "§2.4 [D][t]", all(
			insert(`{"PartitionKey":"p","RowKey":"r","a":1,"b":2}`), merge(row, `{"b":3,"a":null}`, "If-Match", anyMatch).gives(204),
			get(row).gives(200, own(`"a":1,"b":3`)))},
		{"key that is null", "§2.4 [t]", all(
			insert(`{"PartitionKey":null,"RowKey":"r"}`).gives(400, failure("PropertiesNeedValue", "The values are not specified for all properties in the entity.")),
			insert(`{"PartitionKey":"p","RowKey":null}`).gives(400, failure("PropertiesNeedValue", "")))},
		{"key that is missing", "§2.4 [A]", all(
			insert(`{"RowKey":"r"}`).gives(400, failure("PropertiesNeedValue", "")),
			insert(`{"PartitionKey":"p"}`).gives(400, failure("PropertiesNeedValue", "")))},
		refused("property twice", "§2.4 [D]", `"a":1,"a":2`, "DuplicatePropertiesSpecified", ""),
		refused("property with a hyphen", "§3 [D]", `"a-b":1`, "PropertyNameInvalid", ""),
		refused("property that begins with a digit", "§3 [D]", `"1a":1`, "PropertyNameInvalid", ""),
		{"body that is no JSON", "§8.4", all(insert(`{"PartitionKey":"p",`).gives(400, failure("InvalidInput", "")))},
		{"body that is empty", "§8.4", all(insert("").gives(400))},
	}
}

func valueCases() []exchange {
	of := func(t, v string) string { return fmt.Sprintf(`"v@odata.type":"Edm.%s","v":%s`, t, v) }
	return []exchange{
		stored("Int32: ends of the range", "§2.3 [D]", `"a":2147483647,"b":-2147483648`, `"a":2147483647,"b":-2147483648`),
		refused("Int32 out of range", "§2.3 [D]", of("Int32", `"2147483648"`), "InvalidInput", ""),
		stored("Int64: ends of the range", "§2.3 [D]", of("Int64", `"-9223372036854775808"`)+`,"w@odata.type":"Edm.Int64","w":"9223372036854775807"`,
			of("Int64", `"-9223372036854775808"`)+`,"w@odata.type":"Edm.Int64","w":"9223372036854775807"`),
		refused("Int64 out of range", "§2.3 [D]", of("Int64", `"9223372036854775808"`), "InvalidInput", ""),
		stored("Double has a point", "§2.3 [R]", `"a":1.0,"b":-0.5,"c":123456.0`, `"a":1.0,"b":-0.5,"c":123456.0`),
		stored("Double that is no number", "§2.3 [A]", of("Double", `"NaN"`)+`,"w@odata.type":"Edm.Double","w":"-Infinity"`,
			of("Double", `"NaN"`)+`,"w@odata.type":"Edm.Double","w":"-Infinity"`),
		stored("Double: the largest", "§2.3 [A]", of("Double", `1.797693134862315e308`), `"v":1.797693134862315e+308`),
		refused("Double out of range", "§2.3 [A]", of("Double", `1.797693134862316e308`), "InvalidInput", ""),
		stored("DateTime is trimmed", "§2.3 [R]", of("DateTime", `"2020-01-02T03:04:05.1234000Z"`), of("DateTime", `"2020-01-02T03:04:05.1234Z"`)),
		stored("DateTime of seven digits", "§2.3 [R]", of("DateTime", `"2020-01-02T03:04:05.1234567Z"`), of("DateTime", `"2020-01-02T03:04:05.1234567Z"`)),
		stored("DateTime without a zone", "§2.3", of("DateTime", `"2020-01-02T03:04:05"`), of("DateTime", `"2020-01-02T03:04:05Z"`)),
		stored("DateTime: ends of the range", "§2.3 [D]", of("DateTime", `"1601-01-01T00:00:00Z"`)+`,"w@odata.type":"Edm.DateTime","w":"9999-12-31T23:59:59.9999999Z"`,
			of("DateTime", `"1601-01-01T00:00:00Z"`)+`,"w@odata.type":"Edm.DateTime","w":"9999-12-31T23:59:59.9999999Z"`),
		refused("DateTime out of range", "§2.3 [t]", of("DateTime", `"1600-12-31T00:00:00Z"`), "OutOfRangeInput",
			"The 'v' parameter of value '12/31/1600 00:00:00' is out of range."),
		refused("DateTime that is empty", "§2.3 [t]", of("DateTime", `""`), "InvalidInput", ""),
		stored("Guid", "§2.3 [R]", of("Guid", `"c9da6455-213d-42c9-9a79-3e9149a57833"`), of("Guid", `"c9da6455-213d-42c9-9a79-3e9149a57833"`)),
		refused("Guid that is none", "§2.3", of("Guid", `"c9da6455"`), "InvalidInput", ""),
		refused("Binary that is none", "§2.3", of("Binary", `"*"`), "InvalidInput", ""),
		stored("String of other scripts", "§2.3 [R]", `"v":"日本 \"q\" \\ \u00e9 😀"`, `"v":"日本 \"q\" \\ é 😀"`),
		stored("String that is empty", "§2.3 [R]", `"v":""`, `"v":""`),
		stored("String of 32768 characters", "§2.3 [t]", `"v":"`+letters(32768)+`"`, `"v":"`+letters(32768)+`"`),
		refused("String of 32769 characters", "§3 [R]", `"v":"`+letters(32769)+`"`, "PropertyValueTooLarge", tooLarge),
		stored("Binary of 65536 bytes", "§2.3 [t]", of("Binary", `"`+strings.Repeat("AAAA", 21845)+`AA=="`), of("Binary", `"`+strings.Repeat("AAAA", 21845)+`AA=="`)),
		refused("Binary of 65537 bytes", "§3 [R]", of("Binary", `"`+strings.Repeat("AAAA", 21845)+`AAA="`), "PropertyValueTooLarge", tooLarge),
	}
}

const tooLarge = "The property value exceeds the maximum allowed size (64KB). If the property value is a string, it is UTF-16 encoded " +
	"and the maximum number of characters should be 32K or less."
