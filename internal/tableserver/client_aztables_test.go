package tableserver_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"
	"github.com/Azure/azure-sdk-for-go/sdk/data/aztables"
	"github.com/google/go-cmp/cmp"

	"github.com/aztenancy/terraform-provider-aztenancy/internal/acctest"
)

// noRetries lets a test see each answer, also those that a client would try again.
func noRetries() *aztables.ClientOptions {
	return &aztables.ClientOptions{ClientOptions: policy.ClientOptions{Retry: policy.RetryOptions{MaxRetries: -1}}}
}

func newAztables(t testing.TB) (*acctest.Server, *aztables.ServiceClient) {
	t.Helper()
	s := acctest.StartServer(t)
	service, err := aztables.NewServiceClientFromConnectionString(s.ConnectionString(acctest.DefaultAccount), noRetries())
	if err != nil {
		t.Fatal(err)
	}
	return s, service
}

func newTable(t testing.TB, service *aztables.ServiceClient, name string) *aztables.Client {
	t.Helper()
	if _, err := service.CreateTable(t.Context(), name, nil); err != nil {
		t.Fatal(err)
	}
	return service.NewClient(name)
}

// wantError checks that the client understood status and code of a refusal.
func wantError(t testing.TB, err error, status int, code string) {
	t.Helper()
	var response *azcore.ResponseError
	if !errors.As(err, &response) {
		t.Errorf("got %v, want %d %s", err, status, code)
	} else if response.StatusCode != status || response.ErrorCode != code {
		t.Errorf("got %d %s, want %d %s", response.StatusCode, response.ErrorCode, status, code)
	}
}

