package pace

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"
)

// epoch is any time.
var epoch = time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC)

func TestABucketGrantsNoMoreThanItsRateInAnyWindow(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rate := rapid.Float64Range(1, 50000).Draw(t, "rate")
		now := epoch
		b := newBucket(rate, now)
		var grants []grant
		largest := b.capacity()
		for range rapid.IntRange(1, 200).Draw(t, "requests") {
			now = now.Add(time.Duration(rapid.Int64Range(0, int64(300*time.Millisecond)).Draw(t, "pause")))
			n := rapid.IntRange(1, 1000).Draw(t, "entities")
			wait := b.take(n, now)
			if wait > 0 && rapid.Bool().Draw(t, "patient") {
				now = now.Add(wait)
				if wait = b.take(n, now); wait > time.Millisecond {
					t.Fatalf("waited as told, and have to wait %v more", wait)
				}
			}
			if wait == 0 {
				grants = append(grants, grant{now, n})
				largest = max(largest, float64(n))
			}
		}
		for i := range grants {
			sum := 0.0
			for _, g := range grants[i:] {
				sum += float64(g.n)
				if most := rate*g.at.Sub(grants[i].at).Seconds() + largest; sum > most+1e-6*most {
					t.Fatalf("%v entities in %v at %v/s", sum, g.at.Sub(grants[i].at), rate)
				}
			}
		}
	})
}

func TestTheGivenRateIsNeverExceededWhateverElseChanges(test *testing.T) {
	rapid.Check(test, func(t *rapid.T) {
		rate := rapid.Float64Range(50, 5000).Draw(t, "rate")
		partitions, senders := rapid.IntRange(1, 8).Draw(t, "partitions"), rapid.IntRange(1, 4).Draw(t, "senders")
		s := &service{account: rapid.SampledFrom([]float64{0, 300, 20000}).Draw(t, "account"), latency: 3 * time.Millisecond}
		synctest.Test(test, func(tt *testing.T) {
			p := New(nil)
			p.SetRate(rate)
			load(tt, p, s, partitions, senders, 10*time.Second)
		})
		for i := range s.servedAt {
			sum := 0.0
			for _, g := range s.servedAt[i:] {
				sum += float64(g.n)
				if most := rate*(g.at.Sub(s.servedAt[i].at)+s.latency).Seconds() + max(100, rate*burst.Seconds()); sum > most+1 {
					t.Fatalf("%v entities in %v at %v/s", sum, g.at.Sub(s.servedAt[i].at), rate)
				}
			}
		}
	})
}

func TestAnAccountsTargetIsUsedAndSeldomExceeded(t *testing.T) {
	for name, c := range map[string]struct {
		service *service
		d       time.Duration
	}{
		"refusals that name the account": {&service{account: 20000, partition: 2000, latency: 4 * time.Millisecond}, 50 * time.Second},
		"refusals that do not":           {&service{account: 20000, partition: 2000, latency: 4 * time.Millisecond, silent: true}, 50 * time.Second},
		"far away":                       {&service{account: 20000, latency: 40 * time.Millisecond}, 50 * time.Second},
		"small":                          {&service{account: 5000, latency: 4 * time.Millisecond}, 100 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := c.service
				load(t, New(nil), s, 64, 1, c.d)
				used, refused := float64(s.total())/(s.account*c.d.Seconds()), float64(s.refused)/float64(s.asked)
				t.Logf("used %.1f %%, refused %.2f %%", 100*used, 100*refused)
				if used < 0.95 {
					t.Errorf("%.1f %% of the target used", 100*used)
				}
				if refused > 0.01 {
					t.Errorf("%.2f %% of the requests refused", 100*refused)
				}
			})
		})
	}
}

