package tablestorage

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/runtime"

	"github.com/aztenancy/terraform-provider-aztenancy/internal/tablestorage/pace"
)

// authorizer returns the policy that authorises each try.
func authorizer(a Account) (policy.Policy, error) {
	switch c := a.Credential.(type) {
	case SharedKey:
		key, err := base64.StdEncoding.DecodeString(c.Key.Reveal())
		if err != nil {
			return nil, fmt.Errorf("the account key of account %q is not base64", a.Name)
		}
		return sharedKeyPolicy{account: a.Name, key: key}, nil
	case SAS:
		return sasPolicy{c.Token}, nil
	case Entra:
		if c.Token == nil {
			return nil, fmt.Errorf("account %q: no Entra credential", a.Name)
		}
		return runtime.NewBearerTokenPolicy(c.Token, []string{tokenScope}, nil), nil
	}
	return nil, fmt.Errorf("account %q: unknown kind of credential", a.Name)
}

// sharedKeyPolicy signs each try with SharedKeyLite (Authorize with Shared Key, table service). Being per try, the
// date is fresh however long the retries take: the service refuses dates more than 15 minutes off.
type sharedKeyPolicy struct {
	account string
	key     []byte
}

func (p sharedKeyPolicy) Do(req *policy.Request) (*http.Response, error) {
	r := req.Raw()
	date := time.Now().UTC().Format(http.TimeFormat)
	r.Header.Set("x-ms-date", date)
	mac := hmac.New(sha256.New, p.key)
	mac.Write([]byte(date + "\n" + canonicalResource(p.account, r.URL)))
	r.Header.Set("Authorization", "SharedKeyLite "+p.account+":"+base64.StdEncoding.EncodeToString(mac.Sum(nil)))
	return req.Next()
}

// canonicalResource is the account, the path exactly as on the wire, and of the query only comp. A path-style endpoint
// has the account twice.
func canonicalResource(account string, u *url.URL) string {
	path := u.EscapedPath()
	if path == "" {
		path = "/"
	}
	resource := "/" + account + path
	if comp := u.Query().Get("comp"); comp != "" {
		resource += "?comp=" + comp
	}
	return resource
}

// sasPolicy adds the SAS to each try's URL. The retry policy hands every try its own copy of the request.
type sasPolicy struct{ token Secret }

func (p sasPolicy) Do(req *policy.Request) (*http.Response, error) {
	u := req.Raw().URL
	if u.RawQuery != "" {
		u.RawQuery += "&"
	}
	u.RawQuery += p.token.Reveal()
	return req.Next()
}

// attempts is what became of the tries of one request.
type attempts struct {
	unconnected int // tries that found nobody to talk to
	ticket      *pace.Ticket
	uncertain   bool // a try ended without a definite answer: the service may have carried it out
	body        []byte
}

// attemptPolicy keeps attempts, which must be an operation value of the request, and ends the retries soon where
// nobody is there: waiting minutes for a wrong host name helps no one. It gives each try a reader of its own on the
// body: net/http may still read the one of a try whose answer came early, and would take bytes from the next.
type attemptPolicy struct{}

// maxUnconnected is how many tries may find nobody.
const maxUnconnected = 2

func (attemptPolicy) Do(req *policy.Request) (*http.Response, error) {
	var a *attempts
	req.OperationValue(&a)
	if a.body != nil {
		req.Raw().Body = io.NopCloser(bytes.NewReader(a.body))
	}
	resp, err := req.Next()
	switch {
	case err == nil && isUncertain(resp.StatusCode):
		a.uncertain = true
	case err == nil:
	case !wasSent(err):
		if a.unconnected++; a.unconnected >= maxUnconnected || isPermanent(err) {
			return nil, hopelessError{err}
		}
	default:
		a.uncertain = true
	}
	return resp, err
}

// isUncertain says whether a status leaves open if the request was carried out. ServerBusy (503) most likely was not,
// but nothing promises it.
func isUncertain(status int) bool { return status >= 500 || status == http.StatusRequestTimeout }

// hopelessError ends the retries of azcore, which looks for this method.
type hopelessError struct{ error }

func (hopelessError) NonRetriable()   {}
func (e hopelessError) Unwrap() error { return e.error }

// discreetTransport takes the URL out of transport errors: it may hold a SAS, and errors are logged. It sends nothing past
// the context's deadline: a process that slept may come here before the timer that ends the context has fired. As the
// request is signed by then, its date is before the deadline.
type discreetTransport struct{ inner policy.Transporter }

func (t discreetTransport) Do(r *http.Request) (*http.Response, error) {
	if deadline, ok := r.Context().Deadline(); ok && isPast(deadline, time.Now()) {
		return nil, context.DeadlineExceeded
	}
	resp, err := t.inner.Do(r)
	var withURL *url.Error
	for errors.As(err, &withURL) {
		err = withURL.Err
	}
	return resp, err
}

// isCanceled says whether err is the end of the caller's context.
func isCanceled(ctx context.Context, err error) bool {
	return ctx.Err() != nil && errors.Is(err, ctx.Err())
}

// isPast says whether either of a time's two clocks has passed the deadline: the monotonic one stands still while a machine
// is suspended, and the wall clock can be set back.
func isPast(deadline, now time.Time) bool {
	return now.After(deadline) || now.Round(0).After(deadline.Round(0))
}
