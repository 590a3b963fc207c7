package edm_test

import (
	"math"
	"strings"
	"testing"

	"github.com/aztenancy/terraform-provider-aztenancy/internal/edm"
)

// recorded is the entity of the recording in reference §2.1, with a double that is a whole number.
func recorded(t *testing.T) *edm.Entity {
	t.Helper()
	e := &edm.Entity{PartitionKey: "pk", RowKey: "rk", Timestamp: timeOf(t, "2020-07-24T14:34:32.2506465Z")}
	e.ETag = edm.ETagOf(e.Timestamp)
	e.Set("age", edm.Int32Value(39))
	e.Set("married", edm.BooleanValue(true))
	e.Set("ratio", edm.DoubleValue(3.1))
	e.Set("whole", edm.DoubleValue(4))
	e.Set("sex", edm.StringValue("male"))
	e.Set("big", edm.Int64Value(933311100))
	e.Set("when", edm.DateTimeValue(timeOf(t, "1973-10-04T00:00:00Z")))
	e.Set("blob", edm.BinaryValue([]byte("binary")))
	e.Set("id", edm.GUIDValue([16]byte{0xc9, 0xda, 0x64, 0x55, 0x21, 0x3d, 0x42, 0xc9, 0x9a, 0x79, 0x3e, 0x91, 0x49, 0xa5, 0x78, 0x33}))
	return e
}

const (
	recordedETag = `"odata.etag":"W/\"datetime'2020-07-24T14%3A34%3A32.2506465Z'\""`
	recordedKeys = `"PartitionKey":"pk","RowKey":"rk"`
	recordedTime = `"Timestamp":"2020-07-24T14:34:32.2506465Z"`
	recordedRest = `"age":39,"married":true,"ratio":3.1,"whole":4.0,"sex":"male",` +
		`"big@odata.type":"Edm.Int64","big":"933311100",` +
		`"when@odata.type":"Edm.DateTime","when":"1973-10-04T00:00:00Z",` +
		`"blob@odata.type":"Edm.Binary","blob":"YmluYXJ5",` +
		`"id@odata.type":"Edm.Guid","id":"c9da6455-213d-42c9-9a79-3e9149a57833"`
)

var recordedAnnotations = edm.Annotations{
	ODataMetadata: "https://acct.table.core.windows.net/$metadata#table/@Element",
	ODataType:     "acct.table",
	ODataID:       "https://acct.table.core.windows.net/table(PartitionKey='pk',RowKey='rk')",
	ODataEditLink: "table(PartitionKey='pk',RowKey='rk')",
}

