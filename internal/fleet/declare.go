package fleet

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/aztenancy/terraform-provider-aztenancy/internal/catalog"
	"github.com/aztenancy/terraform-provider-aztenancy/internal/tablestorage"
	"github.com/aztenancy/terraform-provider-aztenancy/internal/tenancy"
)

// Entry is one tenant that shall move. Account may be "", which means the model's own.
type Entry struct {
	TenantID string
	To       string // model
	Account  string
}

// Evacuation is what an operator declares: which tenants go where, and how.
type Evacuation struct {
	Name     string
	Entries  []Entry // in the order in which they shall be begun
	Limits   Limits
	Settings Settings
}

// RefusedError says why an evacuation cannot be declared. Nothing was changed.
type RefusedError struct {
	Name   string
	Reason string
	Way    string // what to do about it
}

func (e *RefusedError) Error() string {
	return strings.TrimSuffix(fmt.Sprintf("declare evacuation %q: %s. %s", e.Name, e.Reason, e.Way), " ")
}

var namePattern = regexp.MustCompile(`^[a-z0-9]([a-z0-9._-]{0,98}[a-z0-9])?$`)

// ValidateName checks the name of an evacuation.
func ValidateName(name string) error {
	if !namePattern.MatchString(name) {
		return fmt.Errorf("evacuation name %q: use 1 to 100 of the characters a-z, 0-9, \".\", \"_\" and \"-\", with a letter or digit at both ends", name)
	}
	return nil
}

// Directory is the catalog and the accounts of the configuration.
type Directory struct {
	Catalog  *catalog.Catalog
	Accounts *tablestorage.Accounts
}

// ErrNobody says that no tenant is, or ever was, to be moved.
var ErrNobody = errors.New("no tenant is to be moved")

// TenantsOf lists the tenants that have a place in a table: account is a configured name or a storage account's.
func (d Directory) TenantsOf(ctx context.Context, account, table string) (storage string, tenants []catalog.TenantRecord, err error) {
	storage = account
	if s, _, err := d.Accounts.Locate(account, table); err == nil {
		storage = s
	}
	all, err := d.Catalog.Tenants(ctx)
	if err != nil {
		return "", nil, err
	}
	for _, t := range all {
		for _, p := range t.Placement {
			if p.Storage == storage && strings.EqualFold(p.Table, table) {
				tenants = append(tenants, t)
				break
			}
		}
	}
	return storage, tenants, nil
}

// Declare records an evacuation, or brings one of that name up to date: new tenants are added, those no longer listed are
// left out unless they are begun, failed ones may be tried again, and it is running again if it had stopped. What is moved
// stays as it is. Everything is checked before anything is changed. Errors: *RefusedError, ErrNobody.
func (d Directory) Declare(ctx context.Context, v Evacuation) error {
	wanted, err := d.check(ctx, v)
	if err != nil {
		return err
	}
	l, err := load(ctx, d.Catalog, v.Name)
	known := err == nil
	if errors.Is(err, catalog.ErrNotFound) {
		if len(wanted) == 0 {
			return ErrNobody
		}
		l, err = &list{head: catalog.EvacuationRecord{Evacuation: catalog.Evacuation{Name: v.Name}}}, nil
	}
	if err != nil {
		return err
	}
	if err := l.canReplace(wanted, v); err != nil {
		return err
	}
	if !known {
		detail, err := json.Marshal(newDetail(v))
		if err != nil {
			return fmt.Errorf("declare evacuation %q: %w", v.Name, err)
		}
		_, err = d.Catalog.CreateEvacuation(ctx, catalog.Evacuation{Name: v.Name, State: Declaring, Detail: detail})
		if err != nil && !errors.Is(err, catalog.ErrExists) {
			return err
		}
	}
	return d.record(ctx, v, wanted)
}

func newDetail(v Evacuation) detail {
	return detail{Version: detailVersion, Limits: v.Limits, Settings: v.Settings}
}

// record writes the list, some moves in each transaction. Between the first and the last nothing is begun.
func (d Directory) record(ctx context.Context, v Evacuation, wanted []move) error {
	for {
		finished := false
		_, err := change(ctx, d.Catalog, v.Name, func(l *list) ([]int, error) {
			if err := l.canReplace(wanted, v); err != nil {
				return nil, err
			}
			changed := l.merge(wanted)
			part := changed[:min(len(changed), catalog.MaxMovesAtOnce)]
			finished = len(part) == len(changed)
			nothing := finished && len(part) == 0
			acknowledged := l.count(Violated)
			if nothing && (l.head.State == Running || l.head.State == Done) && l.d.Limits == v.Limits && l.d.Settings == v.Settings {
				return nil, nil
			}
			l.d = newDetail(v)
			l.d.Acknowledged = acknowledged
			l.head.State, l.head.Reason, l.head.Ended = Declaring, "", time.Time{}
			if finished {
				l.resume(time.Now().UTC())
			}
			if nothing { // the head alone
				return nil, l.save(ctx, d.Catalog)
			}
			return part, nil
		})
		if errors.Is(err, catalog.ErrChanged) {
			continue
		}
		if err != nil || finished {
			return err
		}
	}
}

// resume opens a list that is complete.
func (l *list) resume(now time.Time) {
	l.head.State = Running
	if l.count(Waiting)+l.count(Moving)+l.count(Failed) == 0 {
		l.head.State, l.head.Ended = Done, now
	}
}

