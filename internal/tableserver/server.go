package tableserver

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/aztenancy/terraform-provider-aztenancy/internal/tableserver/auth"
	"github.com/aztenancy/terraform-provider-aztenancy/internal/tableserver/store"
)

// Options says where a Server keeps its data and for which accounts it answers.
type Options struct {
	// Dir is the folder of the data. Exactly one of Dir and InMemory is set.
	Dir string
	// InMemory keeps everything in memory, without any sync; it is gone after Close.
	InMemory bool
	// Accounts are the accounts to answer for, besides those of the folder that it has keys for; none at all means
	// DevAccount.
	Accounts []Account
	// AnyAccount answers for every further account name that somebody uses, with the published DevKey as its key.
	AnyAccount bool
	// PathStyle takes the account from the path alone, never from the host.
	PathStyle bool
	// HTTPS makes Serve speak HTTPS; nil is HTTP.
	HTTPS *HTTPS
	// Entra says which bearer tokens count and what for; nil refuses them.
	Entra *auth.Entra
	// SkipAuthentication answers every request from this machine, whatever it carries. It goes with no account whose
	// key is given: who gives a key expects it to be asked for.
	SkipAuthentication bool
	// Middleware wraps the server's handler; tests count requests and inject faults with it.
	Middleware func(http.Handler) http.Handler
	// Logger receives what an operator must know; nil discards it.
	Logger *slog.Logger
	// Testing is for people who test.
	Testing Testing
}

// Server answers the Azure Table protocol. It is safe for concurrent use.
type Server struct {
	accounts              []Account
	known                 map[string]bool // names of accounts
	anyAccount, pathStyle bool
	store                 *store.Store
	auth                  *auth.Authenticator
	tls                   *tls.Config // nil for HTTP
	caFile                string      // of a generated certificate
	// localOnly says why the server must not listen beyond this machine; nil when it may.
	localOnly error
	handler   http.Handler
	log       *slog.Logger
	cors      corsCache
	instruments

	properties sync.Mutex // held while service properties are read, changed and written

	bodies bodies

	mu     sync.Mutex // guards the following
	https  []*http.Server
	closed bool
}

// New opens the store and returns a server that is ready to Serve.
func New(o Options) (*Server, error) {
	if o.InMemory == (o.Dir != "") {
		return nil, errors.New("give either a data folder or in-memory storage")
	}
	if err := CheckAccounts(o.Accounts); err != nil {
		return nil, err
	}
	if err := errors.Join(o.Testing.Check(), o.checkAccess(), o.checkHTTPS()); err != nil {
		return nil, err
	}
	localOnly := o.LocalOnly()
	log := o.Logger
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	if localOnly != nil {
		log.Warn("anybody on this machine has access", slog.String("because", localOnly.Error()))
	}
	s := &Server{log: log, known: make(map[string]bool), anyAccount: o.AnyAccount, pathStyle: o.PathStyle, localOnly: localOnly, instruments: o.Testing.start()}
	st, err := store.Open(store.Options{Dir: o.Dir, Logger: log})
	if err != nil {
		return nil, err
	}
	s.store = st
	held, err := st.AccountNames()
	if err != nil {
		return nil, errors.Join(err, st.Close())
	}
	accounts, keyless, err := resolveAccounts(o.Accounts, o.Dir, held)
	if err != nil {
		return nil, errors.Join(err, st.Close())
	}
	s.accounts = accounts
	for _, name := range keyless {
		if o.AnyAccount {
			break // each has a key again
		}
		log.Warn("an account of the data folder is not served: its key was given to an earlier process; give it again",
			slog.String("account", name))
	}
	if err := s.openHTTPS(o); err != nil {
		return nil, errors.Join(err, st.Close())
	}
	signers := make([]auth.Account, len(s.accounts))
	for i, a := range s.accounts {
		s.known[a.Name] = true
		signers[i] = auth.Account{Name: a.Name, Key: auth.NewKey(a.Key).Or(auth.NewKey(a.SecondKey))}
	}
	var anyKey *auth.Key
	if o.AnyAccount {
		key, err := auth.ParseKey(DevKey)
		if err != nil {
			return nil, errors.Join(err, st.Close())
		}
		anyKey = &key
	}
	s.auth = auth.New(auth.Config{Accounts: signers, AnyAccount: anyKey, Policies: policies{st, s.delayed}, Clock: time.Now, Entra: o.Entra,
		SkipAuthentication: o.SkipAuthentication})
	for _, seed := range o.Testing.Seeds {
		if err := s.seed(context.Background(), seed); err != nil {
			return nil, errors.Join(err, st.Close())
		}
	}
	if o.Testing.ControlToken != "" {
		s.control = newController(s, o.Testing.ControlToken)
	}
	s.handler = http.HandlerFunc(s.serveHTTP)
	if o.Middleware != nil {
		s.handler = o.Middleware(s.handler)
	}
	return s, nil
}

