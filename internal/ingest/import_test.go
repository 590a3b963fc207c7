package ingest

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/aztenancy/terraform-provider-aztenancy/internal/acctest"
	"github.com/aztenancy/terraform-provider-aztenancy/internal/catalog"
	"github.com/aztenancy/terraform-provider-aztenancy/internal/edm"
	"github.com/aztenancy/terraform-provider-aztenancy/internal/tablestorage"
	"github.com/aztenancy/terraform-provider-aztenancy/internal/tenancy"
)

// world is a table server with two accounts, a catalog and the shared table Orders.
type world struct {
	t        *testing.T
	server   *acctest.Server
	accounts *tablestorage.Accounts
	catalog  *catalog.Catalog
}

func newWorld(t *testing.T) *world {
	t.Helper()
	server := acctest.StartServer(t, acctest.WithAccounts("homeacct", "premiumacct"))
	accounts, err := tablestorage.NewAccounts(tablestorage.Config{
		Home:     tablestorage.AccountConfig{ConnectionString: server.ConnectionString("homeacct")},
		Accounts: map[string]tablestorage.AccountConfig{"premium": {ConnectionString: server.ConnectionString("premiumacct")}},
	}, nil)
	must(t, err)
	w := &world{t: t, server: server, accounts: accounts, catalog: catalog.Open(accounts.Home(), accounts.CatalogTable())}
	must(t, w.catalog.Ensure(t.Context()))
	_, err = accounts.Home().CreateTable(t.Context(), "Orders")
	must(t, err)
	w.model("pool", tenancy.SharedTable, "Orders", tenancy.KeyScheme{Kind: tenancy.SchemeBucketed, Separator: "|", Buckets: 4})
	return w
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func (w *world) model(name string, kind tenancy.Kind, table string, scheme tenancy.KeyScheme) {
	w.t.Helper()
	m := tenancy.Model{Name: name, Kind: kind, Account: tenancy.HomeAccount, Tables: map[string]string{"orders": table}, KeyScheme: scheme}
	if kind == tenancy.DedicatedAccount {
		m.Account = "premium"
	}
	_, err := w.catalog.CreateModel(w.t.Context(), m)
	must(w.t, err)
}

func (w *world) tenant(id, key, model string) catalog.TenantRecord {
	w.t.Helper()
	p := &catalog.Provisioner{Catalog: w.catalog, Accounts: w.accounts}
	rec, err := p.Create(w.t.Context(), catalog.TenantSpec{ID: id, Key: key, Model: model})
	must(w.t, err)
	return rec
}

// file writes a file to import.
func (w *world) file(name, content string) string {
	w.t.Helper()
	path := filepath.Join(w.t.TempDir(), name)
	must(w.t, os.WriteFile(path, []byte(content), 0o600))
	return path
}

// run imports a file; the options' table is orders and their tenant column is tenant unless they say otherwise.
func (w *world) run(path string, o Options) (*Report, error) {
	w.t.Helper()
	if o.Table == "" {
		o.Table = "orders"
	}
	if o.TenantColumn == "" {
		o.TenantColumn = "tenant"
	}
	format, err := FormatOf(path)
	must(w.t, err)
	in, err := OpenFile(path, format)
	must(w.t, err)
	defer func() { must(w.t, in.Close()) }()
	return (&Importer{Catalog: w.catalog, Accounts: w.accounts, Progress: silent{}}).Run(w.t.Context(), in, o)
}

func (w *world) mustRun(path string, o Options) *Report {
	w.t.Helper()
	r, err := w.run(path, o)
	must(w.t, err)
	if !r.Complete {
		w.t.Error("the report says that the import is not complete")
	}
	return r
}

// entities reads a tenant's entities by the tenant's placement.
func (w *world) entities(id string) []*edm.Entity {
	w.t.Helper()
	rec, err := w.catalog.Tenant(w.t.Context(), id)
	must(w.t, err)
	place := rec.Placement["orders"]
	client, err := w.accounts.Client(place.Account)
	must(w.t, err)
	var all []*edm.Entity
	for e, err := range client.Table(place.Table).Query(w.t.Context(), tablestorage.Query{Range: &place.Range}) {
		must(w.t, err)
		all = append(all, e)
	}
	return all
}

// rendered writes an entity as "RowKey: name=Type(value) …".
func rendered(e *edm.Entity) string {
	s := e.RowKey + ":"
	for _, p := range e.Properties {
		s += fmt.Sprintf(" %s=%s(%s)", p.Name, TypeName(p.Value.Type()), p.Value)
	}
	return s
}

func renderedAll(entities []*edm.Entity) []string {
	rows := make([]string, len(entities))
	for i, e := range entities {
		rows[i] = rendered(e)
	}
	slices.Sort(rows)
	return rows
}

type silent struct{}

func (silent) Phase(string)   {}
func (silent) Total(int64)    {}
func (silent) Advance(int64)  {}
func (silent) Waiting(string) {}
func (silent) Note(string)    {}

func TestRowsBecomeTypedEntitiesOfTheirTenants(t *testing.T) {
	w := newWorld(t)
	w.model("own", tenancy.DedicatedAccount, "Orders{tenant}", tenancy.KeyScheme{Kind: tenancy.SchemeTenant})
	w.tenant("contoso", "Contoso Ltd.*", "pool")
	w.tenant("fabrikam", "", "own")
	path := w.file("orders.csv", "tenant,order no,placed,amount,paid,big,note $,ref\n"+
		"Contoso Ltd.*,A/1,2026-03-01T09:30:00Z,12.50,true,5000000000,first,6F9619FF-8B86-D011-B42D-00CF4FC964FF\n"+
		"fabrikam,B1,2026-03-02,99,false,1,,\n"+
		"contoso,A2,,7,true,2,\"x,\ny\",\n")
	r := w.mustRun(path, Options{RowKeyColumns: []string{"order no"}})
	want := []string{
		"A2: tenant=String(contoso) orderNo=String(A2) amount=Double(7.0) paid=Boolean(true) big=Int64(2) note=String(x,\ny)",
		"A~2F1: tenant=String(Contoso Ltd.*) orderNo=String(A/1) placed=DateTime(2026-03-01T09:30:00Z) amount=Double(12.5) paid=Boolean(true) " +
			"big=Int64(5000000000) note=String(first) ref=Guid(6f9619ff-8b86-d011-b42d-00cf4fc964ff)",
	}
	if diff := cmp.Diff(want, renderedAll(w.entities("contoso"))); diff != "" {
		t.Error(diff)
	}
	want = []string{"B1: tenant=String(fabrikam) orderNo=String(B1) placed=DateTime(2026-03-02T00:00:00Z) amount=Double(99.0) paid=Boolean(false) big=Int64(1)"}
	if diff := cmp.Diff(want, renderedAll(w.entities("fabrikam"))); diff != "" {
		t.Error(diff)
	}
	if got := w.entities("fabrikam")[0].PartitionKey; got != "fabrikam" {
		t.Errorf("PartitionKey of fabrikam is %q", got)
	}
	if got := w.entities("contoso")[0].PartitionKey; !strings.HasPrefix(got, "Contoso Ltd.*|0") {
		t.Errorf("PartitionKey of contoso is %q", got)
	}
	if r.Read != 3 || r.Inserted != 3 || r.Written != 3 || r.EncodedKeys != 1 || r.AbsentValues != 4 || len(r.Tenants) != 2 {
		t.Errorf("report %+v", r)
	}
}

func TestASecondImportWritesNothing(t *testing.T) {
	w := newWorld(t)
	w.tenant("contoso", "", "pool")
	content := "tenant,n,v\n"
	for i := range 250 {
		content += fmt.Sprintf("contoso,%d,x\n", i%240) // ten exact duplicates
	}
	path := w.file("a.csv", content)
	first := w.mustRun(path, Options{})
	if first.Inserted != 250 || first.Duplicates != 10 || first.Transactions < 3 || first.Transactions > 8 {
		t.Errorf("first: %+v", first)
	}
	var writes atomic.Int64
	w.server.Wrap(func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
			if r.Method != http.MethodGet {
				writes.Add(1)
			}
			next.ServeHTTP(rw, r)
		})
	})
	before := renderedAll(w.entities("contoso"))
	second := w.mustRun(path, Options{})
	if second.Unchanged != 250 || second.Written != 0 || second.ComparedTenants != 1 || writes.Load() != 0 {
		t.Errorf("second: %+v, %d writes", second, writes.Load())
	}
	if diff := cmp.Diff(before, renderedAll(w.entities("contoso"))); diff != "" {
		t.Error(diff)
	}
	third := w.mustRun(w.file("b.csv", "v,n,tenant\ny,0,contoso\nx,1,contoso\nx,0,contoso\n"), Options{})
	if third.Inserted != 1 || third.Unchanged != 2 {
		t.Errorf("the same rows in another order of columns and lines: %+v", third)
	}
}

