package tableserver

import (
	"context"
	"log/slog"
	"net"
	"net/http"
)

// DevAccount and DevKey are the published credentials of the storage emulator. They are no secret.
const (
	DevAccount = "devstoreaccount1"
	DevKey     = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="
)

// Account is a storage account that the server answers for.
type Account struct {
	// Name is 3 to 24 lower-case letters and digits.
	Name string
	// Key is the decoded account key. New fills an empty one: with DevKey for DevAccount, else with a generated
	// key that is kept in Options.Dir.
	Key []byte
}

// Options says where a Server keeps its data and for which accounts it answers.
type Options struct {
	// Dir is the folder of the data. Exactly one of Dir and InMemory is set.
	Dir string
	// InMemory keeps everything in memory, without any sync; it is gone after Close.
	InMemory bool
	// Accounts are the accounts to answer for; none means DevAccount.
	Accounts []Account
	// Middleware wraps the server's handler; tests count requests and inject faults with it.
	Middleware func(http.Handler) http.Handler
	// Logger receives what an operator must know; nil discards it.
	Logger *slog.Logger
}

// Server answers the Azure Table protocol. It is safe for concurrent use.
type Server struct {
	accounts []Account
	handler  http.Handler
}

// New opens the store and returns a server that is ready to Serve.
func New(o Options) (*Server, error) {
	panic("under construction")
}

// Accounts returns the accounts with their keys, in the order of Options.
func (s *Server) Accounts() []Account { return s.accounts }

// Handler returns the server's handler, wrapped by Options.Middleware.
func (s *Server) Handler() http.Handler { return s.handler }

// Serve answers requests on l until ctx ends or Close is called, lets running requests finish, and returns nil
// then. It closes l. The store stays open until Close.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	panic("under construction")
}

// Close stops the server and closes the store.
func (s *Server) Close() error { panic("under construction") }

// Endpoint returns the path-style table endpoint of an account at a listening address, with a trailing slash:
// http://127.0.0.1:10002/devstoreaccount1/.
func Endpoint(addr net.Addr, account string) string {
	return "http://" + addr.String() + "/" + account + "/"
}

// ConnectionString returns the connection string of an account. It holds the account key.
func (a Account) ConnectionString(endpoint string) string { panic("under construction") }