// Accounts returns the accounts with their keys, in the order of Options.
func (s *Server) Accounts() []Account { return s.accounts }

// Handler returns the server's handler, wrapped by Options.Middleware.
func (s *Server) Handler() http.Handler { return s.handler }

// The times that a client may take. They bound what a slow or silent one can hold.
const (
	headerTimeout   = 30 * time.Second
	readTimeout     = 2 * time.Minute
	writeTimeout    = 5 * time.Minute // from the end of the headers to the end of the answer
	idleTimeout     = 5 * time.Minute
	shutdownTimeout = 15 * time.Second
)

// Serve answers requests on l until ctx ends or Close is called, lets running requests finish, and returns nil
// then. It closes l. The store stays open until Close.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	if err := s.checkListener(l); err != nil {
		return errors.Join(err, l.Close())
	}
	if s.tls != nil {
		l = tls.NewListener(l, s.tls)
	}
	h := s.httpServer()
	fresh := &freshConns{}
	h.ConnState = fresh.observe
	h.RegisterOnShutdown(fresh.close)
	h.RegisterOnShutdown(s.stop)
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return errors.Join(http.ErrServerClosed, l.Close())
	}
	s.https = append(s.https, h)
	s.mu.Unlock()

	stopped := make(chan error, 1)
	stop := context.AfterFunc(ctx, func() { stopped <- shutdown(h) })
	err := h.Serve(l)
	if !errors.Is(err, http.ErrServerClosed) {
		stop()
		return fmt.Errorf("serve on %s: %w", l.Addr(), err)
	}
	if !stop() {
		return <-stopped
	}
	return nil
}

// httpServer bounds the time and the memory that one connection can take.
func (s *Server) httpServer() *http.Server {
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true) // as the service; its headers are not those of HTTP/2
	return &http.Server{
		Handler:           s.handler,
		Protocols:         protocols,
		ReadHeaderTimeout: headerTimeout,
		ReadTimeout:       readTimeout,
		WriteTimeout:      writeTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    1 << 20, // Orleans sends filters far beyond 16 KiB in the URL
		ErrorLog:          slog.NewLogLogger(s.log.Handler(), slog.LevelDebug),
	}
}

// shutdown lets running requests finish for a while and cuts off those that do not.
func shutdown(h *http.Server) error {
	ctx, cancel := context.WithTimeout(context.Background(), shutdownTimeout)
	defer cancel()
	if err := h.Shutdown(ctx); err != nil {
		return errors.Join(fmt.Errorf("wait for running requests: %w", err), h.Close())
	}
	return nil
}

// Close stops the server, lets running requests finish, and closes the store. It may be called again.
func (s *Server) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil
	}
	s.closed = true
	s.stop()
	var err error
	for _, h := range s.https {
		err = errors.Join(err, shutdown(h))
	}
	return errors.Join(err, s.store.Close())
}

// The reasons to stay on this machine.
var (
	errOpen     = errors.New("authentication is turned off")
	errUnsigned = errors.New("bearer tokens are taken without a check of their signatures, as no key set is given")
)

// LocalOnly says why a server with these options must not listen beyond this machine; nil when it may.
func (o Options) LocalOnly() error {
	switch {
	case o.SkipAuthentication:
		return errOpen
	case o.Entra != nil && !o.Entra.ChecksSignatures():
		return errUnsigned
	}
	return nil
}

// checkAccess refuses options about access that contradict each other.
func (o Options) checkAccess() error {
	for _, a := range o.Accounts {
		if o.SkipAuthentication && len(a.Key) > 0 {
			return fmt.Errorf("account %s has a key, and authentication is turned off: give up one of them", a.Name)
		}
	}
	return nil
}

// checkListener refuses to be reached from elsewhere when that would let everybody in.
func (s *Server) checkListener(l net.Listener) error {
	if s.localOnly == nil {
		return nil
	}
	if at, ok := l.Addr().(*net.TCPAddr); ok && at.IP.IsLoopback() {
		return nil
	}
	return fmt.Errorf("listen on %s: it reaches beyond this machine, and %w", l.Addr(), s.localOnly)
}
