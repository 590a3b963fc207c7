package tablestorage

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
)

// Limits are how hard an account is asked, and how often again. The zero value is the defaults.
type Limits struct {
	MaxConcurrency int           // requests under way at the same time, 1 to 1024; 0: no bound
	MaxAttempts    int           // tries of a request, 1 to 20; 0: 6
	MinDelay       time.Duration // before the second try; 0: 500 ms
	MaxDelay       time.Duration // between two tries; 0: 20 s
	RequestTimeout time.Duration // of one try; 0: 60 s, as the service gives up after 30 s
}

// ErrReadOnly says that a write was asked of a configuration that permits none.
var ErrReadOnly = errors.New("the configuration is read-only (`read_only`), so nothing is written")

func (l Limits) validate() error {
	switch {
	case l.MaxConcurrency < 0 || l.MaxConcurrency > 1024:
		return fmt.Errorf("max_concurrency %d: choose 1 to 1024", l.MaxConcurrency)
	case l.MaxAttempts < 0 || l.MaxAttempts > 20:
		return fmt.Errorf("retry.max_attempts %d: choose 1 to 20", l.MaxAttempts)
	case l.MinDelay < 0 || l.MaxDelay < 0 || l.RequestTimeout < 0:
		return errors.New("delays and timeouts are not negative")
	case l.MaxDelay > 0 && l.MinDelay > l.MaxDelay:
		return fmt.Errorf("retry.min_delay (%s) is longer than retry.max_delay (%s)", l.MinDelay, l.MaxDelay)
	}
	return nil
}

// retry lays the limits over the options of a client.
func (l Limits) retry(o policy.RetryOptions) policy.RetryOptions {
	switch {
	case l.MaxAttempts == 1:
		o.MaxRetries = -1 // azcore's way to say none
	case l.MaxAttempts > 1:
		o.MaxRetries = int32(l.MaxAttempts - 1)
	}
	if l.MinDelay > 0 {
		o.RetryDelay = l.MinDelay
	}
	if l.MaxDelay > 0 {
		o.MaxRetryDelay = l.MaxDelay
	}
	if l.RequestTimeout > 0 {
		o.TryTimeout = l.RequestTimeout
	}
	return o
}

// slots bounds how many requests are under way. Nil is no bound.
type slots chan struct{}

func newSlots(n int) slots {
	if n == 0 {
		return nil
	}
	return make(slots, n)
}

// enter waits for a slot, as long as the context allows.
func (s slots) enter(ctx context.Context) error {
	if s == nil {
		return nil
	}
	select {
	case s <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (s slots) leave() {
	if s != nil {
		<-s
	}
}

// writes says whether a request changes anything. Transactions travel as POST.
func (r request) writes() bool {
	return r.method != http.MethodGet && r.method != http.MethodHead && !r.changesNothing
}
