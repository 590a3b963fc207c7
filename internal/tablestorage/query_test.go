package tablestorage

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/aztenancy/terraform-provider-aztenancy/internal/edm"
	"github.com/aztenancy/terraform-provider-aztenancy/internal/tenancy"
)

// pageOf is an answer to a query: entities of these row keys, and continuation tokens; "" leaves one out.
func pageOf(partition, row string, keys ...string) answer {
	items := make([]string, len(keys))
	for i, k := range keys {
		items[i] = `{"odata.etag":"e","PartitionKey":"p","RowKey":"` + k + `","Timestamp":"2020-07-24T14:34:32.2506465Z"}`
	}
	a := answer{status: 200, header: map[string]string{}, body: `{"value":[` + strings.Join(items, ",") + `]}`}
	if partition != "" {
		a.header["x-ms-continuation-NextPartitionKey"] = partition
	}
	if row != "" {
		a.header["x-ms-continuation-NextRowKey"] = row
	}
	return a
}

func rowKeys(t *testing.T, table *Table, q Query) ([]string, error) {
	t.Helper()
	var keys []string
	for e, err := range table.Query(t.Context(), q) {
		if err != nil {
			return keys, err
		}
		keys = append(keys, e.RowKey)
	}
	return keys, nil
}

// Tokens are opaque, either of them alone goes on, and a page may be empty before the end (reference §4.5).
func TestQueriesGoOnUntilNoTokenIsLeft(t *testing.T) {
	c, transport := cannedClient(t,
		pageOf("1!4!cA--", "1!4!Mg--", "1"),
		pageOf("only a partition", ""),
		pageOf("", "only a row"),
		pageOf(`{"token":"+&%"}`, "NA", "2", "3"),
		pageOf("", "", "4"))
	keys, err := rowKeys(t, c.Table("Orders"), Query{Filter: "A eq 'b c'", Select: []string{"RowKey", "A"}, PageSize: 10})
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]string{"1", "2", "3", "4"}, keys); d != "" {
		t.Error(d)
	}
	const first = "https://acct.table.core.windows.net/Orders()?%24filter=A%20eq%20%27b%20c%27&%24select=RowKey%2CA&%24top=10"
	for i, want := range []string{
		first,
		first + "&NextPartitionKey=1%214%21cA--&NextRowKey=1%214%21Mg--",
		first + "&NextPartitionKey=only%20a%20partition",
		first + "&NextRowKey=only%20a%20row",
		first + "&NextPartitionKey=%7B%22token%22%3A%22%2B%26%25%22%7D&NextRowKey=NA",
	} {
		if got := transport.sent[i].url; got != want {
			t.Errorf("page %d: sent to %s\nwant %s", i, got, want)
		}
	}
	if len(transport.sent) != 5 {
		t.Errorf("%d requests", len(transport.sent))
	}
}

func TestQueriesThatDoNotAdvanceEnd(t *testing.T) {
	c, _ := cannedClient(t, pageOf("stuck", ""))
	if _, err := rowKeys(t, c.Table("Orders"), Query{}); err == nil || !strings.Contains(err.Error(), "continuation token") {
		t.Errorf("got %v", err)
	}
	c, _ = cannedClient(t, answer{status: 200, header: map[string]string{"x-ms-continuation-NextTableName": "stuck"}, body: `{"value":[]}`})
	if _, err := c.Tables(t.Context(), ""); err == nil || !strings.Contains(err.Error(), "continuation token") {
		t.Errorf("got %v", err)
	}
}

func TestQueriesReturnWhatTheyReadBeforeAnError(t *testing.T) {
	c, _ := cannedClient(t, pageOf("next", "", "1"), answer{status: 400, body: jsonError("InvalidInput", "bad token")})
	keys, err := rowKeys(t, c.Table("Orders"), Query{})
	if e := asError(t, err); e.Code != "InvalidInput" || len(keys) != 1 {
		t.Errorf("got %v and %v", keys, err)
	}
	c, _ = cannedClient(t, answer{status: 200, body: `{"value":[{"A":{}}]}`})
	if _, err := rowKeys(t, c.Table("Orders"), Query{}); err == nil || !strings.Contains(err.Error(), "cannot be read") {
		t.Errorf("got %v", err)
	}
	for _, size := range []int{-1, 1001} {
		if _, err := rowKeys(t, c.Table("Orders"), Query{PageSize: size}); err == nil {
			t.Errorf("page size %d was sent", size)
		}
	}
}

