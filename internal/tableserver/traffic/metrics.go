package traffic

import (
	"net/http"
	"strconv"
	"strings"
	"sync"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// topPartitions is how many partitions a scrape shows, of the heatCapacity that are counted.
const (
	topPartitions = 20
	heatCapacity  = 500
	// maxAccounts bounds the account label where any account is taken; the others are counted as "other".
	maxAccounts = 500
)

// Metrics counts requests for Prometheus. It is safe for concurrent use.
type Metrics struct {
	registry *prometheus.Registry
	requests *prometheus.CounterVec
	latency  *prometheus.HistogramVec
	entities *prometheus.CounterVec
	bytes    *prometheus.CounterVec
	injected *prometheus.CounterVec
	heat     *Heat

	mu       sync.Mutex
	accounts map[string]bool
}

// NewMetrics returns metrics in a registry of their own.
func NewMetrics(keys Keys) *Metrics {
	m := &Metrics{
		registry: prometheus.NewRegistry(),
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "tableserver_requests_total",
			Help: "Requests answered; status 0 is a dropped connection, a failed batch has the status of its failed part."},
			[]string{"operation", "status", "account"}),
		latency: prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "tableserver_request_duration_seconds",
			Help:    "Time from the request's header to the end of its answer.",
			Buckets: []float64{.0001, .00025, .0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10}},
			[]string{"operation"}),
		entities: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "tableserver_entities_total",
			Help: "Entities read, passed over by a query, or written."}, []string{"operation", "account"}),
		bytes: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "tableserver_body_bytes_total",
			Help: "Bytes of bodies, in from clients and out to them."}, []string{"direction", "account"}),
		injected: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "tableserver_injected_total",
			Help: "Requests that were throttled, or met an injected fault."}, []string{"what"}),
		heat:     NewHeat(heatCapacity),
		accounts: make(map[string]bool),
	}
	m.registry.MustRegister(m.requests, m.latency, m.entities, m.bytes, m.injected, hotPartitions{m.heat, keys},
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m
}

// Add counts a finished request.
func (m *Metrics) Add(r *Request) {
	account := m.label(r.Account)
	m.requests.WithLabelValues(string(r.Operation), strconv.Itoa(r.Status), account).Inc()
	m.latency.WithLabelValues(string(r.Operation)).Observe(r.Duration.Seconds())
	m.entities.WithLabelValues(string(r.Operation), account).Add(float64(r.Entities))
	m.bytes.WithLabelValues("in", account).Add(float64(r.BytesIn))
	m.bytes.WithLabelValues("out", account).Add(float64(r.BytesOut))
	if r.Injected != "" {
		what := "fault"
		if r.Injected == Throttled {
			what = Throttled
		}
		m.injected.WithLabelValues(what).Inc()
	}
}

// Throttled is the Injected of a request that was over a scale target.
const Throttled = "throttled"

// Heat counts the entities of each partition that requests touch.
func (m *Metrics) Heat() *Heat { return m.heat }

// Handler answers scrapes.
func (m *Metrics) Handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{})
}

// label bounds the number of accounts.
func (m *Metrics) label(account string) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.accounts[account] {
		if len(m.accounts) >= maxAccounts {
			return "other"
		}
		m.accounts[account] = true
	}
	return account
}

// hotPartitions shows the busiest partitions of the moment. A partition that is no longer among them is not shown.
type hotPartitions struct {
	heat *Heat
	keys Keys
}

var (
	hotEntities = prometheus.NewDesc("tableserver_partition_entities_total",
		"Entities read, passed over or written in each of the busiest partitions; too large by the overcount at most.",
		[]string{"account", "table", "partition"}, nil)
	hotOvercount = prometheus.NewDesc("tableserver_partition_overcount",
		"By how much tableserver_partition_entities_total may be too large.",
		[]string{"account", "table", "partition"}, nil)
)

// Describe implements prometheus.Collector.
func (hotPartitions) Describe(to chan<- *prometheus.Desc) { to <- hotEntities; to <- hotOvercount }

// Collect implements prometheus.Collector.
func (c hotPartitions) Collect(to chan<- prometheus.Metric) {
	for _, p := range c.heat.Top(topPartitions) {
		labels := []string{p.Account, p.Table, strings.ToValidUTF8(c.keys.Show(p.PartitionKey), "\uFFFD")}
		to <- prometheus.MustNewConstMetric(hotEntities, prometheus.CounterValue, float64(p.Entities), labels...)
		to <- prometheus.MustNewConstMetric(hotOvercount, prometheus.GaugeValue, float64(p.Overcount), labels...)
	}
}
