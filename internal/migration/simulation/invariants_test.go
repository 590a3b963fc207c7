package simulation

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/aztenancy/terraform-provider-aztenancy/internal/edm"
	"github.com/aztenancy/terraform-provider-aztenancy/internal/migration"
	"github.com/aztenancy/terraform-provider-aztenancy/internal/tenancy"
)

const (
	catalogTable = "TenantCatalog"
	guardPrefix  = "~~aztenancy-guard-"
)

func (w *world) fail(format string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.failures = append(w.failures, fmt.Sprintf(format, args...))
}

// afterCall checks the invariants whenever something may have changed.
func (w *world) afterCall(c *call, a answer) {
	if was := w.source[logic]; c.op.method == http.MethodGet && a.status == http.StatusOK && !c.from.isWriter() && c.op.account == was.Storage && c.op.table == was.Table {
		w.looked = w.net.handled
	}
	if len(w.tenants) < 2 || !c.op.writes() || a.status >= 400 || strings.Contains(string(a.body), "odata.error") {
		return
	}
	w.checkAcknowledged()
	w.checkOwners()
	w.checkRogues()
	w.checkEpoch(c)
}

// tenantRow reads a tenant's row as an application does.
func (w *world) tenantRow(id string) (state tenancy.State, p tenancy.Placement, migration string) {
	e := w.service.get("homestore", catalogTable, edm.Key{PartitionKey: "tenant", RowKey: id})
	if e == nil {
		w.fail("the row of tenant %s is gone", id)
		return "", nil, ""
	}
	text := func(name string) string {
		v, ok := e.Get(name)
		if !ok {
			return ""
		}
		return v.Str()
	}
	if err := json.Unmarshal([]byte(text("Placement")), &p); err != nil {
		w.fail("the placement of tenant %s: %v", id, err)
	}
	return tenancy.State(text("State")), p, text("Migration")
}

// value is what a row holds at a placement, "" for an absent row.
func (w *world) value(p tenancy.Placement, row string) string {
	at := place(p, row)
	e := w.service.get(at.account, at.table, at.key)
	if e == nil {
		return ""
	}
	v, _ := e.Get("V")
	return v.Str()
}

// checkAcknowledged is I1: each acknowledged write is where the catalog says. With beta, who does not move, it is half of
// I5.
func (w *world) checkAcknowledged() {
	for _, id := range slices.Sorted(maps.Keys(w.tenants)) {
		_, p, _ := w.tenantRow(id)
		if p == nil {
			return
		}
		for row, c := range w.tenants[id].cells {
			if got := w.value(p, row); !c.allows(got) {
				w.fail("I1: row %s of %s reads %q where the catalog says, but %q was acknowledged (under way: %q)", row, id, got, c.acked, c.maybe)
				return
			}
		}
	}
}

// checkOwners is the other half of I5: whatever lies in a tenant's partitions is the tenant's.
func (w *world) checkOwners() {
	for _, t := range w.service.tables {
		if t.name == catalogTable {
			continue
		}
		for k, e := range t.rows {
			if strings.HasPrefix(k.RowKey, guardPrefix) {
				continue
			}
			owner, _ := e.Get("Owner")
			tenant, _, _ := strings.Cut(k.PartitionKey, "|")
			if owner.Str() != tenant {
				w.fail("I5: row %v of table %s belongs to %q", k, t.name, owner.Str())
				return
			}
		}
	}
}

// sourceTable is the table that the tenant was in at first, nil if it was dropped.
func (w *world) sourceTable() *table {
	return w.service.table(w.source[logic].Storage, w.source[logic].Table)
}

// checkRogues: what somebody wrote past the catalog, and had acknowledged, is not destroyed; it is still where it
// was written, or where the catalog says. Only what is written between a mover's last look at a dedicated table and its drop can be lost:
// the service drops a table on no condition.
func (w *world) checkRogues() {
	_, p, _ := w.tenantRow(mover)
	for row, c := range w.rogues.cells {
		if c.acked == "" || p == nil {
			continue
		}
		if w.sourceTable() == nil && c.ackedAt >= w.looked {
			continue
		}
		if !c.allows(w.value(w.source, row)) && !c.allows(w.value(p, row)) {
			w.fail("I6: row %s, written past the catalog as %q, is lost", row, c.acked)
			return
		}
	}
}

// checkEpoch is I4: once a mover wrote to the target, none with an older lease does.
func (w *world) checkEpoch(c *call) {
	name, epoch := guardOf(c.op)
	if name == "" || len(c.op.parts) < 2 {
		return
	}
	w.mu.Lock()
	newest := w.epochs[name]
	w.epochs[name] = max(newest, epoch)
	w.mu.Unlock()
	if epoch < newest {
		w.fail("I4: %s wrote to the target with epoch %d, after epoch %d had", c.from.name, epoch, newest)
	}
}

// guardOf returns the migration and the epoch of the guard row that a transaction touches.
func guardOf(o operation) (migration string, epoch int64) {
	for _, p := range o.parts {
		if p.key == nil || p.method == http.MethodDelete {
			continue
		}
		rest, ok := strings.CutPrefix(p.key.RowKey, guardPrefix)
		if i := strings.LastIndexByte(rest, '-'); ok && i > 0 {
			number, _, _ := strings.Cut(rest[i+1:], ".")
			n, err := strconv.ParseInt(number, 10, 64)
			if err == nil && n > 0 {
				return rest[:i], n
			}
		}
	}
	return "", 0
}

// checkEnd is I3: however the run went, what is left is a tenant at one place, whole, writable, and nothing else.
func (w *world) checkEnd() {
	state, p, bound := w.tenantRow(mover)
	if w.verdict != nil && !w.rogue {
		w.fail("ended with a verdict although every writer followed the catalog: %v", w.verdict)
	}
	var stragglers *migration.StragglersError
	halfway := errors.As(w.verdict, &stragglers) // somebody writes to what is being purged: it waits for the operator
	if state != tenancy.Active || bound != "" && !halfway {
		w.fail("I3: at the end the tenant is %s and bound to migration %q", state, bound)
		return
	}
	want := map[string]string{}
	for row, c := range w.tenants[mover].cells {
		if c.acked != "" {
			want[row] = c.acked
		}
	}
	got := map[string]string{}
	here := p[logic]
	for _, t := range w.service.tables {
		for k, e := range t.rows {
			switch {
			case strings.HasPrefix(k.RowKey, guardPrefix) && (w.has(string(late)) || w.has("is killed") || w.has("is held back")):
				// It was inserted after the guards had been removed. It opens nothing, and the next migration sweeps it up.
			case strings.HasPrefix(k.RowKey, guardPrefix):
				w.fail("I3: guard row %v was left in %s", k, t.name)
			case t.name == catalogTable, strings.HasPrefix(k.RowKey, "rogue-"), !strings.HasPrefix(k.PartitionKey, mover):
			case t.account != here.Storage || t.name != here.Table:
				if was := w.source[logic]; w.verdict == nil && (w.purged() || t.account != was.Storage || t.name != was.Table) {
					w.fail("I3: row %v was left in %s", k, t.name)
				}
			default:
				v, _ := e.Get("V")
				got[k.RowKey] = v.Str()
			}
		}
	}
	if !maps.Equal(got, want) {
		w.fail("I3: at the end the tenant has %v, want %v", got, want)
	}
}

// purged says whether a purge was the last thing that was done, after which the tenant is at one place alone.
func (w *world) purged() bool { return w.ended == purgeJob.name }
