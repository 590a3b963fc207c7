package migration

import (
	"context"
	"time"

	"github.com/aztenancy/terraform-provider-aztenancy/internal/catalog"
	"github.com/aztenancy/terraform-provider-aztenancy/internal/tablestorage"
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
	// LeaseTTL is how long a lease lives without renewal; 0 means DefaultLeaseTTL.
	LeaseTTL time.Duration

	// fault is called with the name of each fault point; tests use it to kill the run there. Nil in production.
	fault func(point string)
}

// DefaultLeaseTTL is how long a mover's lease lives after its last renewal. It is renewed three times as often.
const DefaultLeaseTTL = 15 * time.Second

// DefaultWorkers is how many key ranges are copied at the same time.
const DefaultWorkers = 4

// Target says where a tenant shall go. Account is the configuration's name of an account and may be "", which
// means the model's own.
type Target struct {
	Model   string
	Account string
}

// Options are the knobs of a run. The zero value is a good run.
type Options struct {
	// Workers is how many key ranges are copied at the same time; 0 means DefaultWorkers.
	Workers int
	// DontWait makes Run return a *BusyError at once where another mover's lease has not run out yet. Otherwise
	// Run waits for a lease that nobody renews, and returns a *BusyError as soon as it sees a renewal.
	DontWait bool
}

// Plan says what a move would do, and refuses what cannot be done. It writes nothing. Errors: *RefusedError for a
// move that must not start, ErrNothingToDo where the tenant is already there.
func (e *Engine) Plan(ctx context.Context, tenantID string, to Target) (*Plan, error) {
	panic("under construction")
}

// Run moves the tenant, or resumes the move that a killed run left behind. The report is not nil whenever a migration exists,
// also with an error. Errors: *RefusedError before anything is changed, ErrNothingToDo where the tenant
// is already there, *BusyError while another mover works, *DifferencesError where verification found differences,
// *InterruptedError when ctx ended; after any of them Run may be called again.
func (e *Engine) Run(ctx context.Context, tenantID string, to Target, o Options) (*Report, error) {
	panic("under construction")
}

// Verify compares the source of the tenant's latest migration, where it is still kept, with the target: every
// entity, every property and type. A report with differences comes with a *DifferencesError; what could not be
// checked is said in VerifyReport.Unverified and never counts as equal.
func (e *Engine) Verify(ctx context.Context, tenantID string) (*VerifyReport, error) {
	panic("under construction")
}

// Purge deletes the source that the tenant's finished migrations left in place. It refuses when the source is no
// longer what was verified. Errors as for Run; ErrNothingToDo where no source is left.
func (e *Engine) Purge(ctx context.Context, tenantID string, o Options) (*Report, error) {
	panic("under construction")
}

// Status says where the tenant is, and what its migrations did and wait for.
func (e *Engine) Status(ctx context.Context, tenantID string) (*Status, error) {
	panic("under construction")
}

// Abort undoes a migration that has not switched yet: it removes what the migration wrote, releases the target's claim
// and lets the tenant be written again. Errors: ErrNothingToDo where no migration is under way.
func (e *Engine) Abort(ctx context.Context, tenantID string, o Options) (*Report, error) {
	panic("under construction")
}
