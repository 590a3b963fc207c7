package batch

import (
	"bytes"
	"errors"
	"fmt"
	"mime"
	"net/textproto"
	"strings"
)

// Operation is one request inside a batch.
type Operation struct {
	Method string
	// URL is as it stands in the request line: absolute, or a path.
	URL    string
	Header textproto.MIMEHeader
	// Body has no line breaks at its end.
	Body []byte
	// ContentID is the part's Content-ID header, "" for none.
	ContentID string
}

// MaxOperations is how many changes an entity group transaction may hold (Performing entity group transactions, REST
// reference). Parse reads one more, so that the caller can tell.
const MaxOperations = 100

// maxHeaderLines bounds what a part without end can make us keep.
const maxHeaderLines = 100

// Request is a parsed batch: the operations of its one change set, or a single query.
type Request struct {
	Operations []Operation
	// Query says that Operations holds one GET that stood outside of a change set.
	Query bool
}

// errSyntax is what every malformed body amounts to for a client; the texts are for logs.
var errSyntax = errors.New("malformed batch")

func malformed(what string) error { return fmt.Errorf("%w: %s", errSyntax, what) }

// Parse reads a body whose Content-Type header is contentType. It does not look into URLs or entities, and keeps
// slices of body.
func Parse(contentType string, body []byte) (*Request, error) {
	boundary, err := boundaryOf(contentType)
	if err != nil {
		return nil, err
	}
	parts := split(body, boundary)
	if len(parts) != 1 {
		return nil, malformed(fmt.Sprintf("%d parts, not one change set or one query", len(parts)))
	}
	header, rest, err := readHeader(parts[0])
	if err != nil {
		return nil, err
	}
	if !strings.HasPrefix(strings.ToLower(header.Get("Content-Type")), "multipart/mixed") {
		op, err := parseOperation(header, rest)
		if err != nil {
			return nil, err
		}
		if op.Method != "GET" {
			return nil, malformed(op.Method + " outside of a change set")
		}
		return &Request{Operations: []Operation{op}, Query: true}, nil
	}
	return parseChangeSet(header, rest)
}

func parseChangeSet(header textproto.MIMEHeader, body []byte) (*Request, error) {
	boundary, err := boundaryOf(header.Get("Content-Type"))
	if err != nil {
		return nil, err
	}
	r := &Request{}
	for _, part := range split(body, boundary) {
		header, rest, err := readHeader(part)
		if err != nil {
			return nil, err
		}
		op, err := parseOperation(header, rest)
		if err != nil {
			return nil, err
		}
		if op.Method == "GET" {
			return nil, malformed("a query inside a change set")
		}
		if r.Operations = append(r.Operations, op); len(r.Operations) > MaxOperations {
			break // it is refused whatever follows
		}
	}
	if len(r.Operations) == 0 {
		return nil, malformed("an empty change set")
	}
	return r, nil
}

func boundaryOf(contentType string) (string, error) {
	kind, params, err := mime.ParseMediaType(contentType)
	if err != nil {
		return "", malformed("Content-Type: " + err.Error())
	}
	if kind != "multipart/mixed" || params["boundary"] == "" {
		return "", malformed("Content-Type is not multipart/mixed with a boundary")
	}
	return params["boundary"], nil
}

// split returns what stands between the boundary lines. A line ends with LF or CRLF; what precedes the first
// boundary and follows the closing one is dropped; a body that ends without a closing boundary ends its last part.
func split(body []byte, boundary string) [][]byte {
	delimiter := []byte("--" + boundary)
	var parts [][]byte
	start := -1 // of the current part
	for at := 0; at < len(body); {
		end, next := lineEnd(body, at)
		line := bytes.TrimRight(body[at:end], " \t")
		closing := false
		if rest, ok := bytes.CutPrefix(line, delimiter); ok && (len(rest) == 0 || string(rest) == "--") {
			closing = len(rest) != 0
			if start >= 0 {
				parts = append(parts, trimLineBreak(body[start:max(at, start)]))
			}
			start = next
			if closing {
				return parts
			}
		}
		at = next
	}
	if start >= 0 && len(bytes.TrimSpace(body[start:])) > 0 {
		parts = append(parts, body[start:])
	}
	return parts
}

// lineEnd returns where the line that starts at at ends, and where the next one starts.
func lineEnd(b []byte, at int) (end, next int) {
	i := bytes.IndexByte(b[at:], '\n')
	if i < 0 {
		return len(b), len(b)
	}
	end = at + i
	if end > at && b[end-1] == '\r' {
		return end - 1, at + i + 1
	}
	return end, at + i + 1
}

// trimLineBreak removes the one line break that belongs to the boundary after it.
func trimLineBreak(b []byte) []byte {
	b = bytes.TrimSuffix(b, []byte("\n"))
	return bytes.TrimSuffix(b, []byte("\r"))
}

// readHeader reads header lines up to a blank line or the end.
func readHeader(b []byte) (textproto.MIMEHeader, []byte, error) {
	h := make(textproto.MIMEHeader)
	lines := 0
	for at := 0; at < len(b); {
		end, next := lineEnd(b, at)
		line := b[at:end]
		at = next
		if len(bytes.TrimSpace(line)) == 0 {
			return h, b[at:], nil
		}
		name, value, ok := strings.Cut(string(line), ":")
		name = strings.TrimSpace(name)
		if !ok || name == "" || strings.ContainsAny(name, " \t") {
			return nil, nil, malformed("a header line without a name")
		}
		if lines++; lines > maxHeaderLines {
			return nil, nil, malformed("more header lines than any client sends")
		}
		h.Add(name, strings.TrimSpace(value))
	}
	return h, nil, nil
}

// parseOperation reads the request that an application/http part holds.
func parseOperation(part textproto.MIMEHeader, b []byte) (Operation, error) {
	if !strings.HasPrefix(strings.ToLower(part.Get("Content-Type")), "application/http") {
		return Operation{}, malformed("a part that is not application/http")
	}
	b = bytes.TrimLeft(b, "\r\n")
	end, next := lineEnd(b, 0)
	method, url, ok := requestLine(string(b[:end]))
	if !ok {
		return Operation{}, malformed("a part without a request line")
	}
	header, body, err := readHeader(b[next:])
	if err != nil {
		return Operation{}, err
	}
	op := Operation{Method: method, URL: url, Header: header, ContentID: part.Get("Content-ID")}
	if op.ContentID == "" {
		op.ContentID = header.Get("Content-ID")
	}
	op.Body = bytes.TrimRight(body, "\r\n")
	return op, nil
}

// requestLine reads METHOD URL HTTP/1.1. Only the outer blanks separate: a URL with blanks in it is for its reader to
// refuse or take.
func requestLine(line string) (method, url string, ok bool) {
	line = strings.Trim(line, " \t")
	method, rest, _ := strings.Cut(line, " ")
	i := strings.LastIndexByte(rest, ' ')
	if method == "" || i < 0 || !strings.HasPrefix(rest[i+1:], "HTTP/") {
		return "", "", false
	}
	url = strings.Trim(rest[:i], " ")
	return strings.ToUpper(method), url, url != ""
}
