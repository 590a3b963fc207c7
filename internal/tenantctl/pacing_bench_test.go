package tenantctl

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aztenancy/terraform-provider-aztenancy/internal/acctest"
	"github.com/aztenancy/terraform-provider-aztenancy/internal/catalog"
	"github.com/aztenancy/terraform-provider-aztenancy/internal/edm"
	"github.com/aztenancy/terraform-provider-aztenancy/internal/tablestorage"
	"github.com/aztenancy/terraform-provider-aztenancy/internal/tenancy"
)

// The quick form; make bench-pacing says how to run the long one.
var (
	benchRows    = flag.Int("pacing.rows", 20000, "entities of the tenant that BenchmarkPacing moves")
	benchAccount = flag.Int("pacing.account", 3000, "entities a second that an account is held to")
	benchHot     = flag.Int("pacing.partition", 300, "entities a second that a partition is held to")
)

// benchBuckets is over how many partitions the tenant is spread.
const benchBuckets = 64

// writes are the transactions that the target saw.
type writes struct {
	mu              sync.Mutex
	first, last     time.Time
	asked, refused  int
	operations      int // of those that were carried out
	sourceAsked     int
	sourceRefusions int
}

// statusWriter keeps an answer's status and body.
type statusWriter struct {
	http.ResponseWriter
	status int
	busy   bool // refused within
}

func (s *statusWriter) WriteHeader(status int) {
	s.status = status
	s.ResponseWriter.WriteHeader(status)
}

func (s *statusWriter) Write(p []byte) (int, error) {
	s.busy = s.busy || bytes.Contains(p, []byte("HTTP/1.1 503"))
	return s.ResponseWriter.Write(p)
}

// count counts the requests to entities of the two accounts' tables.
func (w *writes) count(h http.Handler) http.Handler {
	return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		s := &statusWriter{ResponseWriter: rw, status: http.StatusOK}
		target, n := strings.HasPrefix(r.URL.Path, "/premiumacct/$batch"), 0
		if target {
			var err error
			if n, err = operations(r); err != nil {
				http.Error(rw, err.Error(), http.StatusBadRequest)
				return
			}
		}
		h.ServeHTTP(s, r)
		refused := s.busy || s.status == http.StatusServiceUnavailable
		w.mu.Lock()
		defer w.mu.Unlock()
		switch {
		case target:
			if w.first.IsZero() {
				w.first = time.Now()
			}
			w.asked++
			if refused {
				w.refused++
				return
			}
			w.last = time.Now()
			w.operations += n
		case strings.HasPrefix(r.URL.Path, "/homeacct/Strikes()"):
			w.sourceAsked++
			if refused {
				w.sourceRefusions++
			}
		}
	})
}

// operations counts the operations of a transaction, whose body can still be read.
func operations(r *http.Request) (int, error) {
	body, err := io.ReadAll(r.Body)
	r.Body = io.NopCloser(bytes.NewReader(body))
	return bytes.Count(body, []byte("Content-Type: application/http")), err
}

// BenchmarkPacing moves a tenant from a shared table to an account of its own, both held to scale targets, while a neighbour reads
// and writes in the shared table. It prints the share of the target that the copy used, the part of its transactions that were
// refused, and the neighbour's p99 during the move over its p99 without one.
func BenchmarkPacing(b *testing.B) {
	for b.Loop() {
		benchPacing(b)
	}
}

func benchPacing(b *testing.B) {
	w := newWorld(b, acctest.WithScaleTargets(fmt.Sprintf("partition=%d,account=%d", *benchHot, *benchAccount)))
	seen := &writes{}
	benchTenants(b, w)
	alone := benchNeighbour(b, w, func() { time.Sleep(5 * time.Second) })
	w.server.Wrap(seen.count)
	limit := max(2*alone, 50*time.Millisecond)
	during := benchNeighbour(b, w, func() {
		w.mustRun(exitDone, "migrate", "contoso", "--to", "own-64", "--account", "premium", "--workers", "16", "--max-neighbour-p99", limit.String())
	})
	d := seen.last.Sub(seen.first).Seconds()
	b.ReportMetric(100*float64(seen.operations)/(d*float64(*benchAccount)), "%-of-target")
	b.ReportMetric(100*float64(seen.refused)/float64(seen.asked), "%-refused")
	b.ReportMetric(100*float64(seen.sourceRefusions)/float64(seen.sourceAsked), "%-reads-refused")
	b.ReportMetric(float64(during)/float64(alone), "neighbour-p99-ratio")
	b.ReportMetric(alone.Seconds()*1000, "neighbour-p99-ms-alone")
	b.ReportMetric(d, "s-copying")
	b.ReportMetric(0, "ns/op")
}

// benchTenants declares a tenant of many entities in a shared table, and a neighbour.
func benchTenants(b *testing.B, w *world) {
	b.Helper()
	scheme := tenancy.KeyScheme{Kind: tenancy.SchemeBucketed, Separator: "|", Buckets: benchBuckets}
	for _, m := range []tenancy.Model{
		{Name: "pool-64", Kind: tenancy.SharedTable, Account: "home", Tables: map[string]string{"strikes": "Strikes"}, KeyScheme: scheme},
		{Name: "own-64", Kind: tenancy.DedicatedAccount, Tables: map[string]string{"strikes": "Strikes{tenant}"}, KeyScheme: scheme},
	} {
		_, err := w.catalog.CreateModel(b.Context(), m)
		must(b, err)
	}
	p := &catalog.Provisioner{Catalog: w.catalog, Accounts: w.accounts}
	for _, id := range []string{"contoso", "neighbour"} {
		_, err := p.Create(b.Context(), catalog.TenantSpec{ID: id, Model: "pool-64"})
		must(b, err)
	}
	text := strings.Repeat("x", 200)
	var rows strings.Builder
	rows.WriteString("Who,N,Text\n")
	for i := range *benchRows {
		fmt.Fprintf(&rows, "contoso,%d,%s\n", i, text)
	}
	w.file("rows.csv", rows.String())
	w.mustRun(exitDone, "import", "--file", "rows.csv", "--table", "strikes", "--tenant-column", "Who", "--row-key-column", "N")
}

// benchNeighbour lets the neighbour read and write an entity in turn, 50 of each a second, while something is done, and returns
// the p99 of its requests, tries after refusals included.
func benchNeighbour(b *testing.B, w *world, do func()) time.Duration {
	b.Helper()
	table := w.accounts.Home().Table("Strikes")
	e := &edm.Entity{PartitionKey: "neighbour|00", RowKey: "row"}
	e.Set("Text", edm.StringValue("the neighbour's"))
	_, err := table.UpsertReplace(b.Context(), e)
	must(b, err)
	ctx, cancel := context.WithCancel(b.Context())
	var times []time.Duration
	var wg sync.WaitGroup
	wg.Go(func() {
		ticker := time.NewTicker(10 * time.Millisecond)
		defer ticker.Stop()
		for i := 0; ; i++ {
			select {
			case <-ctx.Done():
				return
			case <-ticker.C:
			}
			start := time.Now()
			if err := benchRequest(ctx, table, e, i%2 == 0); err != nil && ctx.Err() == nil {
				b.Errorf("the neighbour: %v", err)
				return
			}
			times = append(times, time.Since(start))
		}
	})
	do()
	cancel()
	wg.Wait()
	slices.Sort(times)
	return times[len(times)*99/100]
}

func benchRequest(ctx context.Context, table *tablestorage.Table, e *edm.Entity, read bool) error {
	if read {
		_, err := table.Get(ctx, e.Key())
		return err
	}
	_, err := table.UpsertReplace(ctx, e)
	return err
}
