package tablestorage

import (
	"errors"
	"fmt"
	"strings"
)

// ParseConnectionString reads a storage connection string (Configure Azure Storage connection strings): name=value
// pairs between semicolons, of which these count, in any letter case: UseDevelopmentStorage with
// DevelopmentStorageProxyUri; or DefaultEndpointsProtocol, AccountName, AccountKey, SharedAccessSignature,
// EndpointSuffix, TableEndpoint. Others, such as BlobEndpoint, are passed over. No error shows any of its values
// that may be secret.
func ParseConnectionString(s string) (Account, error) {
	a, err := parseConnectionString(s)
	if err != nil {
		return Account{}, err
	}
	return a, a.check()
}

func parseConnectionString(s string) (Account, error) {
	fields, err := connectionFields(s)
	if err != nil {
		return Account{}, fmt.Errorf("connection string: %w", err)
	}
	a, err := fields.account()
	if err != nil {
		return Account{}, fmt.Errorf("connection string: %w", err)
	}
	return a, nil
}

// ConnectionStringParts is what a connection string says without its secrets.
type ConnectionStringParts struct {
	AccountName   string
	TableEndpoint string // without a trailing slash
	Credential    string // "account_key", "sas_token" or "none"
}

// DescribeConnectionString reads a connection string as ParseConnectionString does, and asks for no credential in it.
func DescribeConnectionString(s string) (ConnectionStringParts, error) {
	f, err := connectionFields(s)
	if err != nil {
		return ConnectionStringParts{}, fmt.Errorf("connection string: %w", err)
	}
	a, err := f.account()
	if errors.Is(err, errNoCredential) {
		a, err = f.bareAccount()
	}
	if err != nil {
		return ConnectionStringParts{}, fmt.Errorf("connection string: %w", err)
	}
	parts := ConnectionStringParts{AccountName: a.Name, TableEndpoint: a.TableEndpoint, Credential: "none"}
	switch a.Credential.(type) {
	case SharedKey:
		parts.Credential = "account_key"
	case SAS:
		parts.Credential = "sas_token"
	}
	return parts, nil
}

// fields of a connection string, by lower-case name.
type fields map[string]string

// connectionFields splits a connection string. A pair without "=" is told by its position, as it may be a piece of a
// key.
func connectionFields(s string) (fields, error) {
	f := fields{}
	for i, pair := range strings.Split(s, ";") {
		pair = strings.TrimSpace(pair)
		if pair == "" {
			continue
		}
		name, value, found := strings.Cut(pair, "=")
		name = strings.ToLower(strings.TrimSpace(name))
		if !found || name == "" {
			return nil, fmt.Errorf("part %d is not of the form Name=Value", i+1)
		}
		if _, twice := f[name]; twice {
			return nil, fmt.Errorf("part %d repeats a name", i+1)
		}
		f[name] = strings.TrimSpace(value)
	}
	if len(f) == 0 {
		return nil, errors.New("it is empty")
	}
	return f, nil
}

func (f fields) account() (Account, error) {
	switch strings.ToLower(f["usedevelopmentstorage"]) {
	case "true":
		return f.developmentAccount()
	case "", "false":
	default:
		return Account{}, errors.New("UseDevelopmentStorage must be true, or left out")
	}
	a, err := f.bareAccount()
	if err != nil {
		return Account{}, err
	}
	c := AccountConfig{Key: f["accountkey"], SAS: f["sharedaccesssignature"]}
	a.Credential, err = c.credential(a.Name)
	return a, err
}

// bareAccount is the account without a credential.
func (f fields) bareAccount() (Account, error) {
	endpoint, err := f.endpoint()
	if err != nil {
		return Account{}, err
	}
	name, endpoint, err := resolveEndpoint(f["accountname"], endpoint, "")
	return Account{Name: name, TableEndpoint: endpoint}, err
}

// endpoint returns TableEndpoint, or builds it of protocol, name and suffix; "" where neither tells it.
func (f fields) endpoint() (string, error) {
	if e := f["tableendpoint"]; e != "" {
		return e, nil
	}
	name, suffix := f["accountname"], f["endpointsuffix"]
	if name == "" {
		return "", nil
	}
	_, https, err := resolveEndpoint(name, "", suffix)
	if err != nil {
		return "", err
	}
	switch strings.ToLower(f["defaultendpointsprotocol"]) {
	case "", "https":
		return https, nil
	case "http":
		return "http" + strings.TrimPrefix(https, "https"), nil
	}
	return "", errors.New("DefaultEndpointsProtocol must be https or http")
}

// developmentAccount is the emulator's account, at 127.0.0.1:10002 or at the host of DevelopmentStorageProxyUri.
func (f fields) developmentAccount() (Account, error) {
	endpoint := developmentEndpoint
	if proxy := f["developmentstorageproxyuri"]; proxy != "" {
		u, err := parseEndpoint(proxy)
		if err != nil {
			return Account{}, fmt.Errorf("DevelopmentStorageProxyUri: %w", err)
		}
		if u.Port() == "" {
			u.Host += ":10002"
		}
		u.Path = "/" + DevelopmentAccount
		endpoint = u.String()
	}
	return Account{
		Name:          DevelopmentAccount,
		TableEndpoint: endpoint,
		Credential:    SharedKey{NewSecret(DevelopmentKey)},
	}, nil
}
