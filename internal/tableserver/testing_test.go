package tableserver

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aztenancy/terraform-provider-aztenancy/internal/tableserver/fault"
	"github.com/aztenancy/terraform-provider-aztenancy/internal/tableserver/throttle"
	"github.com/aztenancy/terraform-provider-aztenancy/internal/tableserver/traffic"
)

// manualClock moves when a test says so.
type manualClock struct {
	mu sync.Mutex
	t  time.Time
}

func newManualClock() *manualClock {
	return &manualClock{t: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)}
}

func (c *manualClock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.t
}

func (c *manualClock) advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.t = c.t.Add(d)
}

// lines collects a log.
type lines struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lines) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(b)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// newTestedClient starts a server for people who test, with the table Orders.
func newTestedClient(t *testing.T, o Testing) *client {
	t.Helper()
	s, addr := startServer(t, Options{InMemory: true, Testing: o})
	a := s.Accounts()[0]
	c := &client{t: t, account: a, endpoint: s.Endpoint(addr, a.Name)}
	c.do("POST", "Tables", `{"TableName":"Orders"}`).want(t, 201, "")
	return c
}

func faultRules(t *testing.T, texts ...string) []*fault.Rule {
	t.Helper()
	var out []*fault.Rule
	for _, text := range texts {
		r, err := fault.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, r)
	}
	return out
}

func insert(c *client, pk, rk string) answer {
	c.t.Helper()
	return c.do("POST", "Orders", fmt.Sprintf(`{"PartitionKey":%q,"RowKey":%q,"n":1}`, pk, rk))
}

// batchOf is a change set of n upserts into a partition.
func batchOf(c *client, pk string, n int) answer {
	c.t.Helper()
	var b strings.Builder
	b.WriteString("--batch_1\r\nContent-Type: multipart/mixed; boundary=changeset_1\r\n\r\n")
	for i := range n {
		fmt.Fprintf(&b, "--changeset_1\r\nContent-Type: application/http\r\nContent-Transfer-Encoding: binary\r\n\r\n"+
			"PUT %sOrders(PartitionKey='%s',RowKey='b%03d') HTTP/1.1\r\nAccept: application/json;odata=minimalmetadata\r\n"+
			"Content-Type: application/json\r\n\r\n{\"n\":1}\r\n", c.endpoint, pk, i)
	}
	b.WriteString("--changeset_1--\r\n--batch_1--\r\n")
	return c.do("POST", "$batch", b.String(), "Content-Type", "multipart/mixed; boundary=batch_1")
}

func TestPartitionOverItsTargetAnswersServerBusyUntilTimePasses(t *testing.T) {
	clock := newManualClock()
	c := newTestedClient(t, Testing{ScaleTargets: throttle.Targets{Partition: 3}, Now: clock.now})
	for i := range 3 {
		insert(c, "p", strconv.Itoa(i)).want(t, 201, "")
	}
	// Reference §9: 503 ServerBusy; no Retry-After is known.
	busy := insert(c, "p", "3").want(t, 503, `"code":"ServerBusy"`)
	if busy.header.Get("Retry-After") != "" {
		t.Error("the service is not known to send Retry-After")
	}
	c.do("GET", "Orders(PartitionKey='p',RowKey='0')", "").want(t, 503, "ServerBusy")
	insert(c, "q", "0").want(t, 201, "")
	clock.advance(time.Second)
	c.do("GET", "Orders(PartitionKey='p',RowKey='3')", "").want(t, 404, "ResourceNotFound") // the refused write did not happen
	c.do("GET", "Orders(PartitionKey='p',RowKey='0')", "").want(t, 200, "")
}

func TestBatchCountsItsEntitiesAndIsRefusedWithinItsAnswer(t *testing.T) {
	clock := newManualClock()
	c := newTestedClient(t, Testing{ScaleTargets: throttle.Targets{Partition: 100}, Now: clock.now})
	batchOf(c, "p", 60).want(t, 202, "HTTP/1.1 204")
	batchOf(c, "p", 60).want(t, 202, "HTTP/1.1 204") // 40 were left, and 20 are owed
	refused := batchOf(c, "p", 1).want(t, 202, "HTTP/1.1 503")
	refused.want(t, 202, `"code":"ServerBusy"`).want(t, 202, `"0:The server`)
	clock.advance(200 * time.Millisecond)
	batchOf(c, "p", 1).want(t, 202, "HTTP/1.1 503") // the debt is paid, and nothing more
	clock.advance(10 * time.Millisecond)
	batchOf(c, "p", 1).want(t, 202, "HTTP/1.1 204")
}

