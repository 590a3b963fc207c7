package tablestorage

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aztenancy/terraform-provider-aztenancy/internal/edm"
)

// transport answers requests by a function.
type transport func(*http.Request) (*http.Response, error)

func (t transport) Do(r *http.Request) (*http.Response, error) { return t(r) }

func limited(t *testing.T, l Limits, o ClientOptions) *Client {
	t.Helper()
	c, err := NewClient(Account{Name: "contoso", Credential: SharedKey{NewSecret("a2V5")}, Limits: l}, &o)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func bare(r *http.Request, status int) *http.Response {
	return &http.Response{StatusCode: status, Header: http.Header{}, Body: http.NoBody, Request: r}
}

func TestReadOnlyClientSendsNoWrite(t *testing.T) {
	sent := 0
	c := limited(t, Limits{}, ClientOptions{ReadOnly: true, Transport: transport(func(r *http.Request) (*http.Response, error) {
		sent++
		return bare(r, http.StatusNotFound), nil
	})})
	e := &edm.Entity{PartitionKey: "p", RowKey: "r"}
	table := c.Table("Orders")
	for name, write := range map[string]func() error{
		"create table": func() error { _, err := c.CreateTable(t.Context(), "Orders"); return err },
		"delete table": func() error { return c.DeleteTable(t.Context(), "Orders") },
		"insert":       func() error { _, err := table.Insert(t.Context(), e); return err },
		"replace":      func() error { _, err := table.Replace(t.Context(), e, AnyETag); return err },
		"merge":        func() error { _, err := table.UpsertMerge(t.Context(), e); return err },
		"delete":       func() error { return table.Delete(t.Context(), e.Key(), AnyETag) },
		"transaction": func() error {
			_, err := table.Submit(t.Context(), []Operation{{Kind: OpInsert, Entity: e}})
			return err
		},
		"policies": func() error { return c.SetAccessPolicies(t.Context(), "Orders", nil) },
	} {
		if err := write(); !errors.Is(err, ErrReadOnly) || !strings.Contains(err.Error(), "read_only") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if sent != 0 {
		t.Errorf("%d writes were sent", sent)
	}
	if _, err := table.Get(t.Context(), e.Key()); !errors.Is(err, ErrNotFound) || sent != 1 {
		t.Errorf("a read: %v, %d requests", err, sent)
	}
}

func TestNoMoreRequestsAreUnderWayThanPermitted(t *testing.T) {
	var now, most atomic.Int32
	enter := make(chan struct{})
	c := limited(t, Limits{MaxConcurrency: 3}, ClientOptions{Transport: transport(func(r *http.Request) (*http.Response, error) {
		n := now.Add(1)
		defer now.Add(-1)
		for m := most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
		}
		enter <- struct{}{} // until the test takes it
		return bare(r, http.StatusNotFound), nil
	})})
	var wg sync.WaitGroup
	for range 20 {
		wg.Go(func() { _, _ = c.Table("Orders").Get(t.Context(), edm.Key{}) })
	}
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	for now.Load() < 3 { // all slots are taken
		if t.Context().Err() != nil {
			t.Fatal("they never came")
		}
	}
	if _, err := c.Table("Orders").Get(canceled, edm.Key{}); !errors.Is(err, context.Canceled) {
		t.Errorf("one who waits for a slot and gives up: %v", err)
	}
	for range 20 {
		<-enter
	}
	wg.Wait()
	if most.Load() != 3 {
		t.Errorf("%d requests were under way at once, want 3", most.Load())
	}
}

func TestRequestsAreTriedAsOftenAsTold(t *testing.T) {
	for _, attempts := range []int{1, 3} {
		tries := 0
		c := limited(t, Limits{MaxAttempts: attempts, MinDelay: time.Microsecond, MaxDelay: time.Millisecond}, ClientOptions{
			Transport: transport(func(r *http.Request) (*http.Response, error) {
				tries++
				return bare(r, http.StatusServiceUnavailable), nil
			})})
		if _, err := c.Table("Orders").Get(t.Context(), edm.Key{}); !errors.Is(err, ErrThrottled) || tries != attempts {
			t.Errorf("%d tries, want %d: %v", tries, attempts, err)
		}
	}
}

func TestLimitsThatCannotBeAreRefused(t *testing.T) {
	for _, l := range []Limits{{MaxConcurrency: -1}, {MaxConcurrency: 1025}, {MaxAttempts: 21}, {MinDelay: -1}, {MinDelay: time.Minute, MaxDelay: time.Second}} {
		if _, err := (AccountConfig{ConnectionString: "UseDevelopmentStorage=true", Limits: l}).Account(); err == nil {
			t.Errorf("%+v is accepted", l)
		}
	}
}