func TestAHotPartitionDoesNotHoldTheOthersBack(t *testing.T) {
	for name, silent := range map[string]bool{"said": false, "silent": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &service{account: 20000, latency: 4 * time.Millisecond, silent: silent, hot: map[string]float64{"0": 500}}
				const d = 60 * time.Second
				load(t, New(nil), s, 32, 2, d)
				t.Logf("hot %d, all %d, refused %d of %d", s.served["0"], s.total(), s.refused, s.asked)
				if hot := float64(s.served["0"]) / d.Seconds(); hot < 0.7*500 {
					t.Errorf("the hot partition got %.0f/s of its 500/s", hot)
				}
				if others := float64(s.total()-s.served["0"]) / d.Seconds(); others < 0.95*19500 {
					t.Errorf("the others got %.0f/s of 19,500/s", others)
				}
			})
		})
	}
}

func TestNoPartitionStarves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &service{account: 5000, latency: 4 * time.Millisecond}
		load(t, New(nil), s, 20, 4, 40*time.Second)
		for i := range 20 {
			if n := s.served[fmt.Sprint(i)]; float64(n) < 0.7*float64(s.total())/20 {
				t.Errorf("partition %d got %d of %d entities", i, n, s.total())
			}
		}
	})
}

func TestTheRateRecoversAfterThrottling(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, s := New(nil), &service{account: 20000, latency: 4 * time.Millisecond}
		load(t, p, s, 32, 2, 10*time.Second)
		s.account = 500 // somebody else uses the rest
		load(t, p, s, 32, 2, 20*time.Second)
		low := p.State().Flows[Write].Rate
		s.account = 20000
		load(t, p, s, 32, 2, 60*time.Second)
		before := s.total()
		load(t, p, s, 32, 2, 20*time.Second)
		if rate := float64(s.total()-before) / 20; low > 1500 || rate < 18000 {
			t.Errorf("throttled to %.0f/s, and after a minute at %.0f/s of 20,000/s", low, rate)
		}
	})
}

func TestRetryAfterIsHonoured(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := New(nil)
		ticket, err := p.Begin(t.Context(), aWrite)
		if err != nil {
			t.Fatal(err)
		}
		ticket.Sent()
		ticket.Answered(Answer{Refused: true, Status: 503, RetryAfter: 7 * time.Second})
		start := time.Now()
		if got := p.Reason(); !strings.HasPrefix(got, "a partition of acct/Orders, which answers 503; at ") {
			t.Errorf("waiting for %s", got)
		}
		other, err := p.Begin(t.Context(), Request{Account: "acct", Table: "Orders", Partition: "other", Kind: Write, Entities: 1})
		if err != nil || time.Since(start) > 0 {
			t.Errorf("another partition waited %v (%v)", time.Since(start), err)
		}
		other.Done()
		if same, err := p.Begin(t.Context(), aWrite); err != nil || time.Since(start) < 7*time.Second {
			t.Errorf("another request to the same waited only %v (%v)", time.Since(start), err)
		} else {
			same.Done()
		}
		if err := ticket.Again(t.Context()); err != nil || time.Since(start) < 7*time.Second {
			t.Errorf("the next try waited only %v (%v)", time.Since(start), err)
		}
		ticket.Done()
	})
}

var aWrite = Request{Account: "acct", Table: "Orders", Partition: "p", Kind: Write, Entities: 1}

func TestARequestThatIsAlwaysRefusedIsGivenUpAfterPatience(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		err := send(t.Context(), New(nil), &service{partition: 0.001}, aWrite)
		if !errors.Is(err, ErrRefused) || time.Since(start) < Patience-lastRetry || time.Since(start) > 2*Patience {
			t.Errorf("%v after %v", err, time.Since(start))
		}
	})
}

func TestAPauseHoldsEverythingUntilAllWhoPausedResume(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := New(nil)
		p.Pause("file", "the pause file to go")
		p.Pause("tune", "tenantctl tune contoso resume")
		done := make(chan time.Duration, 1)
		start := time.Now()
		go func() {
			_ = send(context.WithoutCancel(t.Context()), p, &service{}, aWrite)
			done <- time.Since(start)
		}()
		time.Sleep(time.Hour)
		if got := p.Reason(); got != "the pause file to go" {
			t.Errorf("waiting for %s", got)
		}
		p.Pause("file", "")
		synctest.Wait()
		if got := p.Reason(); got != "tenantctl tune contoso resume" {
			t.Errorf("waiting for %s", got)
		}
		p.Pause("tune", "")
		if d := <-done; d != time.Hour {
			t.Errorf("sent after %v", d)
		}
	})
}

