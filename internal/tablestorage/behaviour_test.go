package tablestorage_test

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/aztenancy/terraform-provider-aztenancy/internal/acctest"
	"github.com/aztenancy/terraform-provider-aztenancy/internal/edm"
	"github.com/aztenancy/terraform-provider-aztenancy/internal/tablestorage"
	"github.com/aztenancy/terraform-provider-aztenancy/internal/tenancy"
)

// service is a table service under test.
type service struct {
	*acctest.Server
	azurite bool
	client  *tablestorage.Client
}

// table creates a table of the test's own.
func (s *service) table(t *testing.T, name string) *tablestorage.Table {
	t.Helper()
	if created, err := s.client.CreateTable(t.Context(), name); err != nil || !created {
		t.Fatalf("create table %s: %v %v", name, created, err)
	}
	return s.client.Table(name)
}

// withSAS returns a client that has only a SAS.
func (s *service) withSAS(t *testing.T, token string) *tablestorage.Client {
	t.Helper()
	account, err := tablestorage.AccountConfig{Endpoint: s.TableEndpoint(acctest.DefaultAccount), SAS: token}.Account()
	if err != nil {
		t.Fatal(err)
	}
	c, err := tablestorage.NewClient(account, nil)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func insert(t *testing.T, table *tablestorage.Table, e *edm.Entity) string {
	t.Helper()
	etag, err := table.Insert(t.Context(), e)
	if err != nil {
		t.Fatal(err)
	}
	if etag == "" {
		t.Fatal("an insert answered without an ETag")
	}
	return etag
}

func entity(pk, rk string, value string) *edm.Entity {
	e := &edm.Entity{PartitionKey: pk, RowKey: rk}
	e.Set("Value", edm.StringValue(value))
	return e
}

// keysOf returns the keys of a query, "PartitionKey/RowKey".
func keysOf(t *testing.T, table *tablestorage.Table, q tablestorage.Query) []string {
	t.Helper()
	var keys []string
	for e, err := range table.Query(t.Context(), q) {
		if err != nil {
			t.Fatal(err)
		}
		keys = append(keys, e.PartitionKey+"/"+e.RowKey)
	}
	return keys
}

// The same behaviours are expected of both services. Where Azurite departs from the table service, the case says it
// with its reason.
func TestClientWorksAlikeAgainstEveryService(t *testing.T) {
	for name, start := range map[string]func(testing.TB, ...acctest.Option) *acctest.Server{
		"tableserver": acctest.StartServer, "Azurite": acctest.StartAzurite,
	} {
		t.Run(name, func(t *testing.T) {
			s := &service{Server: start(t), azurite: name == "Azurite"}
			account, err := tablestorage.ParseConnectionString(s.ConnectionString(acctest.DefaultAccount))
			if err != nil {
				t.Fatal(err)
			}
			if s.client, err = tablestorage.NewClient(account, nil); err != nil {
				t.Fatal(err)
			}
			for _, b := range behaviours {
				t.Run(b.name, func(t *testing.T) { b.check(t, s) })
			}
		})
	}
}

var behaviours = []struct {
	name  string
	check func(*testing.T, *service)
}{
	{"tables are created once, found in any letter case, and dropped", tablesLive},
	{"every value of every type comes back as it was", valuesComeBack},
	{"keys of every legal character address their entity", keysAddress},
	{"conditions are met or refused", conditionsHold},
	{"errors are told apart", errorsAreToldApart},
	{"queries page through, select and filter", queriesPage},
	{"transactions commit whole or not at all", transactionsAreAtomic},
	{"batches of interleaved partitions arrive", batchesArrive},
	{"stored access policies come back", policiesComeBack},
	{"a table SAS opens what it says", tableSASOpens},
	{"an account SAS opens the account", accountSASOpens},
	{"a wrong key is named", wrongKeyIsNamed},
}

func tablesLive(t *testing.T, s *service) {
	ctx := t.Context()
	table := s.table(t, "MixedCase")
	if created, err := s.client.CreateTable(ctx, "mixedCASE"); created || err != nil {
		t.Errorf("created again: %v %v", created, err)
	}
	for _, name := range []string{"MixedCase", "mixedcase"} {
		if stored, ok, err := s.client.TableExists(ctx, name); stored != "MixedCase" || !ok || err != nil {
			t.Errorf("%s exists: %q %v %v", name, stored, ok, err)
		}
	}
	if _, ok, err := s.client.TableExists(ctx, "Absent"); ok || err != nil {
		t.Errorf("absent table exists: %v %v", ok, err)
	}
	s.table(t, "MixedOther")
	if names, err := s.client.Tables(ctx, "mixed"); err != nil || !cmp.Equal(names, []string{"MixedCase", "MixedOther"}) {
		t.Errorf("tables %v %v", names, err)
	}
	if err := s.client.DeleteTable(ctx, table.Name()); err != nil {
		t.Fatal(err)
	}
	if err := s.client.DeleteTable(ctx, table.Name()); !errors.Is(err, tablestorage.ErrTableNotFound) {
		t.Errorf("dropped twice: %v", err)
	}
	if _, err := s.client.CreateTable(ctx, "no"); err == nil {
		t.Error("created a table of two letters")
	}
}

// oneOfEach has the extremes of every type.
func oneOfEach(pk, rk string) *edm.Entity {
	e := &edm.Entity{PartitionKey: pk, RowKey: rk}
	for i, v := range []edm.Value{
		edm.StringValue(""), edm.StringValue("it's \"quoted\" \\ <&> \u2028 😀 é\r\n\t"), edm.StringValue("12"),
		edm.BooleanValue(true), edm.BooleanValue(false),
		edm.Int32Value(math.MinInt32), edm.Int32Value(0), edm.Int32Value(math.MaxInt32),
		edm.Int64Value(math.MinInt64), edm.Int64Value(1), edm.Int64Value(math.MaxInt64),
		edm.DoubleValue(3), edm.DoubleValue(-0.1), edm.DoubleValue(1e300), edm.DoubleValue(5e-324),
		edm.DoubleValue(math.NaN()), edm.DoubleValue(math.Inf(1)), edm.DoubleValue(math.Inf(-1)),
		edm.DateTimeValue(time.Date(1601, 1, 1, 0, 0, 0, 0, time.UTC)),
		edm.DateTimeValue(time.Date(9999, 12, 31, 23, 59, 59, 999999900, time.UTC)),
		edm.DateTimeValue(time.Date(2020, 2, 29, 12, 0, 0, 100, time.UTC)),
		edm.GUIDValue([16]byte{0xc9, 0xda, 0x64, 0x55, 15: 0x33}),
		edm.BinaryValue(nil), edm.BinaryValue([]byte{0, 1, 0xff}),
	} {
		e.Set(fmt.Sprintf("%s%d", strings.TrimPrefix(v.Type().String(), "Edm."), i), v)
	}
	return e
}

func valuesComeBack(t *testing.T, s *service) {
	table := s.table(t, "Values")
	want := oneOfEach("p", "r")
	etag := insert(t, table, want)
	got, err := table.Get(t.Context(), want.Key())
	if err != nil {
		t.Fatal(err)
	}
	if d := want.Differences(got); len(d) > 0 {
		t.Errorf("differs in %v", d)
	}
	if got.ETag != etag || time.Since(got.Timestamp).Abs() > time.Hour {
		t.Errorf("ETag %s, Timestamp %s; the insert said %s", got.ETag, got.Timestamp, etag)
	}
	for e, err := range table.Query(t.Context(), tablestorage.Query{}) {
		if err != nil {
			t.Fatal(err)
		}
		if !e.SameContent(got) || e.ETag != etag || !e.Timestamp.Equal(got.Timestamp) {
			t.Errorf("the query differs from the point read in %v, or has ETag %s, Timestamp %s", e.Differences(got), e.ETag, e.Timestamp)
		}
	}
}

func keysAddress(t *testing.T, s *service) {
	table := s.table(t, "OddKeys")
	// Forbidden are only / \ # ? and control characters (Understanding the table service data model).
	odd := []string{"O'Hare", "''", "100%", "%27", "%2F", "a b", " ", "+", "a+b", "US AIRWAYS*", "é", "😀", "日本", "=&;,:@!$()[]{}<>|^~`\"",
		"..", ".", "1!4!cA--", strings.Repeat("k", 512)}
	var want []string
	for _, k := range append(odd, "") {
		for _, key := range []edm.Key{{PartitionKey: k, RowKey: "r"}, {PartitionKey: "p", RowKey: k}} {
			want = append(want, key.PartitionKey+"/"+key.RowKey)
			e := entity(key.PartitionKey, key.RowKey, "first")
			insert(t, table, e)
			e.Set("Value", edm.StringValue("second"))
			if _, err := table.Merge(t.Context(), e, tablestorage.AnyETag); err != nil {
				t.Errorf("merge %q: %v", key, err)
			}
			got, err := table.Get(t.Context(), key)
			if err != nil {
				t.Errorf("get %q: %v", key, err)
				continue
			}
			if !got.SameContent(e) || got.Key() != key {
				t.Errorf("got %v, want %v", got, e)
			}
			r := tenancy.KeyRange{First: key, Last: key, End: tenancy.EndKey}
			if found := keysOf(t, table, tablestorage.Query{Range: &r}); len(found) != 1 {
				t.Errorf("range %v finds %q", r, found)
			}
		}
	}
	if found := keysOf(t, table, tablestorage.Query{}); len(found) != len(want) {
		t.Errorf("%d entities, want %d", len(found), len(want))
	}
	for _, k := range append(odd, "") {
		if err := table.Delete(t.Context(), edm.Key{PartitionKey: k, RowKey: "r"}, tablestorage.AnyETag); err != nil {
			t.Errorf("delete %q: %v", k, err)
		}
	}
}

func conditionsHold(t *testing.T, s *service) {
	ctx, table := t.Context(), s.table(t, "Conditions")
	e := entity("p", "r", "1")
	e.Set("Kept", edm.BooleanValue(true))
	first := insert(t, table, e)
	if _, err := table.Insert(ctx, e); !errors.Is(err, tablestorage.ErrExists) {
		t.Errorf("insert again: %v", err)
	}
	second, err := table.Merge(ctx, entity("p", "r", "2"), first)
	if err != nil || second == first {
		t.Fatalf("merge: %s %v", second, err)
	}
	got, err := table.Get(ctx, e.Key())
	if err != nil {
		t.Fatal(err)
	}
	if _, kept := got.Get("Kept"); !kept || got.ETag != second {
		t.Errorf("after a merge: %v", got)
	}
	if _, err := table.Replace(ctx, entity("p", "r", "3"), first); !errors.Is(err, tablestorage.ErrConditionNotMet) {
		t.Errorf("replace with an old ETag: %v", err)
	}
	third, err := table.Replace(ctx, entity("p", "r", "3"), second)
	if err != nil {
		t.Fatal(err)
	}
	if got, err = table.Get(ctx, e.Key()); err != nil || !got.SameContent(entity("p", "r", "3")) {
		t.Errorf("after a replace: %v %v", got, err)
	}
	if err := table.Delete(ctx, e.Key(), second); !errors.Is(err, tablestorage.ErrConditionNotMet) {
		t.Errorf("delete with an old ETag: %v", err)
	}
	if err := table.Delete(ctx, e.Key(), third); err != nil {
		t.Error(err)
	}
	for name, err := range map[string]error{
		"replace": errorOf(table.Replace(ctx, e, tablestorage.AnyETag)),
		"merge":   errorOf(table.Merge(ctx, e, tablestorage.AnyETag)),
		"delete":  table.Delete(ctx, e.Key(), tablestorage.AnyETag),
	} {
		if !errors.Is(err, tablestorage.ErrNotFound) {
			t.Errorf("%s of an absent entity: %v", name, err)
		}
	}
	for _, upsert := range []func() (string, error){
		func() (string, error) { return table.UpsertMerge(ctx, entity("p", "new", "1")) },
		func() (string, error) { return table.UpsertReplace(ctx, entity("p", "new", "2")) },
	} {
		if etag, err := upsert(); err != nil || etag == "" {
			t.Errorf("upsert: %q %v", etag, err)
		}
	}
}

// errorOf drops a call's first result.
func errorOf[T any](_ T, err error) error { return err }

func errorsAreToldApart(t *testing.T, s *service) {
	ctx, table := t.Context(), s.table(t, "Errors")
	absent := s.client.Table("Absent")
	for name, c := range map[string]struct{ got, want error }{
		"get of an absent entity":     {errorOf(table.Get(ctx, edm.Key{PartitionKey: "p", RowKey: "r"})), tablestorage.ErrNotFound},
		"get in an absent table":      {errorOf(absent.Get(ctx, edm.Key{PartitionKey: "p", RowKey: "r"})), tablestorage.ErrTableNotFound},
		"insert into an absent table": {errorOf(absent.Insert(ctx, entity("p", "r", ""))), tablestorage.ErrTableNotFound},
		"transaction in an absent table": {func() error {
			_, err := absent.Submit(ctx, []tablestorage.Operation{{Kind: tablestorage.OpInsert, Entity: entity("p", "r", "")}})
			return err
		}(), tablestorage.ErrTableNotFound},
	} {
		if !errors.Is(c.got, c.want) {
			t.Errorf("%s: %v", name, c.got)
		}
	}
	for _, err := range absent.Query(ctx, tablestorage.Query{}) {
		if !errors.Is(err, tablestorage.ErrTableNotFound) {
			t.Errorf("query of an absent table: %v", err)
		}
	}
	tooLarge := &edm.Entity{PartitionKey: "p", RowKey: "large"}
	for i := range 20 {
		tooLarge.Set(fmt.Sprintf("P%d", i), edm.BinaryValue(make([]byte, 64<<10)))
	}
	var e *tablestorage.Error
	if s.azurite { // Azurite 3.35.0 does not limit the size of an entity, only that of a body
		return
	}
	if _, err := table.Insert(ctx, tooLarge); !errors.As(err, &e) || e.Code != "EntityTooLarge" {
		t.Errorf("entity of 1.25 MiB: %v", err)
	}
}
