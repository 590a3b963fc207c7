package acctest

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/aztenancy/terraform-provider-aztenancy/internal/tableserver/control"
)

// DefaultAccount is the account that a server has if none are named.
const DefaultAccount = "devstoreaccount1"

// Server is a running table service. It stops when the test ends.
type Server struct {
	Endpoint string            // http://127.0.0.1:PORT, without an account
	Accounts map[string]string // account name to its key, base64
	// Control injects faults, throttles, resets and copies accounts while the server runs; nil for Azurite.
	Control *control.Client
	wraps   *wraps // nil where the server is another process
}

// ConnectionString returns the connection string of an account of the server.
func (s *Server) ConnectionString(account string) string {
	return "DefaultEndpointsProtocol=http;AccountName=" + account + ";AccountKey=" + s.Accounts[account] +
		";TableEndpoint=" + s.TableEndpoint(account) + ";"
}

// TableEndpoint returns the table endpoint of an account, without a trailing slash.
func (s *Server) TableEndpoint(account string) string { return s.Endpoint + "/" + account }

// Wrap puts a further handler around a server of StartServer, outside of those that are there. It counts requests,
// injects faults or delays, while the server runs.
func (s *Server) Wrap(wrap func(http.Handler) http.Handler) {
	if s.wraps == nil {
		panic("acctest: only a server in this process can be wrapped")
	}
	s.wraps.add(wrap)
}

// Option changes how a server is started.
type Option func(*options)

type options struct {
	accounts []string
	targets  string
	wraps    []func(http.Handler) http.Handler
}

// WithAccounts names the accounts, 3 to 24 lower-case letters and digits each. Their keys are made up, the same for
// each name every time.
func WithAccounts(names ...string) Option {
	return func(o *options) { o.accounts = append(o.accounts, names...) }
}

// WithScaleTargets makes the server of StartServer answer 503 beyond so many entities a second, as tableserver's
// --scale-targets has it: "azure", or "partition=N,account=M".
func WithScaleTargets(targets string) Option {
	return func(o *options) { o.targets = targets }
}

// WithWrap puts a handler around the server, as Server.Wrap does.
func WithWrap(wrap func(http.Handler) http.Handler) Option {
	return func(o *options) { o.wraps = append(o.wraps, wrap) }
}

// collect applies the options and returns the accounts with their keys.
func collect(opts []Option) (options, map[string]string) {
	var o options
	for _, apply := range opts {
		apply(&o)
	}
	if len(o.accounts) == 0 {
		o.accounts = []string{DefaultAccount}
	}
	keys := map[string]string{}
	for _, name := range o.accounts {
		keys[name] = testKey(name)
	}
	return o, keys
}

// testKey makes a key of the length that Azure's have, 64 bytes.
func testKey(account string) string {
	raw := []byte(strings.Repeat("key of "+account+" ", 64))[:64]
	return base64.StdEncoding.EncodeToString(raw)
}

// wraps is a handler that others can be put around while it serves.
type wraps struct {
	mu    sync.RWMutex
	outer http.Handler
}

func (w *wraps) add(wrap func(http.Handler) http.Handler) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.outer = wrap(w.outer)
}

func (w *wraps) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	w.mu.RLock()
	h := w.outer
	w.mu.RUnlock()
	h.ServeHTTP(rw, r)
}

// accountList writes accounts as Azurite reads them: NAME:KEY;NAME:KEY.
func accountList(accounts map[string]string) string {
	var list []string
	for name, key := range accounts {
		list = append(list, name+":"+key)
	}
	slices.Sort(list)
	return strings.Join(list, ";")
}

// must ends the test with what was being done, unless err is nil.
func must(t testing.TB, err error, doing string, args ...any) {
	t.Helper()
	if err != nil {
		t.Fatalf("%s: %v", fmt.Sprintf(doing, args...), err)
	}
}
