package tablestorage

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/aztenancy/terraform-provider-aztenancy/internal/edm"
)

// batchServer answers transactions as the service does, and keeps their keys. It reads them with the standard
// library's multipart reader, which is strict.
type batchServer struct {
	t        rapid.TB
	maxBody  int                            // larger bodies are answered 413; 0: MaxBodyBytes
	refuse   func(keys []string) (int, int) // index and status of the operation to refuse; status 0: none
	batches  [][]string                     // PartitionKey/RowKey of each committed transaction
	requests int
}

func (s *batchServer) Do(r *http.Request) (*http.Response, error) {
	s.requests++
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	if r.ContentLength != int64(len(body)) || len(body) > MaxBodyBytes {
		s.t.Errorf("body of %d bytes, said to be %d", len(body), r.ContentLength)
	}
	if s.maxBody > 0 && len(body) > s.maxBody {
		return s.answer(r, 413, "application/json", jsonError("RequestBodyTooLarge", "x")), nil
	}
	keys := s.keysOf(r.Header.Get("Content-Type"), string(body))
	var b strings.Builder
	b.WriteString("--b\r\nContent-Type: multipart/mixed; boundary=c\r\n\r\n")
	part := "--c\r\nContent-Type: application/http\r\nContent-Transfer-Encoding: binary\r\n\r\n"
	if s.refuse != nil {
		if i, status := s.refuse(keys); status != 0 {
			fmt.Fprintf(&b, "%sHTTP/1.1 %d X\r\n\r\n%s\r\n--c--\r\n--b--\r\n", part, status, jsonError("X", fmt.Sprint(i, ":refused")))
			return s.answer(r, 202, "multipart/mixed; boundary=b", b.String()), nil
		}
	}
	s.batches = append(s.batches, keys)
	for _, k := range keys {
		fmt.Fprintf(&b, "%sHTTP/1.1 204 No Content\r\nETag: %s\r\n\r\n\r\n", part, k)
	}
	b.WriteString("--c--\r\n--b--\r\n")
	return s.answer(r, 202, "multipart/mixed; boundary=b", b.String()), nil
}

func (s *batchServer) answer(r *http.Request, status int, contentType, body string) *http.Response {
	return &http.Response{StatusCode: status, Header: http.Header{"Content-Type": {contentType}}, Request: r,
		Body: io.NopCloser(strings.NewReader(body))}
}

// keysOf reads a transaction and checks the form of it.
func (s *batchServer) keysOf(contentType, body string) []string {
	inner := s.parts(contentType, strings.NewReader(body))
	if len(inner) != 1 {
		s.t.Errorf("%d change sets", len(inner))
	}
	var keys []string
	for _, p := range s.parts(inner[0].contentType, strings.NewReader(inner[0].body)) {
		req, err := http.ReadRequest(bufio.NewReader(strings.NewReader(p.body)))
		if err != nil {
			s.t.Errorf("operation: %v in %q", err, p.body)
			return nil
		}
		const host = "https://acct.table.core.windows.net/Orders"
		if p.contentType != "application/http" || !strings.HasPrefix(req.RequestURI, host) {
			s.t.Errorf("operation of %s to %s", p.contentType, req.RequestURI)
		}
		_, payload, _ := strings.Cut(p.body, "\r\n\r\n")
		if req.Method == http.MethodDelete {
			keys = append(keys, req.RequestURI)
			continue
		}
		e, _, err := edm.ParseEntity([]byte(strings.TrimSpace(payload)))
		if err != nil {
			s.t.Errorf("entity: %v in %q", err, payload)
			return nil
		}
		keys = append(keys, e.PartitionKey+"/"+e.RowKey)
	}
	return keys
}

type part struct{ contentType, body string }

func (s *batchServer) parts(contentType string, body io.Reader) []part {
	_, params, err := mime.ParseMediaType(contentType)
	if err != nil {
		s.t.Errorf("content type %q: %v", contentType, err)
		return nil
	}
	var parts []part
	for r := multipart.NewReader(body, params["boundary"]); ; {
		p, err := r.NextRawPart()
		if errors.Is(err, io.EOF) {
			return parts
		}
		if err != nil {
			s.t.Errorf("part %d: %v", len(parts), err)
			return parts
		}
		content, err := io.ReadAll(p)
		if err != nil {
			s.t.Errorf("part %d: %v", len(parts), err)
		}
		parts = append(parts, part{p.Header.Get("Content-Type"), string(content)})
	}
}

func (s *batchServer) table() *Table {
	c, err := NewClient(Account{Name: "acct", Credential: SharedKey{NewSecret(testKey)}}, &ClientOptions{Transport: s, Retry: quickRetry})
	if err != nil {
		s.t.Fatal(err)
	}
	return c.Table("Orders")
}

// upsert is an operation on an entity with a text of this many bytes.
func upsert(pk, rk string, size int) Operation {
	e := &edm.Entity{PartitionKey: pk, RowKey: rk}
	for i := 0; size > 0; i++ {
		n := min(size, 32<<10)
		e.Set(fmt.Sprintf("P%d", i), edm.StringValue(strings.Repeat("x", n)))
		size -= n
	}
	return Operation{Kind: OpUpsertReplace, Entity: e}
}

