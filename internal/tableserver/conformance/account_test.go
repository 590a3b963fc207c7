package conformance

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// account is an account of a service under test.
type account struct {
	name      string
	key       []byte
	endpoint  string // with a slash at its end
	secondary string
	client    *http.Client
}

// newAccount reads a connection string.
func newAccount(connection string) (*account, error) {
	fields := map[string]string{"DefaultEndpointsProtocol": "https", "EndpointSuffix": "core.windows.net"}
	for field := range strings.SplitSeq(connection, ";") {
		if name, value, ok := strings.Cut(field, "="); ok {
			fields[strings.TrimSpace(name)] = strings.TrimSpace(value)
		}
	}
	t := &account{name: fields["AccountName"], endpoint: fields["TableEndpoint"]}
	key, err := base64.StdEncoding.DecodeString(fields["AccountKey"])
	if err != nil || t.name == "" || len(key) == 0 {
		return nil, fmt.Errorf("the connection string has no AccountName with an AccountKey")
	}
	t.key = key
	if t.endpoint == "" {
		t.endpoint = fields["DefaultEndpointsProtocol"] + "://" + t.name + ".table." + fields["EndpointSuffix"]
	}
	t.endpoint = strings.TrimSuffix(t.endpoint, "/") + "/"
	t.secondary = strings.Replace(t.endpoint, "/"+t.name, "/"+t.name+"-secondary", 1)
	t.client = &http.Client{Transport: &http.Transport{DisableCompression: true}}
	return t, nil
}

func (t *account) mac(text string) string {
	h := hmac.New(sha256.New, t.key)
	h.Write([]byte(text))
	return base64.StdEncoding.EncodeToString(h.Sum(nil))
}

// authorize signs a request (reference §7.1 to §7.3).
func (t *account) authorize(r *http.Request, how authorization) {
	if how == noCredentials || how == withSAS {
		return
	}
	if how == oldDate {
		r.Header.Set("x-ms-date", time.Now().Add(-20*time.Minute).UTC().Format(http.TimeFormat))
	}
	resource := "/" + t.name + r.URL.EscapedPath()
	if comp := r.URL.Query().Get("comp"); comp != "" {
		resource += "?comp=" + comp
	}
	date := r.Header.Get("x-ms-date")
	scheme, text := "SharedKeyLite", date+"\n"+resource
	if how == sharedKey {
		scheme, text = "SharedKey", r.Method+"\n\n"+r.Header.Get("Content-Type")+"\n"+date+"\n"+resource
	}
	signature := t.mac(text)
	if how == wrongKey {
		signature = t.mac(text + "x")
	}
	r.Header.Set("Authorization", scheme+" "+t.name+":"+signature)
}

// signPath adds a signature to a path that has the fields of a SAS as parameters. {soon} and {past} are times. With
// tn it is a table SAS, else an account SAS (reference §7.5, sv before 2020-12-06).
func (t *account) signPath(path string) string {
	at := func(d time.Duration) string { return time.Now().Add(d).UTC().Format("2006-01-02T15:04:05Z") }
	path = strings.NewReplacer("{soon}", at(time.Hour), "{past}", at(-time.Hour)).Replace(path)
	_, raw, _ := strings.Cut(path, "?")
	q, err := url.ParseQuery(raw)
	if err != nil {
		panic(err) // a mistake in a case
	}
	lines := func(names ...string) string {
		values := make([]string, len(names))
		for i, name := range names {
			values[i] = q.Get(name)
		}
		return strings.Join(values, "\n")
	}
	text := t.name + "\n" + lines("sp", "ss", "srt", "st", "se", "sip", "spr", "sv") + "\n"
	if table := q.Get("tn"); table != "" {
		text = lines("sp", "st", "se") + "\n/table/" + t.name + "/" + strings.ToLower(table) + "\n" +
			lines("si", "sip", "spr", "sv", "spk", "srk", "epk", "erk")
	}
	return path + "&sig=" + url.QueryEscape(t.mac(text))
}
