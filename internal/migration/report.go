package migration

import (
	"time"

	"github.com/aztenancy/terraform-provider-aztenancy/internal/tenancy"
)

// Place is one side of a move, in words.
type Place struct {
	Model  string            `json:"model"`
	Tables tenancy.Placement `json:"tables"`
}

// TablePlan is the plan of one logical table.
type TablePlan struct {
	Logical      string           `json:"logical"`
	Source       string           `json:"source"` // storage account/table
	Target       string           `json:"target"`
	MapClass     tenancy.MapClass `json:"map_class"`
	Entities     int64            `json:"entities"`     // exact
	Bytes        int64            `json:"bytes"`        // exact, billed size (reference §3.2)
	Partitions   int64            `json:"partitions"`   // of the source
	Transactions int64            `json:"transactions"` // entity group transactions of the copy, predicted
	Requests     int64            `json:"requests"`     // of the whole move, predicted
	CreatesTable bool             `json:"creates_table"`
	Stays        bool             `json:"stays"` // both placements have the same table and range
}

// Plan is what a move would do. Counts are exact: the plan scans the source.
type Plan struct {
	TenantID       string      `json:"tenant"`
	From           Place       `json:"from"`
	To             Place       `json:"to"`
	Tables         []TablePlan `json:"tables"`
	Entities       int64       `json:"entities"`
	Bytes          int64       `json:"bytes"`
	Transactions   int64       `json:"transactions"`
	Requests       int64       `json:"requests"`
	Freeze         string      `json:"freeze"`            // the level, see FreezeCatalogState
	CouldWrite     string      `json:"could_write"`       // who could write during the freeze nevertheless
	NotMoved       []string    `json:"not_moved"`         // what a move leaves behind
	Resumes        string      `json:"resumes,omitempty"` // the migration that Run would resume
	ResumesInState string      `json:"resumes_in_state,omitempty"`
}

// FreezeCatalogState is the freeze level of a move that holds writes by the tenant row's state alone.
const FreezeCatalogState = "catalog state"

// Difference is one entity that is not equal on both sides.
type Difference struct {
	Kind       string   `json:"kind"` // missing, extra or differs
	Logical    string   `json:"logical"`
	Source     string   `json:"source,omitempty"` // key at the source
	Target     string   `json:"target,omitempty"` // key at the target
	Properties []string `json:"properties,omitempty"`
	Reason     string   `json:"reason,omitempty"` // why a source entity has no key at the target
}

// The kinds of Difference.
const (
	KindMissing = "missing" // in the source only
	KindExtra   = "extra"   // in the target only
	KindDiffers = "differs" // in both, with other properties, values or types
)

// MaxDifferences is how many differences a report holds; the counts are complete.
const MaxDifferences = 100

// VerifyReport is what a verification found.
type VerifyReport struct {
	TenantID    string       `json:"tenant"`
	Migration   string       `json:"migration,omitempty"`
	Level       string       `json:"level"`  // "full"
	Result      string       `json:"result"` // equal, different or unverified
	Equal       int64        `json:"equal"`
	Sealed      int64        `json:"sealed"` // of Equal: compared while catching up, and by their ETags not written on either side since
	Missing     int64        `json:"missing"`
	Extra       int64        `json:"extra"`
	Differing   int64        `json:"differing"`
	SinceSwitch int64        `json:"since_switch"`          // differing or extra, written at the target after the switch: no differences
	Differences []Difference `json:"differences,omitempty"` // at most MaxDifferences
	Unverified  []string     `json:"unverified,omitempty"`
	Seconds     float64      `json:"seconds"`
}

// The results of a verification.
const (
	ResultEqual      = "equal"
	ResultDifferent  = "different"
	ResultUnverified = "unverified"
)

// Report is what a run did. Counts cover the whole migration, earlier runs included.
type Report struct {
	Migration      string        `json:"migration"`
	TenantID       string        `json:"tenant"`
	State          string        `json:"state"`
	From           Place         `json:"from"`
	To             Place         `json:"to"`
	Entities       int64         `json:"entities"`
	Bytes          int64         `json:"bytes"`
	Transactions   int64         `json:"transactions"`
	Retries        int64         `json:"retries"` // transactions that had to be sent again
	CaughtUp       CaughtUp      `json:"caught_up"`
	Freeze         string        `json:"freeze"`
	FreezeFor      float64       `json:"freeze_seconds"`
	CouldWrite     string        `json:"could_write"`
	Verify         *VerifyReport `json:"verify,omitempty"`
	NotVerified    []string      `json:"not_verified"`
	Stragglers     []Straggler   `json:"stragglers,omitempty"`
	StragglerCount int64         `json:"straggler_count"`
	Purged         int64         `json:"purged,omitempty"`
	Archive        string        `json:"archive,omitempty"`      // place of the source's archive
	ReverseUntil   time.Time     `json:"reverse_until,omitzero"` // end of the reverse window
	Removed        int64         `json:"removed,omitempty"`      // by an abort, from the target
	Notes          []string      `json:"notes,omitempty"`
	Started        time.Time     `json:"started"`
	Ended          time.Time     `json:"ended,omitzero"`
	Next           string        `json:"next,omitempty"` // the next command
}

// CaughtUp is what the passes after the copy carried over to the target, because the tenant wrote meanwhile.
type CaughtUp struct {
	Passes   int   `json:"passes"` // that were completed, the last one under the freeze included
	Inserted int64 `json:"inserted"`
	Replaced int64 `json:"replaced"`
	Deleted  int64 `json:"deleted"`
}

// Straggler is a write that reached the source past the freeze.
type Straggler struct {
	Logical string `json:"logical"`
	Key     string `json:"key,omitempty"`
	What    string `json:"what"` // "written" or "deleted or rewritten"
}

// Status is a tenant and its migrations, the latest first.
type Status struct {
	TenantID   string            `json:"tenant"`
	Model      string            `json:"model"`
	State      tenancy.State     `json:"state"`
	Epoch      int64             `json:"epoch"`
	Placement  tenancy.Placement `json:"placement"`
	Migrations []MigrationStatus `json:"migrations"`
}

// MigrationStatus is one migration in a Status.
type MigrationStatus struct {
	ID      string       `json:"id"`
	State   string       `json:"state"`
	From    string       `json:"from"` // model
	To      string       `json:"to"`
	Copied  int64        `json:"copied"`
	Total   int64        `json:"total"`
	Owner   string       `json:"owner,omitempty"` // of a lease that has not run out
	Expires time.Time    `json:"expires,omitzero"`
	Started time.Time    `json:"started"`
	Updated time.Time    `json:"updated"`
	Next    string       `json:"next,omitempty"`
	Steps   []StepStatus `json:"steps,omitempty"`
}

// StepStatus is one row of the step log.
type StepStatus struct {
	Seq    int64     `json:"seq"`
	Kind   string    `json:"kind"`
	Name   string    `json:"name"`
	Detail string    `json:"detail,omitempty"`
	Time   time.Time `json:"time"`
}