// Whatever is added, in whatever order of partitions: nothing is lost or done twice, each partition's operations come
// in order, and each transaction is one that the service takes: one partition, no key twice, at most 100 operations
// and 4 MiB (which batchServer checks).
func TestBatchesHoldEverythingInOrderAndWithinTheLimits(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := &batchServer{t: t, maxBody: rapid.SampledFrom([]int{0, 3 << 20, 100 << 10}).Draw(t, "server's limit")}
		w := NewBatchWriter(s.table())
		var acknowledged int
		w.Acknowledged = func(ops []Operation, etags []string) {
			acknowledged += len(ops)
			for i, op := range ops {
				if etags[i] != op.Entity.PartitionKey+"/"+op.Entity.RowKey {
					t.Errorf("operation %d has ETag %s", i, etags[i])
				}
			}
		}
		added := map[string][]string{}
		partitions := rapid.SampledFrom([][]string{{"a"}, {"a", "b", ""}}).Draw(t, "partitions")
		n := rapid.IntRange(0, 150).Draw(t, "operations")
		big := rapid.SampledFrom([]int{0, 0, 0, 90 << 10}).Draw(t, "size")
		for range n {
			pk := rapid.SampledFrom(partitions).Draw(t, "pk")
			rk := fmt.Sprint(rapid.IntRange(0, 200).Draw(t, "rk"))
			if err := w.Add(t.Context(), upsert(pk, rk, big)); err != nil {
				t.Fatal(err)
			}
			added[pk] = append(added[pk], pk+"/"+rk)
		}
		if err := w.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
		committed := map[string][]string{}
		for _, keys := range s.batches {
			pk, _, _ := strings.Cut(keys[0], "/")
			seen := map[string]bool{}
			for _, k := range keys {
				if !strings.HasPrefix(k, pk+"/") || seen[k] || len(keys) > MaxOperations {
					t.Fatalf("transaction %v", keys)
				}
				seen[k] = true
			}
			committed[pk] = append(committed[pk], keys...)
		}
		if d := cmp.Diff(added, committed); d != "" {
			t.Error(d)
		}
		if acknowledged != n || w.bytes != 0 {
			t.Errorf("%d of %d acknowledged, %d bytes left", acknowledged, n, w.bytes)
		}
	})
}

// The accounting must be exact: four entities of nearly 1 MiB fit, as headers of parts leave them room, and a byte more
// does not.
func TestBodiesAreFilledToTheLastByte(t *testing.T) {
	s := &batchServer{t: t}
	x := newTransaction(s.table())
	if _, err := x.add(upsert("p", "1", 0)); err != nil {
		t.Fatal(err)
	}
	one := x.size() - newTransaction(s.table()).size() // bytes of an operation without text
	for _, spare := range []int{0, -1} {
		x := newTransaction(s.table())
		e := &edm.Entity{PartitionKey: "p", RowKey: "1"}
		const property = `,"P":""`
		e.Set("P", edm.StringValue(strings.Repeat("x", MaxBodyBytes-x.size()-one-len(property)-spare)))
		ok, err := x.add(Operation{Kind: OpUpsertReplace, Entity: e})
		if err != nil || ok != (spare == 0) {
			t.Fatalf("%d to spare: %v %v", spare, ok, err)
		}
		if !ok {
			continue
		}
		if x.size() != MaxBodyBytes {
			t.Errorf("%d bytes", x.size())
		}
		if _, err := x.send(t.Context()); err != nil { // batchServer compares the length
			t.Error(err)
		}
	}
}

