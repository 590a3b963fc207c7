package pace

import (
	"math"
	"time"
)

// burst is the time whose tokens a bucket holds at most: enough that timers need not be exact, too little to be felt.
const burst = 50 * time.Millisecond

// leastWait is as exact as timers are used.
const leastWait = 100 * time.Microsecond

// bucket is a token bucket; a token is an entity. What asks for more than the bucket can hold is served when it is
// full, and leaves a debt. So in any time t no more is granted than rate × t and the larger of capacity and of the largest
// single request.
type bucket struct {
	rate    float64 // tokens a second; more than 0
	balance float64 // at most capacity; negative: a debt
	at      time.Time
}

func newBucket(rate float64, now time.Time) bucket {
	b := bucket{rate: rate, at: now}
	b.balance = b.capacity()
	return b
}

func (b *bucket) capacity() float64 { return math.Max(1, b.rate*burst.Seconds()) }

// fill adds the tokens of the time since the last call. A clock that goes back adds none.
func (b *bucket) fill(now time.Time) { b.setRate(b.rate, now) }

// setRate changes the rate from now on.
func (b *bucket) setRate(rate float64, now time.Time) {
	if dt := now.Sub(b.at).Seconds(); dt > 0 {
		b.balance += dt * b.rate
		b.at = now
	}
	b.rate = rate
	b.balance = math.Min(b.capacity(), b.balance)
}

// take takes n tokens and returns 0, or takes none and returns how long it is until they are there at this rate.
func (b *bucket) take(n int, now time.Time) time.Duration {
	b.fill(now)
	need := math.Min(float64(n), b.capacity())
	if b.balance >= need {
		b.balance -= float64(n)
		return 0
	}
	return max(leastWait, time.Duration(math.Ceil((need-b.balance)/b.rate*float64(time.Second))))
}

// give returns tokens that were taken and not used; n less than 0 takes more, on debt.
func (b *bucket) give(n int) { b.balance = math.Min(b.capacity(), b.balance+float64(n)) }