func TestEntityIsWrittenAsTheServiceWritesIt(t *testing.T) {
	const metadata = `"odata.metadata":"https://acct.table.core.windows.net/$metadata#table/@Element"`
	untyped := recordedRest
	for _, typ := range []string{"big@odata.type\":\"Edm.Int64", "when@odata.type\":\"Edm.DateTime", "blob@odata.type\":\"Edm.Binary", "id@odata.type\":\"Edm.Guid"} {
		untyped = strings.Replace(untyped, `"`+typ+`",`, "", 1)
	}
	for name, c := range map[string]struct {
		level       edm.Metadata
		annotations edm.Annotations
		selected    []string
		want        string
	}{
		"minimal": { // reference §2.1, recording
			edm.MinimalMetadata, recordedAnnotations, nil,
			"{" + metadata + "," + recordedETag + "," + recordedKeys + "," + recordedTime + "," + recordedRest + "}",
		},
		"minimal, in a page": { // reference §2.1: no odata.metadata for each item
			edm.MinimalMetadata, edm.Annotations{}, nil,
			"{" + recordedETag + "," + recordedKeys + "," + recordedTime + "," + recordedRest + "}",
		},
		"full": { // reference §2.1: order metadata, type, id, etag, editLink; Timestamp typed
			edm.FullMetadata, recordedAnnotations, nil,
			"{" + metadata + `,"odata.type":"acct.table","odata.id":"https://acct.table.core.windows.net/table(PartitionKey='pk',RowKey='rk')",` +
				recordedETag + `,"odata.editLink":"table(PartitionKey='pk',RowKey='rk')",` + recordedKeys +
				`,"Timestamp@odata.type":"Edm.DateTime",` + recordedTime + "," + recordedRest + "}",
		},
		"none": { // reference §2.1: no odata.* and no types
			edm.NoMetadata, recordedAnnotations, nil,
			"{" + recordedKeys + "," + recordedTime + "," + untyped + "}",
		},
		"selected": { // reference §4.4: exactly the named and odata.etag; absent is null without type
			edm.MinimalMetadata, edm.Annotations{}, []string{"sex", "nope", "RowKey", "big", "sex"},
			"{" + recordedETag + `,"sex":"male","nope":null,"RowKey":"rk","big@odata.type":"Edm.Int64","big":"933311100"}`,
		},
		"selected, Timestamp at full": {
			edm.FullMetadata, edm.Annotations{}, []string{"Timestamp"},
			"{" + recordedETag + `,"Timestamp@odata.type":"Edm.DateTime",` + recordedTime + "}",
		},
		"selected, none of it there": {
			edm.NoMetadata, edm.Annotations{}, []string{"nope"}, `{"nope":null}`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			got := string(edm.AppendEntity(nil, recorded(t), c.level, c.annotations, c.selected))
			if got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}

func TestETagFollowsFromTimestampWhenTheEntityHasNone(t *testing.T) {
	e := recorded(t)
	want := string(edm.AppendEntity(nil, e, edm.MinimalMetadata, edm.Annotations{}, nil))
	e.ETag = ""
	if got := string(edm.AppendEntity(nil, e, edm.MinimalMetadata, edm.Annotations{}, nil)); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestEntityWithoutTimestampHasNoneInItsJSON(t *testing.T) {
	e := &edm.Entity{PartitionKey: "p"}
	if got, want := string(edm.AppendEntity(nil, e, edm.FullMetadata, edm.Annotations{}, nil)), `{"PartitionKey":"p","RowKey":""}`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if got, want := string(edm.AppendEntity(nil, e, edm.FullMetadata, edm.Annotations{}, []string{"Timestamp"})), `{"Timestamp":null}`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestBodyOfAWriteHasKeysPropertiesAndTypes(t *testing.T) {
	rest := strings.NewReplacer(`"ratio":`, `"ratio@odata.type":"Edm.Double","ratio":`,
		`"whole":`, `"whole@odata.type":"Edm.Double","whole":`).Replace(recordedRest) // the .NET client's form, reference §2.2
	if got, want := string(edm.AppendBody(nil, recorded(t))), "{"+recordedKeys+","+rest+"}"; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestWritersAppend(t *testing.T) {
	e := &edm.Entity{PartitionKey: "p", RowKey: "r"}
	prefix := []byte("before,")
	if got, want := string(edm.AppendBody(prefix, e)), `before,{"PartitionKey":"p","RowKey":"r"}`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if got, want := string(edm.AppendEntity(prefix, e, edm.NoMetadata, edm.Annotations{}, nil)), `before,{"PartitionKey":"p","RowKey":"r"}`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestNonFiniteDoublesTravelAsTypedText(t *testing.T) { // reference §2.3
	for f, text := range map[float64]string{math.NaN(): "NaN", math.Inf(1): "Infinity", math.Inf(-1): "-Infinity"} {
		e := &edm.Entity{Properties: []edm.Property{{Name: "d", Value: edm.DoubleValue(f)}}}
		want := `{"PartitionKey":"","RowKey":"","d@odata.type":"Edm.Double","d":"` + text + `"}`
		if got := string(edm.AppendBody(nil, e)); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

func TestJSONStringEscapesLittle(t *testing.T) { // RFC 8259 §7
	for s, want := range map[string]string{
		"":                          `""`,
		"it's é/😀\x7f":              "\"it's é/😀\x7f\"",
		"line\u2028\u2029end\u202a": "\"line\\u2028\\u2029end\u202a\"", // for JavaScript's regular expressions
		"\"\\":                      `"\"\\"`,
		"a\n\r\t\x00\b\f\x1f z":     `"a\n\r\t\u0000\u0008\u000c\u001f z"`,
		"bad\xff\xc3(\xed\xa0\x80":  "\"bad\uFFFD\uFFFD(\uFFFD\uFFFD\uFFFD\"",
		"\uFFFD":                    "\"\uFFFD\"",
	} {
		if got := string(edm.AppendJSONString(nil, s)); got != want {
			t.Errorf("%q: got %s, want %s", s, got, want)
		}
	}
}
