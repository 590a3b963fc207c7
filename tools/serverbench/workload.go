package main

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

const (
	partitions  = 100
	connections = 16
	batchSize   = 100
)

// payload ends the JSON of an entity of 1 KiB.
var payload = `"data":"` + strings.Repeat("0123456789abcdef", 60) + `"}`

func partition(i int) string { return fmt.Sprintf("p%02d", i%partitions) }

func entity(pk, rk string) string {
	return `{"PartitionKey":"` + pk + `","RowKey":"` + rk + `",` + payload
}

// What answers are counted by.
var rowKey, done = []byte(`"RowKey"`), []byte("HTTP/1.1 204")

// row is the RowKey of the nth entity of a partition.
func row(n int) string { return fmt.Sprintf("%06d", n) }

// workload is one kind of request. step sends one and returns how many units it was worth.
type workload struct {
	name, unit string
	bare       bool // the bare limit can answer it
	step       func(c *conn, size, worker, i int) (units int, err error)
}

// The inserts of all workers and rounds get different keys.
var inserted atomic.Int64

var workloads = []workload{
	{"point get", "gets/s", true, func(c *conn, size, _, _ int) (int, error) {
		n := rand.IntN(size)
		_, _, err := c.do("GET", "Load(PartitionKey='"+partition(n)+"',RowKey='"+row(n/partitions)+"')", "", nil, 200)
		return 1, err
	}},
	{"insert", "inserts/s", true, func(c *conn, _, _, _ int) (int, error) {
		n := int(inserted.Add(1))
		_, _, err := c.do("POST", "One", "application/json", []byte(entity(partition(n), row(n))), 204)
		return 1, err
	}},
	{"PartitionKey range of 100", "queries/s", false, func(c *conn, size, _, _ int) (int, error) {
		of := max(size/partitions-batchSize, 1)
		n := rand.IntN(of)
		answer, _, err := c.do("GET", "Load()?$filter=PartitionKey%20eq%20'"+partition(rand.IntN(partitions))+"'%20and%20RowKey%20ge%20'"+row(n)+
			"'%20and%20RowKey%20lt%20'"+row(n+batchSize)+"'", "", nil, 200)
		if found := bytes.Count(answer, rowKey); err == nil && found != batchSize {
			err = fmt.Errorf("a range of %d answered with %d", batchSize, found)
		}
		return 1, err
	}},
}

// load inserts the entities from to to in transactions of 100, each in one partition, and returns the seconds.
func load(address string, from, to int) (float64, error) {
	var next atomic.Int64
	next.Store(int64(from / batchSize))
	began := time.Now()
	err := parallel(address, func(c *conn, _ int) error {
		for {
			n := int(next.Add(1)) - 1
			if n >= to/batchSize {
				return nil
			}
			pk, first := partition(n), n/partitions*batchSize
			var b strings.Builder
			b.WriteString("--batch_1\r\nContent-Type: multipart/mixed; boundary=changeset_1\r\n\r\n")
			for i := range batchSize {
				fmt.Fprintf(&b, "--changeset_1\r\nContent-Type: application/http\r\nContent-Transfer-Encoding: binary\r\n\r\n"+
					"POST http://%s/%s/Load HTTP/1.1\r\nContent-Type: application/json\r\nAccept: application/json;odata=minimalmetadata\r\n"+
					"Prefer: return-no-content\r\nDataServiceVersion: 3.0;\r\n\r\n%s\r\n", address, account, entity(pk, row(first+i)))
			}
			b.WriteString("--changeset_1--\r\n--batch_1--\r\n")
			answer, _, err := c.do("POST", "$batch", "multipart/mixed; boundary=batch_1", []byte(b.String()), 202)
			if err == nil && bytes.Count(answer, done) != batchSize {
				err = fmt.Errorf("a transaction was refused: %.300s", answer)
			}
			if err != nil {
				return err
			}
		}
	})
	return time.Since(began).Seconds(), err
}

// scan reads the whole table page by page, and returns entities a second.
func scan(address string, size int) (float64, error) {
	c, err := dial(address)
	if err != nil {
		return 0, err
	}
	defer c.close()
	began, found, next := time.Now(), 0, ""
	for first := true; first || next != ""; first = false {
		var answer []byte
		if answer, next, err = c.do("GET", "Load()?$top=1000"+next, "", nil, 200); err != nil {
			return 0, err
		}
		found += bytes.Count(answer, rowKey)
	}
	if found != size {
		return 0, fmt.Errorf("a scan of %d entities found %d", size, found)
	}
	return float64(found) / time.Since(began).Seconds(), nil
}

// run sends a workload's requests on all connections for a while, and returns units a second.
func (w workload) run(address string, size int, duration time.Duration) (float64, error) {
	var units atomic.Int64
	began := time.Now()
	err := parallel(address, func(c *conn, worker int) error {
		for i := 0; time.Since(began) < duration; i++ {
			n, err := w.step(c, size, worker, i)
			if err != nil {
				return err
			}
			units.Add(int64(n))
		}
		return nil
	})
	return float64(units.Load()) / time.Since(began).Seconds(), err
}

// parallel runs work once on each connection and returns the first error.
func parallel(address string, work func(c *conn, worker int) error) error {
	errs := make(chan error, connections)
	var wg sync.WaitGroup
	for worker := range connections {
		wg.Go(func() {
			c, err := dial(address)
			if err == nil {
				defer c.close()
				err = work(c, worker)
			}
			errs <- err
		})
	}
	wg.Wait()
	close(errs)
	for err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}
