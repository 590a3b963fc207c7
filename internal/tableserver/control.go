package tableserver

import (
	"crypto/sha256"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/aztenancy/terraform-provider-aztenancy/internal/tableserver/control"
	"github.com/aztenancy/terraform-provider-aztenancy/internal/tableserver/fault"
	"github.com/aztenancy/terraform-provider-aztenancy/internal/tableserver/throttle"
)

// MinControlToken is the least length of a control token in bytes.
const MinControlToken = 16

// controller answers the control surface.
type controller struct {
	s     *Server
	token [sha256.Size]byte // of the token, so that comparing takes the same time whatever comes
	mux   http.ServeMux
}

func newController(s *Server, token string) *controller {
	c := &controller{s: s, token: sha256.Sum256([]byte(token))}
	for pattern, answer := range map[string]func(w http.ResponseWriter, r *http.Request) (any, error){
		"GET accounts":                 c.accounts,
		"POST accounts/{name}/reset":   c.reset,
		"PUT accounts/{name}/snapshot": c.restore,
		"GET faults":                   c.faults,
		"PUT faults":                   c.setFaults,
		"POST faults":                  c.addFaults,
		"DELETE faults":                c.noFaults,
		"GET scale-targets":            c.targets,
		"PUT scale-targets":            c.setTargets,
		"GET policy-delay":             c.policyDelay,
		"PUT policy-delay":             c.setPolicyDelay,
		"GET partitions":               c.partitions,
	} {
		method, path, _ := strings.Cut(pattern, " ")
		c.mux.HandleFunc(method+" "+reserved+path, func(w http.ResponseWriter, r *http.Request) { c.answer(w, r, answer) })
	}
	c.mux.HandleFunc("GET "+reserved+"accounts/{name}/snapshot", c.snapshot)
	c.mux.HandleFunc(reserved, func(w http.ResponseWriter, r *http.Request) {
		problem(w, http.StatusNotFound, "there is nothing at "+r.Method+" "+r.URL.Path)
	})
	return c
}

// ServeHTTP implements http.Handler.
func (c *controller) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	given, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	sum := sha256.Sum256([]byte(given))
	if subtle.ConstantTimeCompare(sum[:], c.token[:]) != 1 {
		w.Header().Set("WWW-Authenticate", `Bearer realm="tableserver control"`)
		problem(w, http.StatusUnauthorized, "send the control token as Authorization: Bearer TOKEN")
		return
	}
	c.mux.ServeHTTP(w, r)
}

func problem(w http.ResponseWriter, status int, text string) {
	writeControl(w, status, control.Problem{Error: text})
}

func writeControl(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	out := json.NewEncoder(w)
	out.SetEscapeHTML(false)
	_ = out.Encode(body) // the client is gone if this does not work
}

// badControl is a fault of the request.
type badControl struct {
	status int
	err    error
}

func (e *badControl) Error() string { return e.err.Error() }

// Unwrap returns the fault.
func (e *badControl) Unwrap() error { return e.err }

func (c *controller) answer(w http.ResponseWriter, r *http.Request, run func(http.ResponseWriter, *http.Request) (any, error)) {
	body, err := run(w, r)
	var bad *badControl
	var snapshot *errSnapshot
	switch {
	case errors.As(err, &bad):
		problem(w, bad.status, err.Error())
	case errors.As(err, &snapshot):
		problem(w, http.StatusBadRequest, err.Error())
	case err != nil:
		c.s.log.Error("control", slog.String("request", r.Method+" "+r.URL.Path), slog.Any("error", err))
		problem(w, http.StatusInternalServerError, err.Error())
	case body == nil:
		w.WriteHeader(http.StatusNoContent)
	default:
		writeControl(w, http.StatusOK, body)
	}
}

// maxControlBody bounds a body that is not a snapshot.
const maxControlBody = 1 << 20

func readControl(w http.ResponseWriter, r *http.Request, into any) error {
	in := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxControlBody))
	in.DisallowUnknownFields()
	if err := in.Decode(into); err != nil {
		return &badControl{http.StatusBadRequest, fmt.Errorf("read the body: %w", err)}
	}
	return nil
}

// account is the account that the path names.
func (c *controller) account(r *http.Request) (string, error) {
	name := r.PathValue("name")
	if !c.s.serves(name) {
		return "", &badControl{http.StatusNotFound, fmt.Errorf("there is no account %q", name)}
	}
	return name, nil
}

func (c *controller) accounts(http.ResponseWriter, *http.Request) (any, error) {
	out := control.Accounts{Accounts: []string{}}
	for _, a := range c.s.accounts {
		out.Accounts = append(out.Accounts, a.Name)
	}
	return out, nil
}

