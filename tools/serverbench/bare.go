package main

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"

	"github.com/cockroachdb/pebble/v2"
)

// bare is the limit: what net/http, a signature and a synced Pebble batch cost, and nothing else. It checks each
// signature, keeps what a write brings under running numbers, and answers reads with canned bytes.
type bare struct {
	db     *pebble.DB
	key    []byte
	number atomic.Uint64
}

// serveBare runs the limit on a folder until the process is stopped.
func serveBare(ctx context.Context, dir, address string) error {
	key, err := base64.StdEncoding.DecodeString(accountKey)
	if err != nil {
		return err
	}
	db, err := pebble.Open(dir, &pebble.Options{FormatMajorVersion: pebble.FormatNewest, Logger: quiet{}, MemTableSize: 16 << 20})
	if err != nil {
		return fmt.Errorf("open %s: %w", dir, err)
	}
	l, err := net.Listen("tcp", address)
	if err != nil {
		return err
	}
	server := &http.Server{Handler: &bare{db: db, key: key}} //nolint:gosec // a benchmark's own client
	stop := context.AfterFunc(ctx, func() { _ = server.Close() })
	defer stop()
	if err := server.Serve(l); err != nil && ctx.Err() == nil {
		return err
	}
	return db.Close()
}

// quiet drops Pebble's log.
type quiet struct{ pebble.Logger }

func (quiet) Infof(string, ...any)  {}
func (quiet) Errorf(string, ...any) {}

func (b *bare) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	want := "SharedKeyLite " + account + ":" + signature(hmac.New(sha256.New, b.key), r.Header.Get("x-ms-date"), r.URL.EscapedPath())
	if !hmac.Equal([]byte(want), []byte(r.Header.Get("Authorization"))) {
		w.WriteHeader(http.StatusForbidden)
		return
	}
	h := w.Header()
	h.Set("Server", "Windows-Azure-Table/1.0 Microsoft-HTTPAPI/2.0")
	h.Set("x-ms-request-id", "c386d26b-0fa6-f707-bbd8-7d55f024d02b")
	h.Set("x-ms-version", r.Header.Get("x-ms-version"))
	h.Set("ETag", `W/"datetime'2026-05-01T12%3A00%3A00.0000000Z'"`)
	h.Set("Cache-Control", "no-cache")
	if r.Method == http.MethodGet {
		h.Set("Content-Type", "application/json;odata=minimalmetadata;streaming=true;charset=utf-8")
		_, _ = w.Write(cannedEntity)
		return
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	values := [][]byte{body}
	batch := strings.HasSuffix(r.URL.Path, "$batch")
	if batch {
		values = bytes.SplitAfter(body, []byte(`"}`))
	}
	if err := b.keep(values); err != nil {
		w.WriteHeader(http.StatusInternalServerError)
		return
	}
	if !batch {
		w.WriteHeader(http.StatusNoContent)
		return
	}
	h.Set("Content-Type", "multipart/mixed; boundary=batchresponse_1")
	w.WriteHeader(http.StatusAccepted)
	_, _ = w.Write(cannedBatch)
}

// keep writes the values in one synced batch.
func (b *bare) keep(values [][]byte) error {
	batch := b.db.NewBatch()
	for _, v := range values {
		if err := batch.Set(binary.BigEndian.AppendUint64(nil, b.number.Add(1)), v, nil); err != nil {
			return err
		}
	}
	return batch.Commit(pebble.Sync)
}

var cannedEntity = append([]byte(`{"odata.metadata":"http://127.0.0.1:10002/devstoreaccount1/$metadata#Load/@Element",`+
	`"odata.etag":"W/\"datetime'2026-05-01T12%3A00%3A00.0000000Z'\"","PartitionKey":"p00","RowKey":"000000",`+
	`"Timestamp":"2026-05-01T12:00:00.0000000Z",`), payload...)

var cannedBatch = []byte(strings.Repeat("--changesetresponse_1\r\nContent-Type: application/http\r\nContent-Transfer-Encoding: binary\r\n\r\n"+
	"HTTP/1.1 204 No Content\r\nX-Content-Type-Options: nosniff\r\nCache-Control: no-cache\r\nPreference-Applied: return-no-content\r\n"+
	"DataServiceVersion: 3.0;\r\nETag: W/\"datetime'2026-05-01T12%3A00%3A00.0000000Z'\"\r\n\r\n\r\n", batchSize))
