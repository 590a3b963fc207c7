package pace

import "time"

// What is looked at to tell whose limit a refusal is.
const (
	evidenceFor  = time.Second // refusals and requests that count as being at the same time
	remembered   = time.Minute // how long a partition that was refused is suspect
	mostEvidence = 16          // partitions that were refused
)

// evidence are the partitions of an account that were refused last, by which a limit of the account is told from one of a
// partition. The service says "over the account limit" in the message of some refusals (Common REST API error codes,
// ServerBusy); where it has ever said so, what does not say so is the partition's. Otherwise, by a rule of ours, a refusal is
// the account's
//   - when the work waits for the account's tokens and not for the partition's, so that it is the account's rate
//     which grew, and it is not a partition that was refused lately: that one has a limit of its own;
//   - or when it comes from several of the partitions at work at once, and a quarter of them at least.
type evidence struct {
	speaks bool
	last   []seen // the latest at the end, each partition once
}

type seen struct {
	partition partitionKey
	at        time.Time
}

// blamesAccount notes a refusal and says whether it is the account's. Said is that the service says so, growing that the
// work waits for the account's tokens and not for the partition's, and active how many partitions are at work.
func (e *evidence) blamesAccount(said, growing bool, r Request, active int, now time.Time) bool {
	if e.speaks = e.speaks || said; e.speaks {
		return said
	}
	key := keyOf(r)
	kept := e.last[:0]
	suspect, together := false, 1
	for _, x := range e.last {
		switch age := now.Sub(x.at); {
		case age > remembered:
		case x.partition == key:
			suspect = true
		default:
			kept = append(kept, x)
			if age <= evidenceFor {
				together++
			}
		}
	}
	if len(kept) == mostEvidence {
		kept = append(kept[:0], kept[1:]...)
	}
	e.last = append(kept, seen{key, now})
	return growing && !suspect || together >= max(3, min(active/4, mostEvidence))
}