func (c *controller) reset(_ http.ResponseWriter, r *http.Request) (any, error) {
	name, err := c.account(r)
	if err != nil {
		return nil, err
	}
	return nil, c.s.Reset(r.Context(), name)
}

// freeOfDeadlines lets a snapshot take longer than a request of the protocol may.
func freeOfDeadlines(w http.ResponseWriter) {
	connection := http.NewResponseController(w)
	_ = connection.SetReadDeadline(time.Time{}) // where it cannot be set there is none
	_ = connection.SetWriteDeadline(time.Time{})
}

// snapshot streams. A failure in the middle ends the connection, and the snapshot lacks its last line.
func (c *controller) snapshot(w http.ResponseWriter, r *http.Request) {
	name, err := c.account(r)
	if err != nil {
		problem(w, http.StatusNotFound, err.Error())
		return
	}
	freeOfDeadlines(w)
	w.Header().Set("Content-Type", "application/x-ndjson")
	if err := c.s.Snapshot(r.Context(), name, w); err != nil {
		c.s.log.Error("snapshot", slog.Any("error", err))
		panic(http.ErrAbortHandler)
	}
}

func (c *controller) restore(w http.ResponseWriter, r *http.Request) (any, error) {
	name, err := c.account(r)
	if err != nil {
		return nil, err
	}
	freeOfDeadlines(w)
	return nil, c.s.Restore(r.Context(), name, r.Body)
}

func (c *controller) faults(http.ResponseWriter, *http.Request) (any, error) {
	return control.FaultReports{Rules: c.s.faults.Reports()}, nil
}

// readFaults reads all rules before any counts.
func readFaults(w http.ResponseWriter, r *http.Request) (rules []*fault.Rule, seed uint64, err error) {
	var body control.Faults
	if err := readControl(w, r, &body); err != nil {
		return nil, 0, err
	}
	for _, text := range body.Rules {
		rule, err := fault.Parse(text)
		if err != nil {
			return nil, 0, &badControl{http.StatusBadRequest, err}
		}
		rules = append(rules, rule)
	}
	return rules, body.Seed, nil
}

func (c *controller) setFaults(w http.ResponseWriter, r *http.Request) (any, error) {
	rules, seed, err := readFaults(w, r)
	if err == nil {
		c.s.faults.Set(seed, rules...)
	}
	return nil, err
}

func (c *controller) addFaults(w http.ResponseWriter, r *http.Request) (any, error) {
	rules, _, err := readFaults(w, r)
	if err == nil {
		c.s.faults.Add(rules...)
	}
	return nil, err
}

func (c *controller) noFaults(http.ResponseWriter, *http.Request) (any, error) {
	c.s.faults.Set(0)
	return nil, nil
}

func (c *controller) targets(http.ResponseWriter, *http.Request) (any, error) {
	return c.s.limiter.Targets(), nil
}

func (c *controller) setTargets(w http.ResponseWriter, r *http.Request) (any, error) {
	var t throttle.Targets
	if err := readControl(w, r, &t); err != nil {
		return nil, err
	}
	if err := t.Check(); err != nil {
		return nil, &badControl{http.StatusBadRequest, err}
	}
	c.s.limiter.SetTargets(t)
	return nil, nil
}

func (c *controller) policyDelay(http.ResponseWriter, *http.Request) (any, error) {
	return control.PolicyDelay{Delay: c.s.delayed.get().String()}, nil
}

func (c *controller) setPolicyDelay(w http.ResponseWriter, r *http.Request) (any, error) {
	var body control.PolicyDelay
	if err := readControl(w, r, &body); err != nil {
		return nil, err
	}
	d, err := time.ParseDuration(body.Delay)
	if err == nil {
		err = Testing{PolicyDelay: d}.Check()
	}
	if err != nil {
		return nil, &badControl{http.StatusBadRequest, err}
	}
	c.s.delayed.set(d)
	return nil, nil
}

func (c *controller) partitions(http.ResponseWriter, *http.Request) (any, error) {
	if c.s.metrics == nil {
		return nil, &badControl{http.StatusConflict, errors.New("partitions are counted with metrics only: start the server with --metrics")}
	}
	out := control.Partitions{Partitions: []control.HotPartition{}}
	for _, p := range c.s.metrics.Heat().Top(maxPage) {
		out.Partitions = append(out.Partitions, control.HotPartition{Account: p.Account, Table: p.Table, PartitionKey: p.PartitionKey,
			Entities: p.Entities, Overcount: p.Overcount})
	}
	return out, nil
}
