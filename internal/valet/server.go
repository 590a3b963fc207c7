package valet

import (
	"context"
	"crypto"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/aztenancy/terraform-provider-aztenancy/internal/access"
	"github.com/aztenancy/terraform-provider-aztenancy/internal/catalog"
	"github.com/aztenancy/terraform-provider-aztenancy/internal/tenancy"
)

// Limits of a request and of a connection.
const (
	maxBody      = 16 << 10
	answerWithin = 30 * time.Second
	drainWithin  = 10 * time.Second
)

// Server answers
//
//	POST /v1/tenants/TENANT/tokens   {"scope": "read" or "write", "tables": [logical tables], all if left out}
//	GET  /healthz
//
// The first wants a JWT whose claim names the tenant, and is answered with an access.Document. A tenant that the caller may
// not have, and one that is not there, answer alike, and the catalog is only asked about the first. It is safe for
// concurrent use and keeps nothing between requests, so several may run side by side.
type Server struct {
	config Config
	issuer *access.Issuer
	keys   map[string]crypto.PublicKey
	parser *jwt.Parser
	audit  *slog.Logger // who, tenant, scope, expiry; never a token
}

// New reads the issuer's keys.
func New(c Config, issuer *access.Issuer, audit *slog.Logger) (*Server, error) {
	keys, err := readKeys(c.JWKSFile)
	if err != nil {
		return nil, err
	}
	return &Server{config: c, issuer: issuer, keys: keys, parser: c.parser(), audit: audit}, nil
}

// Serve answers until ctx ends, and then finishes the requests under way.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	server := &http.Server{Handler: s.Handler(), ReadHeaderTimeout: answerWithin, ReadTimeout: answerWithin, WriteTimeout: 2 * answerWithin,
		MaxHeaderBytes: maxBody, ErrorLog: slog.NewLogLogger(s.audit.Handler(), slog.LevelWarn)}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	stopped := make(chan error, 1)
	go func() {
		<-ctx.Done()
		within, cancel := context.WithTimeout(context.WithoutCancel(ctx), drainWithin)
		defer cancel()
		stopped <- server.Shutdown(within)
	}()
	err := server.Serve(l)
	if errors.Is(err, http.ErrServerClosed) {
		err = nil
	}
	stop()
	return errors.Join(err, <-stopped)
}

// Handler returns the service.
func (s *Server) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/tenants/{tenant}/tokens", s.tokens)
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "ok\n") })
	return mux
}

// tokenRequest is the body of a request for tokens.
type tokenRequest struct {
	Scope  string   `json:"scope"`
	Tables []string `json:"tables"`
}

// refusal is an answer that is no token.
type refusal struct {
	status int
	code   string
	text   string
}

var (
	unauthorized = refusal{http.StatusUnauthorized, "unauthorized", "a valid bearer token is needed"}
	badRequest   = refusal{http.StatusBadRequest, "bad_request", `the body must be like {"scope": "read", "tables": ["orders"]}`}
	noTenant     = refusal{http.StatusNotFound, "no_such_tenant", "there is no such tenant for this caller"}
	noScope      = refusal{http.StatusForbidden, "scope", "the bearer token lacks this scope"}
	held         = refusal{http.StatusConflict, "held", "the tenant is moving and cannot be written now: try again, or ask for scope read"}
	noTables     = refusal{http.StatusBadRequest, "no_such_table", "the tenant has no such logical table"}
	unavailable  = refusal{http.StatusServiceUnavailable, "unavailable", "there are no tokens now"}
)

// tokens answers a request for tokens.
func (s *Server) tokens(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithTimeout(r.Context(), answerWithin)
	defer cancel()
	who, err := s.authenticate(r)
	if err != nil {
		s.refuse(w, who, "", "", unauthorized, err)
		return
	}
	tenant := r.PathValue("tenant")
	var asked tokenRequest
	decoder := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxBody))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&asked); err != nil || asked.Scope != scopeRead && asked.Scope != scopeWrite {
		s.refuse(w, who, tenant, asked.Scope, badRequest, err)
		return
	}
	switch {
	case tenancy.ValidateID(tenant) != nil || tenant != who.tenant:
		s.refuse(w, who, tenant, asked.Scope, noTenant, nil)
		return
	case !who.may(asked.Scope):
		s.refuse(w, who, tenant, asked.Scope, noScope, nil)
		return
	}
	request := access.Request{TenantID: tenant, Tables: asked.Tables, Permissions: access.Permissions{access.Read}, TTL: s.config.ttlOf(tenant),
		AllowUnenforcedRanges: s.config.AllowUnenforcedRanges}
	if asked.Scope == scopeWrite {
		request.Permissions = access.AllPermissions
	}
	grant, err := s.issuer.Issue(ctx, request)
	if err != nil {
		s.refuse(w, who, tenant, asked.Scope, reasonOf(err), err)
		return
	}
	s.audit.Info("issued", "subject", who.subject, "tenant", tenant, "scope", asked.Scope, "expiry", grant.Expiry, "epoch", grant.Epoch)
	answer(w, http.StatusOK, grant.Reveal())
}

// reasonOf says as much of an error as a caller may know.
func reasonOf(err error) refusal {
	var wrong *access.RequestError
	switch {
	case errors.Is(err, catalog.ErrNoCatalog):
		return unavailable
	case errors.Is(err, catalog.ErrNotFound), errors.Is(err, access.ErrNotReady):
		return noTenant
	case errors.Is(err, access.ErrHeld):
		return held
	case errors.As(err, &wrong):
		return noTables
	}
	return unavailable
}

// refuse answers without a token. Why goes to the audit log alone.
func (s *Server) refuse(w http.ResponseWriter, who caller, tenant, scope string, why refusal, err error) {
	attributes := []any{"subject", who.subject, "tenant", tenant, "scope", scope, "answer", why.code}
	if err != nil {
		attributes = append(attributes, "because", err.Error())
	}
	s.audit.Warn("refused", attributes...)
	if why == held || why == unavailable {
		w.Header().Set("Retry-After", "5")
	}
	if why == unauthorized {
		w.Header().Set("WWW-Authenticate", "Bearer")
	}
	answer(w, why.status, map[string]any{"error": map[string]string{"code": why.code, "message": why.text}})
}

func answer(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body) // the caller has gone: there is nobody to tell
}
