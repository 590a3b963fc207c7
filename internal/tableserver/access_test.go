package tableserver

import (
	"net"
	"strings"
	"testing"
)

func TestServerThatLetsEverybodyInListensOnThisMachineOnly(t *testing.T) {
	s, err := New(Options{InMemory: true, SkipAuthentication: true})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close() //nolint:errcheck // nothing was written
	l, err := net.Listen("tcp", "0.0.0.0:0")
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Serve(t.Context(), l); err == nil || !strings.Contains(err.Error(), "reaches beyond this machine") {
		t.Errorf("got %v", err)
	}
	if _, err := net.Dial("tcp", l.Addr().String()); err == nil {
		t.Error("the listener stays open")
	}
}

func TestOptionsAboutAccessThatContradictEachOther(t *testing.T) {
	for name, o := range map[string]Options{
		"a key that nobody asks for":    {InMemory: true, SkipAuthentication: true, Accounts: []Account{{Name: "home", Key: []byte("k")}}},
		"a certificate without its key": {InMemory: true, HTTPS: &HTTPS{CertFile: "x"}},
		"nowhere to keep a certificate": {InMemory: true, HTTPS: &HTTPS{}},
		"a certificate that is not":     {InMemory: true, HTTPS: &HTTPS{CertFile: "none", KeyFile: "none"}},
	} {
		if s, err := New(o); err == nil {
			t.Errorf("%s is accepted: %v", name, s.Close())
		}
	}
}
