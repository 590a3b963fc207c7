package main

import (
	"bufio"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"hash"
	"io"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/aztenancy/terraform-provider-aztenancy/internal/tablestorage"
)

const (
	account    = tablestorage.DevelopmentAccount
	accountKey = tablestorage.DevelopmentKey
)

// conn is one connection that sends requests signed with SharedKeyLite, one after the other. It does as little as an
// HTTP client can, because it shares the processors with what it measures.
type conn struct {
	c    net.Conn
	r    *bufio.Reader
	host string
	mac  hash.Hash
	buf  []byte
	body []byte
}

func dial(address string) (*conn, error) {
	c, err := net.Dial("tcp", address)
	if err != nil {
		return nil, err
	}
	key, err := base64.StdEncoding.DecodeString(accountKey)
	if err != nil {
		return nil, err
	}
	return &conn{c: c, r: bufio.NewReaderSize(c, 64<<10), host: address, mac: hmac.New(sha256.New, key)}, nil
}

func (c *conn) close() { _ = c.c.Close() } // nothing is on its way

// signature signs a request (Authorize with Shared Key, REST reference).
func signature(mac hash.Hash, date, path string) string {
	mac.Reset()
	path, _, _ = strings.Cut(path, "?")
	_, _ = io.WriteString(mac, date+"\n/"+account+path)
	return base64.StdEncoding.EncodeToString(mac.Sum(nil))
}

// do sends one request below the account and reads the whole answer, whose status has to be want. The answer's body
// is valid until the next call. next is the query of the page that follows, if any.
func (c *conn) do(method, path, contentType string, body []byte, want int) (answer []byte, next string, err error) {
	path = "/" + account + "/" + path
	date := time.Now().UTC().Format(http.TimeFormat)
	b := append(c.buf[:0], method...)
	b = append(append(append(b, ' '), path...), " HTTP/1.1\r\nHost: "...)
	b = append(append(b, c.host...), "\r\nx-ms-version: 2019-02-02\r\nAccept: application/json;odata=minimalmetadata\r\nPrefer: return-no-content\r\nx-ms-date: "...)
	b = append(append(b, date...), "\r\nAuthorization: SharedKeyLite "+account+":"...)
	b = append(append(b, signature(c.mac, date, path)...), "\r\n"...)
	if contentType != "" {
		b = append(append(append(b, "Content-Type: "...), contentType...), "\r\nContent-Length: "...)
		b = append(strconv.AppendInt(b, int64(len(body)), 10), "\r\n"...)
	}
	b = append(append(b, "\r\n"...), body...)
	c.buf = b
	if _, err := c.c.Write(b); err != nil {
		return nil, "", err
	}
	status, answer, next, err := c.read()
	if err == nil && status != want {
		err = fmt.Errorf("%s %s: status %d, want %d: %.300s", method, path, status, want, answer)
	}
	return answer, next, err
}

func (c *conn) line() (string, error) {
	line, err := c.r.ReadSlice('\n')
	return strings.TrimRight(string(line), "\r\n"), err
}

func (c *conn) read() (status int, body []byte, next string, err error) {
	line, err := c.line()
	if err != nil || len(line) < 12 {
		return 0, nil, "", fmt.Errorf("read an answer: %q: %w", line, err)
	}
	if status, err = strconv.Atoi(line[9:12]); err != nil {
		return 0, nil, "", err
	}
	length, chunked := 0, false
	for {
		if line, err = c.line(); err != nil {
			return 0, nil, "", err
		}
		if line == "" {
			break
		}
		name, value, _ := strings.Cut(line, ": ")
		switch strings.ToLower(name) {
		case "content-length":
			if length, err = strconv.Atoi(value); err != nil {
				return 0, nil, "", err
			}
		case "transfer-encoding":
			chunked = true
		case "x-ms-continuation-nextpartitionkey":
			next += "&NextPartitionKey=" + value
		case "x-ms-continuation-nextrowkey":
			next += "&NextRowKey=" + value
		}
	}
	c.body = c.body[:0]
	if status == http.StatusNoContent {
		return status, nil, next, nil
	}
	for {
		if chunked {
			if line, err = c.line(); err != nil {
				return 0, nil, "", err
			}
			n, err := strconv.ParseInt(line, 16, 32)
			if err != nil {
				return 0, nil, "", err
			}
			length = int(n)
		}
		start := len(c.body)
		c.body = slices.Grow(c.body, length)[:start+length]
		if _, err := io.ReadFull(c.r, c.body[start:]); err != nil {
			return 0, nil, "", err
		}
		if !chunked {
			return status, c.body, next, nil
		}
		if _, err := c.line(); err != nil {
			return 0, nil, "", err
		}
		if length == 0 {
			return status, c.body, next, nil
		}
	}
}