func TestRowsOfKnownKeysAreReplacedAsAWhole(t *testing.T) {
	w := newWorld(t)
	w.tenant("contoso", "", "pool")
	o := Options{RowKeyColumns: []string{"id"}}
	w.mustRun(w.file("a.csv", "tenant,id,v,extra\ncontoso,1,x,e\ncontoso,2,x,e\n"), o)
	r := w.mustRun(w.file("b.csv", "tenant,id,v,extra\ncontoso,1,y,\ncontoso,2,x,e\ncontoso,2,x,e\ncontoso,3,z,\n"), o)
	if r.Inserted != 1 || r.Replaced != 1 || r.Unchanged != 1 || r.Duplicates != 1 || r.Read != 4 {
		t.Errorf("report %+v", r)
	}
	want := []string{
		"1: tenant=String(contoso) id=Int32(1) v=String(y)",
		"2: tenant=String(contoso) id=Int32(2) v=String(x) extra=String(e)",
		"3: tenant=String(contoso) id=Int32(3) v=String(z)",
	}
	if diff := cmp.Diff(want, renderedAll(w.entities("contoso"))); diff != "" {
		t.Error(diff)
	}
}

func TestWhatCannotBeImportedIsRefusedBeforeTheFirstWrite(t *testing.T) {
	w := newWorld(t)
	w.model("own", tenancy.DedicatedTable, "Own{tenant}", tenancy.KeyScheme{Kind: tenancy.SchemeNative})
	w.tenant("contoso", "", "pool")
	w.tenant("encoded", "A~2FB", "pool")
	w.tenant("twin", "contoso2", "pool")
	w.tenant("contoso2", "other", "pool")
	w.tenant("native", "", "own")
	frozen := w.tenant("frozen", "", "pool")
	frozen.State, frozen.Migration = tenancy.Frozen, "m-17"
	_, err := w.catalog.UpdateTenant(t.Context(), frozen)
	must(t, err)
	good := "tenant,id\ncontoso,1\n"
	cases := []struct {
		name, content string
		o             Options
		want          string
	}{
		{"row without a tenant", good + ",2\n", Options{}, `f.csv:3: column "tenant": the row names no tenant`},
		{"unknown tenant", good + "Contoso ,2\nx,1\nContoso ,3\n", Options{},
			`f.csv:3: column "tenant": value "Contoso ": no tenant of the catalog has this key or id; did you mean "contoso"?. 3 rows of 2 unknown tenants: "Contoso ", "x". Nothing was written`},
		{"row without a key", good + "contoso,\n", Options{RowKeyColumns: []string{"id"}}, `f.csv:3: column "id": the row key column has no value`},
		{"frozen tenant", good + "frozen,2\n", Options{}, `f.csv:3: column "tenant": value "frozen": tenant "frozen" is frozen by migration m-17; finish it first, as tenantctl status frozen says`},
		{"two tenants of the name", good + "contoso2,2\n", Options{}, `f.csv:3: column "tenant": value "contoso2": the value is the key of tenant "twin" and the id of another`},
		{"two rows of one key", "tenant,id,v\ncontoso,1,a\ncontoso,1,b\n", Options{RowKeyColumns: []string{"id"}}, `f.csv:3: the row's key (PartitionKey "contoso|0`},
		{"value that is not of the declared type", good + "contoso,x\n", Options{Types: map[string]edm.Type{"id": edm.Int32}}, `f.csv:3: column "id": value "x": no Int32`},
		{"long text", good + "contoso," + strings.Repeat("x", 40000) + "\n", Options{}, `f.csv:3: the service cannot store the row`},
		{"long key", good + "contoso," + strings.Repeat("x", 600) + "\n", Options{RowKeyColumns: []string{"id"}}, `f.csv:3: the service cannot store the row`},
		{"unknown table", good, Options{Table: "bills"}, `f.csv:2: column "tenant": value "contoso": tenant "contoso" has no table "bills"; its model "pool" has "orders"`},
		{"unknown column", good, Options{TenantColumn: "Tenant"}, `--tenant-column: the file has no column "Tenant"; did you mean "tenant"?`},
		{"unknown key column", good, Options{RowKeyColumns: []string{"x"}}, `--row-key-column: the file has no column "x"; it has "tenant", "id"`},
		{"unknown typed column", good, Options{Types: map[string]edm.Type{"x": edm.Int32}}, `--type: the file has no column "x"`},
		{"no partition column", good + "native,1\n", Options{}, `name its column with --partition-column`},
		{"wrong number of fields", good + "contoso,1,2\n", Options{}, `f.csv:3: the row's number of fields`},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			report, err := w.run(w.file("f.csv", c.content), c.o)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got  %v\nwant %s", err, c.want)
			}
			if as[*IncompleteError](err) || report == nil || report.Complete {
				t.Errorf("the error says that something was written: %v", err)
			}
			if n := len(w.entities("contoso")); n != 0 {
				t.Errorf("%d entities were written", n)
			}
		})
	}
}

