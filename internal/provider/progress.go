package provider

import (
	"context"
	"sync"
	"time"

	"github.com/hashicorp/terraform-plugin-log/tflog"

	"github.com/aztenancy/terraform-provider-aztenancy/internal/migration"
)

// progressInterval is how often a move that goes on says how far it is.
const progressInterval = 5 * time.Second

// logProgress reports a move to Terraform's log: TF_LOG_PROVIDER=INFO shows it.
type logProgress struct {
	ctx context.Context
	now func() time.Time

	mu    sync.Mutex
	phase string
	done  int64
	total int64
	next  time.Time // when Advance logs again
}

var _ migration.Progress = (*logProgress)(nil)

// newLogProgress keeps the context, as the log's sink and fields travel in it.
func newLogProgress(ctx context.Context, tenantID string) *logProgress {
	return &logProgress{ctx: tflog.SetField(ctx, "tenant", tenantID), now: time.Now}
}

// Phase logs the beginning of a phase.
func (p *logProgress) Phase(name string) {
	p.mu.Lock()
	p.phase, p.done, p.total = name, 0, -1
	p.next = p.now().Add(progressInterval)
	p.mu.Unlock()
	tflog.Info(p.ctx, "move: "+name)
}

// Total takes the number of entities of the phase.
func (p *logProgress) Total(entities int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.total = entities
}

// Advance logs how far the phase is, at most once an interval.
func (p *logProgress) Advance(entities int64) {
	p.mu.Lock()
	p.done += entities
	due := !p.now().Before(p.next)
	if due {
		p.next = p.now().Add(progressInterval)
	}
	fields := map[string]any{"phase": p.phase, "entities": p.done}
	if p.total >= 0 {
		fields["of"] = p.total
	}
	p.mu.Unlock()
	if due {
		tflog.Info(p.ctx, "move: under way", fields)
	}
}

// Waiting logs why nothing moves.
func (p *logProgress) Waiting(reason string) {
	if reason != "" {
		tflog.Info(p.ctx, "move: waiting", map[string]any{"reason": reason})
	}
}

// Note logs a remark.
func (p *logProgress) Note(text string) { tflog.Warn(p.ctx, "move: "+text) }
