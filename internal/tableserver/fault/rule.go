package fault

import (
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/aztenancy/terraform-provider-aztenancy/internal/tableserver/traffic"
)

// Moment is when a fault happens.
type Moment uint8

// Before is before anything is read or written; After is when a write is on disk, or an answer to a read is known,
// and the client has not heard of it yet. A request that fails by itself never comes to After.
const (
	Before Moment = iota
	After
)

// Effect is what a fault does. Delay comes first. At most one of Drop and Status is set; with neither the request
// goes on after the delay.
type Effect struct {
	Delay  time.Duration
	Drop   bool   // the connection is closed without an answer
	Status int    // the answer is an error with this status and Code
	Code   string // of the service
}

// Rule says which requests meet an Effect. It was read by Parse, so it is valid.
type Rule struct {
	text       string
	operations []traffic.Operation // none: all
	account    string              // "": all
	table      string              // lower case; "": all
	partition  *string             // nil: all

	skip        int     // so many matching requests go free first
	every       int     // of the others, each such is hit
	count       int     // at most so many are hit; 0: no end
	probability float64 // or each is hit with this probability

	moment Moment
	effect Effect
}

// String returns the text that Parse read.
func (r *Rule) String() string { return r.text }

// Syntax describes the text of a rule, for help and errors.
const Syntax = `FIELD=VALUE,…: which requests: operation=NAME|NAME… (or read, write), account=, table=, partition= (percent-encoded);
which of them: skip=N, every=N, count=N, probability=0.N; when: at=before or at=after (the commit);
what: delay=TIME, drop, status=N, code=TEXT`

// maxDelay lies below the time that the server takes for an answer at most.
const maxDelay = 4 * time.Minute

// codes are the error codes of statuses that have one usual code; the others must be named.
var codes = map[int]string{
	http.StatusForbidden: "AuthorizationFailure", http.StatusNotFound: "ResourceNotFound",
	http.StatusPreconditionFailed: "UpdateConditionNotSatisfied", http.StatusInternalServerError: "InternalError",
	http.StatusServiceUnavailable: "ServerBusy",
}

// fields are what a rule's text may say.
var fields = map[string]func(r *Rule, value string) error{
	"operation": func(r *Rule, v string) error {
		found, unknown := traffic.ParseOperations(v)
		if found == nil {
			return fmt.Errorf(`there is no operation %q: give a name such as InsertEntity, or read or write`, unknown)
		}
		r.operations = found
		return nil
	},
	"account": func(r *Rule, v string) error { r.account = v; return notEmpty(v) },
	"table":   func(r *Rule, v string) error { r.table = strings.ToLower(v); return notEmpty(v) },
	"partition": func(r *Rule, v string) error {
		plain, err := url.PathUnescape(v)
		r.partition = &plain
		return err
	},
	"skip":  func(r *Rule, v string) error { return number(&r.skip, v, 1) },
	"every": func(r *Rule, v string) error { return number(&r.every, v, 1) },
	"count": func(r *Rule, v string) error { return number(&r.count, v, 1) },
	"probability": func(r *Rule, v string) (err error) {
		if r.probability, err = strconv.ParseFloat(v, 64); err != nil || !(r.probability > 0 && r.probability <= 1) {
			return fmt.Errorf("%q is not above 0 and at most 1", v)
		}
		return nil
	},
	"at": func(r *Rule, v string) error {
		switch v {
		case "before":
		case "after":
			r.moment = After
		default:
			return fmt.Errorf("%q is neither before nor after (the commit)", v)
		}
		return nil
	},
	"delay": func(r *Rule, v string) (err error) {
		if r.effect.Delay, err = time.ParseDuration(v); err != nil || r.effect.Delay <= 0 || r.effect.Delay > maxDelay {
			return fmt.Errorf("%q is no time such as 250ms, up to %v", v, maxDelay)
		}
		return nil
	},
	"drop": func(r *Rule, v string) error {
		if r.effect.Drop = true; v != "" {
			return fmt.Errorf("drop stands alone, and at=before or at=after says when")
		}
		return nil
	},
	"status": func(r *Rule, v string) error {
		if err := number(&r.effect.Status, v, http.StatusBadRequest); err != nil || r.effect.Status > 599 {
			return fmt.Errorf("%q is no status from 400 to 599", v)
		}
		return nil
	},
	"code": func(r *Rule, v string) error {
		if v == "" || strings.ContainsFunc(v, func(c rune) bool { return (c|0x20 < 'a' || c|0x20 > 'z') && (c < '0' || c > '9') }) {
			return fmt.Errorf("%q is no error code: letters and digits", v)
		}
		r.effect.Code = v
		return nil
	},
}

func notEmpty(v string) error {
	if v == "" {
		return fmt.Errorf("it is empty; leave it out to match all")
	}
	return nil
}

func number(to *int, text string, least int) error {
	n, err := strconv.Atoi(text)
	if err != nil || n < least {
		return fmt.Errorf("%q is not a number of at least %d", text, least)
	}
	*to = n
	return nil
}

// Parse reads a rule, in the form of Syntax.
func Parse(text string) (*Rule, error) {
	r := &Rule{text: text}
	seen := make(map[string]bool)
	for field := range strings.SplitSeq(text, ",") {
		name, value, valued := strings.Cut(field, "=")
		read, known := fields[name]
		switch {
		case !known:
			return nil, fmt.Errorf("fault %q: there is no field %q; a rule is %s", text, name, Syntax)
		case seen[name]:
			return nil, fmt.Errorf("fault %q: %s is given twice", text, name)
		case !valued && name != "drop":
			return nil, fmt.Errorf("fault %q: %s has no value", text, name)
		}
		seen[name] = true
		if err := read(r, value); err != nil {
			return nil, fmt.Errorf("fault %q: %s: %w", text, name, err)
		}
	}
	if err := r.complete(seen); err != nil {
		return nil, fmt.Errorf("fault %q: %w", text, err)
	}
	return r, nil
}

// complete checks the fields against each other, and fills the code in that a status usually has.
func (r *Rule) complete(seen map[string]bool) error {
	switch {
	case r.effect.Delay == 0 && !r.effect.Drop && r.effect.Status == 0:
		return fmt.Errorf("it does nothing: give delay=TIME, drop or status=N")
	case r.effect.Drop && (seen["status"] || seen["code"]):
		return fmt.Errorf("a dropped connection has no status: give drop or status")
	case seen["code"] && !seen["status"]:
		return fmt.Errorf("code needs a status")
	case seen["every"] && seen["probability"]:
		return fmt.Errorf("every and probability exclude each other")
	}
	if r.effect.Status != 0 && r.effect.Code == "" {
		if r.effect.Code = codes[r.effect.Status]; r.effect.Code == "" {
			return fmt.Errorf("status %d has no usual error code: give code=TEXT", r.effect.Status)
		}
	}
	return nil
}