func TestUnknownTenantsAreSkippedWhenAskedFor(t *testing.T) {
	w := newWorld(t)
	w.tenant("contoso", "", "pool")
	r := w.mustRun(w.file("f.csv", "tenant,id\ncontoso,1\nx,2\nx,3\n"), Options{SkipUnknown: true})
	if r.Inserted != 1 || r.Skipped != 2 || len(r.UnknownTenants) != 1 || r.UnknownTenants[0] != (UnknownTenant{"x", 3, 2}) {
		t.Errorf("report %+v", r)
	}
}

func TestATenantKeyMayBeTheEncodedFormOfTheValue(t *testing.T) {
	w := newWorld(t)
	w.tenant("ab", tenancy.EncodeKey("A/B"), "pool")
	r := w.mustRun(w.file("f.csv", "tenant,id\nA/B,1\n"), Options{})
	if r.Inserted != 1 || r.EncodedKeys != 1 {
		t.Errorf("report %+v", r)
	}
	if got := renderedAll(w.entities("ab")); len(got) != 1 || !strings.Contains(got[0], "tenant=String(A/B)") {
		t.Errorf("got %q", got)
	}
}

func TestOwnPartitionValuesStandInThePartitionKey(t *testing.T) {
	w := newWorld(t)
	w.model("prefixed", tenancy.SharedTable, "Orders", tenancy.KeyScheme{Kind: tenancy.SchemePrefixed, Separator: "_"})
	w.tenant("contoso", "", "prefixed")
	w.mustRun(w.file("f.csv", "tenant,id,day\ncontoso,1,2026/03/01\n"), Options{RowKeyColumns: []string{"id"}, PartitionColumn: "day"})
	if e := w.entities("contoso"); len(e) != 1 || e[0].PartitionKey != "contoso_2026~2F03~2F01" {
		t.Errorf("got %v", e)
	}
}

