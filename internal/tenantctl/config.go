package tenantctl

import (
	"fmt"
	"maps"
	"math"
	"math/big"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	hcljson "github.com/hashicorp/hcl/v2/json"
	"github.com/zclconf/go-cty/cty"

	"github.com/aztenancy/terraform-provider-aztenancy/internal/tablestorage"
)

// config reads --config, and what it does not say about the home account from the environment.
func (env *environment) config() (tablestorage.Config, error) {
	var cfg tablestorage.Config
	if env.configFile != "" {
		src, err := os.ReadFile(env.configFile)
		if err != nil {
			return cfg, fmt.Errorf("read the configuration: %w", err)
		}
		if cfg, err = parseConfig(env.configFile, src); err != nil {
			return cfg, err
		}
		if holdsSecret(cfg) && readableByOthers(env.configFile) {
			env.say(fmt.Sprintf("warning: %s holds a credential and other users of this machine can read it; "+
				"change that with: chmod 600 %s", env.configFile, env.configFile))
		}
	}
	cfg.Home = cfg.Home.WithEnvironment(env.process.Getenv)
	return cfg, nil
}

// parseConfig reads the attributes of the provider block: HCL, or JSON when the file's name ends in .json. Values are
// constants: there are no variables and no functions.
func parseConfig(file string, src []byte) (tablestorage.Config, error) {
	var cfg tablestorage.Config
	attributes, err := parseAttributes(file, src)
	if err != nil {
		return cfg, err
	}
	d := decoder{file: file}
	known := d.accountSetters(&cfg.Home)
	known["catalog_table"] = d.into(&cfg.CatalogTable)
	known["read_only"] = d.flagInto(&cfg.ReadOnly)
	known["accounts"] = func(name string, v cty.Value) {
		cfg.Accounts = map[string]tablestorage.AccountConfig{}
		for alias, value := range d.object(name, v) {
			var account tablestorage.AccountConfig
			place := name + "." + alias
			d.attributes(place+".", d.object(place, value), d.accountSetters(&account))
			cfg.Accounts[alias] = account
		}
	}
	d.attributes("", attributes, known)
	return cfg, d.err
}

// parseAttributes reads a file of attributes.
func parseAttributes(file string, src []byte) (map[string]cty.Value, error) {
	parsed, diags := func() (*hcl.File, hcl.Diagnostics) {
		if strings.EqualFold(filepath.Ext(file), ".json") {
			return hcljson.Parse(src, file)
		}
		return hclsyntax.ParseConfig(src, file, hcl.InitialPos)
	}()
	if diags.HasErrors() {
		return nil, configDiagnostic(diags)
	}
	if body, ok := parsed.Body.(*hclsyntax.Body); ok && len(body.Blocks) > 0 {
		b := body.Blocks[0]
		return nil, fmt.Errorf("%s:%d: the file holds a block %q; write only the attributes that stand in the provider block",
			file, b.DefRange().Start.Line, b.Type)
	}
	attributes, diags := parsed.Body.JustAttributes()
	if diags.HasErrors() {
		return nil, configDiagnostic(diags)
	}
	values := make(map[string]cty.Value, len(attributes))
	for name, a := range attributes {
		v, diags := a.Expr.Value(nil)
		if diags.HasErrors() {
			return nil, fmt.Errorf("%w (the file is read without variables and functions)", configDiagnostic(diags))
		}
		values[name] = v
	}
	return values, nil
}

// configDiagnostic returns the first error of the parser. Its text names the place and quotes no values.
func configDiagnostic(diags hcl.Diagnostics) error {
	for _, d := range diags {
		if d.Severity == hcl.DiagError && d.Subject != nil {
			return fmt.Errorf("%s:%d: %s: %s", d.Subject.Filename, d.Subject.Start.Line, strings.ToLower(d.Summary), d.Detail)
		}
	}
	return diags
}

// decoder copies values into a configuration and keeps the first error. Errors name attributes, never values.
type decoder struct {
	file string
	err  error
}

func (d *decoder) fail(format string, args ...any) {
	if d.err == nil {
		d.err = fmt.Errorf("%s: "+format, append([]any{d.file}, args...)...)
	}
}

// setter takes the value of an attribute; name is its place in the file, for errors.
type setter func(name string, v cty.Value)