func TestAccountOverItsTargetRefusesEveryOperation(t *testing.T) {
	clock := newManualClock()
	c := newTestedClient(t, Testing{ScaleTargets: throttle.Targets{Account: 3}, Now: clock.now}) // Create Table took 1
	insert(c, "p", "0").want(t, 201, "")
	c.do("GET", "Tables", "").want(t, 200, "")
	const text = "Operations per second is over the account limit."
	insert(c, "q", "0").want(t, 503, text)
	c.do("GET", "Tables", "").want(t, 503, text)
	c.do("GET", "Orders", "").want(t, 503, text)
	batchOf(c, "p", 2).want(t, 503, text)
	c.do("PUT", "Orders?comp=acl", "").want(t, 503, text)
	clock.advance(time.Second)
	c.do("GET", "Tables", "").want(t, 200, "")
}

// A scan counts what it passes over, and what its pages return is whole all the same.
func TestThrottledScanEndsItsPagesEarlyAndLosesNothing(t *testing.T) {
	clock := newManualClock()
	c := newTestedClient(t, Testing{ScaleTargets: throttle.Targets{Partition: 10}, Now: clock.now})
	for _, pk := range []string{"a", "b", "c"} {
		for i := range 10 {
			clock.advance(time.Second)
			insert(c, pk, strconv.Itoa(i)).want(t, 201, "")
		}
	}
	found, pages, refusals := map[string]int{}, 0, 0
	for token := ""; ; {
		a := c.do("GET", "Orders?$filter=n%20eq%201&$select=PartitionKey,RowKey"+token, "")
		if a.status == 503 {
			if refusals++; refusals > 50 {
				t.Fatal("the scan never ends")
			}
			clock.advance(300 * time.Millisecond)
			continue
		}
		var page struct {
			Value []struct{ PartitionKey, RowKey string }
		}
		if err := json.Unmarshal([]byte(a.want(t, 200, "").body), &page); err != nil {
			t.Fatal(err)
		}
		pages++
		for _, e := range page.Value {
			found[e.PartitionKey+e.RowKey]++
		}
		pk, rk := a.header.Get("x-ms-continuation-NextPartitionKey"), a.header.Get("x-ms-continuation-NextRowKey")
		if pk == "" {
			break
		}
		token = "&NextPartitionKey=" + pk + "&NextRowKey=" + rk
	}
	if len(found) != 30 || pages < 2 || refusals == 0 {
		t.Errorf("%d entities in %d pages, %d refusals", len(found), pages, refusals)
	}
	for key, n := range found {
		if n != 1 {
			t.Errorf("%s came %d times", key, n)
		}
	}
}

// doOnce sends a request on a connection of its own, which net/http does not try again.
func (c *client) doOnce(method, path, body string, headers ...string) (status int, err error) {
	c.t.Helper()
	r := c.request(method, path, body, headers...)
	r.Close = true
	resp, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(r)
	if err != nil {
		return 0, err
	}
	_, err = io.Copy(io.Discard, resp.Body)
	return resp.StatusCode, errors.Join(err, resp.Body.Close())
}

