package tableserver

import (
	"bytes"
	"encoding/hex"
	"errors"
	"log/slog"
	"math/rand/v2"
	"net"
	"net/http"
	"regexp"
	"runtime/debug"
	"strings"
	"time"

	"github.com/aztenancy/terraform-provider-aztenancy/internal/tableserver/auth"
	"github.com/aztenancy/terraform-provider-aztenancy/internal/tableserver/traffic"
)

// maxBody is the largest request body in bytes (Scalability targets for Table storage).
const maxBody = 4 << 20

// call is one request while it is answered.
type call struct {
	s *Server
	w http.ResponseWriter
	r *http.Request

	id        string // x-ms-request-id
	account   string // without -secondary
	secondary bool
	base      string // URL of the account, with a trailing slash
	method    string // with X-HTTP-Method applied
	resource  resource
	query     query
	format    format
	prefer    preference
	grant     *auth.Grant
	exposed   []string // headers that the CORS rule shows to a page of another origin
	plain     bool     // an ACL or service operation: XML errors, no OData headers
	seen      *exchange
}

// serveHTTP answers one request. A panic is answered with InternalError and ends nothing else.
func (s *Server) serveHTTP(w http.ResponseWriter, r *http.Request) {
	if beside := s.beside(r); beside != nil {
		beside.ServeHTTP(w, r)
		return
	}
	m := &meter{ResponseWriter: w}
	c := &call{s: s, w: m, r: r, id: newRequestID(), seen: &exchange{}}
	c.seen.Start = time.Now()
	defer c.finish(m)
	defer func() {
		p := recover()
		if p == nil {
			return
		}
		if err, ok := p.(error); ok && errors.Is(err, http.ErrAbortHandler) {
			panic(p)
		}
		s.log.Error("panic while answering", slog.Any("panic", p), slog.String("stack", string(debug.Stack())))
		c.fail(errInternal)
	}()
	if err := c.answer(); err != nil {
		c.fail(err)
	}
}

var versionForm = regexp.MustCompile(`^\d{4}-\d{2}-\d{2}$`)

// answer finds the operation, checks the credentials and runs the handler.
func (c *call) answer() error {
	c.commonHeaders()
	o, invalid := c.read(c.addressAccount())
	if errors.Is(invalid, errInvalidURL) {
		return invalid // the web front end answers before anybody asks for credentials
	}
	if c.r.Method == http.MethodOptions {
		c.seen.Operation = traffic.Preflight
		return c.preflight()
	}
	if err := c.allowOrigin(); err != nil {
		return err
	}
	var err error
	if c.grant, err = c.s.auth.Authenticate(c.r, c.account); err != nil {
		return err
	}
	c.seen.Account, c.seen.Scheme = c.account, c.grant.Scheme().String()
	if invalid != nil { // a client without credentials learns nothing else
		return invalid
	}
	if c.secondary && !o.read {
		return fail("InsufficientAccountPermissions", "Write operations to the secondary location are not allowed.")
	}
	if o.permission != 0 {
		if err := c.allow(o.permission); err != nil {
			return err
		}
	}
	if !o.admits {
		if err := c.admitToAccount(); err != nil {
			return err
		}
	}
	return o.run(c)
}

// read finds out what the request asks for, and what is wrong with the way in which it asks.
func (c *call) read(path string) (operation, error) {
	var err error
	if c.query, err = parseQuery(c.r.URL.RawQuery); err != nil {
		return operation{}, err
	}
	c.format = formatOf(c.r.Header, c.query)
	if v := c.r.Header.Get("x-ms-version"); v != "" && !versionForm.MatchString(v) {
		return operation{}, errHeaderValue
	}
	if c.resource, err = parseResource(path); err != nil {
		return operation{}, err
	}
	o, err := c.operation()
	if err != nil {
		return operation{}, err
	}
	c.plain = o.plain
	c.seen.Operation, c.seen.Table = o.name, c.resource.table
	if o.prefers {
		c.prefer = preferenceOf(c.r.Header)
	}
	return o, nil
}

