package edm

import (
	"strings"
	"time"
)

// The range of Edm.DateTime: 1601-01-01T00:00:00Z to 9999-12-31T23:59:59.9999999Z (data model, REST reference).
const (
	minTicks = 504911232000000000
	maxTicks = 3155378975999999999
)

func inTimeRange(ticks int64) bool { return minTicks <= ticks && ticks <= maxTicks }

// FormatTime returns t as the service prints an Edm.DateTime: UTC, at most seven digits of fraction (the rest is
// cut) without trailing zeros, "Z". The year must have at most four digits.
func FormatTime(t time.Time) string { return string(appendTime(nil, t)) }

func appendTime(dst []byte, t time.Time) []byte { return appendTimeWithColon(dst, t, ":") }

// appendTimeWithColon is appendTime with another text for the colons: ETags have "%3A".
func appendTimeWithColon(dst []byte, t time.Time, colon string) []byte {
	t = t.UTC()
	year, month, day := t.Date()
	hour, minute, second := t.Clock()
	dst = append(appendDigits(dst, year, 4), '-')
	dst = append(appendDigits(dst, int(month), 2), '-')
	dst = append(appendDigits(dst, day, 2), 'T')
	dst = append(appendDigits(dst, hour, 2), colon...)
	dst = append(appendDigits(dst, minute, 2), colon...)
	dst = appendDigits(dst, second, 2)
	if fraction := t.Nanosecond() / 100; fraction != 0 {
		dst = appendDigits(append(dst, '.'), fraction, 7)
		for dst[len(dst)-1] == '0' {
			dst = dst[:len(dst)-1]
		}
	}
	return append(dst, 'Z')
}

// appendDigits appends the last width decimal digits of n, which is not negative.
func appendDigits(dst []byte, n, width int) []byte {
	for range width {
		dst = append(dst, '0')
	}
	for i := len(dst) - 1; width > 0; i, width = i-1, width-1 {
		dst[i] = byte('0' + n%10)
		n /= 10
	}
	return dst
}

// ETagOf returns the ETag of an entity with the Timestamp t, such as W/"datetime'2020-07-24T14%3A34%3A32.2506465Z'".
// The service derives its ETags so, but a client must take them as opaque.
func ETagOf(t time.Time) string { return string(appendETag(nil, t)) }

func appendETag(dst []byte, t time.Time) []byte {
	dst = append(dst, `W/"datetime'`...)
	dst = appendTimeWithColon(dst, t, "%3A")
	return append(dst, `'"`...)
}

// ParseTime reads a time in a form that the service takes:
//
//	2006-01-02    2006-01-02T15:04    2006-01-02T15:04:05    2006-01-02T15:04:05.9999999
//
// the last three followed by nothing or "Z" (UTC), or by an offset such as "+01:00". Digits of the fraction after the
// seventh are cut (unconfirmed). The result is in UTC. The *Error is InvalidInput, or OutOfRangeInput for a time
// outside the years 1601 to 9999.
func ParseTime(s string) (time.Time, error) {
	t, ok := parseTime(s)
	if !ok {
		return time.Time{}, invalidInputf("%q is not a time such as 2006-01-02T15:04:05.9999999Z", s)
	}
	if !inTimeRange(Ticks(t)) {
		return time.Time{}, &Error{"OutOfRangeInput", "One of the request inputs is out of range.", "a DateTime lies in the years 1601 to 9999"}
	}
	return t, nil
}

// parseTime is ParseTime without the check of the range.
func parseTime(s string) (time.Time, bool) {
	c := timeCursor{rest: s}
	year := c.digits(4)
	c.skip('-')
	month := c.digits(2)
	c.skip('-')
	day := c.digits(2)
	var hour, minute, second, nanos, offset int
	if c.next('T') {
		hour = c.digits(2)
		c.skip(':')
		minute = c.digits(2)
		if c.next(':') {
			second = c.digits(2)
			if c.next('.') {
				nanos = c.fraction()
			}
		}
		offset = c.zone()
	}
	if c.bad || c.rest != "" || year == 0 || month < 1 || month > 12 || hour > 23 || minute > 59 || second > 59 {
		return time.Time{}, false
	}
	t := time.Date(year, time.Month(month), day, hour, minute, second, nanos, time.UTC)
	if t.Day() != day { // time.Date takes a 31 April for 1 May
		return time.Time{}, false
	}
	return t.Add(-time.Duration(offset) * time.Minute), true
}

// timeCursor reads a time from left to right and remembers whether anything was not as expected.
type timeCursor struct {
	rest string
	bad  bool
}

func (c *timeCursor) next(b byte) bool {
	if c.rest == "" || c.rest[0] != b {
		return false
	}
	c.rest = c.rest[1:]
	return true
}

func (c *timeCursor) skip(b byte) { c.bad = c.bad || !c.next(b) }

func (c *timeCursor) digits(n int) int {
	if len(c.rest) < n {
		c.bad = true
		return 0
	}
	value := 0
	for i := range n {
		c.bad = c.bad || c.rest[i] < '0' || c.rest[i] > '9'
		value = value*10 + int(c.rest[i]) - '0'
	}
	c.rest = c.rest[n:]
	return value
}

// fraction reads one or more digits after the point and returns them in nanoseconds, cut to 100 ns.
func (c *timeCursor) fraction() int {
	end := len(c.rest) - len(strings.TrimLeft(c.rest, "0123456789"))
	c.bad = c.bad || end == 0
	nanos, unit := 0, int(100*time.Millisecond)
	for i := 0; i < end && unit >= 100; i, unit = i+1, unit/10 {
		nanos += int(c.rest[i]-'0') * unit
	}
	c.rest = c.rest[end:]
	return nanos
}

// zone reads "Z", an offset of at most 14 hours as in XML Schema, or nothing, and returns the offset in minutes.
func (c *timeCursor) zone() int {
	if c.rest == "" || c.next('Z') {
		return 0
	}
	sign := 1
	if c.next('-') {
		sign = -1
	} else {
		c.skip('+')
	}
	hours := c.digits(2)
	c.skip(':')
	minutes := c.digits(2)
	c.bad = c.bad || minutes > 59 || hours*60+minutes > 14*60
	return sign * (hours*60 + minutes)
}
