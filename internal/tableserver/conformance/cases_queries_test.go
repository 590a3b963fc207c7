package conformance

import (
	"fmt"
	"net/url"
	"strings"
)

// Queries: grammar (reference §4.1), refusals (§4.2), types (§4.3), pages (§4.4, §4.5).

func filter(text string) string { return "{T}()?$filter=" + url.QueryEscape(text) }

func where(text string) step { return get(filter(text), "Accept", acceptNone) }

// people is what the queries look at; s has no property n.
var people = all(
	insert(`{"PartitionKey":"p1","RowKey":"a","n":1,"s":"x","b":true}`),
	insert(`{"PartitionKey":"p1","RowKey":"b","n":2,"s":"it's","b":false}`),
	insert(`{"PartitionKey":"p2","RowKey":"c","n":3,"s":"B"}`),
	insert(`{"PartitionKey":"p10","RowKey":"d","s":"bB"}`))

// selects is a case: a filter, and the RowKeys of those that it selects.
func selects(name, source, text, keys string) exchange {
	return exchange{name, source, all(people, where(text).gives(200, rows(keys)))}
}

// refuses is a case: a filter that is not evaluated.
func refuses(name, source, text string, status int, code, message string) exchange {
	return exchange{name, source, all(people, where(text).gives(status, failure(code, message)))}
}

func queryCases() []exchange {
	const notImplemented = "The requested operation is not implemented on the specified resource."
	comparisons := make([]string, 51)
	for i := range comparisons {
		comparisons[i] = fmt.Sprintf("n eq %d", i)
	}
	return []exchange{
		selects("order is ordinal", "§4.4 [T]", "", "a b d c"),
		selects("and binds tighter than or", "§4.1 [t]", "n eq 1 or n eq 2 and s eq 'x'", "a"),
		selects("parentheses", "§4.1", "(n eq 1 or n eq 2) and s eq 'it''s'", "b"),
		selects("no blanks beside parentheses", "§4.1 [A]", "(n eq 1)and(s eq 'x')", "a"),
		selects("not", "§4.1 [t]", "not (n eq 1)", "b d c"),
		selects("constant on the left", "§4.2 [issue 1599]", "'p2' eq PartitionKey", "c"),
		selects("smaller constant on the left", "§4.2 [issue 1599]", "2 lt n", "c"),
		selects("empty filter", "§4.2 [issue 1573]", "", "a b d c"),
		selects("prefix of a key", "§4.3", "PartitionKey ge 'p1' and PartitionKey lt 'p2'", "a b d"),
		selects("both keys", "§4.5 [R]", "PartitionKey eq 'p1' and RowKey eq 'b'", "b"),
		selects("keys that are not there", "§4.5 [R]", "PartitionKey eq 'p1' and RowKey eq 'z'", ""),
		selects("strings are ordinal", "§4.3 rule 1 [T]", "s lt 'b'", "c"),
		selects("Timestamp", "§4.3", "Timestamp gt datetime'2020-01-01T00:00:00Z'", "a b d c"),
		selects("fifty-one comparisons", "§3 [T]", strings.Join(comparisons, " or "), "a b c"),
		selects("ne of what is missing is false", "§4.3 rule 4 [T]", "n ne 1", "b c"),
		selects("not of what is missing is true", "§4.3 rule 4 [t]", "not (n ne 1)", "a d"),
		selects("bare property", "§4.3 rule 5 [T]", "b", "a"),
		selects("bare property that is no Boolean", "§4.3 rule 5 [T]", "n", ""),
		selects("bare property under not", "§4.3 rule 5 [T]", "not b", "b d c"),
		refuses("property with property", "§4.2 [T]", "n eq s", 501, "NotImplemented", notImplemented),
		refuses("constant with constant", "§4.2 [T]", "1 eq 2", 501, "NotImplemented", notImplemented),
		refuses("nonsense that looks like code", "§4.2 [issue]", "(1 === 1)", 501, "NotImplemented", notImplemented),
		refuses("syntax error", "§4.2 [T]", "property1 eq 1'invalid'", 400, "InvalidInput", "Syntax error at position 23 in 'property1 eq 1'invalid''."),
		refuses("open parenthesis", "§4.2 [D]", "(n eq 1", 400, "InvalidInput", "{any}"),
		refuses("null", "§4.2 [T]", "n eq null", 400, "InvalidInput", ""),
		{"syntax error has no Cache-Control", "§4.2 [T]", all(where("n eq 1'x'").gives(400, header("Cache-Control", "")))},
		{"plus and %20 are blanks", "§4.1", all(people,
			get("{T}()?$filter=n+eq%201", "Accept", acceptNone).gives(200, rows("a")),
			insert(`{"PartitionKey":"q","RowKey":"+","s":"1+1"}`),
			get("{T}()?$filter=s+eq+'1%2B1'", "Accept", acceptNone).gives(200, rows("+")))},
		{"order is of UTF-16 units", "§4.4, §2.3", all(
			insert(`{"PartitionKey":"u","RowKey":"～"}`), insert(`{"PartitionKey":"u","RowKey":"😀"}`), insert(`{"PartitionKey":"u","RowKey":"a"}`), insert(`{"PartitionKey":"u","RowKey":"B"}`),
			where("PartitionKey eq 'u'").gives(200, rows("B a 😀 ～")))},
	}
}

