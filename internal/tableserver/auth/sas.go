package auth

import (
	"fmt"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"time"
)

// sasToken holds the fields of a shared access signature that stand in the URL, decoded. An absent field differs from
// an empty one only for the ends of a key range: what is signed has an empty line for both.
type sasToken map[string]string

// The fields of an account SAS, of a table SAS, and of both. ses names an encryption scope, which tables do not have.
var (
	commonFields  = []string{"sv", "st", "se", "sp", "sip", "spr", "sig"}
	accountFields = []string{"ss", "srt", "ses"}
	tableFields   = []string{"tn", "si", "spk", "srk", "epk", "erk"}
	// delegationFields belong to a SAS that is signed with a user delegation key.
	delegationFields = []string{"skoid", "sktid", "skt", "ske", "sks", "skv", "skdutid", "sduoid"}
	sasFields        = slices.Concat(commonFields, accountFields, tableFields, delegationFields)
)

// parseSAS reads the fields of a SAS from a raw query; nil if it has none that makes it one. A field that stands
// there twice is refused: the server must never check one of them and act on the other.
func parseSAS(raw string) (sasToken, error) {
	token := sasToken{}
	for pair := range strings.SplitSeq(raw, "&") {
		key, value, _ := strings.Cut(pair, "=")
		name, err := url.QueryUnescape(key)
		if err != nil || !slices.Contains(sasFields, name) {
			continue // not ours to judge
		}
		if _, twice := token[name]; twice {
			return nil, authenticationFailed("The field " + name + " stands twice in the query.")
		}
		if token[name], err = url.QueryUnescape(value); err != nil {
			return nil, authenticationFailed("The field " + name + " is not percent-encoded correctly.")
		}
	}
	if token["sig"] == "" && token["sv"] == "" {
		return nil, nil
	}
	return token, nil
}

// has says whether any of the fields is there, if only empty.
func (t sasToken) has(fields ...string) bool {
	return slices.ContainsFunc(fields, func(f string) bool { _, ok := t[f]; return ok })
}

// lines joins the values of fields as they are signed.
func (t sasToken) lines(fields ...string) string {
	values := make([]string, len(fields))
	for i, f := range fields {
		values[i] = t[f]
	}
	return strings.Join(values, "\n")
}

// authenticateSAS checks a SAS: its form, its signature, then what it says about time, address and protocol.
func (a *Authenticator) authenticateSAS(r *http.Request, account string, key Key, t sasToken) (*Grant, error) {
	if _, err := time.Parse(time.DateOnly, t["sv"]); err != nil {
		return nil, authenticationFailed("The field sv is missing or not a version.")
	}
	var grant *Grant
	var err error
	switch {
	case t.has(delegationFields...):
		grant, err = a.checkDelegationSAS(r, account, key, t)
	case t.has("ss") && !t.has(tableFields...):
		grant, err = checkAccountSAS(account, key, t, a.clock())
	case t.has("tn") && !t.has("ss", "srt"):
		grant, err = a.checkTableSAS(r.Context(), account, key, t)
	default:
		return nil, authenticationFailed("The query has the fields of neither an account SAS nor a table SAS.")
	}
	if err == nil {
		err = checkOrigin(r, t)
	}
	if err != nil {
		return nil, err
	}
	return grant, nil
}

// boundToUser says whether the SAS counts only together with the bearer token of a user.
func (t sasToken) boundToUser() bool { return t["sduoid"] != "" }

// require refuses a token that lacks one of the fields.
func (t sasToken) require(fields ...string) error {
	for _, f := range fields {
		if t[f] == "" {
			return authenticationFailed("The field " + f + " is missing.")
		}
	}
	return nil
}

// checkSignature compares sig with the signatures of the texts. The last text is the one to explain.
func checkSignature(key Key, t sasToken, texts ...string) error {
	for _, text := range texts {
		if key.verifies(t["sig"], text) {
			return nil
		}
	}
	return authenticationFailed("Signature did not match. String to sign used was " + texts[len(texts)-1])
}

// sasTimeForms are the forms of st and se (Create a service SAS, REST reference). A fraction of a second, which some
// clients write, is taken by the last one as well.
var sasTimeForms = []string{"2006-01-02", "2006-01-02T15:04Z", "2006-01-02T15:04:05Z"}

// times returns st and se; zero for one that is not there.
func (t sasToken) times() (start, expiry time.Time, err error) {
	if start, err = parseSASTime("st", t["st"]); err != nil {
		return start, expiry, err
	}
	expiry, err = parseSASTime("se", t["se"])
	return start, expiry, err
}

// parseSASTime reads st or se; the zero time for "".
func parseSASTime(field, text string) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	for _, form := range sasTimeForms {
		if when, err := time.Parse(form, text); err == nil {
			return when, nil
		}
	}
	return time.Time{}, authenticationFailed("The field " + field + " is not a time.")
}

// checkTime checks that now lies between start and expiry. A zero start is always past.
func checkTime(now, start, expiry time.Time) error {
	if now.Before(start) || now.After(expiry) {
		return authenticationFailed(fmt.Sprintf(
			"Signature not valid in the specified time frame: Start [%s] - Expiry [%s] - Current [%s]",
			start.UTC().Format(http.TimeFormat), expiry.UTC().Format(http.TimeFormat), now.UTC().Format(http.TimeFormat)))
	}
	return nil
}

// checkOrigin checks the protocol and the address from which the request came.
func checkOrigin(r *http.Request, t sasToken) error {
	switch t["spr"] {
	case "", "https,http", "http,https":
	case "https":
		if r.TLS == nil {
			return mismatch("AuthorizationProtocolMismatch", "protocol")
		}
	default:
		return authenticationFailed("The field spr is neither https nor https,http.")
	}
	if t["sip"] == "" {
		return nil
	}
	first, last, err := parseAddresses(t["sip"])
	if err != nil {
		return authenticationFailed("The field sip is neither an address nor a range of addresses.")
	}
	peer, err := netip.ParseAddrPort(r.RemoteAddr)
	if addr := peer.Addr().Unmap(); err != nil || addr.Compare(first) < 0 || addr.Compare(last) > 0 {
		return mismatch("AuthorizationSourceIPMismatch", "source IP "+addr.String())
	}
	return nil
}

// parseAddresses reads `168.1.5.60` or `168.1.5.60-168.1.5.70`.
func parseAddresses(text string) (first, last netip.Addr, err error) {
	from, to, ranged := strings.Cut(text, "-")
	if first, err = netip.ParseAddr(from); err != nil || !ranged {
		return first, first, err
	}
	last, err = netip.ParseAddr(to)
	return first, last, err
}
