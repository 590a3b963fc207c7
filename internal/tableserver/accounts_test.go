package tableserver

import (
	"bytes"
	"log/slog"
	"slices"
	"strings"
	"testing"
)

func serverAccounts(t *testing.T, o Options) []Account {
	t.Helper()
	s, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range s.Accounts() { // an account of the folder is one with data in it
		if err := s.store.CreateTable(t.Context(), a.Name, "T"); err != nil && !strings.Contains(err.Error(), "exists already") {
			t.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return s.Accounts()
}

func TestRestartServesTheAccountsOfTheFolder(t *testing.T) {
	dir := t.TempDir()
	var logged bytes.Buffer
	names := func(o Options) []string {
		o.Dir, o.Logger = dir, slog.New(slog.NewTextHandler(&logged, nil))
		var out []string
		for _, a := range serverAccounts(t, o) {
			out = append(out, a.Name)
		}
		return out
	}
	if got := names(Options{}); !slices.Equal(got, []string{DevAccount}) {
		t.Errorf("a new folder: %v", got)
	}
	if got := names(Options{Accounts: []Account{{Name: "premium"}, {Name: "home"}}}); !slices.Equal(got, []string{"premium", "home", DevAccount}) {
		t.Errorf("two more: %v", got)
	}
	if got := names(Options{Accounts: []Account{{Name: "given", Key: []byte("key")}}}); !slices.Equal(got, []string{"given", "home", "premium", DevAccount}) {
		t.Errorf("one with a given key: %v", got)
	}
	if strings.Contains(logged.String(), "not served") {
		t.Errorf("said too early: %s", &logged)
	}
	if got := names(Options{}); !slices.Equal(got, []string{"home", "premium", DevAccount}) {
		t.Errorf("none named: %v", got)
	}
	if !strings.Contains(logged.String(), "account=given") {
		t.Errorf("the account without a key is not named: %s", &logged)
	}
	before := serverAccounts(t, Options{Dir: dir})
	for i, a := range serverAccounts(t, Options{Dir: dir}) {
		if !bytes.Equal(a.Key, before[i].Key) || len(a.Key) == 0 {
			t.Errorf("the key of %s changed", a.Name)
		}
	}
}
