package tableserver

import (
	"encoding/base64"
	"net/url"
	"strconv"
	"strings"
	"unicode/utf8"
)

// query holds the parameters of a URL. A parameter that stands there twice is refused when the URL is read, so
// that no $filter is ever dropped. Unlike net/url, a semicolon is a character like others.
type query map[string]string

func parseQuery(raw string) (query, error) {
	q := make(query)
	for raw != "" {
		var pair string
		pair, raw, _ = strings.Cut(raw, "&")
		if pair == "" {
			continue
		}
		name, value, _ := strings.Cut(pair, "=")
		name, errName := url.QueryUnescape(name)
		value, errValue := url.QueryUnescape(value)
		if errName != nil || errValue != nil || !utf8.ValidString(name) || !utf8.ValidString(value) {
			return nil, errInvalidInput
		}
		if _, twice := q[name]; twice {
			return nil, fail("InvalidQueryParameterValue", "A query parameter is specified more than once: "+name+".")
		}
		q[name] = value
	}
	return q, nil
}

func (q query) get(name string) string { return q[name] }

func (q query) has(name string) bool {
	_, ok := q[name]
	return ok
}

// maxPage is the largest page, in entities or tables.
const maxPage = 1000

// top reads $top, which limits a page.
func (q query) top() (int, error) {
	text := q.get("$top")
	if text == "" {
		return maxPage, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 || n > maxPage {
		return 0, errInvalidInput
	}
	return n, nil
}

// maxSelected is how many names a $select may hold (Query Entities, REST reference).
const maxSelected = 255

// selected reads $select: nil for all properties, which blank text and "*" mean too.
func (q query) selected() ([]string, error) {
	var names []string
	for name := range strings.SplitSeq(q.get("$select"), ",") {
		switch name = strings.TrimSpace(name); name {
		case "":
		case "*":
			return nil, nil
		default:
			names = append(names, name)
		}
	}
	if len(names) > maxSelected {
		return nil, errInvalidInput
	}
	return names, nil
}

// A continuation token is 1!LENGTH!TEXT: TEXT is base64 of the UTF-8 key with * _ - for + / =, LENGTH its length.
var (
	toToken   = strings.NewReplacer("+", "*", "/", "_", "=", "-")
	fromToken = strings.NewReplacer("*", "+", "_", "/", "-", "=")
)

func encodeToken(key string) string {
	text := toToken.Replace(base64.StdEncoding.EncodeToString([]byte(key)))
	return "1!" + strconv.Itoa(len(text)) + "!" + text
}

func decodeToken(token string) (string, error) {
	version, rest, _ := strings.Cut(token, "!")
	length, text, found := strings.Cut(rest, "!")
	if n, err := strconv.Atoi(length); version != "1" || !found || err != nil || n != len(text) {
		return "", errInvalidInput
	}
	key, err := base64.StdEncoding.DecodeString(fromToken.Replace(text))
	if err != nil || !utf8.Valid(key) {
		return "", errInvalidInput
	}
	return string(key), nil
}
