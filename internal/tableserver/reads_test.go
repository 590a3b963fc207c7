package tableserver

import (
	"fmt"
	"net/url"
	"strings"
	"testing"
)

// A request reads as many keys as it answers with, and a few more: one for the end of each span, one for the
// continuation. 2,000 entities in 20 partitions are enough to see a scan.
func TestRequestsReadNoMoreThanTheirResult(t *testing.T) {
	s, addr := startServer(t, Options{InMemory: true})
	a := s.Accounts()[0]
	c := &client{t: t, account: a, endpoint: s.Endpoint(addr, a.Name)}
	c.do("POST", "Tables", `{"TableName":"Tab"}`).want(t, 201, "")
	for pk := range 20 {
		var parts []string
		for rk := range 100 {
			parts = append(parts, part("POST", c.endpoint+"Tab", fmt.Sprintf(`{"PartitionKey":"p%02d","RowKey":"%03d","n":%d}`, pk, rk, rk)))
		}
		c.submit(parts...).want(t, 202, "201 Created")
	}
	for rk := range 50 { // deleted entities lie in the way of the queries below
		c.do("DELETE", fmt.Sprintf("Tab(PartitionKey='p19',RowKey='%03d')", rk), "", "If-Match", "*").want(t, 204, "")
	}
	const few = 4
	cases := []struct {
		name, path string
		results    int
		reads      int64 // at most
	}{
		{"point", "Tab(PartitionKey='p03',RowKey='050')", 1, 1},
		{"point that is not there", "Tab(PartitionKey='p03',RowKey='x')", 0, 1},
		{"point as a query", "Tab()?$filter=" + url.PathEscape("PartitionKey eq 'p03' and RowKey eq '050'"), 1, 1 + few},
		{"two points as a query", "Tab()?$filter=" + url.PathEscape("(PartitionKey eq 'p03' and RowKey eq '050') or (PartitionKey eq 'p17' and RowKey eq '001')"), 2, 2 + 2*few},
		{"partition", "Tab()?$filter=" + url.PathEscape("PartitionKey eq 'p03'"), 100, 100 + few},
		{"row range", "Tab()?$filter=" + url.PathEscape("PartitionKey eq 'p03' and RowKey ge '010' and RowKey lt '030'"), 20, 20 + few},
		{"partition prefix", "Tab()?$filter=" + url.PathEscape("PartitionKey ge 'p05' and PartitionKey lt 'p07'"), 200, 200 + few},
		{"property within a partition", "Tab()?$filter=" + url.PathEscape("PartitionKey eq 'p03' and n lt 10"), 10, 100 + few},
		{"first page", "Tab()?$top=10", 10, 10 + few},
		{"later page", "Tab()?$top=10&NextPartitionKey=1!4!cDEw&NextRowKey=1!4!MDUw", 10, 10 + few},
		{"nothing", "Tab()?$filter=" + url.PathEscape("PartitionKey eq 'q'"), 0, few},
		{"contradiction", "Tab()?$filter=" + url.PathEscape("PartitionKey eq 'p01' and PartitionKey eq 'p02'"), 0, 0},
		{"partition with deleted entities", "Tab()?$filter=" + url.PathEscape("PartitionKey eq 'p19'"), 50, 50 + 2*50 + few},
	}
	for _, tc := range cases {
		before := s.store.KeysRead()
		got := c.do("GET", tc.path, "")
		if found := strings.Count(got.body, `"RowKey"`); found != tc.results {
			t.Errorf("%s: %d results, want %d: %s", tc.name, found, tc.results, got.body)
		}
		if read := s.store.KeysRead() - before; read > tc.reads {
			t.Errorf("%s: %d keys read for %d results, want at most %d", tc.name, read, tc.results, tc.reads)
		}
	}
}
