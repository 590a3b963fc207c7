package tablestorage

import (
	"bytes"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"net/textproto"
	"strconv"
	"strings"
)

// partAnswer is the answer to one operation of a transaction, or to the whole of it.
type partAnswer struct {
	status int
	etag   string
	body   []byte
}

// parseTransaction reads the answer to a transaction. The service sends a multipart body in a multipart body, a part
// for each operation if it was committed, else exactly one with the operation's error. What servers are known to
// bend is taken: LF for CRLF, a missing final boundary, a wrong or missing boundary parameter, and a plain JSON
// error in place of it all.
func parseTransaction(contentType string, body []byte) ([]partAnswer, error) {
	body = bytes.TrimSpace(bytes.TrimPrefix(body, byteOrderMark))
	if len(body) == 0 {
		return nil, errors.New("the answer to the transaction is empty")
	}
	if body[0] == '{' || body[0] == '<' {
		return []partAnswer{{status: http.StatusBadRequest, body: body}}, nil
	}
	outer, err := splitParts(contentType, body)
	if err != nil {
		return nil, err
	}
	var answers []partAnswer
	for _, part := range outer {
		header, content := splitHeader(part)
		inner := [][]byte{part}
		if strings.HasPrefix(strings.ToLower(header.Get("Content-Type")), "multipart/") {
			if inner, err = splitParts(header.Get("Content-Type"), content); err != nil {
				return nil, err
			}
		}
		for _, p := range inner {
			a, err := parsePart(p)
			if err != nil {
				return nil, fmt.Errorf("part %d: %w", len(answers), err)
			}
			answers = append(answers, a)
		}
	}
	if len(answers) == 0 {
		return nil, errors.New("the answer to the transaction has no parts")
	}
	return answers, nil
}

// parsePart reads one application/http part: its own header, a status line, the answer's header, and a body.
func parsePart(part []byte) (partAnswer, error) {
	_, answer := splitHeader(part)
	answer = bytes.TrimLeft(answer, "\r\n")
	line, rest := cutLine(answer)
	proto, status, _ := strings.Cut(string(line), " ")
	if !strings.HasPrefix(proto, "HTTP/") {
		return partAnswer{}, errors.New("no HTTP status line")
	}
	digits, _, _ := strings.Cut(strings.TrimSpace(status), " ")
	code, err := strconv.Atoi(digits)
	if err != nil || code < 100 || code > 999 {
		return partAnswer{}, errors.New("no HTTP status")
	}
	header, body := splitHeader(rest)
	return partAnswer{status: code, etag: header.Get("ETag"), body: bytes.TrimSpace(body)}, nil
}

// splitParts returns what is between the boundary lines of a multipart body. The end of the body ends the last part.
// Where the content type names no boundary, the first line that begins with two dashes does.
func splitParts(contentType string, body []byte) ([][]byte, error) {
	boundary := ""
	if _, params, err := mime.ParseMediaType(contentType); err == nil && params["boundary"] != "" {
		boundary = "--" + params["boundary"]
	}
	var parts [][]byte
	start := -1 // of the part that is open
	for at := 0; at < len(body); {
		line, rest := cutLine(body[at:])
		next := len(body) - len(rest)
		text := strings.TrimRight(string(line), " \t")
		if boundary == "" && strings.HasPrefix(text, "--") {
			boundary = text
		}
		if boundary != "" && (text == boundary || text == boundary+"--") {
			if start >= 0 {
				parts = append(parts, body[start:at])
			}
			if start = next; text != boundary {
				return parts, nil
			}
		}
		at = next
	}
	switch {
	case start < 0:
		return nil, errors.New("no boundary in the answer to the transaction")
	case len(bytes.TrimSpace(body[start:])) > 0:
		parts = append(parts, body[start:])
	}
	return parts, nil
}

// splitHeader reads header lines up to an empty line; without any header, what follows is the rest.
func splitHeader(b []byte) (textproto.MIMEHeader, []byte) {
	header := textproto.MIMEHeader{}
	for len(b) > 0 {
		line, rest := cutLine(b)
		b = rest
		if len(bytes.TrimSpace(line)) == 0 {
			break
		}
		if name, value, found := strings.Cut(string(line), ":"); found {
			header.Add(strings.TrimSpace(name), strings.TrimSpace(value))
		}
	}
	return header, b
}

// cutLine returns the first line without its LF or CRLF, and what follows it.
func cutLine(b []byte) (line, rest []byte) {
	line, rest, _ = bytes.Cut(b, []byte("\n"))
	return bytes.TrimSuffix(line, []byte("\r")), rest
}

// indexOf splits "3:The specified entity already exists." into the index of the operation and the text; -1 where
// there is no index.
func indexOf(message string) (int, string) {
	digits, text, found := strings.Cut(message, ":")
	if !found {
		return -1, message
	}
	i, err := strconv.Atoi(digits)
	if err != nil || i < 0 {
		return -1, message
	}
	return i, text
}
