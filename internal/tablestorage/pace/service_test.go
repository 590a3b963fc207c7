package pace

import (
	"context"
	"fmt"
	"math"
	"sync"
	"testing"
	"time"
)

// service is a model of the table service: an account and its partitions each serve so many entities a second, of which
// a second may be saved up, and refuse the rest.
type service struct {
	account, partition float64 // entities a second; 0: any number
	hot                map[string]float64
	latency            time.Duration
	silent             bool // refusals do not say whose limit it is
	retryAfter         time.Duration

	mu             sync.Mutex
	buckets        map[string]*tokens
	served         map[string]int // entities, by partition
	asked, refused int            // requests
	servedAt       []grant
}

type tokens struct {
	n  float64
	at time.Time
}

type grant struct {
	at time.Time
	n  int
}

// ask returns the answer to a request after the model's latency.
func (s *service) ask(r Request) Answer {
	time.Sleep(s.latency)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked++
	partition := s.partition
	if rate, is := s.hot[r.Partition]; is {
		partition = rate
	}
	if !s.has("p"+r.Partition, partition, r.Entities) {
		s.refused++
		return Answer{Refused: true, Status: 503, RetryAfter: s.retryAfter}
	}
	if !s.has("account", s.account, r.Entities) {
		s.refused++
		return Answer{Refused: true, Status: 503, ByAccount: !s.silent, RetryAfter: s.retryAfter}
	}
	s.buckets["p"+r.Partition].n -= float64(r.Entities)
	s.buckets["account"].n -= float64(r.Entities)
	s.served[r.Partition] += r.Entities
	s.servedAt = append(s.servedAt, grant{time.Now(), r.Entities})
	return Answer{Status: 204}
}

func (s *service) has(name string, rate float64, n int) bool {
	if s.buckets == nil {
		s.buckets, s.served = map[string]*tokens{}, map[string]int{}
	}
	now := time.Now()
	b := s.buckets[name]
	if b == nil {
		b = &tokens{rate, now}
		s.buckets[name] = b
	}
	if rate == 0 {
		b.n = math.Inf(1)
		return true
	}
	b.n = min(rate, b.n+now.Sub(b.at).Seconds()*rate)
	b.at = now
	return b.n >= float64(n)
}

// send sends one request until it is served.
func send(ctx context.Context, p *Pacer, s *service, r Request) error {
	t, err := p.Begin(ctx, r)
	if err != nil {
		return err
	}
	defer t.Done()
	for {
		t.Sent()
		x := s.ask(r)
		t.Answered(x)
		if !x.Refused {
			return nil
		}
		if err := t.Again(ctx); err != nil {
			return err
		}
	}
}

// load has so many senders for each of the partitions, which write transactions of 100 for a time, and returns what each
// partition got.
func load(t *testing.T, p *Pacer, s *service, partitions, senders int, d time.Duration) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), d)
	defer cancel()
	var wg sync.WaitGroup
	for i := range partitions {
		for range senders {
			wg.Go(func() {
				for ctx.Err() == nil {
					_ = send(ctx, p, s, Request{Account: "acct", Table: "Orders", Partition: fmt.Sprint(i), Kind: Write, Entities: 100})
				}
			})
		}
	}
	wg.Wait()
}

func (s *service) total() (n int) {
	for _, x := range s.served {
		n += x
	}
	return n
}
