package tableserver

import (
	"io"
	"log/slog"
	"net/http"
	"strings"

	"github.com/aztenancy/terraform-provider-aztenancy/internal/tableserver/control"
)

// reserved is the path below which everything lies that is not Azure's, but for health and metrics. No account and no
// table can have this name.
const reserved = control.Prefix

// beside returns who answers a request that is not one to the table service; nil if it is one. A host name that names
// an account leads to the service only, where healthz is a table like others.
func (s *Server) beside(r *http.Request) http.Handler {
	path := r.URL.Path
	if s.control != nil && strings.HasPrefix(path, reserved) {
		return s.control
	}
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		return nil
	}
	var found http.Handler
	switch path {
	case "/healthz":
		found = http.HandlerFunc(s.healthz)
	case "/readyz":
		found = http.HandlerFunc(s.readyz)
	case "/metrics":
		if s.scrapes == nil {
			return nil
		}
		found = s.scrapes
	default:
		return nil
	}
	if _, _, account := s.accountOfHost(r.Host); account {
		return nil
	}
	return found
}

// healthz says whether the process works. A server that stops is healthy.
func (s *Server) healthz(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	if err := s.store.Healthy(r.Context()); err != nil {
		s.log.Error("health check", slog.Any("error", err))
		w.WriteHeader(http.StatusServiceUnavailable)
		_, _ = io.WriteString(w, "storage does not take writes\n")
		return
	}
	_, _ = io.WriteString(w, "ok\n")
}

// readyz says whether new requests should come here: not any more once the server stops.
func (s *Server) readyz(w http.ResponseWriter, r *http.Request) {
	select {
	case <-s.stopping:
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		w.WriteHeader(http.StatusServiceUnavailable)
		_, _ = io.WriteString(w, "stopping\n")
	default:
		s.healthz(w, r)
	}
}
