package tablestorage

import (
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"regexp"
	"strings"
)

// defaultSuffix is the host suffix of storage accounts in the public cloud.
const defaultSuffix = "core.windows.net"

// accountName is what Azure permits (Storage account overview).
var accountName = regexp.MustCompile(`^[a-z0-9]{3,24}$`)

// resolveEndpoint returns name and table endpoint of an account of which one may be missing. suffix "" is the public
// cloud's.
func resolveEndpoint(name, endpoint, suffix string) (string, string, error) {
	if endpoint == "" {
		if name == "" {
			return "", "", errors.New("no account name is given, and no table endpoint that would tell it")
		}
		if !accountName.MatchString(name) {
			return "", "", fmt.Errorf("account name %q: Azure has names of 3 to 24 lower-case letters and digits", name)
		}
		if suffix == "" {
			suffix = defaultSuffix
		}
		endpoint = "https://" + name + ".table." + suffix
	}
	u, err := parseEndpoint(endpoint)
	if err != nil {
		return "", "", err
	}
	if name == "" {
		if name = nameOf(u); name == "" {
			return "", "", fmt.Errorf("table endpoint %s does not tell the account's name: give the account name too", u)
		}
	}
	if u.Path == "" && isPathStyle(u.Hostname()) {
		u.Path = "/" + name
	}
	return name, u.String(), nil
}

// AccountOfEndpoint returns the name of the account of a table endpoint, and the endpoint in its canonical form.
func AccountOfEndpoint(endpoint string) (name, canonical string, err error) {
	return resolveEndpoint("", endpoint, "")
}

// parseEndpoint reads a table endpoint. Its query is never part of an error, as it may be a SAS.
func parseEndpoint(endpoint string) (*url.URL, error) {
	base, query, hasQuery := strings.Cut(strings.TrimSpace(endpoint), "?")
	if hasQuery && query != "" {
		return nil, fmt.Errorf("table endpoint %s has a query: give a SAS as the SAS token, not in the endpoint", base)
	}
	u, err := url.Parse(base)
	if err != nil {
		return nil, errors.New("the table endpoint is not a URL")
	}
	switch {
	case u.User != nil:
		return nil, errors.New("the table endpoint holds a user name: Table Storage does not know them")
	case u.Scheme != "https" && u.Scheme != "http" || u.Host == "":
		return nil, fmt.Errorf("table endpoint %q: write it like https://NAME.table.%s", base, defaultSuffix)
	case u.Fragment != "":
		return nil, fmt.Errorf("table endpoint %q has a fragment", base)
	}
	u.Host = strings.ToLower(u.Host)
	u.Path, u.RawPath = strings.TrimRight(u.Path, "/"), ""
	return u, nil
}

// nameOf derives the account's name from its endpoint: the first path segment where hosts are addresses, else the
// first label of the host.
func nameOf(u *url.URL) string {
	if u.Path != "" {
		name, _, _ := strings.Cut(strings.TrimPrefix(u.Path, "/"), "/")
		return strings.TrimSuffix(name, "-secondary")
	}
	host := u.Hostname()
	if isPathStyle(host) {
		return ""
	}
	name, _, dotted := strings.Cut(host, ".")
	if !dotted {
		return ""
	}
	return strings.TrimSuffix(name, "-secondary")
}

// isPathStyle says whether accounts are told apart by the first path segment: at an IP address or a host without
// dots, as Azurite does it.
func isPathStyle(host string) bool {
	_, err := netip.ParseAddr(host)
	return err == nil || !strings.Contains(host, ".")
}

// isLoopback says whether an endpoint is on this machine.
func isLoopback(endpoint string) bool {
	u, err := url.Parse(endpoint)
	if err != nil {
		return false
	}
	host := u.Hostname()
	if addr, err := netip.ParseAddr(host); err == nil {
		return addr.IsLoopback()
	}
	return host == "localhost" || strings.HasSuffix(host, ".localhost")
}
