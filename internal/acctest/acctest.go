package acctest

import (
	"net/http"
	"testing"
)

// Server is a running table service.
type Server struct {
	Endpoint string            // http://127.0.0.1:PORT, without an account
	Accounts map[string]string // account name to key, base64
}

// ConnectionString returns the connection string of an account.
func (s *Server) ConnectionString(account string) string { panic("under construction") }

// Option changes how a server is started.
type Option func(*options)

type options struct{}

// WithAccounts names the accounts; without it there is devstoreaccount1 alone. Keys are made up.
func WithAccounts(names ...string) Option { panic("under construction") }

// WithWrap puts a handler around the server, to count requests or inject faults.
func WithWrap(wrap func(http.Handler) http.Handler) Option { panic("under construction") }

// StartServer runs tableserver in this process, in memory, on a free port.
func StartServer(t testing.TB, opts ...Option) *Server { panic("under construction") }

// StartAzurite runs Azurite in memory on a free port. Without Node.js the test fails, or is skipped with -short.
func StartAzurite(t testing.TB, opts ...Option) *Server { panic("under construction") }

// Wrap puts a further handler around a running server made by StartServer.
func (s *Server) Wrap(wrap func(http.Handler) http.Handler) { panic("under construction") }

// CLI is a Terraform or OpenTofu binary.
type CLI struct {
	Path string
	Env  []string // environment for it: TF_CLI_CONFIG_FILE is a file of our own
}

// Terraform finds Terraform or OpenTofu, 1.11 or newer.
func Terraform(t testing.TB) CLI { panic("under construction") }

// AzureCLI returns the path of az; the test is skipped where it is absent.
func AzureCLI(t testing.TB) string { panic("under construction") }