// accountSetters are the attributes of one account.
func (d *decoder) accountSetters(a *tablestorage.AccountConfig) map[string]setter {
	return map[string]setter{
		"connection_string": d.into(&a.ConnectionString),
		"account_name":      d.into(&a.Name),
		"account_key":       d.into(&a.Key),
		"sas_token":         d.into(&a.SAS),
		"endpoint":          d.into(&a.Endpoint),
		"allow_http":        d.flagInto(&a.AllowHTTP),
		"max_concurrency":   d.countInto(&a.Limits.MaxConcurrency),
		"request_timeout":   d.durationInto(&a.Limits.RequestTimeout),
		"retry": func(name string, v cty.Value) {
			d.attributes(name+".", d.object(name, v), map[string]setter{
				"max_attempts": d.countInto(&a.Limits.MaxAttempts),
				"min_delay":    d.durationInto(&a.Limits.MinDelay),
				"max_delay":    d.durationInto(&a.Limits.MaxDelay),
			})
		},
		"entra": func(name string, v cty.Value) {
			a.Entra = &tablestorage.EntraConfig{}
			d.entra(name+".", d.object(name, v), a.Entra)
		},
	}
}

func (d *decoder) entra(prefix string, attributes map[string]cty.Value, e *tablestorage.EntraConfig) {
	d.attributes(prefix, attributes, map[string]setter{
		"tenant_id":                   d.into(&e.TenantID),
		"client_id":                   d.into(&e.ClientID),
		"client_secret":               d.into(&e.ClientSecret),
		"client_certificate_path":     d.into(&e.ClientCertificatePath),
		"client_certificate_password": d.into(&e.ClientCertificatePassword),
		"oidc_token":                  d.into(&e.OIDCToken),
		"oidc_token_file_path":        d.into(&e.OIDCTokenFile),
		"use_msi":                     d.flagInto(&e.UseManagedIdentity),
		"use_cli":                     d.flagInto(&e.UseCLI),
		"authority":                   d.into(&e.Authority),
	})
}

// attributes gives each attribute to its setter. null is as if the attribute were left out, as in Terraform.
func (d *decoder) attributes(prefix string, values map[string]cty.Value, known map[string]setter) {
	for _, name := range slices.Sorted(maps.Keys(values)) {
		set, ok := known[name]
		v := values[name]
		switch {
		case !ok:
			d.fail("%s%s is no attribute; there are %s", prefix, name, strings.Join(slices.Sorted(maps.Keys(known)), ", "))
		case !v.IsNull():
			set(prefix+name, v)
		}
	}
}

func (d *decoder) into(s *string) setter {
	return func(name string, v cty.Value) { d.text(name, v, s) }
}

func (d *decoder) flagInto(b *bool) setter {
	return func(name string, v cty.Value) {
		if v.Type() != cty.Bool {
			d.fail("%s must be true or false", name)
			return
		}
		*b = v.True()
	}
}

// countInto takes a whole number, at least 1.
func (d *decoder) countInto(n *int) setter {
	return func(name string, v cty.Value) {
		if v.Type() == cty.Number {
			if i, accuracy := v.AsBigFloat().Int64(); accuracy == big.Exact && i >= 1 && i <= math.MaxInt32 {
				*n = int(i)
				return
			}
		}
		d.fail("%s must be a whole number, at least 1", name)
	}
}

// durationInto takes a duration of more than nothing.
func (d *decoder) durationInto(into *time.Duration) setter {
	return func(name string, v cty.Value) {
		if v.Type() == cty.String {
			if t, err := time.ParseDuration(v.AsString()); err == nil && t > 0 {
				*into = t
				return
			}
		}
		d.fail("%s must be a duration in quotes, such as \"30s\"", name)
	}
}

func (d *decoder) text(name string, v cty.Value, s *string) {
	switch {
	case v.IsNull():
	case v.Type() != cty.String:
		d.fail("%s must be a text in quotes", name)
	default:
		*s = v.AsString()
	}
}

func (d *decoder) object(name string, v cty.Value) map[string]cty.Value {
	if v.IsNull() {
		return nil
	}
	if !v.Type().IsObjectType() && !v.Type().IsMapType() {
		d.fail("%s must be an object: { … }", name)
		return nil
	}
	return v.AsValueMap()
}

// holdsSecret says whether the configuration itself holds a credential.
func holdsSecret(cfg tablestorage.Config) bool {
	secret := func(a tablestorage.AccountConfig) bool {
		e := a.Entra
		return a.Key != "" || a.SAS != "" ||
			a.ConnectionString != "" && !strings.EqualFold(strings.TrimRight(a.ConnectionString, "; "), "UseDevelopmentStorage=true") ||
			e != nil && (e.ClientSecret != "" || e.ClientCertificatePassword != "" || e.OIDCToken != "")
	}
	if secret(cfg.Home) {
		return true
	}
	for _, a := range cfg.Accounts {
		if secret(a) {
			return true
		}
	}
	return false
}

// readableByOthers says whether users other than the owner may read the file. Windows has no such bits.
func readableByOthers(file string) bool {
	info, err := os.Stat(file)
	return err == nil && runtime.GOOS != "windows" && info.Mode().Perm()&0o044 != 0
}