// allow checks the operation against the credentials, for one entity also its key.
func (c *call) allow(op auth.Operation) error {
	switch c.resource.kind {
	case tableResource, entityResource:
		if c.plain {
			return c.grant.AllowTables(op)
		}
		if err := c.grant.AllowEntities(op, c.resource.table); err != nil {
			return err
		}
		if c.resource.kind == entityResource {
			return c.grant.AllowKey(c.resource.key)
		}
		return nil
	default:
		return c.grant.AllowTables(op)
	}
}

// addressAccount takes the account from the first host label when the host is a dotted name whose first label is a
// known account, and from the first path segment otherwise. It returns the escaped path below the account.
func (c *call) addressAccount() string {
	scheme := "http://"
	if c.r.TLS != nil {
		scheme = "https://"
	}
	path := strings.TrimPrefix(c.r.URL.EscapedPath(), "/")
	if name, secondary, found := c.s.accountOfHost(c.r.Host); found {
		c.account, c.secondary = name, secondary
		c.base = scheme + c.r.Host + "/"
		return path
	}
	segment, rest, _ := strings.Cut(path, "/")
	c.account, c.secondary = strings.CutSuffix(segment, secondarySuffix)
	c.base = scheme + c.r.Host + "/" + segment + "/"
	return rest
}

// accountOfHost takes the account from a host with or without a port.
func (s *Server) accountOfHost(host string) (name string, secondary, found bool) {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	label, domain, dotted := strings.Cut(host, ".")
	if !dotted || s.pathStyle || net.ParseIP(host) != nil {
		return "", false, false
	}
	name, secondary = strings.CutSuffix(label, secondarySuffix)
	// Any name may be an account, but a server in a container has names with dots of its own.
	return name, secondary, s.known[name] || s.serves(name) && strings.HasPrefix(domain, "table.")
}

// serves says whether there is an account of this name.
func (s *Server) serves(account string) bool {
	return s.known[account] || s.anyAccount && accountName.MatchString(account)
}

const secondarySuffix = "-secondary"

// body reads the request's body, at most maxBody bytes.
func (c *call) body() ([]byte, error) {
	if c.r.ContentLength > maxBody {
		return nil, errTooLarge
	}
	var b bytes.Buffer
	b.Grow(int(min(max(c.r.ContentLength, 0), firstRead)) + bytes.MinRead)
	if _, err := b.ReadFrom(http.MaxBytesReader(c.connection(), c.r.Body, maxBody)); err != nil {
		return nil, bodyError(err)
	}
	c.seen.BytesIn = int64(b.Len())
	return b.Bytes(), nil
}

// firstRead bounds the memory in bytes that a request gets by its Content-Length alone; the rest follows as it comes.
const firstRead = 64 << 10

// bodyError keeps "too large" and takes every other failure for a body that the client did not finish.
func bodyError(err error) error {
	var tooLarge *http.MaxBytesError
	if errors.As(err, &tooLarge) {
		return err
	}
	return errInvalidInput
}

// newRequestID returns a GUID-shaped text. It needs to be unlike others, not secret.
func newRequestID() string {
	var raw [16]byte
	hi, lo := rand.Uint64(), rand.Uint64()
	for i := range 8 {
		raw[i], raw[8+i] = byte(hi>>(8*i)), byte(lo>>(8*i))
	}
	var b [36]byte
	hex.Encode(b[0:8], raw[0:4])
	b[8] = '-'
	hex.Encode(b[9:13], raw[4:6])
	b[13] = '-'
	hex.Encode(b[14:18], raw[6:8])
	b[18] = '-'
	hex.Encode(b[19:23], raw[8:10])
	b[23] = '-'
	hex.Encode(b[24:36], raw[10:16])
	return string(b[:])
}
