package sas

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"
	"unicode"
)

// version is the sv of every SAS: the one of the table SDKs, with which the strings below are right.
const version = "2019-02-02"

// Permission letters in the order that the service documents.
const (
	tablePermissions   = "raud"
	accountPermissions = "rwdlacup"
	resourceTypes      = "sco"
)

// timeLayout is the form of st and se. Both are cut to seconds.
const timeLayout = "2006-01-02T15:04:05Z"

// TableParams are the rights of a SAS on one table. Permission and Expiry may be left to the stored access policy
// that PolicyID names; a field must not be in both, which the service refuses.
type TableParams struct {
	Account    string
	Table      string
	Permission string    // letters of "raud" in any order; an upsert needs "au"
	Start      time.Time // zero: at once
	Expiry     time.Time
	PolicyID   string // stored access policy
	IPRange    string // "168.1.5.60" or "168.1.5.60-168.1.5.70"; "" is everyone
	Protocol   string // "https" or "https,http"; "" is both
	// Range of keys in tuple order, both ends included. nil leaves an end open; "" is a key. A row key needs its
	// partition key.
	StartPartitionKey, StartRowKey *string
	EndPartitionKey, EndRowKey     *string
}

// SignTable returns the query string of a service SAS on a table, without "?". Key is the account key, base64.
func SignTable(p TableParams, key string) (string, error) {
	sp, err := p.check()
	if err != nil {
		return "", fmt.Errorf("sign a SAS for table %s: %w", p.Table, err)
	}
	st, se := formatTime(p.Start), formatTime(p.Expiry)
	sig, err := sign(p.stringToSign(sp, st, se), key)
	if err != nil {
		return "", err
	}
	var q query
	q.add("sv", version)
	q.add("tn", p.Table)
	q.add("st", st)
	q.add("se", se)
	q.add("sp", sp)
	q.add("si", p.PolicyID)
	q.add("sip", p.IPRange)
	q.add("spr", p.Protocol)
	q.addKey("spk", p.StartPartitionKey)
	q.addKey("srk", p.StartRowKey)
	q.addKey("epk", p.EndPartitionKey)
	q.addKey("erk", p.EndRowKey)
	q.add("sig", sig)
	return string(q), nil
}

// stringToSign has these lines (Create a service SAS, table service, sv ≥ 2015-04-05), joined by LF, an empty one for
// each that is absent, and no LF at the end:
//
//	sp
//	st
//	se
//	/table/ACCOUNT/table          the table in lower case
//	si
//	sip
//	spr
//	sv
//	spk
//	srk
//	epk
//	erk
func (p TableParams) stringToSign(sp, st, se string) string {
	return strings.Join([]string{
		sp, st, se, "/table/" + p.Account + "/" + strings.ToLower(p.Table), p.PolicyID, p.IPRange, p.Protocol, version,
		value(p.StartPartitionKey), value(p.StartRowKey), value(p.EndPartitionKey), value(p.EndRowKey),
	}, "\n")
}

// check returns the permission letters in the service's order.
func (p TableParams) check() (string, error) {
	sp, err := ordered(p.Permission, tablePermissions)
	switch {
	case err != nil:
		return "", err
	case p.Account == "" || p.Table == "":
		return "", errors.New("account and table are needed")
	case p.PolicyID == "" && (sp == "" || p.Expiry.IsZero()):
		return "", errors.New("permissions and an expiry are needed, here or in a stored access policy")
	case hasControl(p.Account, p.Table, p.PolicyID, p.IPRange, p.Protocol, value(p.StartPartitionKey), value(p.StartRowKey),
		value(p.EndPartitionKey), value(p.EndRowKey)):
		return "", errControl
	case p.StartRowKey != nil && p.StartPartitionKey == nil, p.EndRowKey != nil && p.EndPartitionKey == nil:
		return "", errors.New("a row key of the range needs its partition key")
	}
	return sp, checkTimes(p.Start, p.Expiry)
}

// AccountParams are the rights of an account SAS on the table service.
type AccountParams struct {
	Account       string
	Permission    string // letters of "rwdlacup" in any order
	ResourceTypes string // letters of "sco": service, container (table), object (entity)
	Start         time.Time
	Expiry        time.Time
	IPRange       string
	Protocol      string
}

