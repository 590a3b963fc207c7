package tenancy

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/aztenancy/terraform-provider-aztenancy/internal/edm"
)

func locate(account, table string) (storage, url string, err error) {
	if account == "unknown" {
		return "", "", errors.New(`account "unknown" is not configured; known: home`)
	}
	return "st" + account, "https://st" + account + ".table.core.windows.net/" + table, nil
}

func pool() Model {
	return Model{Name: "pool", Kind: SharedTable, Tables: map[string]string{"orders": "Orders"}, KeyScheme: KeyScheme{Kind: SchemeBucketed, Separator: "|", Buckets: 16}}
}

func ownTable() Model {
	return Model{Name: "own-table", Kind: DedicatedTable, Tables: map[string]string{"orders": "Orders{tenant}"}, KeyScheme: KeyScheme{Kind: SchemeTenant}}
}

func TestIDsThatTableNamesCannotTellApartAreRefused(t *testing.T) {
	for _, id := range []string{"a", "0", "contoso", "us-airways", "a.b_c", strings.Repeat("a", 63)} {
		if err := ValidateID(id); err != nil {
			t.Error(err)
		}
	}
	for _, id := range []string{"", "Contoso", "-a", "a-", ".", "a b", "ä", "a\n", strings.Repeat("a", 64)} {
		if ValidateID(id) == nil {
			t.Errorf("%q was accepted", id)
		}
	}
}

func TestKeysAreFreeTextWithinKeyRules(t *testing.T) {
	for _, key := range []string{"Contoso", "US AIRWAYS*", "contoso|0", "é😀", strings.Repeat("k", MaxKeyUnits)} {
		if err := ValidateKey(key); err != nil {
			t.Error(err)
		}
	}
	for _, key := range []string{"", "a/b", "a#", "\x00", "a\u0085", "\xff", strings.Repeat("k", MaxKeyUnits+1), strings.Repeat("😀", MaxKeyUnits/2+1)} {
		if ValidateKey(key) == nil {
			t.Errorf("%q was accepted", key)
		}
	}
}

func TestTableNamesOfDifferentTenantsDiffer(t *testing.T) {
	id := rapid.StringMatching(`[a-z0-9]([a-cz0-2._-]{0,6}[a-z0-9])?`)
	rapid.Check(t, func(t *rapid.T) {
		a, b := id.Draw(t, "a"), id.Draw(t, "b")
		template := rapid.SampledFrom([]string{"Orders{tenant}", "T{tenant}X", "zz{tenant}z0"}).Draw(t, "template")
		nameA, errA := TableName(template, a)
		nameB, errB := TableName(template, b)
		if errA != nil || errB != nil {
			t.Fatal(errA, errB)
		}
		if err := edm.ValidateTableName(nameA); err != nil {
			t.Fatal(err)
		}
		if strings.EqualFold(nameA, nameB) != (a == b) {
			t.Fatalf("%q and %q give %s and %s", a, b, nameA, nameB)
		}
	})
}

func TestTableNamesAreReadable(t *testing.T) {
	for _, c := range [][3]string{
		{"Orders{tenant}", "contoso", "Orderscontoso"}, {"Orders{tenant}", "us-airways", "Ordersusz0airways"}, {"{tenant}Orders", "amazon.de", "amazzonz1deOrders"}, {"T{tenant}", "a_b", "Taz2b"},
	} {
		if got, err := TableName(c[0], c[1]); err != nil || got != c[2] {
			t.Errorf("TableName(%q, %q) = %q, %v; want %q", c[0], c[1], got, err, c[2])
		}
	}
	for _, c := range [][2]string{
		{"Orders", "a"}, {"{tenant}{tenant}", "a"}, {"Orders-{tenant}", "a"}, {"1{tenant}", "a"}, {"{tenant}s", "7up"}, {"{tenant}", "ab"},
		{"Orders{tenant}", strings.Repeat("a", 58)}, {"{tenant}", "tables"}, {"Orders{tenant}", "A"}, {"O{Tenant}{tenant}", "a"},
	} {
		if got, err := TableName(c[0], c[1]); err == nil {
			t.Errorf("TableName(%q, %q) = %q", c[0], c[1], got)
		}
	}
}

