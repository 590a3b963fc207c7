package tableserver

import (
	"crypto/tls"
	"net/http"
	"time"

	"github.com/aztenancy/terraform-provider-aztenancy/internal/tableserver/traffic"
)

// exchange is what one request and its answer come to. The calls inside a batch share that of the batch.
type exchange struct {
	traffic.Request
	answering bool // the faults after the commit were asked
}

// meter counts what goes out.
type meter struct {
	http.ResponseWriter
	status int
	bytes  int64
}

// WriteHeader implements http.ResponseWriter.
func (m *meter) WriteHeader(status int) {
	if m.status == 0 {
		m.status = status
	}
	m.ResponseWriter.WriteHeader(status)
}

// Write implements http.ResponseWriter.
func (m *meter) Write(b []byte) (int, error) {
	if m.status == 0 {
		m.status = http.StatusOK
	}
	n, err := m.ResponseWriter.Write(b)
	m.bytes += int64(n)
	return n, err
}

// Unwrap lets http.ResponseController reach the connection.
func (m *meter) Unwrap() http.ResponseWriter { return m.ResponseWriter }

// connection is the writer that net/http gave; http.MaxBytesReader knows no other.
func (c *call) connection() http.ResponseWriter {
	if m, ok := c.w.(*meter); ok {
		return m.ResponseWriter
	}
	return c.w
}

// finish records the request once it is over. A dropped connection keeps status 0.
func (c *call) finish(m *meter) {
	if c.s.accessLog == nil && c.s.metrics == nil {
		return
	}
	e := &c.seen.Request
	if e.Status == 0 {
		e.Status = m.status
	}
	e.BytesOut = m.bytes
	e.Duration = time.Since(e.Start)
	if c.s.metrics != nil {
		c.s.metrics.Add(e)
	}
	if c.s.accessLog == nil {
		return
	}
	e.ID, e.ClientID = c.id, c.r.Header.Get("x-ms-client-request-id")
	e.Remote, e.UserAgent, e.Version = c.r.RemoteAddr, c.r.UserAgent(), c.r.Header.Get("x-ms-version")
	e.URL = c.r.URL
	if c.r.TLS != nil {
		e.TLS = tls.VersionName(c.r.TLS.Version)
	}
	c.s.accessLog.Write(e, c.r.Host)
}
