package conformance

import (
	"context"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"
)

// session runs one exchange against a target.
type session struct {
	t      testing.TB
	target *account
	table  string
	spare  string

	etags []string
	next  string
}

// answer is what came back, with the body read whole.
type answer struct {
	status int
	header http.Header
	body   string
}

// run returns what differs from what the exchange expects.
func (s *session) run(x exchange) (differences []string) {
	create := s.send(do("POST", "Tables", `{"TableName":"{T}"}`))
	defer s.send(do("DELETE", "Tables('{T}')", ""))
	defer s.send(do("DELETE", "Tables('{N}')", ""))
	if create.status != http.StatusCreated {
		s.t.Fatalf("create table %s: %d %s", s.table, create.status, create.body)
	}
	for i, st := range x.steps {
		a := s.send(st)
		for _, d := range s.judge(st, a) {
			differences = append(differences, fmt.Sprintf("step %d, %s %s: %s", i+1, st.method, s.fill(st.path), d))
		}
		if len(differences) > 0 {
			return differences
		}
		s.remember(a)
	}
	return nil
}

func (s *session) judge(st step, a *answer) (differences []string) {
	if st.status == 0 && a.status >= 300 || st.status != 0 && a.status != st.status {
		return []string{fmt.Sprintf("status is %d, not %d: %s", a.status, st.status, a.body)}
	}
	for _, w := range st.wants {
		if d := w(s, a); d != "" {
			differences = append(differences, d)
		}
	}
	return differences
}

// remember keeps what later steps can refer to.
func (s *session) remember(a *answer) {
	if e := a.header.Get("ETag"); e != "" {
		s.etags = append(s.etags, e)
	}
	var next []string
	for _, name := range []string{"NextPartitionKey", "NextRowKey", "NextTableName"} {
		if v := a.header.Get("x-ms-continuation-" + name); v != "" {
			next = append(next, name+"="+v)
		}
	}
	s.next = strings.Join(next, "&")
}

// fill puts the session's values into a text.
func (s *session) fill(text string) string {
	first, last := "", ""
	if len(s.etags) > 0 {
		first, last = s.etags[0], s.etags[len(s.etags)-1]
	}
	return strings.NewReplacer("{T}", s.table, "{t}", strings.ToLower(s.table), "{N}", s.spare, "{A}", s.target.name,
		"{U}", s.target.endpoint, "{E}", last, "{E0}", first, "{next}", s.next).Replace(text)
}

// The patterns of what differs from answer to answer. That times have no zero at their end shows with values that a
// case chooses: with those of the clock it would show one time in ten.
const (
	timePattern = `\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,7})?Z`
	guidPattern = `[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`
)

var patterns = strings.NewReplacer(
	regexp.QuoteMeta("{any}"), `(?s:.*)`,
	regexp.QuoteMeta("{time}"), timePattern,
	regexp.QuoteMeta("{guid}"), guidPattern,
	regexp.QuoteMeta("{etag}"), `W/"datetime'`+strings.ReplaceAll(timePattern, ":\\d", "%3A\\d")+`'"`,
	regexp.QuoteMeta("{jetag}"), `W/\\"datetime'`+strings.ReplaceAll(timePattern, ":\\d", "%3A\\d")+`'\\"`,
)

// fits says whether a whole text is what a template says.
func (s *session) fits(template, text string) bool {
	return regexp.MustCompile("^" + patterns.Replace(regexp.QuoteMeta(s.fill(template))) + "$").MatchString(text)
}

// failure reads the code and the text of an error in either form, and in a batch that of its one part. The text is
// without RequestId and Time.
func (a *answer) failure() (code, text string) {
	raw := a.body
	if i := strings.Index(raw, `{"odata.error"`); i >= 0 {
		var v struct {
			Error struct {
				Code    string
				Message struct{ Value string }
			} `json:"odata.error"`
		}
		if err := json.NewDecoder(strings.NewReader(raw[i:])).Decode(&v); err != nil {
			return "", err.Error()
		}
		code, text = v.Error.Code, v.Error.Message.Value
	} else {
		var v struct {
			Code    string `xml:"code"`
			Message string `xml:"message"`
			// Azurite's own form at the level of the service.
			OtherCode    string `xml:"Code"`
			OtherMessage string `xml:"Message"`
		}
		if err := xml.Unmarshal([]byte(strings.TrimPrefix(raw, "\ufeff")), &v); err != nil {
			return "", err.Error()
		}
		code, text = v.Code+v.OtherCode, v.Message+v.OtherMessage
	}
	text, _, _ = strings.Cut(text, "\nRequestId:")
	return code, text
}

// rowKeys lists the RowKeys of a page.
func (a *answer) rowKeys() []string {
	var page struct{ Value []struct{ RowKey string } }
	if err := json.Unmarshal([]byte(a.body), &page); err != nil {
		return []string{err.Error()}
	}
	keys := make([]string, len(page.Value))
	for i, row := range page.Value {
		keys[i] = row.RowKey
	}
	return keys
}

// defaults are the headers that a request has unless its step says otherwise.
var defaults = []string{"Accept", "application/json;odata=minimalmetadata", "Content-Type", "application/json",
	"DataServiceVersion", "3.0", "x-ms-version", "2019-02-02"}

// send makes the request of a step. A request that is not answered at all fails the test.
func (s *session) send(st step) *answer {
	s.t.Helper()
	base := s.target.endpoint
	if st.secondary {
		base = s.target.secondary
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(s.t.Context()), time.Minute)
	defer cancel()
	path := s.fill(st.path)
	if st.auth == withSAS {
		path = s.target.signPath(path)
	}
	r, err := http.NewRequestWithContext(ctx, st.method, base+path, strings.NewReader(s.fill(st.body)))
	if err != nil {
		s.t.Fatal(err)
	}
	r.Header.Set("x-ms-date", time.Now().UTC().Format(http.TimeFormat))
	for _, list := range [][]string{defaults, st.headers} {
		for i := 0; i < len(list); i += 2 {
			if list[i+1] == "-" {
				r.Header.Del(list[i])
			} else {
				r.Header.Set(list[i], s.fill(list[i+1]))
			}
		}
	}
	s.target.authorize(r, st.auth)
	resp, err := s.target.client.Do(r)
	if err != nil {
		s.t.Fatalf("%s %s: %v", st.method, path, err)
	}
	b, err := io.ReadAll(resp.Body)
	if err := errors.Join(err, resp.Body.Close()); err != nil {
		s.t.Fatalf("%s %s: %v", st.method, path, err)
	}
	a := &answer{status: resp.StatusCode, header: resp.Header, body: string(b)}
	if len(resp.TransferEncoding) > 0 {
		a.header.Set("Transfer-Encoding", strings.Join(resp.TransferEncoding, ","))
	}
	return a
}