func body(t testing.TB, e any) []byte {
	t.Helper()
	b, err := json.Marshal(e)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func entity(pk, rk string, properties map[string]any) aztables.EDMEntity {
	return aztables.EDMEntity{Entity: aztables.Entity{PartitionKey: pk, RowKey: rk}, Properties: properties}
}

func add(t testing.TB, table *aztables.Client, e aztables.EDMEntity) azcore.ETag {
	t.Helper()
	r, err := table.AddEntity(t.Context(), body(t, e), nil)
	if err != nil {
		t.Fatalf("add (%q, %q): %v", e.PartitionKey, e.RowKey, err)
	}
	return r.ETag
}

func get(t testing.TB, table *aztables.Client, pk, rk string) aztables.EDMEntity {
	t.Helper()
	r, err := table.GetEntity(t.Context(), pk, rk, nil)
	if err != nil {
		t.Fatalf("get (%q, %q): %v", pk, rk, err)
	}
	var e aztables.EDMEntity
	if err := json.Unmarshal(r.Value, &e); err != nil {
		t.Fatalf("%s: %v", r.Value, err)
	}
	return e
}

// keysOf reads all pages and returns "pk/rk" of each entity, and the number of pages.
func keysOf(t testing.TB, table *aztables.Client, o *aztables.ListEntitiesOptions) (keys []string, pages int) {
	t.Helper()
	for pager := table.NewListEntitiesPager(o); pager.More(); pages++ {
		page, err := pager.NextPage(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, raw := range page.Entities {
			var e aztables.Entity
			if err := json.Unmarshal(raw, &e); err != nil {
				t.Fatal(err)
			}
			keys = append(keys, e.PartitionKey+"/"+e.RowKey)
		}
	}
	return keys, pages
}

func TestAztablesCreatesListsAndDeletesTables(t *testing.T) {
	_, service := newAztables(t)
	ctx := t.Context()
	for _, name := range []string{"Zebra", "apple", "Mango", "apples"} {
		newTable(t, service, name)
	}
	_, err := service.CreateTable(ctx, "APPLE", nil)
	wantError(t, err, http.StatusConflict, "TableAlreadyExists")
	_, err = service.CreateTable(ctx, "no-dash", nil)
	wantError(t, err, http.StatusBadRequest, "InvalidResourceName")
	list := func(o *aztables.ListTablesOptions) (names []string) {
		for pager := service.NewListTablesPager(o); pager.More(); {
			page, err := pager.NextPage(ctx)
			if err != nil {
				t.Fatal(err)
			}
			for _, table := range page.Tables {
				names = append(names, *table.Name)
			}
		}
		return names
	}
	if diff := cmp.Diff([]string{"apple", "apples", "Mango", "Zebra"}, list(nil)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"apple", "apples", "Mango", "Zebra"}, list(&aztables.ListTablesOptions{Top: to.Ptr[int32](1)})); diff != "" {
		t.Errorf("one a page: %s", diff)
	}
	filter := &aztables.ListTablesOptions{Filter: to.Ptr("TableName ge 'apple' and TableName lt 'applf'")}
	if diff := cmp.Diff([]string{"apple", "apples"}, list(filter)); diff != "" {
		t.Error(diff)
	}
	if _, err := service.DeleteTable(ctx, "MANGO", nil); err != nil {
		t.Error(err)
	}
	_, err = service.DeleteTable(ctx, "Mango", nil)
	wantError(t, err, http.StatusNotFound, "ResourceNotFound")
	_, err = service.NewClient("Mango").AddEntity(ctx, body(t, entity("p", "r", nil)), nil)
	wantError(t, err, http.StatusNotFound, "TableNotFound")
}

func TestAztablesReadsEveryTypeAsItWroteIt(t *testing.T) {
	_, service := newAztables(t)
	table := newTable(t, service, "Types")
	when := time.Date(2021, 3, 4, 5, 6, 7, 123456700, time.UTC)
	properties := map[string]any{
		"Text": "it's “quoted” \n 😀", "Empty": "", "Yes": true, "No": false,
		"Int": int32(math.MinInt32), "Half": 0.5, "Tiny": 5e-324, "Huge": 1.5e300,
		"Long": aztables.EDMInt64(math.MaxInt64), "Time": aztables.EDMDateTime(when),
		"ID": aztables.EDMGUID("68260b3f-4f6c-4d3b-8a0e-0123456789ab"), "Bytes": aztables.EDMBinary("\x00\xffbinary"),
	}
	// No whole doubles: aztables writes and reads them through encoding/json, which makes integers of them.
	etag := add(t, table, entity("p|00", "r", properties))
	e := get(t, table, "p|00", "r")
	// aztables takes any text that is no annotated type; times come back in UTC.
	if diff := cmp.Diff(properties, e.Properties, cmp.Comparer(func(a, b aztables.EDMDateTime) bool {
		return time.Time(a).Equal(time.Time(b))
	})); diff != "" {
		t.Error(diff)
	}
	if e.ETag != string(etag) || time.Since(time.Time(e.Timestamp)).Abs() > time.Minute {
		t.Errorf("ETag %s, want %s; Timestamp %v", e.ETag, etag, time.Time(e.Timestamp))
	}
}

func TestAztablesFindsOddKeys(t *testing.T) {
	_, service := newAztables(t)
	table := newTable(t, service, "Keys")
	// No quotes: aztables doubles them in bodies. No empty PartitionKey: it refuses that.
	for _, key := range []string{"plain", "a b", "a+b", "50%", "é", "😀", "a&b=c", "a,b", "(x)", "contoso|00", "a:b;c", "~!@$^*", `"`} {
		add(t, table, entity(key, key, map[string]any{"Key": key}))
		if e := get(t, table, key, key); e.PartitionKey != key || e.RowKey != key || e.Properties["Key"] != key {
			t.Errorf("%q comes back as (%q, %q)", key, e.PartitionKey, e.RowKey)
		}
		if _, err := table.DeleteEntity(t.Context(), key, key, nil); err != nil {
			t.Errorf("delete %q: %v", key, err)
		}
	}
	add(t, table, entity("p", "", nil))
	if e := get(t, table, "p", ""); e.PartitionKey != "p" || e.RowKey != "" {
		t.Errorf("an empty RowKey comes back as %q", e.RowKey)
	}
	_, err := table.AddEntity(t.Context(), body(t, entity("a/b", "r", nil)), nil)
	wantError(t, err, http.StatusBadRequest, "OutOfRangeInput")
}

func TestAztablesMergesReplacesAndUpserts(t *testing.T) {
	_, service := newAztables(t)
	table, ctx := newTable(t, service, "Writes"), t.Context()
	merge, replace := aztables.UpdateModeMerge, aztables.UpdateModeReplace
	update := func(mode aztables.UpdateMode, etag *azcore.ETag, properties map[string]any) error {
		_, err := table.UpdateEntity(ctx, body(t, entity("p", "r", properties)), &aztables.UpdateEntityOptions{UpdateMode: mode, IfMatch: etag})
		return err
	}
	upsert := func(mode aztables.UpdateMode, properties map[string]any) {
		t.Helper()
		if _, err := table.UpsertEntity(ctx, body(t, entity("p", "r", properties)), &aztables.UpsertEntityOptions{UpdateMode: mode}); err != nil {
			t.Error(err)
		}
	}
	is := func(want map[string]any) {
		t.Helper()
		if diff := cmp.Diff(want, get(t, table, "p", "r").Properties); diff != "" {
			t.Error(diff)
		}
	}
	wantError(t, update(merge, nil, nil), http.StatusNotFound, "ResourceNotFound")
	first := add(t, table, entity("p", "r", map[string]any{"A": "1", "B": "2"}))
	_, err := table.AddEntity(ctx, body(t, entity("p", "r", nil)), nil)
	wantError(t, err, http.StatusConflict, "EntityAlreadyExists")
	if err := update(merge, &first, map[string]any{"B": "3", "C": "4"}); err != nil {
		t.Error(err)
	}
	is(map[string]any{"A": "1", "B": "3", "C": "4"})
	wantError(t, update(replace, &first, nil), http.StatusPreconditionFailed, "UpdateConditionNotSatisfied")
	if err := update(replace, nil, map[string]any{"D": "5"}); err != nil {
		t.Error(err)
	}
	is(map[string]any{"D": "5"})
	upsert(merge, map[string]any{"E": "6"})
	is(map[string]any{"D": "5", "E": "6"})
	upsert(replace, map[string]any{"F": "7"})
	is(map[string]any{"F": "7"})
	_, err = table.DeleteEntity(ctx, "p", "r", &aztables.DeleteEntityOptions{IfMatch: &first})
	wantError(t, err, http.StatusPreconditionFailed, "UpdateConditionNotSatisfied")
	if _, err := table.DeleteEntity(ctx, "p", "r", nil); err != nil {
		t.Error(err)
	}
	_, err = table.GetEntity(ctx, "p", "r", nil)
	wantError(t, err, http.StatusNotFound, "ResourceNotFound")
	upsert(merge, map[string]any{"G": "8"})
	is(map[string]any{"G": "8"})
}

func TestAztablesSubmitsTransactions(t *testing.T) {
	_, service := newAztables(t)
	table, ctx := newTable(t, service, "Batches"), t.Context()
	var actions []aztables.TransactionAction
	for i := range 100 {
		actions = append(actions, aztables.TransactionAction{ActionType: aztables.TransactionTypeAdd,
			Entity: body(t, entity("p", fmt.Sprintf("%03d", i), map[string]any{"N": int32(i)}))})
	}
	if _, err := table.SubmitTransaction(ctx, actions, nil); err != nil {
		t.Fatal(err)
	}
	if keys, _ := keysOf(t, table, nil); len(keys) != 100 {
		t.Errorf("%d entities after a transaction of 100", len(keys))
	}
	old := azcore.ETag(get(t, table, "p", "001").ETag)
	mixed := []aztables.TransactionAction{
		{ActionType: aztables.TransactionTypeUpdateMerge, Entity: body(t, entity("p", "000", map[string]any{"M": "merged"}))},
		{ActionType: aztables.TransactionTypeUpdateReplace, Entity: body(t, entity("p", "001", map[string]any{"R": "replaced"})), IfMatch: &old},
		{ActionType: aztables.TransactionTypeInsertMerge, Entity: body(t, entity("p", "100", nil))},
		{ActionType: aztables.TransactionTypeInsertReplace, Entity: body(t, entity("p", "002", nil))},
		{ActionType: aztables.TransactionTypeDelete, Entity: body(t, entity("p", "003", nil))},
	}
	if _, err := table.SubmitTransaction(ctx, mixed, nil); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]any{"N": int32(0), "M": "merged"}, get(t, table, "p", "000").Properties); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(map[string]any{"R": "replaced"}, get(t, table, "p", "001").Properties); diff != "" {
		t.Error(diff)
	}
	// aztables finds the refusal in the part, but reports the status of the whole answer, and no code.
	wantRefused := func(err error) {
		t.Helper()
		wantError(t, err, http.StatusAccepted, "")
	}
	before, _ := keysOf(t, table, nil)
	_, err := table.SubmitTransaction(ctx, mixed, nil) // its ETag is old now
	wantRefused(err)
	_, err = table.SubmitTransaction(ctx, append(actions[:3:3], aztables.TransactionAction{
		ActionType: aztables.TransactionTypeAdd, Entity: body(t, entity("other", "r", nil))}), nil)
	wantRefused(err)
	_, err = table.SubmitTransaction(ctx, []aztables.TransactionAction{
		{ActionType: aztables.TransactionTypeAdd, Entity: body(t, entity("p", "new", nil))},
		{ActionType: aztables.TransactionTypeAdd, Entity: body(t, entity("other", "new", nil))}}, nil)
	wantRefused(err)
	if after, _ := keysOf(t, table, nil); !slices.Equal(before, after) {
		t.Error("a refused transaction has changed the table")
	}
}