// one stores a value and asks with each operator whether it stands so to a literal; holds are those that it does.
func one(property, literal, holds string) exchange {
	value := map[string]string{
		"Int32": `3`, "Int64": `"3","v@odata.type":"Edm.Int64"`, "Double": `3.0`, "Boolean": `true`, "String": `"b"`,
		"DateTime": `"2020-01-22T00:00:00Z","v@odata.type":"Edm.DateTime"`,
		"Guid":     `"68260b3f-beab-45e2-b900-33e2b442e724","v@odata.type":"Edm.Guid"`,
		"Binary":   `"CgsM","v@odata.type":"Edm.Binary"`, // 0A0B0C
	}[property]
	if property == "Double" {
		value = `3,"v@odata.type":"Edm.Double"`
	}
	steps := all(insert(`{"PartitionKey":"p","RowKey":"r","v":` + value + `}`).gives(201))
	for _, op := range []string{"eq", "ne", "lt", "le", "gt", "ge"} {
		found := ""
		if strings.Contains(" "+holds+" ", " "+op+" ") {
			found = "r"
		}
		steps = append(steps, where("v "+op+" "+literal).gives(200, rows(found)))
	}
	return exchange{property + " with " + literal, "§4.3 rules 1 to 3 [T][t]", steps}
}

// Where the stored value stands to a literal. A value of another type counts as less (rule 3).
const (
	same     = "eq le ge"
	less     = "ne lt le"
	greater  = "ne gt ge"
	mismatch = less
)

func comparisonCases() []exchange {
	const guid = "guid'%s8260b3f-beab-45e2-b900-33e2b442e724'"
	const date = "datetime'%d-01-22T00:00:00Z'"
	list := []exchange{
		one("Int32", "3", same), one("Int32", "4", less), one("Int32", "-2", greater),
		one("Int64", "3L", same), one("Int64", "4L", less), one("Int64", "2L", greater),
		one("Int64", "3", same), one("Int64", "4", less), one("Int64", "2", greater), // rule 2
		one("Double", "3.0", same), one("Double", "3.5", less), one("Double", "2.5", greater),
		one("Double", "3", same), one("Double", "4L", less), one("Double", "2", greater), one("Double", "3L", same), // rule 2
		one("Boolean", "true", same), one("Boolean", "false", greater),
		one("String", "'b'", same), one("String", "'bB'", less), one("String", "'B'", greater), one("String", "''", greater),
		one("DateTime", fmt.Sprintf(date, 2020), same), one("DateTime", fmt.Sprintf(date, 2021), less), one("DateTime", fmt.Sprintf(date, 2019), greater),
		one("DateTime", "datetime'2020-01-22T00:00:00.0000001Z'", less),
		one("Guid", fmt.Sprintf(guid, "6"), same), one("Guid", fmt.Sprintf(guid, "7"), less), one("Guid", fmt.Sprintf(guid, "5"), greater),
		one("Binary", "X'0A0B0C'", same), one("Binary", "x'0A0B0D'", less), one("Binary", "binary'0A0B'", greater), one("Binary", "X'0A0B0C00'", less),
		one("Int32", "3L", mismatch), one("Int32", "3.0", mismatch), one("Int64", "3.0", mismatch),
	}
	literals := map[string]string{"Int32": "2", "Boolean": "true", "String": "'3'", "DateTime": fmt.Sprintf(date, 2019),
		"Guid": fmt.Sprintf(guid, "0"), "Binary": "X'00'"}
	for _, property := range []string{"Int32", "Int64", "Double", "Boolean", "String", "DateTime", "Guid", "Binary"} {
		for _, other := range []string{"Int32", "Boolean", "String", "DateTime", "Guid", "Binary"} {
			if number := property == "Int64" || property == "Double"; property == other || number && other == "Int32" {
				continue
			}
			list = append(list, one(property, literals[other], mismatch))
		}
	}
	return list
}

