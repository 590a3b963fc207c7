package conformance

import (
	"encoding/json"
	"fmt"
	"maps"
	"strings"
)

// exchange is one case: requests in their order, and what the service answers to each. It begins with an empty
// table {T} of its own.
//
// source names the section of the protocol reference (table-service.md) and its evidence: [R] recorded traffic,
// [T] [t] third-party tests, [D] documentation, [S] source of an SDK, [A] Azurite, "unconfirmed" nothing.
type exchange struct {
	name   string
	source string
	steps  []step
}

// step is one request and what is expected of its answer. In its texts stand
//
//	{T} {t}        the case's table, and its name in lower case
//	{N}            a name of which there is no table at first
//	{A} {U}        the account, and its URL with a slash at the end
//	{E} {E0}       the last and the first ETag that an earlier answer of the case had
//	{next}         the query parameters that continue the last answer, or nothing
//
// and in expectations also patterns: {etag} {jetag} for an ETag as a header and in JSON, {time} a Timestamp, {guid},
// {any} any text.
type step struct {
	method, path, body string
	headers            []string // names and values in turn; "-" takes a default one away
	auth               authorization
	secondary          bool
	wants              []want
	status             int // 0: any success
}

// authorization makes the credentials of a request.
type authorization uint8

const (
	sharedKeyLite authorization = iota
	sharedKey
	noCredentials
	wrongKey
	oldDate
	withSAS // the path carries them
)

// want looks at an answer and says what differs, "" for nothing.
type want func(s *session, a *answer) string

func do(method, path, body string, headers ...string) step {
	return step{method: method, path: path, body: body, headers: headers}
}

func get(path string, headers ...string) step { return do("GET", path, "", headers...) }

func insert(body string, headers ...string) step { return do("POST", "{T}", body, headers...) }

// gives sets what the answer has to be.
func (s step) gives(status int, wants ...want) step {
	s.status, s.wants = status, wants
	return s
}

func (s step) by(a authorization) step {
	s.auth = a
	return s
}

func (s step) atSecondary() step {
	s.secondary = true
	return s
}

// header expects a header's value to fit a template; "" means that there is no such header.
func header(name, template string) want {
	return func(s *session, a *answer) string {
		if got := strings.Join(a.header.Values(name), "|"); !s.fits(template, got) {
			return fmt.Sprintf("header %s is %q, not %q", name, got, s.fill(template))
		}
		return ""
	}
}

// body expects the whole body to fit a template.
func body(template string) want {
	return func(s *session, a *answer) string {
		if !s.fits(template, a.body) {
			return fmt.Sprintf("body is\n\t\t%s\n\tnot\n\t\t%s", a.body, s.fill(template))
		}
		return ""
	}
}

// has expects the body to have a part that fits a template.
func has(template string) want {
	return func(s *session, a *answer) string {
		if !s.fits("{any}"+template+"{any}", a.body) {
			return fmt.Sprintf("body\n\t\t%s\n\thas no\n\t\t%s", a.body, s.fill(template))
		}
		return ""
	}
}

// lacks expects that the body does not have a text.
func lacks(text string) want {
	return func(s *session, a *answer) string {
		if strings.Contains(a.body, s.fill(text)) {
			return fmt.Sprintf("body\n\t\t%s\n\thas\n\t\t%s", a.body, s.fill(text))
		}
		return ""
	}
}

// failure expects an error of whatever form, with a code, and with a text unless that is "".
func failure(code, template string) want {
	return func(s *session, a *answer) string {
		gotCode, text := a.failure()
		if gotCode != code {
			return fmt.Sprintf("error code is %q, not %q: %s", gotCode, code, a.body)
		}
		if template != "" && !s.fits(template, text) {
			return fmt.Sprintf("error text is %q, not %q", text, s.fill(template))
		}
		return ""
	}
}

// own expects the entity's own properties, with their types, in any order and as they are written.
func own(members string) want {
	return func(s *session, a *answer) string {
		got, expected := membersOf(a.body), membersOf("{"+s.fill(members)+"}")
		for name := range got {
			if strings.HasPrefix(name, "odata.") || name == "PartitionKey" || name == "RowKey" || name == "Timestamp" {
				delete(got, name)
			}
		}
		if !maps.Equal(got, expected) {
			return fmt.Sprintf("properties are\n\t\t%v\n\tnot\n\t\t%v", got, expected)
		}
		return ""
	}
}

// membersOf maps the names of an object to their values as they are written.
func membersOf(object string) map[string]string {
	var raw map[string]json.RawMessage
	if err := json.Unmarshal([]byte(object), &raw); err != nil {
		return map[string]string{"": err.Error()}
	}
	members := make(map[string]string, len(raw))
	for name, value := range raw {
		members[name] = string(value)
	}
	return members
}

// rows expects the RowKeys of an answer to a query, in this order, separated by blanks.
func rows(list string) want {
	return func(_ *session, a *answer) string {
		if got := strings.Join(a.rowKeys(), " "); got != list {
			return fmt.Sprintf("rows are %q, not %q", got, list)
		}
		return ""
	}
}

// all joins steps and lists of steps.
func all(parts ...any) []step {
	var steps []step
	for _, p := range parts {
		switch p := p.(type) {
		case step:
			steps = append(steps, p)
		case []step:
			steps = append(steps, p...)
		}
	}
	return steps
}
