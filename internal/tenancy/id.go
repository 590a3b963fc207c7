package tenancy

import (
	"errors"
	"fmt"
	"regexp"

	"github.com/aztenancy/terraform-provider-aztenancy/internal/edm"
)

// Limits of names, keys and schemes. With the longest key, separator and bucket number a PartitionKey keeps more than
// half of its edm.MaxKeyUnits for the application's own partition value.
const (
	MaxIDLength       = 63   // of a tenant id or model name, in characters
	MaxKeyUnits       = 256  // of a tenant key, in UTF-16 code units
	MaxSeparatorUnits = 8    // of a separator, in UTF-16 code units
	MinBuckets        = 2    // of the scheme bucketed
	MaxBuckets        = 1000 // of the scheme bucketed
)

var (
	idPattern      = regexp.MustCompile(`^[a-z0-9]([a-z0-9._-]{0,61}[a-z0-9])?$`)
	logicalPattern = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_-]{0,62}$`)
)

// ValidateID checks a tenant id: 1 to 63 of a-z, 0-9, ".", "_" and "-", a letter or digit at both ends. Upper case is
// not allowed, because table names are rendered from ids and the service does not tell "A" from "a" in them.
func ValidateID(id string) error {
	if !idPattern.MatchString(id) {
		return fmt.Errorf("tenant id %q: use 1 to %d of the characters a-z, 0-9, \".\", \"_\" and \"-\", with a letter or digit at both ends; "+
			"the text that stands in PartitionKeys may differ, it is the tenant's key", id, MaxIDLength)
	}
	return nil
}

// ValidateModelName checks the name of an isolation model; the rule is that of tenant ids.
func ValidateModelName(name string) error {
	if !idPattern.MatchString(name) {
		return fmt.Errorf("model name %q: use 1 to %d of the characters a-z, 0-9, \".\", \"_\" and \"-\", with a letter or digit at both ends", name, MaxIDLength)
	}
	return nil
}

// ValidateLogicalName checks the application's name for a table: a letter, then up to 62 letters, digits, "_" and "-".
func ValidateLogicalName(name string) error {
	if !logicalPattern.MatchString(name) {
		return fmt.Errorf("logical table name %q: use a letter, then up to 62 of the characters A-Z, a-z, 0-9, \"_\" and \"-\"", name)
	}
	return nil
}

// ValidateKey checks the text that stands for a tenant in PartitionKeys: free text within the service's rules for
// keys, not empty, at most MaxKeyUnits long so that separator, bucket number and the application's own values fit.
func ValidateKey(key string) error {
	if key == "" {
		return errors.New("tenant key is empty: leave it out to use the tenant id")
	}
	if n := edm.UTF16Len(key); n > MaxKeyUnits {
		return fmt.Errorf("tenant key %q has %d UTF-16 code units; at most %d leave room for what a key scheme adds", key, n, MaxKeyUnits)
	}
	if err := edm.ValidateKeyPart("PartitionKey", key); err != nil {
		return fmt.Errorf("tenant key %q cannot stand in a PartitionKey (%w): / \\ # ? and control characters are not allowed; "+
			"encode them reversibly, as `tenantctl import` does", key, err)
	}
	return nil
}
