package conformance

// The operations on tables (reference §1.2, §1.5) and their names (§3).

const (
	noContent = "return-no-content"
	// What follows the level, streaming=true;charset=utf-8, has cases of its own.
	jsonMinimal  = "application/json;odata=minimalmetadata{any}"
	jsonNone     = "application/json;odata=nometadata{any}"
	jsonFull     = "application/json;odata=fullmetadata{any}"
	acceptNone   = "application/json;odata=nometadata"
	acceptFull   = "application/json;odata=fullmetadata"
	nameExists   = "The table specified already exists."
	notThere     = "The specified resource does not exist."
	noTable      = "The table specified does not exist."
	invalidInput = "One of the request inputs is not valid."
)

func create(name string, headers ...string) step {
	return do("POST", "Tables", `{"TableName":"`+name+`"}`, headers...)
}

var tableCases = []exchange{
	{"create table at minimal metadata", "§1.5, §1.4 [R]", all(
		create("{N}").gives(201, header("Location", "{U}Tables('{N}')"), header("ETag", ""), header("Content-Type", jsonMinimal),
			body(`{"odata.metadata":"{U}$metadata#Tables/@Element","TableName":"{N}"}`)))},
	{"create table at full metadata", "§1.5 [R]", all(
		create("{N}", "Accept", acceptFull).gives(201, header("Content-Type", jsonFull),
			body(`{"odata.metadata":"{U}$metadata#Tables/@Element","odata.type":"{A}.Tables","odata.id":"{U}Tables('{N}')",`+
				`"odata.editLink":"Tables('{N}')","TableName":"{N}"}`)))},
	{"create table without metadata", "§1.5 [R]", all(
		create("{N}", "Accept", acceptNone).gives(201, header("Content-Type", jsonNone), body(`{"TableName":"{N}"}`)))},
	{"create table without content", "§1.4 [T]", all(
		create("{N}", "Prefer", noContent).gives(204, header("Location", "{U}Tables('{N}')"),
			header("DataServiceId", "{U}Tables('{N}')"), header("Preference-Applied", noContent), body("")))},
	{"created table appears", "§1.5 [R]", all(create("{N}"), get("Tables('{N}')").gives(200, has(`"TableName":"{N}"`)))},
	{"create table that exists", "§1.5, §6 [R]", all(
		create("{T}").gives(409, failure("TableAlreadyExists", nameExists)))},
	{"create table that exists in another letter case", "§1.5 [T]", all(
		create("{t}").gives(409, failure("TableAlreadyExists", nameExists)))},
	{"refused create table keeps the preference", "§1.4 [T]", all(
		create("{T}", "Prefer", noContent).gives(409, header("Preference-Applied", noContent), failure("TableAlreadyExists", "")),
		create("1", "Prefer", noContent).gives(400, header("Preference-Applied", noContent)))},
	{"get one table", "§1.2, §1.5 [R]", all(
		get("Tables('{T}')").gives(200, header("Content-Type", jsonMinimal),
			body(`{"odata.metadata":"{U}$metadata#Tables/@Element","TableName":"{T}"}`)))},
	{"get one table that is not there", "§1.5 [T]", all(
		get("Tables('{N}')").gives(404, failure("ResourceNotFound", notThere)))},
	{"query tables at minimal metadata", "§1.5 [R]", all(
		get("Tables?$filter=TableName%20eq%20'{T}'").gives(200, header("Content-Type", jsonMinimal),
			body(`{"odata.metadata":"{U}$metadata#Tables","value":[{"TableName":"{T}"}]}`)))},
	{"query tables at full metadata", "§1.5 [R]", all(
		get("Tables()?$filter=TableName%20eq%20'{T}'", "Accept", acceptFull).gives(200,
			body(`{"odata.metadata":"{U}$metadata#Tables","value":[{"odata.type":"{A}.Tables","odata.id":"{U}Tables('{T}')",`+
				`"odata.editLink":"Tables('{T}')","TableName":"{T}"}]}`)))},
	{"query tables without metadata", "§1.5 [R]", all(
		get("Tables?$filter=TableName%20eq%20'{T}'", "Accept", acceptNone).gives(200, body(`{"value":[{"TableName":"{T}"}]}`)))},
	{"query tables that are not there", "§4.5 [T]", all(
		get("Tables?$filter=TableName%20eq%20'{N}'", "Accept", acceptNone).gives(200, body(`{"value":[]}`)))},
	{"query tables by a range of names", "§4.5 [T]", all(
		get("Tables?$filter=TableName%20ge%20'{T}'%20and%20TableName%20lt%20'{T}a'", "Accept", acceptNone).gives(200,
			body(`{"value":[{"TableName":"{T}"}]}`)))},
	{"query tables page by page", "§4.5 [R]", all(
		create("{N}"),
		get("Tables?$top=1&$filter=TableName%20eq%20'{T}'%20or%20TableName%20eq%20'{N}'", "Accept", acceptNone).gives(200,
			body(`{"value":[{"TableName":"{T}"}]}`), header("x-ms-continuation-NextTableName", "1!{any}!{any}")),
		get("Tables?$filter=TableName%20eq%20'{T}'%20or%20TableName%20eq%20'{N}'&{next}", "Accept", acceptNone).gives(200,
			body(`{"value":[{"TableName":"{N}"}]}`), header("x-ms-continuation-NextTableName", "")))},
	{"query tables by another property", "§4.2 [T]", all(
		get("Tables?$filter=Name%20eq%20'{T}'").gives(500,
			failure("InternalError", "Server encountered an internal error. Please try again after some time.")))},
	{"delete table", "§1.2, §1.4 [R]", all(
		create("{N}"),
		do("DELETE", "Tables('{N}')", "").gives(204, header("ETag", ""), body("")),
		get("Tables('{N}')").gives(404))},
	{"delete table in another letter case", "§1.5 [T]", all(
		do("DELETE", "Tables('{t}')", "").gives(204), get("Tables('{T}')").gives(404), create("{T}"))},
	{"delete table that is not there", "§1.5 [T]", all(
		do("DELETE", "Tables('{N}')", "").gives(404, failure("ResourceNotFound", notThere)))},
	{"delete table of a malformed name", "§1.5 [T]", all(
		do("DELETE", "Tables('a-b_c')", "").gives(404, failure("ResourceNotFound", notThere)))},
	{"delete table of a wrong length", "§1.5 [T]", all(
		do("DELETE", "Tables('a')", "").gives(404, failure("ResourceNotFound", notThere)))},
	{"delete table of the reserved name", "§1.5 [T]", all(
		do("DELETE", "Tables('tables')", "").gives(404, failure("ResourceNotFound", notThere)))},
	{"table name with a bad character", "§3 [R]", all(
		create("under_score").gives(400, failure("InvalidResourceName", "The specifed resource name contains invalid characters.")))},
	{"table name that begins with a digit", "§3 [R]", all(
		create("1table").gives(400, failure("InvalidResourceName", "The specifed resource name contains invalid characters.")))},
	{"table name too short", "§3 [T]", all(
		create("ab").gives(400, failure("OutOfRangeInput", "The specified resource name length is not within the permissible limits.")))},
	{"table name too long", "§3 [T]", all(
		create(letters(64)).gives(400, failure("OutOfRangeInput", "The specified resource name length is not within the permissible limits.")))},
	{"reserved table name", "§3 [T]", all(
		create("Tables").gives(400, failure("InvalidInput", invalidInput)))},
	{"table without a name", "§2.4 [A]", all(
		do("POST", "Tables", `{}`).gives(400, failure("PropertiesNeedValue", "")))},
	{"table names keep their letter case", "§3 [D]", all(get("Tables('{t}')").gives(200, has(`"TableName":"{T}"`)))},
}
