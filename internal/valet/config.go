package valet

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/aztenancy/terraform-provider-aztenancy/internal/access"
	"github.com/aztenancy/terraform-provider-aztenancy/internal/tenancy"
)

// Config says whom the valet believes and what it gives. It is a JSON file; an attribute that is not known is an error.
type Config struct {
	Issuer      string              `json:"issuer"`       // iss of every JWT
	Audience    string              `json:"audience"`     // aud of every JWT
	JWKSFile    string              `json:"jwks_file"`    // keys of the issuer; a relative path is from the file's folder
	TenantClaim string              `json:"tenant_claim"` // "" is "tenant"
	ScopeClaim  string              `json:"scope_claim"`  // "" is "scope": names separated by spaces, or a list
	Tenants     map[string]string   `json:"tenants"`      // value of the claim to tenant id; nil: the value is the id
	TTL         Duration            `json:"ttl"`          // of tokens; 0 is access.DefaultTTL
	TenantTTL   map[string]Duration `json:"tenant_ttl"`   // by tenant id
	// AllowUnenforcedRanges is that of access.Request.
	AllowUnenforcedRanges bool `json:"allow_unenforced_ranges"`
}

// Duration is a time.Duration that JSON has as a text like "15m".
type Duration time.Duration

// UnmarshalText reads a text like "15m".
func (d *Duration) UnmarshalText(text []byte) error {
	v, err := time.ParseDuration(string(text))
	*d = Duration(v)
	return err
}

// ReadConfig reads and checks a configuration.
func ReadConfig(name string) (Config, error) {
	var c Config
	text, err := os.ReadFile(name)
	if err != nil {
		return c, err
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&c); err != nil {
		return c, fmt.Errorf("%s: %w", name, err)
	}
	if c.JWKSFile != "" && !filepath.IsAbs(c.JWKSFile) {
		c.JWKSFile = filepath.Join(filepath.Dir(name), c.JWKSFile)
	}
	c.TenantClaim, c.ScopeClaim = cmp.Or(c.TenantClaim, "tenant"), cmp.Or(c.ScopeClaim, "scope")
	if err := c.check(); err != nil {
		return c, fmt.Errorf("%s: %w", name, err)
	}
	return c, nil
}

func (c Config) check() error {
	if c.Issuer == "" || c.Audience == "" || c.JWKSFile == "" {
		return errors.New("issuer, audience and jwks_file are needed: without them anybody's token would count")
	}
	for _, id := range c.Tenants {
		if err := tenancy.ValidateID(id); err != nil {
			return fmt.Errorf("tenants: %w", err)
		}
	}
	if err := checkTTL("ttl", c.TTL); err != nil {
		return err
	}
	for id, ttl := range c.TenantTTL {
		if err := errors.Join(tenancy.ValidateID(id), checkTTL("tenant_ttl of "+id, ttl)); err != nil {
			return err
		}
	}
	return nil
}

func checkTTL(name string, ttl Duration) error {
	if d := time.Duration(ttl); d != 0 && (d < access.MinTTL || d > access.MaxTTL) {
		return fmt.Errorf("%s is %v: a token lives for %v to %v", name, d, access.MinTTL, access.MaxTTL)
	}
	return nil
}

// ttlOf is how long the tokens of a tenant live.
func (c Config) ttlOf(tenant string) time.Duration {
	if ttl := c.TenantTTL[tenant]; ttl != 0 {
		return time.Duration(ttl)
	}
	return time.Duration(c.TTL)
}
