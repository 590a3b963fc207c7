package tenantctl

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/aztenancy/terraform-provider-aztenancy/internal/tablestorage/pace"
)

// The metrics of a command at work. Labels name accounts, never tenants' data.
var (
	metricEntities = prometheus.NewDesc("tenantctl_entities_total", "Entities that a phase of the work has done.", []string{"phase"}, nil)
	metricWaiting  = prometheus.NewDesc("tenantctl_requests_waiting", "Requests that are held back at present.", nil, nil)
	metricPaused   = prometheus.NewDesc("tenantctl_paused", "1 while the work is paused.", nil, nil)
	metricRate     = prometheus.NewDesc("tenantctl_pace_entities_per_second", "Entities a second that may be sent at present.", []string{"account", "kind"}, nil)
	metricSent     = prometheus.NewDesc("tenantctl_sent_entities_total", "Entities in requests that were sent, as the service counts them.", []string{"account", "kind"}, nil)
	metricRequests = prometheus.NewDesc("tenantctl_requests_total", "Requests that were sent.", []string{"account", "kind"}, nil)
	metricRefused  = prometheus.NewDesc("tenantctl_requests_refused_total", "Requests that the service refused for being busy.", []string{"account", "kind"}, nil)
	metricP99      = prometheus.NewDesc("tenantctl_neighbour_p99_seconds", "Time of point reads of other tenants, the 99th of 100.", []string{"account"}, nil)
)

// Describe implements prometheus.Collector.
func (p *paced) Describe(c chan<- *prometheus.Desc) { prometheus.DescribeByCollect(p, c) }

// Collect implements prometheus.Collector.
func (p *paced) Collect(c chan<- prometheus.Metric) {
	gauge := func(d *prometheus.Desc, v float64, labels ...string) {
		c <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, labels...)
	}
	count := func(d *prometheus.Desc, v int64, labels ...string) {
		c <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, float64(v), labels...)
	}
	state := p.pacer.State()
	gauge(metricWaiting, float64(state.Waiting))
	paused := 0.0
	if state.Paused {
		paused = 1
	}
	gauge(metricPaused, paused)
	for _, f := range state.Flows {
		kind := f.Kind.String()
		gauge(metricRate, f.Rate, f.Account, kind)
		count(metricSent, f.Entities, f.Account, kind)
		count(metricRequests, f.Requests, f.Account, kind)
		count(metricRefused, f.Refused, f.Account, kind)
		if f.Kind == pace.Read && f.Neighbours > 0 {
			gauge(metricP99, f.Neighbours.Seconds(), f.Account)
		}
	}
	p.progress.mu.Lock()
	defer p.progress.mu.Unlock()
	for phase, n := range p.progress.done {
		count(metricEntities, n, phase)
	}
}

// serveMetrics serves the metrics until ctx ends, and says where.
func (p *paced) serveMetrics(ctx context.Context) error {
	registry := prometheus.NewRegistry()
	if err := registry.Register(p); err != nil {
		return fmt.Errorf("make the metrics: %w", err)
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", p.options.MetricsListen)
	if err != nil {
		return fmt.Errorf("serve metrics (--metrics-listen): %w", err)
	}
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(registry, promhttp.HandlerOpts{}))
	server := &http.Server{Handler: mux, ReadHeaderTimeout: 5 * time.Second}
	p.running.Go(func() { _ = server.Serve(listener) })
	p.running.Go(func() {
		<-ctx.Done()
		_ = server.Close()
	})
	p.progress.Note(fmt.Sprintf("Metrics are at http://%s/metrics.", listener.Addr()))
	return nil
}