// SignAccount returns the query string of an account SAS, without "?". Key is the account key, base64.
func SignAccount(p AccountParams, key string) (string, error) {
	sp, srt, err := p.check()
	if err != nil {
		return "", fmt.Errorf("sign a SAS for account %s: %w", p.Account, err)
	}
	st, se := formatTime(p.Start), formatTime(p.Expiry)
	sig, err := sign(p.stringToSign(sp, srt, st, se), key)
	if err != nil {
		return "", err
	}
	var q query
	q.add("sv", version)
	q.add("ss", tableService)
	q.add("srt", srt)
	q.add("sp", sp)
	q.add("st", st)
	q.add("se", se)
	q.add("sip", p.IPRange)
	q.add("spr", p.Protocol)
	q.add("sig", sig)
	return string(q), nil
}

// tableService is the ss of every account SAS here: no other service is opened by it.
const tableService = "t"

// stringToSign has these lines (Create an account SAS, sv < 2020-12-06), each ended by LF, the last one too:
// account, sp, ss, srt, st, se, sip, spr, sv.
func (p AccountParams) stringToSign(sp, srt, st, se string) string {
	lines := []string{p.Account, sp, tableService, srt, st, se, p.IPRange, p.Protocol, version}
	return strings.Join(lines, "\n") + "\n"
}

// check returns the permission letters and the resource types in the service's order.
func (p AccountParams) check() (sp, srt string, err error) {
	if sp, err = ordered(p.Permission, accountPermissions); err != nil {
		return "", "", err
	}
	if srt, err = ordered(p.ResourceTypes, resourceTypes); err != nil {
		return "", "", fmt.Errorf("resource types: %w", err)
	}
	if hasControl(p.Account, p.IPRange, p.Protocol) {
		return "", "", errControl
	}
	if p.Account == "" || sp == "" || srt == "" || p.Expiry.IsZero() {
		return "", "", errors.New("account, permissions, resource types and expiry are needed")
	}
	return sp, srt, checkTimes(p.Start, p.Expiry)
}

// sign returns the signature of a text, base64. The key's text is never part of an error.
func sign(text, key string) (string, error) {
	raw, err := base64.StdEncoding.DecodeString(key)
	if err != nil {
		return "", errors.New("sign a SAS: the account key is not base64")
	}
	mac := hmac.New(sha256.New, raw)
	mac.Write([]byte(text))
	return base64.StdEncoding.EncodeToString(mac.Sum(nil)), nil
}

// ordered returns the letters in the order of all, each once.
func ordered(letters, all string) (string, error) {
	for _, r := range letters {
		if !strings.ContainsRune(all, r) {
			return "", fmt.Errorf("permission letter %q is not one of %s", r, all)
		}
	}
	return strings.Map(func(r rune) rune {
		if strings.ContainsRune(letters, r) {
			return r
		}
		return -1
	}, all), nil
}

// errControl refuses a line feed above all: it would make one signature count for two sets of fields.
var errControl = errors.New("a field holds a control character")

func hasControl(fields ...string) bool {
	return slices.ContainsFunc(fields, func(f string) bool { return strings.ContainsFunc(f, unicode.IsControl) })
}

func checkTimes(start, expiry time.Time) error {
	if !start.IsZero() && !expiry.IsZero() && !start.Before(expiry) {
		return errors.New("the start is not before the expiry")
	}
	return nil
}

func formatTime(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(timeLayout)
}

func value(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

// query is a query string under construction.
type query string

// add appends a parameter that is not empty.
func (q *query) add(name, v string) {
	if v != "" {
		q.addKey(name, &v)
	}
}

// addKey appends a parameter that is given, even if it is empty: erk="" is the row key "" and not "no end".
// A space is written %20, as the plus sign of form encoding is read as a plus by some servers.
func (q *query) addKey(name string, v *string) {
	if v == nil {
		return
	}
	if *q != "" {
		*q += "&"
	}
	*q += query(name + "=" + strings.ReplaceAll(url.QueryEscape(*v), "+", "%20"))
}
