package tableserver

import (
	"context"
	"net"
	"testing"
	"time"
)

func TestAnUnusedConnectionDoesNotHoldUpTheStop(t *testing.T) {
	s, err := New(Options{InMemory: true, Accounts: []Account{{Name: "acct", Key: []byte("key")}}})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() { served <- s.Serve(ctx, l) }()
	var unused []net.Conn
	for range 3 {
		c, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		unused = append(unused, c)
	}
	start := time.Now()
	cancel()
	if err := <-served; err != nil {
		t.Error(err)
	}
	if took := time.Since(start); took > 4*time.Second { // net/http alone waits 5 s
		t.Errorf("the stop took %s", took)
	}
	for _, c := range unused {
		_ = c.Close()
	}
}
