package migration

import (
	"cmp"
	"context"
	"time"

	"github.com/aztenancy/terraform-provider-aztenancy/internal/catalog"
	"github.com/aztenancy/terraform-provider-aztenancy/internal/tablestorage"
	"github.com/aztenancy/terraform-provider-aztenancy/internal/tablestorage/pace"
)

// Engine moves tenants. Its fields are set once, before first use; it keeps no state of its own between calls, so
// that any machine can finish what another began.
type Engine struct {
	Catalog  *catalog.Catalog
	Accounts *tablestorage.Accounts
	// Progress hears what happens; nil means Discard.
	Progress Progress
	// Owner names this mover in leases and messages; "" means host name and process id.
	Owner string
	// Pacer is the one of Accounts.Paced, if they have one; a run then follows what the catalog says about its pace.
	Pacer *pace.Pacer
	// MaxNeighbourP99 bounds the work where point reads of other tenants in the move's shared tables take longer, 1 of
	// 100 of them; 0: they are not looked at. It needs Pacer.
	MaxNeighbourP99 time.Duration
	// LeaseTTL is how long a lease lives without renewal; 0 means DefaultLeaseTTL.
	LeaseTTL time.Duration

	// Tool is the name and version of the program, for archives; "" means aztenancy.
	Tool string

	// fault is called with the name of each fault point; where it returns true the run stops there as if killed.
	// Nil in production.
	fault func(point string) bool
	// drained, if set, returns when all writers have noticed a freeze.
	drained func(ctx context.Context) error
	// poll is how often a run that waits for the operator looks; 0 means defaultPoll.
	poll time.Duration
	// now is the clock of leases; nil means time.Now.
	now func() time.Time
}

func (e *Engine) progress() Progress {
	if e.Progress == nil {
		return Discard
	}
	return e.Progress
}

func (e *Engine) tool() string { return cmp.Or(e.Tool, "aztenancy") }

// defaultPoll is how often a run that waits for the operator looks.
const defaultPoll = time.Second

func (e *Engine) pollTime() time.Duration {
	if e.poll > 0 {
		return e.poll
	}
	return defaultPoll
}

// DefaultMaxFreeze is how long a tenant's writes may be held, beside the drain, unless Options say otherwise.
const DefaultMaxFreeze = 5 * time.Minute

// NoFreezeLimit as MaxFreeze lets writes be held for as long as it takes.
const NoFreezeLimit time.Duration = -1

// DefaultLeaseTTL is how long a mover's lease lives after its last renewal. It is renewed three times as often.
const DefaultLeaseTTL = 15 * time.Second

// DefaultWorkers is how many key ranges, or transactions of one range, are worked on at the same time.
const DefaultWorkers = 4

// Target says where a tenant shall go. Account is the configuration's name of an account and may be "", which
// means the model's own.
type Target struct {
	Model   string
	Account string
}

// Options are the knobs of a run. The zero value is a good run.
type Options struct {
	// Workers is how many key ranges, or transactions of one range, are worked on at the same time; 0 means DefaultWorkers.
	Workers int
	// DontWait makes Run return a *BusyError at once where another mover's lease has not run out yet. Otherwise
	// Run waits for a lease that nobody renews, and returns a *BusyError as soon as it sees a renewal.
	DontWait bool
	// HoldCutover makes Run catch up until tenantctl release, or Release, lets it go on to the freeze. It is remembered: a later
	// Run of the same migration holds too.
	HoldCutover bool
	// MaxFreeze is how long the tenant's writes may be held; then the freeze is undone. 0 means DefaultMaxFreeze and the drain;
	// NoFreezeLimit is a value, too.
	MaxFreeze time.Duration
	// Drain is how long to wait between the freeze and the last pass, for writers that look at the catalog only now and then.
	// Give the longest time for which the applications cache a tenant's row.
	Drain time.Duration
	// AcceptMissing is how many entities of the source Purge may find missing at the target: deleted there by the tenant
	// since the switch, on the operator's word. 0 means none.
	AcceptMissing int64
	// ReverseWindow is how long after the switch the source shall be kept: a Purge within it is refused without Now.
	ReverseWindow time.Duration
	// ArchiveTo is where Purge archives each source before it deletes anything of it, in a place of its own that has the
	// migration's id as its name: a folder, or the address of a Blob container with or without a prefix. "" makes no archive.
	ArchiveTo string
	// Now lets Purge delete a source within its reverse window.
	Now bool
	// Strays is what Abort does with entities of the target's range that differ from the source.
	Strays Strays
}

// Strays says what becomes of entities in the range of an aborted move's target that do not equal their source. The range was
// empty when it was claimed, so they are copies of what changed at the source since, or a stranger's.
type Strays string

// What Abort does with strays. The zero value stops, with a *CollisionError that names the choices.
const (
	ClearStrays Strays = "clear" // delete them
	KeepStrays  Strays = "keep"  // leave them, with a note
)
