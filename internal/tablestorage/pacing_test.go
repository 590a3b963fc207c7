package tablestorage

import (
	"errors"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aztenancy/terraform-provider-aztenancy/internal/edm"
	"github.com/aztenancy/terraform-provider-aztenancy/internal/tablestorage/pace"
	"github.com/aztenancy/terraform-provider-aztenancy/internal/tenancy"
)

// pacedTable returns a table whose requests are answered by the canned answers and paced.
func pacedTable(t *testing.T, answers ...answer) (*Table, *canned, *pace.Pacer) {
	t.Helper()
	transport := &canned{answers: answers}
	accounts, err := NewAccounts(Config{Home: AccountConfig{Name: "acct", Key: testKey}}, &ClientOptions{Transport: transport})
	if err != nil {
		t.Fatal(err)
	}
	p := pace.New(nil)
	table, err := accounts.Paced(p).At(tenancy.TablePlacement{Account: "home", Storage: "acct", Table: "Orders"})
	if err != nil {
		t.Fatal(err)
	}
	return table, transport, p
}

var busy = answer{status: 503, body: jsonError("ServerBusy", "The server is busy.")}

func TestAPacedRequestWaitsOutRefusalsWithThePacerAlone(t *testing.T) {
	created := answer{status: 204, header: map[string]string{"ETag": `W/"1"`}}
	for name, c := range map[string]struct {
		refusal answer
		least   time.Duration
		most    time.Duration
	}{
		"ServerBusy":       {busy, 200 * time.Millisecond, 2 * time.Second}, // 100 ms, 200 ms …, and its tokens
		"OperationTimeout": {answer{status: 500, body: jsonError("OperationTimedOut", "Timed out.")}, 200 * time.Millisecond, 2 * time.Second},
		"429":              {answer{status: 429}, 200 * time.Millisecond, 2 * time.Second},
		"Retry-After":      {answer{status: 503, header: map[string]string{"Retry-After": "9"}, body: busy.body}, 18 * time.Second, 20 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				table, transport, p := pacedTable(t, c.refusal, c.refusal, created)
				start := time.Now()
				etag, err := table.Insert(t.Context(), anEntity)
				if err != nil || etag != `W/"1"` {
					t.Fatalf("%q, %v", etag, err)
				}
				if d := time.Since(start); d < c.least || d > c.most || len(transport.sent) != 3 {
					t.Errorf("%d requests in %v", len(transport.sent), d)
				}
				want := pace.Counts{Entities: 3, Requests: 3, Refused: 2}
				if got := p.State().Flows[pace.Write].Counts; got != want {
					t.Errorf("counted %+v, want %+v", got, want)
				}
			})
		})
	}
}

func TestAPacedRequestThatIsAlwaysRefusedIsThrottled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		table, _, _ := pacedTable(t, busy)
		_, err := table.Insert(t.Context(), anEntity)
		e := asError(t, err)
		if !errors.Is(err, ErrThrottled) || e.Code != "ServerBusy" || !e.Retried || !strings.Contains(e.Error(), "throttling") {
			t.Errorf("%+v", e)
		}
	})
}

func TestOtherErrorsAreRetriedAsWithoutAPacer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		table, transport, p := pacedTable(t, answer{status: 500, body: jsonError("InternalError", "Oh.")}, answer{status: 502}, answer{status: 204})
		if _, err := table.Insert(t.Context(), anEntity); err != nil {
			t.Fatal(err)
		}
		if got := p.State().Flows[pace.Write].Counts; len(transport.sent) != 3 || got != (pace.Counts{Entities: 3, Requests: 3}) {
			t.Errorf("%d requests, counted %+v", len(transport.sent), got)
		}
	})
}