// check looks everything up that the evacuation names, and returns its moves.
func (d Directory) check(ctx context.Context, v Evacuation) ([]move, error) {
	refuse := func(way, format string, args ...any) error {
		return &RefusedError{Name: v.Name, Reason: fmt.Sprintf(format, args...), Way: way}
	}
	if err := ValidateName(v.Name); err != nil {
		return nil, refuse("", "%v", err)
	}
	if v.Limits.Frozen < 1 || v.Limits.Failures < 1 || v.Limits.PerTable < 0 || v.Limits.PerAccount < 0 {
		return nil, refuse("", "at least 1 tenant must be allowed to be frozen, at least 1 failure to stop, and no limit may be negative")
	}
	models, err := d.models(ctx)
	if err != nil {
		return nil, err
	}
	tenants, err := d.Catalog.Tenants(ctx)
	if err != nil {
		return nil, err
	}
	byID := make(map[string]catalog.TenantRecord, len(tenants))
	for _, t := range tenants {
		byID[t.ID] = t
	}
	seen := map[string]bool{}
	var moves []move
	for i, e := range v.Entries {
		t, ok := byID[e.TenantID]
		model, found := models[e.To]
		switch {
		case !ok:
			return nil, refuse("tenantctl tenants lists those that there are", "there is no tenant %q in the catalog", e.TenantID)
		case !found:
			return nil, refuse("Declare it first, or look at its spelling", "tenant %q shall go to model %q, which is not in the catalog", e.TenantID, e.To)
		case seen[e.TenantID]:
			return nil, refuse("Name it once", "tenant %q is listed twice", e.TenantID)
		}
		seen[e.TenantID] = true
		target, err := model.Place(t.Tenant, e.Account, d.Accounts.Locate)
		if err != nil {
			return nil, refuse("", "tenant %q has no place in model %q: %v", e.TenantID, e.To, err)
		}
		moves = append(moves, newMove(i, e, t, target))
	}
	return moves, nil
}

func (d Directory) models(ctx context.Context) (map[string]tenancy.Model, error) {
	all, err := d.Catalog.Models(ctx)
	if err != nil {
		return nil, err
	}
	byName := make(map[string]tenancy.Model, len(all))
	for _, m := range all {
		byName[m.Name] = m.Model
	}
	return byName, nil
}

// newMove is a move that was not begun. A move that somebody else has begun may hold the tenant's writes as soon as it is
// taken up again, and so it counts as released.
func newMove(number int, e Entry, t catalog.TenantRecord, target tenancy.Placement) move {
	m := move{EvacuationMoveRecord: catalog.EvacuationMoveRecord{EvacuationMove: catalog.EvacuationMove{
		TenantID: t.ID, Number: number, To: e.To, Account: e.Account, State: Waiting, Released: t.Migration != ""}}}
	m.Held = t.State == tenancy.Frozen
	for logical, from := range t.Placement {
		to, goes := target[logical]
		if goes && to.Storage == from.Storage && to.Table == from.Table && to.Range == from.Range {
			continue
		}
		if table := from.Storage + "/" + from.Table; !slices.Contains(m.Sources, table) {
			m.Sources = append(m.Sources, table)
		}
		if goes && !slices.Contains(m.Targets, to.Storage) {
			m.Targets = append(m.Targets, to.Storage)
		}
	}
	slices.Sort(m.Sources)
	slices.Sort(m.Targets)
	return m
}

// canReplace refuses what contradicts a move that was begun, and a canary that is not on the list.
func (l *list) canReplace(wanted []move, v Evacuation) error {
	canary := v.Limits.Canary == ""
	for _, m := range wanted {
		canary = canary || m.TenantID == v.Limits.Canary
		i := l.index(m.TenantID)
		if i < 0 {
			continue
		}
		if there := l.moves[i]; (there.To != m.To || there.Account != m.Account) && (there.State == Moving || m.Released && there.Attempts > 0 && !settled(there.State)) {
			return &RefusedError{Name: v.Name, Reason: fmt.Sprintf("tenant %q is on its way to model %q already", m.TenantID, there.To),
				Way: fmt.Sprintf("Let it end, or undo it first: tenantctl abort %s", m.TenantID)}
		}
	}
	if i := l.index(v.Limits.Canary); !canary && (i < 0 || !settled(l.moves[i].State)) {
		return &RefusedError{Name: v.Name, Reason: fmt.Sprintf("the canary, tenant %q, is not among the tenants to be moved", v.Limits.Canary),
			Way: "Name one that is"}
	}
	return nil
}

// merge brings the list up to what is wanted and returns what that changed.
func (l *list) merge(wanted []move) []int {
	var changed []int
	listed := map[string]bool{}
	for _, m := range wanted {
		listed[m.TenantID] = true
		i := l.index(m.TenantID)
		if i < 0 {
			l.moves = append(l.moves, m)
			changed = append(changed, len(l.moves)-1)
			continue
		}
		if l.moves[i].renew(m) {
			changed = append(changed, i)
		}
	}
	for i := range l.moves {
		m := &l.moves[i]
		if !listed[m.TenantID] && (m.State == Waiting || m.State == Failed) {
			m.State = LeftOut
			changed = append(changed, i)
		}
	}
	return changed
}

// renew brings a move up to what is wanted now; it says whether that changed anything.
func (m *move) renew(wanted move) bool {
	sameTarget := m.To == wanted.To && m.Account == wanted.Account
	switch {
	case m.State == Moving, settled(m.State) && sameTarget && len(wanted.Sources) == 0:
		return false
	case m.State == Waiting && sameTarget && m.Number == wanted.Number && slices.Equal(m.Sources, wanted.Sources) && slices.Equal(m.Targets, wanted.Targets):
		return false
	}
	// It failed, was left out, waits, or the tenant is elsewhere again.
	epoch, etag := m.Lease.Epoch, m.ETag
	if m.Attempts > 0 && !settled(m.State) { // it is this evacuation's own move that is under way
		wanted.Released = wanted.Released && m.Released
	}
	*m = wanted
	m.Lease.Epoch, m.ETag = epoch, etag
	return true
}
