package acctest

import (
	"context"
	"encoding/base64"
	"net"
	"net/http"
	"testing"

	"github.com/aztenancy/terraform-provider-aztenancy/internal/tableserver"
	"github.com/aztenancy/terraform-provider-aztenancy/internal/tableserver/control"
	"github.com/aztenancy/terraform-provider-aztenancy/internal/tableserver/throttle"
)

// StartServer runs tableserver in this process, in memory, on a free port of this machine.
func StartServer(t testing.TB, opts ...Option) *Server {
	t.Helper()
	o, keys := collect(opts)
	config := tableserver.Options{InMemory: true}
	config.Testing.ControlToken, config.Testing.Metrics = controlToken, true
	if o.targets != "" {
		targets, err := throttle.Parse(o.targets)
		must(t, err, "read the scale targets")
		config.Testing.ScaleTargets = targets
	}
	w := &wraps{}
	config.Middleware = func(h http.Handler) http.Handler {
		w.outer = h
		return w
	}
	for _, name := range o.accounts {
		key, err := base64.StdEncoding.DecodeString(keys[name])
		must(t, err, "decode the key of account %s", name)
		config.Accounts = append(config.Accounts, tableserver.Account{Name: name, Key: key})
	}
	server, err := tableserver.New(config)
	must(t, err, "start tableserver")
	for _, wrap := range o.wraps {
		w.add(wrap)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err, "listen on a free port")
	ctx, cancel := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- server.Serve(ctx, listener) }()
	t.Cleanup(func() {
		cancel()
		if err := <-served; err != nil {
			t.Errorf("tableserver ended with %v", err)
		}
		if err := server.Close(); err != nil {
			t.Errorf("close tableserver: %v", err)
		}
	})
	endpoint := "http://" + listener.Addr().String()
	return &Server{Endpoint: endpoint, Accounts: keys, Control: control.NewClient(endpoint, controlToken), wraps: w}
}

// controlToken opens servers that live as long as a test, on this machine.
const controlToken = "the control token of every test"