func pageCases() []exchange {
	next := func(name, template string) want { return header("x-ms-continuation-Next"+name, template) }
	return []exchange{
		{"top", "§4.4 [T]", all(people,
			get("{T}()?$top=2", "Accept", acceptNone).gives(200, rows("a b"), next("PartitionKey", "1!4!cDEw"), next("RowKey", "1!4!ZA--")),
			get("{T}()?$top=2&{next}", "Accept", acceptNone).gives(200, rows("d c"), next("PartitionKey", "")))},
		{"token names the first of the next page", "§4.5 [R][T]", all(
			insert(`{"PartitionKey":"pk801016e8","RowKey":"a"}`), insert(`{"PartitionKey":"pk801016e8","RowKey":"pk801016e8"}`),
			get("{T}()?$top=1").gives(200, next("PartitionKey", "1!16!cGs4MDEwMTZlOA--"), next("RowKey", "1!16!cGs4MDEwMTZlOA--")))},
		{"token of an empty key", "§4.5, §1.1", all(
			insert(`{"PartitionKey":"","RowKey":""}`), insert(`{"PartitionKey":"","RowKey":"b"}`),
			get("{T}()?$top=1", "Accept", acceptNone).gives(200, rows("")),
			get("{T}()?$filter=RowKey%20eq%20'b'&{next}", "Accept", acceptNone).gives(200, rows("b")))},
		{"top of nothing", "§3 [T]", all(people, get("{T}()?$top=0", "Accept", acceptNone).gives(200, body(`{"value":[]}`)))},
		{"top of a thousand", "§3 [T]", all(people, get("{T}()?$top=1000", "Accept", acceptNone).gives(200, rows("a b d c")))},
		{"top of more", "§3 [T]", all(get("{T}()?$top=1001").gives(400, failure("InvalidInput", invalidInput)))},
		{"top of less than nothing", "§3 [T]", all(get("{T}()?$top=-1").gives(400, failure("InvalidInput", invalidInput)))},
		{"token of a partition alone", "§4.5 [D]", all(people,
			get("{T}()?NextPartitionKey=1!4!cDI-", "Accept", acceptNone).gives(200, rows("c")),
			get("{T}()?NextPartitionKey=1!4!cDI-&NextRowKey=", "Accept", acceptNone).gives(200, rows("c")))},
		{"malformed token", "§4.5; the text is unconfirmed", all(get("{T}()?NextPartitionKey=nonsense").gives(400, failure("InvalidInput", "")))},
		{"pages of a filter", "§4.5 [T]", all(people,
			get(filter("n ge 2")+"&$top=1", "Accept", acceptNone).gives(200, rows("b"), next("PartitionKey", "1!{any}!{any}")),
			get(filter("n ge 2")+"&$top=1&{next}", "Accept", acceptNone).gives(200, rows("c")))},
	}
}
