package auth

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// maxSkew is how far the date of a request may lie from the server's clock (Authorize with Shared Key, REST
// reference, for old requests; that the future is held to the same is unconfirmed).
const maxSkew = 15 * time.Minute

// checkSharedKey checks the signature of a whole request. credential is `account:signature`.
func (a *Authenticator) checkSharedKey(r *http.Request, account string, key Key, scheme, credential string) error {
	name, sig, ok := strings.Cut(credential, ":")
	if !ok || name == "" || sig == "" {
		return malformedHeader()
	}
	if name != account {
		return authenticationFailed("The Authorization header names another account than the URL.")
	}
	date := r.Header.Get("x-ms-date")
	if date == "" {
		date = r.Header.Get("Date")
	}
	when, err := http.ParseTime(date)
	if err != nil {
		return authenticationFailed("The Date header in the request is incorrect.")
	}
	if now := a.clock(); now.Sub(when).Abs() > maxSkew {
		return authenticationFailed(fmt.Sprintf("Request date header too old: '%s'", date))
	}
	var signed string
	for _, path := range signedPaths(r, account) {
		signed = stringToSign(r, scheme, date, "/"+account+path)
		if key.verifies(sig, signed) {
			return nil
		}
	}
	return authenticationFailed("The MAC signature found in the HTTP request is not the same as any computed " +
		"signature. Server used following string to sign: '" + signed + "'.")
}

// stringToSign returns what a client of the Table service signs. It is shorter than for the other storage services:
// no canonicalized headers, and the date is never empty (reference §7.1, §7.2).
func stringToSign(r *http.Request, scheme, date, path string) string {
	resource := path
	if comp, ok := queryValue(r.URL.RawQuery, "comp"); ok {
		resource += "?comp=" + comp
	}
	if scheme == "SharedKeyLite" {
		return date + "\n" + resource
	}
	return strings.Join([]string{r.Method, r.Header.Get("Content-MD5"), r.Header.Get("Content-Type"), date, resource}, "\n")
}

// signedPaths returns the paths that clients sign for the request: the one on the wire, last, because it is the usual
// one and the one to explain; and for path-style requests to the secondary also the one of the primary.
func signedPaths(r *http.Request, account string) []string {
	path := wirePath(r)
	if rest, ok := strings.CutPrefix(path, "/"+account+"-secondary"); ok && (rest == "" || rest[0] == '/') {
		return []string{"/" + account + rest, path}
	}
	return []string{path}
}

// wirePath returns the path with its escapes as they were sent: %27 and ' are signed differently. Of an absolute
// request target it leaves out scheme and host.
func wirePath(r *http.Request) string {
	path, _, _ := strings.Cut(r.RequestURI, "?")
	if _, rest, ok := strings.Cut(path, "://"); ok && !strings.HasPrefix(path, "/") {
		path = rest[min(len(rest), strings.IndexByte(rest+"/", '/')):]
	}
	if r.RequestURI == "" { // not read from a connection
		path = r.URL.EscapedPath()
	}
	if path == "" {
		return "/"
	}
	return path
}

// queryValue returns the first value of a parameter of a raw query.
func queryValue(raw, name string) (string, bool) {
	for pair := range strings.SplitSeq(raw, "&") {
		key, value, _ := strings.Cut(pair, "=")
		if key == name {
			decoded, err := url.QueryUnescape(value)
			return decoded, err == nil
		}
	}
	return "", false
}
