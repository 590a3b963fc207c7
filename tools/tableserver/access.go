package main

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"os"
	"strings"

	"github.com/spf13/pflag"

	"github.com/aztenancy/terraform-provider-aztenancy/internal/tableserver"
	"github.com/aztenancy/terraform-provider-aztenancy/internal/tableserver/auth"
)

// accessOptions are the flags about who gets in, and how.
type accessOptions struct {
	HTTPS              bool
	Cert, Key, CertDir string
	CertHosts          []string

	Roles     string
	Tenants   []string
	KeySet    string
	Issuer    string
	Audiences []string

	SkipAuth bool
}

func (o *accessOptions) addFlags(f *pflag.FlagSet) {
	f.BoolVar(&o.HTTPS, "https", false, "speak https with a certificate that is made once and kept; the path of its CA is printed as ca=")
	f.StringVar(&o.Cert, "cert", "", "PEM `file` of a certificate chain, for https")
	f.StringVar(&o.Key, "key", "", "PEM `file` of the certificate's key")
	f.StringVar(&o.CertDir, "cert-dir", "", "`folder` that keeps generated certificates (default tls in the data folder)")
	f.StringArrayVar(&o.CertHosts, "cert-host", nil, "further `name` or address for a generated certificate, repeated for more")
	f.StringVar(&o.Roles, "roles", "", "JSON `file` of role assignments, which turns on bearer tokens and user delegation SAS (https only):\n"+
		`{"assignments": [{"principal": OBJECT_ID, "role": "reader|contributor|delegator", "account": NAME, "table": NAME}]}`)
	f.StringArrayVar(&o.Tenants, "token-tenant", nil, "id of a `directory` whose bearer tokens count, repeated for more; the first is the accounts' own")
	f.StringVar(&o.KeySet, "token-keys", "", "JSON Web Key Set, `file or URL`, that signs bearer tokens; without it and --token-issuer\n"+
		"only claims are checked, and the server stays on this machine")
	f.StringVar(&o.Issuer, "token-issuer", "", "`URL` that iss of bearer tokens must be (default those of Microsoft Entra for the directory);\n"+
		"without --token-keys its discovery document names the keys")
	f.StringArrayVar(&o.Audiences, "token-audience", nil, "`text` that aud of bearer tokens may be besides those of Azure Storage")
	f.BoolVar(&o.SkipAuth, "insecure-skip-auth", false, "answer everybody on this machine, whatever they send; goes with no given key and no other address")
}

// apply checks the flags and adds them to the server's options. It reads files, and the issuer's documents.
func (o *accessOptions) apply(ctx context.Context, listen string, log *slog.Logger, config *tableserver.Options) error {
	if err := o.check(config); err != nil {
		return err
	}
	config.SkipAuthentication = o.SkipAuth
	if o.HTTPS || o.Cert != "" {
		config.HTTPS = &tableserver.HTTPS{CertFile: o.Cert, KeyFile: o.Key, Dir: o.CertDir, Hosts: o.CertHosts}
		if host, _, err := net.SplitHostPort(listen); err == nil && host != "" && !net.ParseIP(host).IsUnspecified() {
			config.HTTPS.Hosts = append(config.HTTPS.Hosts, host)
		}
	}
	if o.Roles == "" {
		return nil
	}
	var err error
	config.Entra, err = o.entra(ctx, log)
	return err
}

// check finds what contradicts itself before anything is read.
func (o *accessOptions) check(config *tableserver.Options) error {
	generated := o.HTTPS && o.Cert == ""
	switch {
	case (o.Cert == "") != (o.Key == ""):
		return usagef("--cert and --key belong together: give both")
	case generated && o.CertDir == "" && config.InMemory:
		return usagef("nowhere to keep the certificate: give --cert-dir DIR, --data DIR, or --cert and --key")
	case !generated && (o.CertDir != "" || len(o.CertHosts) > 0):
		return usagef("--cert-dir and --cert-host are for generated certificates: give --https without --cert")
	case o.Roles == "" && (len(o.Tenants) > 0 || o.KeySet != "" || o.Issuer != "" || len(o.Audiences) > 0):
		return usagef("bearer tokens without roles open nothing: give --roles FILE")
	case o.Roles != "" && len(o.Tenants) == 0:
		return usagef("whose bearer tokens? give --token-tenant with the id of the directory")
	case o.Roles != "" && !o.HTTPS && o.Cert == "":
		return usagef("bearer tokens need https: give --https, or --cert and --key")
	case o.SkipAuth && o.Roles != "":
		return usagef("--insecure-skip-auth and --roles contradict each other: give up one of them")
	}
	for _, a := range config.Accounts {
		if o.SkipAuth && len(a.Key) > 0 {
			return usagef("--insecure-skip-auth with a key for account %s: a given key is always asked for; give up one of them", a.Name)
		}
	}
	return nil
}

func (o *accessOptions) entra(ctx context.Context, log *slog.Logger) (*auth.Entra, error) {
	file, err := os.Open(o.Roles)
	if err != nil {
		return nil, fmt.Errorf("read the roles: %w", err)
	}
	roles, err := auth.ParseRoles(file)
	_ = file.Close()
	if err != nil {
		return nil, fmt.Errorf("roles in %s: %w", o.Roles, err)
	}
	rules := auth.TokenRules{Tenants: o.Tenants, Issuer: o.Issuer, Audiences: o.Audiences}
	if _, err := auth.NewEntra(rules, roles); err != nil { // before an issuer is asked for anything
		return nil, &usageError{err}
	}
	var keys *auth.KeySet
	switch {
	case strings.Contains(o.KeySet, "://"):
		keys, err = auth.NewKeySetFromURL(ctx, o.KeySet, log)
	case o.KeySet != "":
		keys, err = auth.NewKeySetFromFile(ctx, o.KeySet, log)
	case o.Issuer != "":
		keys, err = auth.NewKeySetOfIssuer(ctx, o.Issuer, log)
	default:
		return auth.NewEntra(rules, roles)
	}
	if err != nil {
		return nil, err
	}
	rules.Keys = keys
	return auth.NewEntra(rules, roles)
}