func TestADryRunWritesNothing(t *testing.T) {
	w := newWorld(t)
	w.tenant("contoso", "", "pool")
	o := Options{RowKeyColumns: []string{"id"}}
	w.mustRun(w.file("a.csv", "tenant,id,v\ncontoso,1,x\ncontoso,2,x\n"), o)
	before := renderedAll(w.entities("contoso"))
	o.DryRun = true
	r := w.mustRun(w.file("b.csv", "tenant,id,v\ncontoso,1,y\ncontoso,2,x\ncontoso,3,x\n"), o)
	if r.Inserted != 1 || r.Replaced != 1 || r.Unchanged != 1 || r.Transactions != 0 || !r.DryRun {
		t.Errorf("report %+v", r)
	}
	if diff := cmp.Diff(before, renderedAll(w.entities("contoso"))); diff != "" {
		t.Error(diff)
	}
}

func TestAFailedWriteSaysThatTheSameCommandFinishesIt(t *testing.T) {
	w := newWorld(t)
	w.tenant("contoso", "", "pool")
	content := "tenant,n\n"
	for i := range 1000 {
		content += fmt.Sprintf("contoso,%d\n", i)
	}
	path := w.file("f.csv", content)
	var batches atomic.Int64
	var broken atomic.Bool
	broken.Store(true)
	w.server.Wrap(func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
			if strings.HasSuffix(r.URL.Path, "$batch") && batches.Add(1) > 3 && broken.Load() {
				http.Error(rw, "refused by the test", http.StatusBadRequest)
				return
			}
			next.ServeHTTP(rw, r)
		})
	})
	report, err := w.run(path, Options{})
	incomplete := (*IncompleteError)(nil)
	if !errors.As(err, &incomplete) || incomplete.Total != 1000 || incomplete.Done == 0 || incomplete.Done > 300 {
		t.Fatalf("got %v", err)
	}
	if report.Complete || report.Written != incomplete.Done {
		t.Errorf("report %+v", report)
	}
	if n := int64(len(w.entities("contoso"))); n != incomplete.Done {
		t.Errorf("%d entities are there, %d are reported", n, incomplete.Done)
	}
	broken.Store(false)
	again := w.mustRun(path, Options{})
	if again.Inserted+again.Unchanged != 1000 || again.Unchanged != incomplete.Done || len(w.entities("contoso")) != 1000 {
		t.Errorf("second run: %+v", again)
	}
}

