package tableserver

import (
	"net"
	"net/http"
	"sync"
)

// freshConns are the connections on which no request has begun. Clients open more than they use; http.Server.Shutdown
// waits 5 s for each of them as if a request were on its way (net/http, closeIdleConns), so a stop closes them first.
type freshConns struct {
	mu    sync.Mutex
	conns map[net.Conn]struct{}
}

// observe is an http.Server.ConnState.
func (f *freshConns) observe(c net.Conn, state http.ConnState) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if state != http.StateNew {
		delete(f.conns, c)
		return
	}
	if f.conns == nil {
		f.conns = map[net.Conn]struct{}{}
	}
	f.conns[c] = struct{}{}
}

// close closes them. It is called once the listener takes no more.
func (f *freshConns) close() {
	f.mu.Lock()
	defer f.mu.Unlock()
	for c := range f.conns {
		_ = c.Close() // nobody waits for an answer on it
	}
}
