package tableserver

import (
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
)

var (
	errCorsHeader = xmlFailure("InvalidHeaderValue", "A required CORS header is not present.")
	errPreflight  = xmlFailure("CorsPreflightFailure", "CORS not enabled or no matching rule found for this request.")
)

// corsRules returns the rules of the account, which anybody may ask for by a preflight.
func (c *call) corsRules() ([]corsRule, error) {
	if !c.s.serves(c.account) {
		return nil, nil
	}
	stored, err := c.s.store.Properties(c.r.Context(), c.account)
	if err != nil || stored == nil {
		return nil, err
	}
	return c.s.cors.rules(c.account, string(stored))
}

// corsCache holds the rules of each account as they were parsed last, because they are needed at every read.
type corsCache struct {
	mu    sync.Mutex
	known map[string]parsedRules // by account
}

type parsedRules struct {
	document string
	rules    []corsRule
}

// rules returns the rules of a stored document of service properties.
func (k *corsCache) rules(account, document string) ([]corsRule, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if p, ok := k.known[account]; ok && p.document == document {
		return p.rules, nil
	}
	var properties serviceProperties
	if err := parseXML([]byte(document), &properties); err != nil {
		return nil, err
	}
	p := parsedRules{document: document}
	if properties.Cors != nil {
		p.rules = properties.Cors.Rules
	}
	if k.known == nil {
		k.known = make(map[string]parsedRules)
	}
	k.known[account] = p
	return p.rules, nil
}

// preflight answers OPTIONS, which needs no credentials. The first rule that fits wins (reference §1.8; the status 200
// is unconfirmed).
func (c *call) preflight() error {
	c.plain = true
	origin, method := c.r.Header.Get("Origin"), c.r.Header.Get("Access-Control-Request-Method")
	if origin == "" || method == "" {
		return errCorsHeader
	}
	rules, err := c.corsRules()
	if err != nil {
		return err
	}
	headers := c.r.Header.Get("Access-Control-Request-Headers")
	for _, rule := range rules {
		if !rule.allowsOrigin(origin) || !inList(rule.AllowedMethods, method) || !rule.allowsHeaders(headers) {
			continue
		}
		c.set("Access-Control-Allow-Origin", origin)
		c.set("Access-Control-Allow-Methods", method)
		if headers != "" {
			c.set("Access-Control-Allow-Headers", headers)
		}
		c.set("Access-Control-Max-Age", strconv.Itoa(rule.MaxAgeInSeconds))
		c.set("Access-Control-Allow-Credentials", "true")
		c.set("Content-Length", "0")
		c.w.WriteHeader(http.StatusOK)
		return nil
	}
	return errPreflight
}

// allowOrigin adds the headers by which a browser lets a page of another origin read the answer.
func (c *call) allowOrigin() error {
	origin := c.r.Header.Get("Origin")
	if origin == "" && c.r.Method != http.MethodGet {
		return nil
	}
	rules, err := c.corsRules()
	if err != nil {
		return err
	}
	if len(rules) > 0 && c.r.Method == http.MethodGet {
		c.set("Vary", "Origin") // at any GET once there are rules (recordings)
	}
	if origin == "" {
		return nil
	}
	method := c.method
	if method == "" { // the request was not understood
		method = c.r.Method
	}
	for _, rule := range rules {
		if !rule.allowsOrigin(origin) || !inList(rule.AllowedMethods, method) {
			continue
		}
		if inList(rule.AllowedOrigins, anyOrigin) {
			c.set("Access-Control-Allow-Origin", anyOrigin)
		} else {
			c.set("Access-Control-Allow-Origin", origin)
			c.set("Access-Control-Allow-Credentials", "true")
			c.set("Vary", "Origin")
		}
		c.exposed = listed(rule.ExposedHeaders)
		break
	}
	return nil
}

// exposeHeaders names the headers of the answer that the rule shows to a page: those with a prefix* by their own names.
func (c *call) exposeHeaders() {
	var names []string
	for _, exposed := range c.exposed {
		prefix, isPrefix := strings.CutSuffix(exposed, "*")
		if !isPrefix {
			names = append(names, exposed)
			continue
		}
		for name := range c.w.Header() {
			if hasPrefixFold(name, prefix) && !containsFold(names, name) {
				names = append(names, name)
			}
		}
	}
	if len(names) > 0 {
		slices.Sort(names)
		c.set("Access-Control-Expose-Headers", strings.Join(names, ","))
	}
}

const anyOrigin = "*"

// allowsOrigin compares without regard to case, as Azurite does.
func (r corsRule) allowsOrigin(origin string) bool {
	return inList(r.AllowedOrigins, anyOrigin) || inList(r.AllowedOrigins, origin)
}

// allowsHeaders says whether each of the requested headers is listed, by its name or by a prefix*.
func (r corsRule) allowsHeaders(requested string) bool {
	allowed := listed(r.AllowedHeaders)
	for _, name := range listed(requested) {
		if !slices.ContainsFunc(allowed, func(a string) bool {
			prefix, isPrefix := strings.CutSuffix(a, "*")
			return isPrefix && hasPrefixFold(name, prefix) || strings.EqualFold(a, name)
		}) {
			return false
		}
	}
	return true
}

// listed splits a list with commas, without blanks and empty elements.
func listed(list string) []string {
	var elements []string
	for element := range strings.SplitSeq(list, ",") {
		if element = strings.TrimSpace(element); element != "" {
			elements = append(elements, element)
		}
	}
	return elements
}

func inList(list, element string) bool { return containsFold(listed(list), element) }

func containsFold(list []string, element string) bool {
	return slices.ContainsFunc(list, func(e string) bool { return strings.EqualFold(e, element) })
}

func hasPrefixFold(s, prefix string) bool {
	return len(s) >= len(prefix) && strings.EqualFold(s[:len(prefix)], prefix)
}
