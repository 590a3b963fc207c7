package tenancy

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/aztenancy/terraform-provider-aztenancy/internal/edm"
)

// Dedicated says whether tenants of this kind have physical tables of their own.
func (k Kind) Dedicated() bool { return k == DedicatedTable || k == DedicatedAccount }

// Validate checks a model. Its errors name the model's part that is wrong and the way out.
func (m Model) Validate() error {
	if err := ValidateModelName(m.Name); err != nil {
		return err
	}
	if err := m.validateParts(); err != nil {
		return fmt.Errorf("model %q: %w", m.Name, err)
	}
	return nil
}

func (m Model) validateParts() error {
	if m.Kind != SharedTable && !m.Kind.Dedicated() {
		return fmt.Errorf("kind %q is unknown: use %q, %q or %q", m.Kind, SharedTable, DedicatedTable, DedicatedAccount)
	}
	if err := m.KeyScheme.Validate(); err != nil {
		return err
	}
	if m.Kind == SharedTable && m.KeyScheme.Kind == SchemeNative {
		return fmt.Errorf("key scheme %q cannot tell tenants of a shared table apart: use %q, which puts the tenant before the application's own partition value, "+
			"or a dedicated kind", SchemeNative, SchemePrefixed)
	}
	if len(m.Tables) == 0 {
		return errors.New("it has no tables: map at least one logical table to a physical one")
	}
	for _, logical := range m.LogicalTables() {
		if err := ValidateLogicalName(logical); err != nil {
			return err
		}
		if err := m.validateTable(logical); err != nil {
			return fmt.Errorf("logical table %q: %w", logical, err)
		}
	}
	return distinctTables(m.Tables)
}

func (m Model) validateTable(logical string) error {
	name := m.Tables[logical]
	if m.Kind.Dedicated() {
		return checkTemplate(name)
	}
	if strings.Contains(name, Placeholder) {
		return fmt.Errorf("a shared table holds all tenants, so its name %q cannot hold %s: remove it, or use kind %q", name, Placeholder, DedicatedTable)
	}
	if err := edm.ValidateTableName(name); err != nil {
		return fmt.Errorf("table name %q: %w; a name has 3 to 63 letters and digits and begins with a letter", name, err)
	}
	return nil
}

// distinctTables checks that no two logical tables share a physical one: their keys could collide.
func distinctTables(tables map[string]string) error {
	taken := map[string]string{}
	for _, logical := range slices.Sorted(maps.Keys(tables)) {
		lower := strings.ToLower(tables[logical])
		if other, ok := taken[lower]; ok {
			return fmt.Errorf("logical tables %q and %q both map to table %q, where a tenant's keys of one could meet those of the other: use two tables",
				other, logical, tables[logical])
		}
		taken[lower] = logical
	}
	return nil
}

// LogicalTables returns the names of the model's logical tables in order.
func (m Model) LogicalTables() []string { return slices.Sorted(maps.Keys(m.Tables)) }

// LogicalTables returns the names of the placement's logical tables in order.
func (p Placement) LogicalTables() []string { return slices.Sorted(maps.Keys(p)) }

// String names the physical table in messages, everywhere in the same form: the account as the configuration calls it and the
// table, then the storage account's own name where it is another one: "premium/Orders (contosopremium)".
func (p TablePlacement) String() string {
	if p.Storage == p.Account || p.Storage == "" {
		return p.Account + "/" + p.Table
	}
	return fmt.Sprintf("%s/%s (%s)", p.Account, p.Table, p.Storage)
}

// Equal says whether both placements put the same logical tables into the same places.
func (p Placement) Equal(o Placement) bool {
	return maps.EqualFunc(p, o, func(a, b TablePlacement) bool {
		a.URL, b.URL = "", "" // one account can be reached at several addresses
		return a == b
	})
}

// Locator gives the storage account's own name and the address of a table in a configured account. Its error says
// which accounts are known.
type Locator func(account, table string) (storage, url string, err error)

// Place returns where the model puts a tenant. Account chooses the account under a dedicated_account model that names
// none, and must otherwise be "" or the model's own. Only t.ID and t.Key are read; Key "" is the ID.
func (m Model) Place(t Tenant, account string, locate Locator) (Placement, error) {
	if err := m.Validate(); err != nil {
		return nil, err
	}
	if err := ValidateID(t.ID); err != nil {
		return nil, err
	}
	key := t.Key
	if key == "" {
		key = t.ID
	}
	if err := ValidateKey(key); err != nil {
		return nil, err
	}
	account, err := m.accountFor(t.ID, account)
	if err != nil {
		return nil, err
	}
	tables, err := m.tablesFor(t.ID)
	if err != nil {
		return nil, fmt.Errorf("place tenant %q by model %q: %w", t.ID, m.Name, err)
	}
	p := Placement{}
	for logical, table := range tables {
		storage, url, err := locate(account, table)
		if err != nil {
			return nil, fmt.Errorf("place tenant %q by model %q: %w", t.ID, m.Name, err)
		}
		p[logical] = TablePlacement{Account: account, Storage: storage, Table: table, URL: url, Scheme: m.KeyScheme,
			Key: key, Range: m.KeyScheme.Range(key), Dedicated: m.Kind.Dedicated()}
	}
	return p, nil
}

func (m Model) accountFor(tenantID, chosen string) (string, error) {
	switch {
	case m.Kind == DedicatedAccount && m.Account == "":
		if chosen == "" {
			return "", fmt.Errorf("tenant %q: model %q leaves the account to each tenant: name one of the configured accounts for it", tenantID, m.Name)
		}
		return chosen, nil
	case m.Account == "":
		m.Account = HomeAccount
	}
	if chosen != "" && chosen != m.Account {
		return "", fmt.Errorf("tenant %q cannot be placed in account %q: model %q keeps its tenants in account %q; "+
			"leave the account out, or use a model of kind %q without an account", tenantID, chosen, m.Name, m.Account, DedicatedAccount)
	}
	return m.Account, nil
}

// tablesFor returns the physical names of one tenant's tables. Two templates may give one name, as "A{tenant}" and
// "{tenant}A" do for the tenant "a".
func (m Model) tablesFor(tenantID string) (map[string]string, error) {
	if !m.Kind.Dedicated() {
		return m.Tables, nil
	}
	names := make(map[string]string, len(m.Tables))
	for logical, template := range m.Tables {
		name, err := TableName(template, tenantID)
		if err != nil {
			return nil, err
		}
		names[logical] = name
	}
	return names, distinctTables(names)
}