func TestModelsThatCannotIsolateAreRefused(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*Model)
		way    string // words of the way out
	}{
		"no name":                     {func(m *Model) { m.Name = "" }, "use 1 to 63"},
		"unknown kind":                {func(m *Model) { m.Kind = "own" }, "dedicated_table"},
		"native in a shared table":    {func(m *Model) { m.KeyScheme = KeyScheme{Kind: SchemeNative} }, "prefixed"},
		"no tables":                   {func(m *Model) { m.Tables = nil }, "at least one"},
		"placeholder in shared table": {func(m *Model) { m.Tables["orders"] = "Orders{tenant}" }, "dedicated_table"},
		"dedicated without one":       {func(m *Model) { m.Kind = DedicatedTable }, "{tenant}"},
		"bad logical name":            {func(m *Model) { m.Tables["or ders"] = "Orders2" }, "letter"},
		"name Azure refuses":          {func(m *Model) { m.Tables["orders"] = "my-orders" }, "letters and digits"},
		"one table for two":           {func(m *Model) { m.Tables["invoices"] = "orders" }, "two tables"},
		"bad scheme":                  {func(m *Model) { m.KeyScheme.Buckets = 0 }, "choose"},
	} {
		m := pool()
		c.change(&m)
		if err := m.Validate(); err == nil || !strings.Contains(err.Error(), c.way) {
			t.Errorf("%s: %v; want an error with %q", name, err, c.way)
		}
	}
	for _, m := range []Model{pool(), ownTable()} {
		if err := m.Validate(); err != nil {
			t.Error(err)
		}
	}
}

func TestPlacementOfATenant(t *testing.T) {
	p, err := pool().Place(Tenant{ID: "contoso", Key: "Contoso"}, "", locate)
	if err != nil {
		t.Fatal(err)
	}
	got := p["orders"]
	if got.Account != "home" || got.Storage != "sthome" || got.Table != "Orders" || got.URL != "https://sthome.table.core.windows.net/Orders" ||
		got.Key != "Contoso" || got.Dedicated || got.Range.String() != "`Contoso|00` … `Contoso|15`" {
		t.Errorf("shared: %+v", got)
	}
	p, err = ownTable().Place(Tenant{ID: "contoso"}, "", locate)
	if err != nil {
		t.Fatal(err)
	}
	if got := p["orders"]; got.Table != "Orderscontoso" || got.Key != "contoso" || !got.Dedicated || got.Range.String() != "`contoso`" {
		t.Errorf("dedicated: %+v", got)
	}
	claims := p.Claims(Tenant{ID: "contoso"})
	if len(claims) != 1 || !claims[0].Range.IsWholeTable() {
		t.Errorf("a dedicated table is claimed whole: %v", claims)
	}
}

func TestOnlyADedicatedAccountModelLeavesTheAccountToTheTenant(t *testing.T) {
	free := ownTable()
	free.Kind = DedicatedAccount
	fixed := free
	fixed.Account = "premium"
	for _, c := range []struct {
		name    string
		m       Model
		account string
		want    string // account, or "" for an error
	}{
		{"home by default", ownTable(), "", "home"},
		{"home named", ownTable(), "home", "home"},
		{"another account", ownTable(), "premium", ""},
		{"model's account", fixed, "", "premium"},
		{"model's account named", fixed, "premium", "premium"},
		{"not the model's", fixed, "home", ""},
		{"none named", free, "", ""},
		{"tenant's own", free, "gold", "gold"},
		{"not configured", free, "unknown", ""},
	} {
		p, err := c.m.Place(Tenant{ID: "a"}, c.account, locate)
		if (err == nil) != (c.want != "") || err == nil && p["orders"].Account != c.want {
			t.Errorf("%s: %v, %v; want %q", c.name, p, err, c.want)
		}
	}
}

func TestTemplatesThatMeetInOneNameAreRefusedForThatTenant(t *testing.T) {
	m := ownTable()
	m.Tables = map[string]string{"one": "Aa{tenant}", "two": "{tenant}aA"}
	if _, err := m.Place(Tenant{ID: "a"}, "", locate); err == nil {
		t.Error("AaA and aaA are one table to the service")
	}
	if _, err := m.Place(Tenant{ID: "b"}, "", locate); err != nil {
		t.Error(err)
	}
}