func TestDropBeforeTheCommitLeavesNothingAndAfterItTheWrite(t *testing.T) {
	c := newTestedClient(t, Testing{Faults: faultRules(t,
		"operation=write,partition=before,drop", "operation=write,partition=after,at=after,drop", "operation=CreateTable,table=Late,at=after,drop")})
	for _, pk := range []string{"before", "after"} {
		want := map[string]int{"before": 404, "after": 200}[pk]
		if status, err := c.doOnce("POST", "Orders", `{"PartitionKey":"`+pk+`","RowKey":"r"}`); err == nil {
			t.Errorf("%s: an answer %d came back", pk, status)
		}
		c.do("GET", "Orders(PartitionKey='"+pk+"',RowKey='r')", "").want(t, want, "")
		batchBody := "--b\r\nContent-Type: multipart/mixed; boundary=c\r\n\r\n--c\r\nContent-Type: application/http\r\n\r\n" +
			"PUT " + c.endpoint + "Orders(PartitionKey='" + pk + "',RowKey='s') HTTP/1.1\r\nContent-Type: application/json\r\n\r\n{}\r\n--c--\r\n--b--\r\n"
		if _, err := c.doOnce("POST", "$batch", batchBody, "Content-Type", "multipart/mixed; boundary=b"); err == nil {
			t.Errorf("%s: a batch was answered", pk)
		}
		c.do("GET", "Orders(PartitionKey='"+pk+"',RowKey='s')", "").want(t, want, "")
	}
	if _, err := c.doOnce("POST", "Tables", `{"TableName":"Late"}`); err == nil {
		t.Error("Create Table was answered")
	}
	c.do("GET", "Tables('Late')", "").want(t, 200, "Late")
}

func TestErrorAfterTheCommitIsAnsweredAndTheWriteStays(t *testing.T) {
	c := newTestedClient(t, Testing{Faults: faultRules(t, "operation=InsertEntity,at=after,status=500,code=OperationTimedOut,count=1",
		"operation=EntityGroupTransaction,at=after,status=500,count=1", "operation=EntityGroupTransaction,status=503,count=1",
		"operation=QueryEntities,status=500,count=1")})
	a := insert(c, "p", "r").want(t, 500, `"code":"OperationTimedOut"`)
	if a.header.Get("ETag") != "" || a.header.Get("Location") != "" || a.header.Get("x-ms-request-id") == "" {
		t.Errorf("headers of the write that succeeded are on the error: %v", a.header)
	}
	insert(c, "p", "r").want(t, 409, "EntityAlreadyExists") // what a client finds that tries again: reference §9
	batchOf(c, "q", 2).want(t, 202, "HTTP/1.1 503").want(t, 202, "0:")
	batchOf(c, "q", 2).want(t, 500, "InternalError")
	c.do("GET", "Orders(PartitionKey='q',RowKey='b001')", "").want(t, 200, "")
	c.do("GET", "Orders", "").want(t, 500, "InternalError")
	c.do("GET", "Orders", "").want(t, 200, "")
}

func TestRefusedWriteDoesNotUseUpAFaultAfterTheCommit(t *testing.T) {
	c := newTestedClient(t, Testing{})
	insert(c, "p", "r").want(t, 201, "")
	c = newTestedClient(t, Testing{Faults: faultRules(t, "operation=InsertEntity,at=after,status=500,skip=1,count=1")})
	insert(c, "p", "r").want(t, 201, "")
	insert(c, "p", "r").want(t, 409, "")
	insert(c, "p", "s").want(t, 500, "")
}

func TestDelayedRequestEndsWithTheServer(t *testing.T) {
	s, addr := startServer(t, Options{InMemory: true, Testing: Testing{Faults: faultRules(t, "operation=CreateTable,delay=4m")}})
	a := s.Accounts()[0]
	c := &client{t: t, account: a, endpoint: s.Endpoint(addr, a.Name)}
	done := make(chan int, 1)
	go func() {
		status, _ := c.doOnce("POST", "Tables", `{"TableName":"Orders"}`)
		done <- status
	}()
	for s.faults.Reports()[0].Hit == 0 { // until the request is held
		if _, err := c.doOnce("GET", "Tables", ""); err != nil {
			t.Fatal(err)
		}
	}
	s.stop()
	if status := <-done; status != 201 {
		t.Errorf("the held request ended with %d", status)
	}
}