func TestWhoGivesUpWaitingLeavesNothingBehind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := New(nil)
		p.SetRate(10)
		p.SetWorkers(1)
		for range 50 {
			ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
			if ticket, err := p.Begin(ctx, aWrite); err == nil {
				ticket.Done()
			} else if !errors.Is(err, context.DeadlineExceeded) {
				t.Error(err)
			}
			cancel()
		}
		time.Sleep(time.Second)
		if err := send(t.Context(), p, &service{}, aWrite); err != nil {
			t.Error(err)
		}
		if s := p.State(); s.Waiting != 0 {
			t.Errorf("%d wait", s.Waiting)
		}
	})
}

func TestWorkersBoundsWhatIsUnderWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := New(nil)
		p.SetWorkers(3)
		var mu sync.Mutex
		var under, most int
		var wg sync.WaitGroup
		for i := range 20 {
			wg.Go(func() {
				ticket, err := p.Begin(t.Context(), Request{Account: "acct", Partition: fmt.Sprint(i), Kind: Read, Entities: 1})
				if err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				under++
				most = max(most, under)
				mu.Unlock()
				time.Sleep(time.Second)
				mu.Lock()
				under--
				mu.Unlock()
				ticket.Sent()
				ticket.Done()
			})
		}
		wg.Wait()
		if most != 3 {
			t.Errorf("%d under way at once", most)
		}
	})
}

func TestIdlePartitionsAreForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, s := New(nil), &service{}
		p.SetRate(0)
		for i := range 3 * mostPartitions {
			if err := send(t.Context(), p, s, Request{Account: "acct", Partition: fmt.Sprint(i), Kind: Write, Entities: 1}); err != nil {
				t.Fatal(err)
			}
		}
		if n := p.State().Partitions; n > mostPartitions {
			t.Errorf("%d partitions are remembered", n)
		}
		time.Sleep(2 * partitionIdle)
		if err := send(t.Context(), p, s, aWrite); err != nil {
			t.Fatal(err)
		}
		if n := p.State().Partitions; n != 1 {
			t.Errorf("%d partitions are remembered after idle time", n)
		}
	})
}

func TestSlowAnswersHoldAndThenLowerTheRate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, s := New(nil), &service{latency: 4 * time.Millisecond}
		load(t, p, s, 4, 4, 2*time.Second)
		fast := p.State().Flows[Write].Rate
		s.latency = 2 * time.Second
		load(t, p, s, 4, 4, time.Minute)
		slow := p.State().Flows[Write].Rate
		if slow > 0.8*fast || slow < accountStart/5*(1-leastCut) {
			t.Errorf("%.0f/s with fast answers, %.0f/s with slow ones", fast, slow)
		}
	})
}

// Pages of a few entities, of which each could have 1,000, are paced by what they have.
func TestSmallPagesArePacedByWhatTheyHave(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := New(nil)
		p.SetRate(2000)
		const partitions, pages, size = 16, 20, 50
		start := time.Now()
		var wg sync.WaitGroup
		for i := range partitions {
			wg.Go(func() {
				for range pages {
					ticket, err := p.Begin(t.Context(), Request{Account: "acct", Partition: fmt.Sprint(i), Kind: Read, Entities: 1000, Page: true})
					if err != nil {
						t.Error(err)
						return
					}
					ticket.Sent()
					time.Sleep(5 * time.Millisecond)
					ticket.Done()
					ticket.Actual(size)
				}
			})
		}
		wg.Wait()
		n := float64(partitions * pages * size)
		if rate := n / time.Since(start).Seconds(); rate < 1700 || rate > 2000*1.05 {
			t.Errorf("%.0f entities/s of 2,000", rate)
		}
		if got := p.State().Flows[Read].Entities; got != int64(n) {
			t.Errorf("counted %d of %v", got, n)
		}
	})
}
