package tableserver

import (
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"

	"github.com/aztenancy/terraform-provider-aztenancy/internal/tableserver/fault"
	"github.com/aztenancy/terraform-provider-aztenancy/internal/tableserver/throttle"
	"github.com/aztenancy/terraform-provider-aztenancy/internal/tableserver/traffic"
)

// Testing is what people who test ask of a server beyond the protocol. The zero value asks for nothing.
type Testing struct {
	// ScaleTargets hold the accounts to so many entities a second.
	ScaleTargets throttle.Targets
	// Faults are asked in their order; their choices follow from FaultSeed.
	Faults    []*fault.Rule
	FaultSeed uint64
	// PolicyDelay is the time after which changed stored access policies count: up to 30 s at Azure (Set Table ACL,
	// REST reference). What waits when the server stops counts when it starts.
	PolicyDelay time.Duration
	// Metrics answers scrapes at /metrics, without credentials.
	Metrics bool
	// AccessLog receives a line of JSON for each request, one Write a line; nil for none.
	AccessLog io.Writer
	LogFields traffic.Fields
	// PartitionKeys says how they are shown in metrics and log.
	PartitionKeys traffic.Keys
	// ControlToken opens the control surface to whoever sends it; "" leaves it closed. MinControlToken bytes or more.
	ControlToken string
	// Seeds are read by New.
	Seeds []Seed
	// Now replaces the wall clock for scale targets and PolicyDelay.
	Now func() time.Time
}

// Check says what is wrong, before anything is made.
func (t Testing) Check() error {
	if t.PolicyDelay < 0 || t.PolicyDelay > maxPolicyDelay {
		return fmt.Errorf("policy delay %v: give a time up to %v", t.PolicyDelay, maxPolicyDelay)
	}
	if n := len(t.ControlToken); n > 0 && n < MinControlToken {
		return fmt.Errorf("the control token has %d bytes: give at least %d", n, MinControlToken)
	}
	return t.ScaleTargets.Check()
}

const maxPolicyDelay = time.Hour

// instruments is what a server has for Testing. Limiter and injector are there always: without rules they let everything
// through.
type instruments struct {
	limiter   *throttle.Limiter
	faults    *fault.Injector
	delayed   *delayedPolicies
	accessLog *traffic.Log     // nil: none
	metrics   *traffic.Metrics // nil: none
	scrapes   http.Handler     // nil: none
	control   http.Handler     // nil: none

	stopping chan struct{} // closed when the server begins to stop
	stop     func()        // closes stopping
}

func (t Testing) start() instruments {
	now := t.Now
	if now == nil {
		now = time.Now
	}
	s := instruments{
		limiter:  throttle.NewLimiter(t.ScaleTargets, now),
		faults:   fault.NewInjector(t.FaultSeed, t.Faults...),
		delayed:  newDelayedPolicies(t.PolicyDelay, now),
		stopping: make(chan struct{}),
	}
	s.stop = sync.OnceFunc(func() { close(s.stopping) })
	if t.AccessLog != nil {
		s.accessLog = traffic.NewLog(t.AccessLog, t.LogFields, t.PartitionKeys)
	}
	if t.Metrics {
		s.metrics = traffic.NewMetrics(t.PartitionKeys)
		s.scrapes = s.metrics.Handler()
	}
	return s
}