func TestChangedPolicyCountsAfterTheDelay(t *testing.T) {
	clock := newManualClock()
	c := newTestedClient(t, Testing{PolicyDelay: 30 * time.Second, Now: clock.now})
	acl := func(permission string) {
		c.do("PUT", "Orders?comp=acl", `<?xml version="1.0" encoding="utf-8"?><SignedIdentifiers><SignedIdentifier><Id>p</Id>`+
			`<AccessPolicy><Expiry>2099-01-01</Expiry><Permission>`+permission+`</Permission></AccessPolicy></SignedIdentifier></SignedIdentifiers>`).want(t, 204, "")
	}
	read := func() int {
		t.Helper()
		r := c.request("GET", "Orders?"+tableSAS(c.account, "orders", "p"), "")
		r.Header.Del("Authorization")
		return c.send(r).status
	}
	want := func(when string, status int) {
		t.Helper()
		if got := read(); got != status {
			t.Errorf("%s: %d, want %d", when, got, status)
		}
	}
	acl("r")
	want("at once", 403) // Set Table ACL, REST reference: up to 30 s, during which a SAS fails
	clock.advance(29 * time.Second)
	want("after 29 s", 403)
	clock.advance(time.Second)
	want("after 30 s", 200)
	acl("a") // revokes reading
	want("revoked a moment ago", 200)
	clock.advance(10 * time.Second)
	acl("r") // and gives it back before anybody saw that
	clock.advance(19 * time.Second)
	want("29 s after the revocation", 200)
	clock.advance(time.Second)
	want("30 s after the revocation", 403)
	clock.advance(10 * time.Second)
	want("30 s after the second change", 200)
	c.do("GET", "Orders?comp=acl", "").want(t, 200, "<Permission>r</Permission>")
}

// scrape reads metrics: name with labels → value.
func scrape(t *testing.T, base string) map[string]float64 {
	t.Helper()
	resp, err := http.Get(base + "metrics")
	if err != nil {
		t.Fatal(err)
	}
	b, err := io.ReadAll(resp.Body)
	if err := errors.Join(err, resp.Body.Close()); err != nil || resp.StatusCode != 200 {
		t.Fatalf("%d %v", resp.StatusCode, err)
	}
	out := map[string]float64{}
	for text := range strings.Lines(string(b)) {
		text = strings.TrimSpace(text)
		if text == "" || text[0] == '#' {
			continue
		}
		at := strings.LastIndexByte(text, ' ')
		v, err := strconv.ParseFloat(text[at+1:], 64)
		if at < 0 || err != nil {
			t.Fatalf("not a sample: %s", text)
		}
		out[text[:at]] = v
	}
	return out
}

func TestMetricsCountOperationsStatusesAndHotPartitions(t *testing.T) {
	c := newTestedClient(t, Testing{Metrics: true, PartitionKeys: traffic.PlainKeys,
		Faults: faultRules(t, "operation=DeleteEntity,status=503")})
	insert(c, "hot", "0").want(t, 201, "")
	insert(c, "hot", "0").want(t, 409, "")
	batchOf(c, "hot", 7).want(t, 202, "204")
	insert(c, "cold", "0").want(t, 201, "")
	c.do("GET", "Orders", "").want(t, 200, "")
	c.do("DELETE", "Orders(PartitionKey='hot',RowKey='0')", "", "If-Match", "*").want(t, 503, "")
	c.send(func() *http.Request { r := c.request("GET", "Tables", ""); r.Header.Del("Authorization"); return r }()).want(t, 403, "")
	got := scrape(t, strings.TrimSuffix(c.endpoint, "devstoreaccount1/"))
	for name, want := range map[string]float64{
		`tableserver_requests_total{account="devstoreaccount1",operation="InsertEntity",status="201"}`:           2,
		`tableserver_requests_total{account="devstoreaccount1",operation="InsertEntity",status="409"}`:           1,
		`tableserver_requests_total{account="devstoreaccount1",operation="EntityGroupTransaction",status="202"}`: 1,
		`tableserver_requests_total{account="devstoreaccount1",operation="DeleteEntity",status="503"}`:           1,
		`tableserver_requests_total{account="",operation="QueryTables",status="403"}`:                            1,
		`tableserver_request_duration_seconds_count{operation="InsertEntity"}`:                                   3,
		`tableserver_entities_total{account="devstoreaccount1",operation="QueryEntities"}`:                       9,
		`tableserver_injected_total{what="fault"}`:                                                               1,
		`tableserver_partition_entities_total{account="devstoreaccount1",partition="hot",table="orders"}`:        1 + 1 + 7 + 8 + 1,
		`tableserver_partition_entities_total{account="devstoreaccount1",partition="cold",table="orders"}`:       1 + 1,
		`tableserver_partition_overcount{account="devstoreaccount1",partition="hot",table="orders"}`:             0,
	} {
		if v, ok := got[name]; !ok || v != want {
			t.Errorf("%s is %v, want %v", name, v, want)
		}
	}
}

