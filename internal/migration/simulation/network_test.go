package simulation

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing/synctest"
	"time"
)

// network carries the requests of all processes to the service, one at a time. Nothing moves but what the schedule lets move:
// it acts only while every process waits, for an answer or for the clock.
type network struct {
	service *service
	mu      sync.Mutex // of waiting, and of gone of its calls
	waiting []*call
	wake    chan struct{}
	trace   []string
	handled int                     // calls that were handled, in whatever way
	after   func(c *call, a answer) // after each call that was carried out
	before  func(c *call)           // before each call that is carried out
}

// call is one try of one request.
type call struct {
	from  *process
	op    operation
	name  string // the same for the same request: without random ids
	born  time.Time
	reply chan reply
	gone  bool // nobody waits for the answer any more
	last  bool // it is carried out when everything else is over
}

type reply struct {
	answer answer
	err    error
}

// process is one client of the service: a mover, or a writer.
type process struct {
	name string
	net  *network
	dead bool
	// held is until when the schedule holds the process's calls back.
	held time.Time
}

var (
	errReset  = errors.New("connection reset by peer")
	errKilled = errors.New("the process was killed")
	randomID  = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`)
)

func newNetwork(s *service) *network {
	return &network{service: s, wake: make(chan struct{}, 1)}
}

// Do sends a request and waits for what the schedule makes of it. It is the transport of all clients of the process.
func (p *process) Do(r *http.Request) (*http.Response, error) {
	if p.dead {
		return nil, errKilled
	}
	var body []byte
	if r.Body != nil {
		var err error
		if body, err = io.ReadAll(r.Body); err != nil {
			return nil, err
		}
	}
	op, err := parseOperation(r.Method, r.URL.String(), r.Header, body)
	if err != nil {
		return nil, err
	}
	c := &call{from: p, op: op, name: randomID.ReplaceAllString(op.String(), "…"), born: time.Now(), reply: make(chan reply, 1)}
	p.net.arrive(c)
	select {
	case got := <-c.reply:
		if got.err != nil {
			return nil, got.err
		}
		return got.answer.response(r), nil
	case <-r.Context().Done():
		p.net.leave(c)
		return nil, r.Context().Err()
	}
}

func (a answer) response(r *http.Request) *http.Response {
	h := http.Header{"Content-Type": {"application/json"}}
	for k, v := range a.header {
		h.Set(k, v)
	}
	return &http.Response{StatusCode: a.status, Header: h, Body: io.NopCloser(bytes.NewReader(a.body)), ContentLength: int64(len(a.body)), Request: r}
}

func (n *network) arrive(c *call) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.waiting = append(n.waiting, c)
	select {
	case n.wake <- struct{}{}:
	default:
	}
}

// leave says that nobody waits for the answer any more: the request may still be carried out.
func (n *network) leave(c *call) {
	n.mu.Lock()
	defer n.mu.Unlock()
	c.gone = true
}

// settle waits until every process waits, and returns the calls that are under way in an order that depends on nothing
// but what they are.
func (n *network) settle() []*call {
	synctest.Wait()
	n.mu.Lock()
	defer n.mu.Unlock()
	slices.SortStableFunc(n.waiting, func(a, b *call) int {
		if c := strings.Compare(a.from.name, b.from.name); c != 0 {
			return c
		}
		if c := a.born.Compare(b.born); c != 0 {
			return c
		}
		return strings.Compare(a.name, b.name)
	})
	return slices.Clone(n.waiting)
}

// idle lets the clock run until something is sent, for d at most.
func (n *network) idle(d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-n.wake:
	case <-t.C:
	}
}

// fate is what becomes of a call.
type fate string

const (
	delivered fate = "delivered"        // carried out and answered
	lost      fate = "lost"             // never arrives; the client sees a broken connection
	doubtful  fate = "answer lost"      // carried out; the client sees a broken connection
	busy      fate = "busy"             // 503, not carried out
	failed    fate = "failed"           // 500, carried out
	late      fate = "still on its way" // the client sees a broken connection; it is carried out some time later
)

// handle lets one call meet its fate.
func (n *network) handle(c *call, f fate) {
	n.handled++
	n.note(string(f), c)
	if f != late {
		n.mu.Lock()
		n.waiting = slices.DeleteFunc(n.waiting, func(o *call) bool { return o == c })
		n.mu.Unlock()
	}
	switch f {
	case delivered:
		a := n.carryOut(c)
		n.answer(c, reply{answer: a})
	case doubtful:
		n.carryOut(c)
		n.answer(c, reply{err: errReset})
	case failed:
		n.carryOut(c)
		n.answer(c, reply{answer: refuse(http.StatusInternalServerError, "InternalError")})
	case busy:
		n.answer(c, reply{answer: refuse(http.StatusServiceUnavailable, "ServerBusy")})
	case lost:
		n.answer(c, reply{err: errReset})
	case late:
		n.answer(c, reply{err: errReset})
		c.gone = true
	}
}

// answer lets the client go on. A call that was answered once is never answered again.
func (n *network) answer(c *call, r reply) {
	if !c.gone {
		c.reply <- r
	}
}

func (n *network) carryOut(c *call) answer {
	if n.before != nil {
		n.before(c)
	}
	a := n.service.do(c.op)
	if n.after != nil {
		n.after(c, a)
	}
	return a
}

func (n *network) note(what string, c *call) {
	line := time.Now().UTC().Format("04:05.000") + " " + c.from.name + " " + what
	if c != nil {
		line += ": " + c.name
	}
	n.trace = append(n.trace, line)
}

// kill ends a process between two instructions: what it has under way is lost, carried out without an answer, or still on
// its way, as the dice fall.
func (n *network) kill(p *process, dice *rand.Rand) {
	p.dead = true
	for _, c := range n.settle() {
		if c.from == p && !c.gone {
			n.handle(c, []fate{lost, doubtful, late}[dice.IntN(3)])
		}
	}
}