func TestEntitiesOfNearlyOneMiBAreSent(t *testing.T) {
	s := &batchServer{t: t}
	w := NewBatchWriter(s.table())
	for i := range 9 {
		// Half of 1 MiB in UTF-16 units is the largest text that an entity may hold: as many bytes here, three times
		// as many where each character takes three.
		e := upsert("p", fmt.Sprint(i), 500<<10)
		if i == 4 {
			for n := range 15 {
				e.Entity.Set(fmt.Sprintf("P%d", n), edm.StringValue(strings.Repeat("\u0800", 32<<10)))
			}
		}
		if err := w.Add(t.Context(), e); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	if len(s.batches) < 2 {
		t.Errorf("%d transactions", len(s.batches))
	}
}

func TestAnOperationThatFitsNoBodyIsRefusedAlone(t *testing.T) {
	s := &batchServer{t: t}
	w := NewBatchWriter(s.table())
	if err := w.Add(t.Context(), upsert("p", "1", 0)); err != nil {
		t.Fatal(err)
	}
	err := w.Add(t.Context(), upsert("p", "2", 5<<20))
	var b *BatchError
	if !errors.As(err, &b) || !errors.Is(err, ErrTooLarge) || len(b.Operations) != 1 || b.Operations[0].Entity.RowKey != "2" {
		t.Fatalf("got %v", err)
	}
	if err := w.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([][]string{{"p/1"}}, s.batches); d != "" {
		t.Error(d)
	}
	s.maxBody = 1
	if err := errors.Join(w.Add(t.Context(), upsert("p", "1", 0)), w.Flush(t.Context())); !errors.Is(err, ErrTooLarge) {
		t.Errorf("one operation that the service finds too large: %v", err)
	}
}

// Conflicts with what is there already are the daily bread of a copy that goes on after a crash.
func TestRefusedTransactionsAreResolved(t *testing.T) {
	there := map[string]bool{"p/2": true, "p/5": true}
	s := &batchServer{t: t, refuse: func(keys []string) (int, int) {
		for i, k := range keys {
			if there[k] {
				return i, 409
			}
		}
		return 0, 0
	}}
	w := NewBatchWriter(s.table())
	for i := range 8 {
		if err := w.Add(t.Context(), upsert("p", fmt.Sprint(i), 0)); err != nil {
			t.Fatal(err)
		}
	}
	w.Resolve = func(_ context.Context, ops []Operation, refused *Error) ([]Operation, error) {
		if refused.Status != 409 || !there[ops[refused.Index].Entity.PartitionKey+"/"+ops[refused.Index].Entity.RowKey] {
			return nil, refused
		}
		return append(ops[:refused.Index:refused.Index], ops[refused.Index+1:]...), nil
	}
	if err := w.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([][]string{{"p/0", "p/1", "p/3", "p/4", "p/6", "p/7"}}, s.batches); d != "" {
		t.Error(d)
	}
	w.Resolve = nil
	err := errors.Join(w.Add(t.Context(), upsert("p", "1", 0)), w.Add(t.Context(), upsert("p", "2", 0)), w.Flush(t.Context()))
	var b *BatchError
	if e := asError(t, err); !errors.As(err, &b) || len(b.Operations) != 2 || e.Index != 1 || e.Status != 409 || e.Operation != "upsert entity" {
		t.Errorf("got %#v", err)
	}
}

func TestGuardsGoFirstAndStayHidden(t *testing.T) {
	gone := false
	s := &batchServer{t: t, refuse: func(keys []string) (int, int) {
		if keys[0] != "p/guard" {
			t.Errorf("transaction %v has no guard", keys)
		}
		if gone {
			return 0, 404
		}
		return 0, 0
	}}
	w := NewBatchWriter(s.table())
	w.Guard = func(partition string) Operation {
		return Operation{Kind: OpMerge, Entity: &edm.Entity{PartitionKey: partition, RowKey: "guard"}, ETag: AnyETag}
	}
	acknowledged := 0
	w.Acknowledged = func(ops []Operation, etags []string) {
		acknowledged += len(ops)
		if len(ops) != len(etags) || ops[0].Entity.RowKey == "guard" {
			t.Errorf("acknowledged %v with %v", ops, etags)
		}
	}
	for i := range 150 {
		if err := w.Add(t.Context(), upsert("p", fmt.Sprint(i), 0)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Flush(t.Context()); err != nil || acknowledged != 150 || len(s.batches) != 2 || len(s.batches[0]) != MaxOperations {
		t.Errorf("%d acknowledged in %d transactions: %v", acknowledged, len(s.batches), err)
	}
	gone = true
	if err := errors.Join(w.Add(t.Context(), upsert("p", "x", 0)), w.Flush(t.Context())); !errors.Is(err, ErrGuardGone) {
		t.Errorf("got %v", err)
	}
}

func TestTransactionsOfMoreThanTheServiceTakesAreNotSent(t *testing.T) {
	s := &batchServer{t: t}
	ops := make([]Operation, MaxOperations+1)
	for i := range ops {
		ops[i] = upsert("p", fmt.Sprint(i), 0)
	}
	_, err := s.table().Submit(t.Context(), ops)
	if e := asError(t, err); !errors.Is(err, ErrTooLarge) || e.Index != MaxOperations || s.requests != 0 {
		t.Errorf("got %v after %d requests", err, s.requests)
	}
	if etags, err := s.table().Submit(t.Context(), nil); err != nil || len(etags) != 0 || s.requests != 0 {
		t.Errorf("nothing to do: %v %v", etags, err)
	}
}

func TestAnswersOfFewerPartsLeaveTheOutcomeOpen(t *testing.T) {
	c, _ := cannedClient(t, answer{status: 202, header: map[string]string{"Content-Type": batchType}, body: crlfText(committed)})
	_, err := c.Table("Orders").Submit(t.Context(), []Operation{upsert("p", "1", 0), upsert("p", "2", 0), upsert("p", "3", 0)})
	if e := asError(t, err); !e.Retried || !strings.Contains(err.Error(), "2 parts for 3 operations") {
		t.Errorf("got %v", err)
	}
	c, _ = cannedClient(t, answer{status: 202, header: map[string]string{"Content-Type": "application/json"}, body: jsonError("InvalidInput", "0:bad")})
	_, err = c.Table("Orders").Submit(t.Context(), []Operation{upsert("p", "1", 0), upsert("p", "2", 0)})
	if e := asError(t, err); e.Code != "InvalidInput" || e.Index != 0 || e.Message != "bad" {
		t.Errorf("got %#v", e)
	}
}