func TestATenantThatMovesDuringTheImportMakesItIncomplete(t *testing.T) {
	w := newWorld(t)
	rec := w.tenant("contoso", "", "pool")
	var frozen atomic.Bool
	w.server.Wrap(func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
			if strings.HasSuffix(r.URL.Path, "$batch") && frozen.CompareAndSwap(false, true) {
				rec.State = tenancy.Frozen
				if _, err := w.catalog.UpdateTenant(context.Background(), rec); err != nil {
					t.Error(err)
				}
			}
			next.ServeHTTP(rw, r)
		})
	})
	_, err := w.run(w.file("f.csv", "tenant,n\ncontoso,1\ncontoso,2\n"), Options{RowKeyColumns: []string{"n"}})
	if !as[*IncompleteError](err) || !strings.Contains(err.Error(), `tenant "contoso" is frozen`) {
		t.Errorf("got %v", err)
	}
}

func TestACancelledImportStops(t *testing.T) {
	w := newWorld(t)
	w.tenant("contoso", "", "pool")
	ctx, cancel := context.WithCancel(t.Context())
	w.server.Wrap(func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
			if strings.HasSuffix(r.URL.Path, "$batch") {
				cancel()
			}
			next.ServeHTTP(rw, r)
		})
	})
	in, err := OpenFile(w.file("f.csv", "tenant,n\ncontoso,1\n"), CSV)
	must(t, err)
	defer func() { must(t, in.Close()) }()
	_, err = (&Importer{Catalog: w.catalog, Accounts: w.accounts, Progress: silent{}}).Run(ctx, in, Options{Table: "orders", TenantColumn: "tenant"})
	if !errors.Is(err, context.Canceled) || !as[*IncompleteError](err) || !strings.HasPrefix(err.Error(), "the import was interrupted (") {
		t.Errorf("got %v", err)
	}
	_, err = (&Importer{Catalog: w.catalog, Accounts: w.accounts, Progress: silent{}}).Run(ctx, in, Options{Table: "orders", TenantColumn: "tenant"})
	if !errors.Is(err, context.Canceled) || as[*IncompleteError](err) || !strings.Contains(err.Error(), "before anything was written") {
		t.Errorf("got %v", err)
	}
}

func TestFewRowsForAGreatTenantAreLookedUpOneByOne(t *testing.T) {
	w := newWorld(t)
	w.tenant("contoso", "", "pool")
	content := "tenant,id,v\n"
	for i := range 11000 { // more than minComparePages pages of 1000
		content += fmt.Sprintf("contoso,%d,x\n", i)
	}
	o := Options{RowKeyColumns: []string{"id"}}
	w.mustRun(w.file("a.csv", content), o)
	var gets atomic.Int64
	w.server.Wrap(func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
			if strings.Contains(r.URL.Path, "/Orders(PartitionKey=") {
				gets.Add(1)
			}
			next.ServeHTTP(rw, r)
		})
	})
	r := w.mustRun(w.file("b.csv", "tenant,id,v\ncontoso,10999,x\ncontoso,9999,x\ncontoso,5,y\ncontoso,11000,x\n"), o)
	if r.Unchanged != 2 || r.Replaced != 1 || r.Inserted != 1 || gets.Load() == 0 {
		t.Errorf("report %+v, %d point reads", r, gets.Load())
	}
}