func TestMetricsAreOffUnlessAskedFor(t *testing.T) {
	c := newTestedClient(t, Testing{})
	resp, err := http.Get(strings.TrimSuffix(c.endpoint, "devstoreaccount1/") + "metrics")
	if err != nil {
		t.Fatal(err)
	}
	if err := resp.Body.Close(); err != nil || resp.StatusCode == 200 {
		t.Errorf("answered %d", resp.StatusCode)
	}
}

func TestAccessLogTellsEachRequestAndNoSecret(t *testing.T) {
	for _, fields := range []traffic.Fields{traffic.OwnFields, traffic.AzureFields} {
		var log lines
		c := newTestedClient(t, Testing{AccessLog: &log, LogFields: fields, PartitionKeys: traffic.PlainKeys,
			Faults: faultRules(t, "operation=InsertEntity,partition=gone,drop")})
		c.do("POST", "Orders", `{"PartitionKey":"Contoso","RowKey":"r"}`, "x-ms-client-request-id", "mine").want(t, 201, "")
		insert(c, "Contoso", "r").want(t, 409, "")
		_, _ = c.doOnce("POST", "Orders", `{"PartitionKey":"gone","RowKey":"r"}`)
		sas := tableSAS(c.account, "orders", "p")
		resp, err := http.Get(c.endpoint + "Orders?" + sas)
		if err != nil {
			t.Fatal(err)
		}
		if err := resp.Body.Close(); err != nil {
			t.Fatal(err)
		}
		c.do("GET", "Orders?$top=1", "").want(t, 200, "") // the line of a request may come after its answer, but not after the next one's
		text := log.String()
		var all []map[string]any
		for line := range strings.Lines(text) {
			var m map[string]any
			if err := json.Unmarshal([]byte(line), &m); err != nil {
				t.Fatalf("%v: %s", err, line)
			}
			all = append(all, m)
		}
		names := map[traffic.Fields][4]string{
			traffic.OwnFields:   {"operation", "error", "partition_key", "client_request_id"},
			traffic.AzureFields: {"OperationName", "StatusText", "PartitionKey", "ClientRequestId"},
		}[fields]
		want := [][4]string{{"InsertEntity", "", "Contoso", "mine"}, {"InsertEntity", "EntityAlreadyExists", "Contoso", ""}, {"InsertEntity", "", "gone", ""}}
		if fields == traffic.AzureFields {
			want[0][1], want[2][1] = "Success", "NetworkError"
		}
		for i, w := range want {
			for n, name := range names {
				if got := fmt.Sprint(all[i+1][name]); got != w[n] {
					t.Errorf("line %d: %s is %q, want %q", i+1, name, got, w[n])
				}
			}
		}
		_, signature, _ := strings.Cut(sas, "sig=")
		signature, _, _ = strings.Cut(signature, "&")
		for _, secret := range []string{signature, c.account.EncodedKey(), "SharedKey"} {
			if strings.Contains(text, secret) {
				t.Errorf("the log holds %q: %s", secret, text)
			}
		}
	}
}

func TestReadyEndsWhenTheServerStops(t *testing.T) {
	s, addr := startServer(t, Options{InMemory: true})
	get := func(path string) int {
		resp, err := http.Get("http://" + addr.String() + path)
		if err != nil {
			t.Fatal(err)
		}
		if err := resp.Body.Close(); err != nil {
			t.Fatal(err)
		}
		return resp.StatusCode
	}
	if get("/readyz") != 200 || get("/healthz") != 200 {
		t.Error("not ready")
	}
	s.stop()
	if get("/readyz") != 503 || get("/healthz") != 200 {
		t.Error("a stopping server is ready, or sick")
	}
}