func TestOnlyTheEntitiesOfAPageAreCounted(t *testing.T) {
	table, _, p := pacedTable(t, answer{status: 200, body: `{"value":[{"PartitionKey":"p","RowKey":"1"},{"PartitionKey":"p","RowKey":"2"}]}`})
	for _, err := range table.Query(t.Context(), Query{}) {
		if err != nil {
			t.Fatal(err)
		}
	}
	if got := p.State().Flows[pace.Read].Counts; got != (pace.Counts{Entities: 2, Requests: 1}) {
		t.Errorf("counted %+v", got)
	}
}

func TestOperationsOfATransactionAreCounted(t *testing.T) {
	table, _, p := pacedTable(t, answer{status: 400, body: jsonError("InvalidInput", "No.")})
	var ops []Operation
	for _, rk := range []string{"1", "2", "3"} {
		ops = append(ops, Operation{Kind: OpUpsertReplace, Entity: &edm.Entity{PartitionKey: "p", RowKey: rk}})
	}
	if _, err := table.Submit(t.Context(), ops); err == nil {
		t.Fatal("no error")
	}
	if got := p.State().Flows[pace.Write].Counts; got != (pace.Counts{Entities: 3, Requests: 1}) {
		t.Errorf("counted %+v", got)
	}
}

func TestAnAccountsLimitIsToldByTheMessage(t *testing.T) {
	resp := func(status int, body string) *http.Response {
		c := &canned{answers: []answer{{status: status, body: body}}}
		r, err := c.Do(&http.Request{URL: &url.URL{}})
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	x, _, err := judge(resp(503, jsonError("ServerBusy", "Operations per second is over the account limit.")))
	if err != nil || !x.Refused || !x.ByAccount {
		t.Errorf("%+v %v", x, err)
	}
	if x, _, err = judge(resp(503, "not a table service")); err != nil || !x.Refused || x.ByAccount {
		t.Errorf("%+v %v", x, err)
	}
}

func TestATransactionThatIsRefusedWithinForBeingBusyIsTriedAgain(t *testing.T) {
	within := func(status, code string) answer {
		return answer{status: 202, header: map[string]string{"Content-Type": "multipart/mixed; boundary=b"}, body: crlfText("--b\nContent-Type: multipart/mixed; boundary=c\n\n" +
			"--c\nContent-Type: application/http\n\nHTTP/1.1 " + status + "\nContent-Type: application/json\n\n" + jsonError(code, "0:Not now.") + "\n--c--\n--b--\n")}
	}
	done := answer{status: 202, header: map[string]string{"Content-Type": "multipart/mixed; boundary=b"}, body: crlfText("--b\nContent-Type: multipart/mixed; boundary=c\n\n" +
		"--c\nContent-Type: application/http\n\nHTTP/1.1 204 No Content\nETag: W/\"1\"\n\n\n--c--\n--b--\n")}
	ops := []Operation{{Kind: OpInsert, Entity: anEntity}}
	for name, refusal := range map[string]answer{
		"busy":      within("503 Service Unavailable", "ServerBusy"),
		"timed out": within("500 Internal Server Error", "OperationTimedOut"),
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				table, transport, p := pacedTable(t, refusal, refusal, done)
				etags, err := table.Submit(t.Context(), ops)
				if err != nil || len(etags) != 1 || len(transport.sent) != 3 || p.State().Flows[pace.Write].Refused != 2 {
					t.Errorf("paced: %q, %v, %d requests, %+v", etags, err, len(transport.sent), p.State())
				}
			})
			client, transport := cannedClient(t, refusal, refusal, done)
			if etags, err := client.Table("Orders").Submit(t.Context(), ops); err != nil || len(etags) != 1 || len(transport.sent) != 3 {
				t.Errorf("not paced: %q, %v, %d requests", etags, err, len(transport.sent))
			}
		})
	}
	client, transport := cannedClient(t, within("500 Internal Server Error", "InternalError"))
	_, err := client.Table("Orders").Submit(t.Context(), ops)
	if e := asError(t, err); e.Status != 500 || e.Index != 0 || len(transport.sent) != 1 {
		t.Errorf("another error within: %+v, %d requests", e, len(transport.sent))
	}
}