func TestConflictFindsOtherTenantsOnly(t *testing.T) {
	claim := func(id, key, table string, s KeyScheme) Claim {
		return Claim{Storage: "s", Table: table, TenantID: id, TenantKey: key, Range: s.Range(key)}
	}
	bucketed, tenant := pool().KeyScheme, KeyScheme{Kind: SchemeTenant}
	held := []Claim{claim("contoso", "contoso", "Orders", bucketed), claim("fabrikam", "fabrikam", "Orders", bucketed)}
	whole := Claim{Storage: "s", Table: "orders", TenantID: "x", Range: WholeTable()}
	for _, c := range []struct {
		wanted Claim
		with   string
	}{
		{claim("contoso", "contoso", "Orders", bucketed), ""},
		{claim("contoso0", "contoso|0", "Orders", bucketed), "contoso"}, // contoso|0|00 lies between contoso|00 and contoso|15
		{claim("zero", "contoso|00", "Orders", tenant), "contoso"},
		{claim("odd", "contoso|05x", "Orders", tenant), "contoso"},
		{claim("before", "contoso|0", "Orders", tenant), ""}, // sorts before contoso|00
		{claim("after", "contoso|16", "Orders", tenant), ""},
		{claim("other", "contoso", "Orders2", bucketed), ""},
		{claim("case", "contoso", "ORDERS", bucketed), "contoso"},
		{whole, "contoso"},
	} {
		got, ok := Conflict(held, c.wanted)
		if ok != (c.with != "") || got.TenantID != c.with {
			t.Errorf("%s: conflict with %q, %v; want %q", fmt.Sprint(c.wanted.TenantID, " ", c.wanted.Range), got.TenantID, ok, c.with)
		}
	}
}

// One storage account can be reached at several addresses: the placement is the same.
func TestPlacementsAreEqualWhateverTheirAddresses(t *testing.T) {
	place := func(change func(*TablePlacement)) Placement {
		tp := TablePlacement{Account: "premium", Storage: "contosopremium", Table: "Orders", URL: "https://contosopremium.table.core.windows.net/Orders",
			Scheme: KeyScheme{Kind: SchemeTenant}, Key: "a", Range: KeyScheme{Kind: SchemeTenant}.Range("a")}
		change(&tp)
		return Placement{"orders": tp}
	}
	base := place(func(*TablePlacement) {})
	if !base.Equal(place(func(p *TablePlacement) { p.URL = "https://private.example/Orders" })) {
		t.Error("another address makes another placement")
	}
	if base["orders"].URL == "" {
		t.Error("comparing changed the placement")
	}
	for name, change := range map[string]func(*TablePlacement){
		"account":   func(p *TablePlacement) { p.Account = "home" },
		"storage":   func(p *TablePlacement) { p.Storage = "other" },
		"table":     func(p *TablePlacement) { p.Table = "Orders2" },
		"key":       func(p *TablePlacement) { p.Key = "b" },
		"scheme":    func(p *TablePlacement) { p.Scheme.Kind = SchemeNative },
		"range":     func(p *TablePlacement) { p.Range = WholeTable() },
		"dedicated": func(p *TablePlacement) { p.Dedicated = true },
	} {
		if base.Equal(place(change)) {
			t.Errorf("another %s makes no other placement", name)
		}
	}
	more := place(func(*TablePlacement) {})
	more["invoices"] = base["orders"]
	if base.Equal(more) || more.Equal(base) {
		t.Error("another table makes no other placement")
	}
}

func TestTablesAreNamedInOneForm(t *testing.T) {
	for _, c := range []struct {
		place TablePlacement
		want  string
	}{
		{TablePlacement{Account: "premium", Storage: "contosopremium", Table: "Orders"}, "premium/Orders (contosopremium)"},
		{TablePlacement{Account: "contoso", Storage: "contoso", Table: "Orders"}, "contoso/Orders"},
	} {
		if got := c.place.String(); got != c.want {
			t.Errorf("%s, want %s", got, c.want)
		}
	}
}