func TestAztablesPagesThroughATable(t *testing.T) {
	_, service := newAztables(t)
	table := newTable(t, service, "Pages")
	var want []string
	for p := range 3 {
		var actions []aztables.TransactionAction
		for r := range 40 {
			pk, rk := fmt.Sprintf("p%d", p), fmt.Sprintf("%03d", r)
			want = append(want, pk+"/"+rk)
			actions = append(actions, aztables.TransactionAction{ActionType: aztables.TransactionTypeAdd,
				Entity: body(t, entity(pk, rk, map[string]any{"N": int32(r)}))})
		}
		if _, err := table.SubmitTransaction(t.Context(), actions, nil); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		top    int32
		filter string
		match  func(string) bool
		pages  int
	}{
		{1000, "", func(string) bool { return true }, 1},
		{25, "", func(string) bool { return true }, 5},
		{40, "", func(string) bool { return true }, 3},
		{7, "PartitionKey eq 'p1' and RowKey ge '010' and RowKey lt '030'", func(k string) bool { return k >= "p1/010" && k < "p1/030" }, 3},
		{2, "N eq 5 or (PartitionKey eq 'p2' and RowKey eq '039')", func(k string) bool { return strings.HasSuffix(k, "005") || k == "p2/039" }, 2},
		{10, "N lt 0", func(string) bool { return false }, 1},
	} {
		o := &aztables.ListEntitiesOptions{Top: &c.top, Select: to.Ptr("PartitionKey,RowKey")}
		if c.filter != "" {
			o.Filter = &c.filter
		}
		keys, pages := keysOf(t, table, o)
		expected := slices.DeleteFunc(slices.Clone(want), func(k string) bool { return !c.match(k) })
		if !slices.Equal(keys, expected) || pages != c.pages {
			t.Errorf("%q by %d: %d entities in %d pages, want %d in %d", c.filter, c.top, len(keys), pages, len(expected), c.pages)
		}
	}
	_, err := table.NewListEntitiesPager(&aztables.ListEntitiesOptions{Filter: to.Ptr("a eq b")}).NextPage(t.Context())
	wantError(t, err, http.StatusNotImplemented, "NotImplemented")
	_, err = table.NewListEntitiesPager(&aztables.ListEntitiesOptions{Filter: to.Ptr("a eq")}).NextPage(t.Context())
	wantError(t, err, http.StatusBadRequest, "InvalidInput")
}