func TestWhatIsReadBackEqualsTheFileInValueAndType(t *testing.T) {
	w := newWorld(t)
	w.tenant("contoso", "", "pool")
	n := 0
	rapid.Check(t, func(rt *rapid.T) {
		n++
		// Each case has its own rows: the case's number is part of the key.
		rows := rapid.SliceOfN(rapid.SliceOfN(drawnValue(), 4, 4), 1, 20).Draw(rt, "rows")
		var content strings.Builder
		content.WriteString("tenant,id,a,b,c,d\n")
		for i, row := range rows {
			fmt.Fprintf(&content, "contoso,%d-%d", n, i)
			for _, v := range row {
				content.WriteString(",\"" + strings.ReplaceAll(v, `"`, `""`) + "\"")
			}
			content.WriteString("\n")
		}
		w.mustRun(w.file("f.csv", content.String()), Options{RowKeyColumns: []string{"id"}})
		stored := map[string]*edm.Entity{}
		for _, e := range w.entities("contoso") {
			stored[e.RowKey] = e
		}
		for column, name := range []string{"a", "b", "c", "d"} {
			var cells []Cell
			for _, row := range rows {
				cells = append(cells, text(row[column])...)
			}
			typ := inferred(cells...)
			for i, c := range cells {
				got, ok := stored[fmt.Sprintf("%d-%d", n, i)].Get(name)
				if c.Kind == CellAbsent {
					if ok {
						rt.Fatalf("an empty cell became %v", got)
					}
					continue
				}
				if want, err := convert(typ, c); err != nil || got != want {
					rt.Fatalf("%q became %s %v, want %s %v (%v)", c.Text, got.Type(), got, want.Type(), want, err)
				}
			}
		}
	})
}

// drawnValue draws CSV values of all types and none; no carriage returns, which CSV readers do not keep before a
// line feed.
func drawnValue() *rapid.Generator[string] {
	return rapid.OneOf(
		rapid.Just(""),
		rapid.Map(rapid.Int32(), func(i int32) string { return fmt.Sprint(i) }),
		rapid.Map(rapid.Int64(), func(i int64) string { return fmt.Sprint(i) }),
		rapid.Map(rapid.Float64Range(-1e300, 1e300), func(f float64) string { return fmt.Sprint(f) }),
		rapid.SampledFrom([]string{"true", "FALSE", "1990-01-08", "2024-05-31T08:30:00.1234567Z", "6f9619ff-8b86-d011-b42d-00cf4fc964ff", "007"}),
		rapid.Map(rapid.StringN(0, 20, -1), func(s string) string { return strings.Map(withoutControl, s) }),
	)
}

// withoutControl drops what XML-based services do not keep in strings, and carriage returns.
func withoutControl(r rune) rune {
	if r < 0x20 && r != '\n' && r != '\t' || r == 0xFFFE || r == 0xFFFF {
		return -1
	}
	return r
}

func TestTheBirdStrikesAreImportedWhole(t *testing.T) {
	w := newWorld(t)
	path := filepath.Join("..", "..", "examples", "birdstrikes", "strikes.csv")
	reader, err := os.Open(path)
	must(t, err)
	defer func() { must(t, reader.Close()) }()
	csv, err := newCSVReader(path, reader, ',')
	must(t, err)
	operators := map[string]int{}
	for {
		rec, err := csv.Read()
		if err != nil {
			break
		}
		operators[rec.Cell(4).Text]++
	}
	i := 0
	for name := range operators {
		i++
		w.tenant(fmt.Sprintf("airline-%02d", i), tenancy.EncodeKey(name), "pool")
	}
	r := w.mustRun(path, Options{TenantColumn: "Aircraft Airline Operator"})
	if r.Read != 10000 || r.Inserted != 10000 || r.Duplicates != 24 || r.AbsentValues != 2836 || len(r.Tenants) != 46 || r.EncodedKeys != 0 {
		t.Errorf("rows %d, inserted %d, duplicates %d, absent %d, tenants %d, encoded %d", r.Read, r.Inserted, r.Duplicates, r.AbsentValues, len(r.Tenants), r.EncodedKeys)
	}
	types := map[string]string{}
	for _, c := range r.Columns {
		types[c.Property] = c.Type
	}
	for property, want := range map[string]string{"FlightDate": "DateTime", "CostOther": "Int32", "CostTotal": "Int32", "SpeedIASInKnots": "Int32", "AirportName": "String"} {
		if types[property] != want {
			t.Errorf("%s is %s, want %s", property, types[property], want)
		}
	}
	for _, c := range r.Tenants {
		if int(c.Read) != operators[c.Key] || len(w.entities(c.Tenant)) != operators[c.Key] {
			t.Errorf("%s: %d rows, %d entities, want %d", c.Key, c.Read, len(w.entities(c.Tenant)), operators[c.Key])
		}
	}
}
