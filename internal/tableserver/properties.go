package tableserver

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"slices"
	"strings"
)

// The limits of service properties (Set Table Service Properties, REST reference). The limits of CORS are those of
// all Storage services; for tables they are unconfirmed.
const (
	maxRetentionDays   = 365
	maxCorsRules       = 5
	maxCorsOrigins     = 64
	maxCorsOriginBytes = 256
	maxCorsHeaders     = 64 // literal names in one list
	maxCorsPrefixes    = 2  // prefix* names in one list
)

var corsMethods = []string{"DELETE", "GET", "HEAD", "MERGE", "OPTIONS", "PATCH", "POST", "PUT"}

// valid says whether the document holds a section at all, and no value that is out of range or contradicts another.
func (p *serviceProperties) valid() bool {
	if p.Logging == nil && p.HourMetrics == nil && p.MinuteMetrics == nil && p.Cors == nil {
		return false
	}
	return (p.Logging == nil || p.Logging.valid()) && (p.HourMetrics == nil || p.HourMetrics.valid()) &&
		(p.MinuteMetrics == nil || p.MinuteMetrics.valid()) && (p.Cors == nil || p.Cors.valid())
}

// analyticsVersion is the only version of Storage Analytics.
const analyticsVersion = "1.0"

func (l *logging) valid() bool { return l.Version == analyticsVersion && l.RetentionPolicy.valid() }

func (m *metrics) valid() bool {
	return m.Version == analyticsVersion && (!m.Enabled || m.IncludeAPIs != nil) && m.RetentionPolicy.valid()
}

func (r retention) valid() bool {
	if !r.Enabled {
		return r.Days == 0
	}
	return 1 <= r.Days && r.Days <= maxRetentionDays
}

func (l *corsList) valid() bool {
	return len(l.Rules) <= maxCorsRules && !slices.ContainsFunc(l.Rules, func(r corsRule) bool { return !r.valid() })
}

func (r corsRule) valid() bool {
	origins, methods := listed(r.AllowedOrigins), listed(r.AllowedMethods)
	if len(origins) == 0 || len(origins) > maxCorsOrigins || len(methods) == 0 || r.MaxAgeInSeconds < 0 {
		return false
	}
	for _, origin := range origins {
		if len(origin) > maxCorsOriginBytes {
			return false
		}
	}
	for _, method := range methods {
		if !slices.Contains(corsMethods, method) {
			return false
		}
	}
	return validHeaderList(r.AllowedHeaders) && validHeaderList(r.ExposedHeaders)
}

func validHeaderList(list string) bool {
	literal, prefixes := splitPrefixes(listed(list))
	return len(literal) <= maxCorsHeaders && len(prefixes) <= maxCorsPrefixes
}

// splitPrefixes parts the literal names from those that end with "*".
func splitPrefixes(names []string) (literal, prefixes []string) {
	for _, name := range names {
		if strings.HasSuffix(name, "*") {
			prefixes = append(prefixes, name)
		} else {
			literal = append(literal, name)
		}
	}
	return literal, prefixes
}

// normalize brings the document into the form in which the service gives it back: what has no effect is left out,
// and lists of headers have their literal names before those with a prefix* (recordings).
func (p *serviceProperties) normalize() {
	for _, m := range []*metrics{p.HourMetrics, p.MinuteMetrics} {
		if m != nil && !m.Enabled {
			m.IncludeAPIs = nil
		}
	}
	if p.Cors == nil {
		return
	}
	for i := range p.Cors.Rules {
		r := &p.Cors.Rules[i]
		r.AllowedHeaders, r.ExposedHeaders = literalsFirst(r.AllowedHeaders), literalsFirst(r.ExposedHeaders)
	}
}

func literalsFirst(list string) string {
	literal, prefixes := splitPrefixes(listed(list))
	return strings.Join(append(literal, prefixes...), ",")
}

// parseXML reads a document that is the whole of body, with or without a byte order mark.
func parseXML(body []byte, to any) error {
	d := xml.NewDecoder(bytes.NewReader(bytes.TrimPrefix(body, []byte(utf8BOM))))
	if err := d.Decode(to); err != nil {
		return err
	}
	for {
		t, err := d.Token()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		switch t := t.(type) {
		case xml.Comment:
			continue
		case xml.CharData:
			if len(bytes.TrimSpace(t)) == 0 {
				continue
			}
		}
		return errors.New("something follows the document")
	}
}
