package tablestorage

import (
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// committed is the answer to an insert and a deletion as the service sends it (reference §5.2), with LF.
const committed = `--batchresponse_1
Content-Type: multipart/mixed; boundary=changesetresponse_2

--changesetresponse_2
Content-Type: application/http
Content-Transfer-Encoding: binary

HTTP/1.1 204 No Content
X-Content-Type-Options: nosniff
DataServiceVersion: 3.0;
ETag: W/"datetime'2020-07-24T14%3A34%3A32.2506465Z'"


--changesetresponse_2
Content-Type: application/http
Content-Transfer-Encoding: binary

HTTP/1.1 204 No Content
DataServiceVersion: 1.0;


--changesetresponse_2--
--batchresponse_1--
`

// refusedThird is a refusal of the fourth operation (reference §5.3), with LF.
var refusedThird = `--batchresponse_1
Content-Type: multipart/mixed; boundary=changesetresponse_2

--changesetresponse_2
Content-Type: application/http
Content-Transfer-Encoding: binary

HTTP/1.1 409 Conflict
Content-Type: application/json;odata=minimalmetadata;streaming=true;charset=utf-8

` + jsonError("EntityAlreadyExists", "3:The specified entity already exists.") + `
--changesetresponse_2--
--batchresponse_1--
`

const batchType = "multipart/mixed; boundary=batchresponse_1"

func TestAnswersToTransactionsAreReadInEveryKnownShape(t *testing.T) {
	etag := `W/"datetime'2020-07-24T14%3A34%3A32.2506465Z'"`
	two := []partAnswer{{status: 204, etag: etag}, {status: 204}}
	refused := []partAnswer{{status: 409, body: []byte(jsonError("EntityAlreadyExists", "3:The specified entity already exists."))}}
	for name, c := range map[string]struct {
		contentType, body string
		want              []partAnswer
	}{
		"service":                         {batchType, crlfText(committed), two},
		"LF":                              {batchType, committed, two},
		"no final boundary":               {batchType, strings.TrimSuffix(crlfText(committed), "--batchresponse_1--\r\n"), two},
		"no final boundary at all":        {batchType, strings.Split(crlfText(committed), "--changesetresponse_2--")[0], two},
		"quoted boundary":                 {`multipart/mixed; boundary="batchresponse_1"`, crlfText(committed), two},
		"no boundary in the header":       {"multipart/mixed", crlfText(committed), two},
		"byte order mark":                 {batchType, "\xef\xbb\xbf" + crlfText(committed), two},
		"preamble":                        {batchType, "preamble\r\n" + crlfText(committed), two},
		"epilogue":                        {batchType, crlfText(committed) + "--epilogue\r\n", two},
		"refusal":                         {batchType, crlfText(refusedThird), refused},
		"refusal, LF":                     {batchType, refusedThird, refused},
		"plain error":                     {"application/json", jsonError("InvalidInput", "x"), []partAnswer{{status: 400, body: []byte(jsonError("InvalidInput", "x"))}}},
		"plain error in multipart's name": {batchType, "\r\n" + jsonError("InvalidInput", "x"), []partAnswer{{status: 400, body: []byte(jsonError("InvalidInput", "x"))}}},
		"part directly in the batch": {batchType, "--batchresponse_1\r\nContent-Type: application/http\r\n\r\n" +
			"HTTP/1.1 200 OK\r\nETag: e\r\n\r\n{}\r\n--batchresponse_1--", []partAnswer{{status: 200, etag: "e", body: []byte("{}")}}},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := parseTransaction(c.contentType, []byte(c.body))
			if err != nil {
				t.Fatal(err)
			}
			for i := range got {
				if len(got[i].body) == 0 {
					got[i].body = nil
				}
			}
			if d := cmp.Diff(c.want, got, cmp.AllowUnexported(partAnswer{})); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestAnswersThatAreNoneOfTransactionsAreErrors(t *testing.T) {
	for name, c := range map[string]struct{ contentType, body string }{
		"empty":           {batchType, ""},
		"only a text":     {"text/plain", "hello"},
		"other boundary":  {"multipart/mixed; boundary=other", committed},
		"no parts":        {batchType, "--batchresponse_1--\r\n"},
		"no status":       {batchType, "--batchresponse_1\r\nContent-Type: application/http\r\n\r\nhello\r\n--batchresponse_1--"},
		"word for status": {batchType, "--batchresponse_1\r\n\r\nHTTP/1.1 fine\r\n\r\n--batchresponse_1--"},
	} {
		t.Run(name, func(t *testing.T) {
			if got, err := parseTransaction(c.contentType, []byte(c.body)); err == nil {
				t.Errorf("read as %v", got)
			}
		})
	}
}

func TestIndexIsThePrefixOfTheMessage(t *testing.T) {
	for message, want := range map[string]struct {
		index int
		text  string
	}{
		"3:The specified entity already exists.": {3, "The specified entity already exists."}, // reference §5.3
		"99:The batch request operation exceeds": {99, "The batch request operation exceeds"},
		"The specified entity already exists.":   {-1, "The specified entity already exists."},
		"note: this":                             {-1, "note: this"},
		"-1:x":                                   {-1, "-1:x"},
		"":                                       {-1, ""},
	} {
		if i, text := indexOf(message); i != want.index || text != want.text {
			t.Errorf("%q: got %d, %q", message, i, text)
		}
	}
}

func FuzzParseTransaction(f *testing.F) {
	f.Add(batchType, crlfText(committed))
	f.Add(batchType, refusedThird)
	f.Add("application/json", jsonError("InvalidInput", "x"))
	f.Add("multipart/mixed", "--a\r\n\r\nHTTP/1.1 204\r\n\r\n--a")
	f.Add("", "")
	f.Fuzz(func(t *testing.T, contentType, body string) {
		parts, err := parseTransaction(contentType, []byte(body))
		if err == nil && len(parts) == 0 {
			t.Error("neither parts nor an error")
		}
		for _, p := range parts {
			if p.status < 100 || p.status > 999 || len(p.body) > len(body) {
				t.Errorf("part %+v", p)
			}
			parseErrorBody(p.body)
		}
		if err == nil && strings.HasPrefix(strings.TrimSpace(body), "{") && parts[0].status < http.StatusBadRequest {
			t.Error("a plain error read as success")
		}
	})
}