func TestALoopThatStopsEndsTheReadAhead(t *testing.T) {
	blocked := make(chan struct{})
	transport := &blocking{inner: &canned{answers: []answer{pageOf("next", "", "1", "2")}}, from: 1, started: blocked}
	c, err := NewClient(Account{Name: "acct", Credential: SharedKey{NewSecret(testKey)}}, &ClientOptions{Transport: transport})
	if err != nil {
		t.Fatal(err)
	}
	for e, err := range c.Table("Orders").Query(t.Context(), Query{}) {
		if err != nil {
			t.Fatal(err)
		}
		<-blocked // the next page is being read while this one is looked at
		if e.RowKey == "1" {
			break // returns only when the read-ahead has ended, else the test hangs
		}
	}
}

func TestRangesBecomeFilters(t *testing.T) {
	r := tenancy.KeyRange{First: edm.Key{PartitionKey: "a'b"}, Last: edm.Key{PartitionKey: "a'b"}, End: tenancy.EndPartition}
	whole := tenancy.WholeTable()
	for _, c := range []struct {
		query Query
		want  string
	}{
		{Query{}, ""},
		{Query{Range: &whole}, ""},
		{Query{Range: &whole, Filter: "A eq 1 or B eq 2"}, "A eq 1 or B eq 2"},
		{Query{Range: &r}, r.Filter()},
		{Query{Range: &r, Filter: "A eq 1 or B eq 2"}, "(" + r.Filter() + ") and (A eq 1 or B eq 2)"},
	} {
		client, transport := cannedClient(t, pageOf("", ""))
		if _, err := rowKeys(t, client.Table("Orders"), c.query); err != nil {
			t.Fatal(err)
		}
		u, err := url.Parse(transport.sent[0].url)
		if err != nil {
			t.Fatal(err)
		}
		if got := u.Query().Get("$filter"); got != c.want {
			t.Errorf("got %q, want %q", got, c.want)
		}
	}
}

func TestTablesAreListedOverAllPages(t *testing.T) {
	page := func(next string, names ...string) answer {
		var list []map[string]string
		for _, n := range names {
			list = append(list, map[string]string{"TableName": n})
		}
		body, err := json.Marshal(map[string]any{"value": list})
		if err != nil {
			t.Fatal(err)
		}
		a := answer{status: 200, body: string(body), header: map[string]string{}}
		if next != "" {
			a.header["x-ms-continuation-NextTableName"] = next
		}
		return a
	}
	c, transport := cannedClient(t, page("1!8!b3JkZXJz", "Alpha", "ordersA"), page("x"), page("", "OrdersB"))
	got, err := c.Tables(context.Background(), "orders")
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]string{"ordersA", "OrdersB"}, got); d != "" {
		t.Error(d)
	}
	if want := "https://acct.table.core.windows.net/Tables?NextTableName=1%218%21b3JkZXJz"; transport.sent[1].url != want {
		t.Errorf("sent to %s", transport.sent[1].url)
	}
	// A filter that minds the letter case finds nothing; the list does.
	c, transport = cannedClient(t, page(""), page("", "Orders"))
	stored, ok, err := c.TableExists(t.Context(), "oRDERS")
	if stored != "Orders" || !ok || err != nil || len(transport.sent) != 2 {
		t.Errorf("got %q %v %v after %d requests", stored, ok, err, len(transport.sent))
	}
	if want := fmt.Sprintf("https://acct.table.core.windows.net/Tables?%%24filter=TableName%%20eq%%20%%27%s%%27", "oRDERS"); transport.sent[0].url != want {
		t.Errorf("sent to %s", transport.sent[0].url)
	}
}
