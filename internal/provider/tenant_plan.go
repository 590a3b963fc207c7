package provider

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strings"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/aztenancy/terraform-provider-aztenancy/internal/catalog"
	"github.com/aztenancy/terraform-provider-aztenancy/internal/migration"
	"github.com/aztenancy/terraform-provider-aztenancy/internal/tablestorage"
	"github.com/aztenancy/terraform-provider-aztenancy/internal/tenancy"
)

// ModifyPlan says what an apply would do to the tenant's data, and refuses what it would refuse.
func (r *tenantResource) ModifyPlan(ctx context.Context, req resource.ModifyPlanRequest, resp *resource.ModifyPlanResponse) {
	var state, plan *tenantModel
	resp.Diagnostics.Append(req.State.Get(ctx, &state)...)
	resp.Diagnostics.Append(req.Plan.Get(ctx, &plan)...)
	if resp.Diagnostics.HasError() {
		return
	}
	if plan != nil && plan.Key.IsUnknown() {
		var config tenantModel
		resp.Diagnostics.Append(req.Config.Get(ctx, &config)...)
		if config.Key.IsNull() { // left out; else it is only not known yet
			plan.Key = plan.TenantID
			resp.Diagnostics.Append(resp.Plan.SetAttribute(ctx, path.Root("key"), plan.Key)...)
		}
	}
	replaces := plan != nil && state != nil && (!plan.TenantID.Equal(state.TenantID) || !plan.Key.Equal(state.Key))
	if state != nil && (plan == nil || replaces) {
		r.planDelete(ctx, *state, &resp.Diagnostics)
	}
	if plan == nil || resp.Diagnostics.HasError() {
		return
	}
	t := tenantPlan{r: r, plan: *plan, diags: &resp.Diagnostics}
	if state == nil || replaces {
		t.create(ctx)
	} else {
		t.state = *state
		word, ds := req.Private.GetKey(ctx, movedOutsideKey)
		resp.Diagnostics.Append(ds...)
		t.update(ctx, word)
	}
	for name, value := range t.computed {
		resp.Diagnostics.Append(resp.Plan.SetAttribute(ctx, path.Root(name), value)...)
	}
}

func (r *tenantResource) planDelete(ctx context.Context, state tenantModel, diags *diag.Diagnostics) {
	if state.DeletionProtection.ValueBool() {
		refuseProtected(diags, state.what())
		return
	}
	if !r.session.configured() {
		return
	}
	r.session.planned.deleteTenant(state.TenantID.ValueString())
	d, err := r.session.lookup(ctx)
	if err != nil {
		return // said by Read, or by Delete
	}
	rec, ok := d.tenants[state.TenantID.ValueString()]
	if !ok || state.DestroyPolicy.ValueString() == deleteData {
		return
	}
	if empty, err := r.isEmpty(ctx, rec.Placement); err == nil && !empty {
		refuseTenantNotEmpty(diags, state, "")
	}
}

// isEmpty says whether a placement holds no entity.
func (r *tenantResource) isEmpty(ctx context.Context, p tenancy.Placement) (bool, error) {
	for _, logical := range p.LogicalTables() {
		t := p[logical]
		table, err := r.session.accounts.At(t)
		if err != nil {
			return false, err
		}
		for _, err := range table.Query(ctx, tablestorage.Query{Range: &t.Range, Select: []string{"PartitionKey"}, PageSize: 1}) {
			if errors.Is(err, tablestorage.ErrTableNotFound) {
				break
			}
			return false, err
		}
	}
	return true, nil
}

// tenantPlan is the plan of one tenant in the making.
type tenantPlan struct {
	r        *tenantResource
	plan     tenantModel
	state    tenantModel // of an update
	diags    *diag.Diagnostics
	computed map[string]any // what the plan shall say of computed attributes
}

func (t *tenantPlan) set(name string, value any) {
	if t.computed == nil {
		t.computed = make(map[string]any)
	}
	t.computed[name] = value
}

// known says whether everything that decides on the tenant's place is known, and the accounts are there to be asked.
func (t *tenantPlan) known() bool {
	return t.r.session.configured() && !t.plan.TenantID.IsUnknown() && !t.plan.Key.IsUnknown() &&
		!t.plan.IsolationModel.IsUnknown() && !t.plan.Account.IsUnknown()
}

// create plans a new tenant.
func (t *tenantPlan) create(ctx context.Context) {
	if !t.known() {
		return
	}
	d, err := t.r.session.lookup(ctx)
	if err != nil {
		addServiceError(t.diags, t.plan.what()+" could not be looked up", err)
		return
	}
	placement, ok := t.place(ctx, d)
	if !ok {
		return
	}
	id := t.plan.TenantID.ValueString()
	rec, exists := d.tenants[id]
	if !exists || rec.State == tenancy.Provisioning || t.r.session.planned.deletesTenant(id) {
		return
	}
	// A tenant that is as it shall be was made by an apply that was killed before it could save the state.
	labels, known := t.labels(ctx)
	if rec.Key != t.plan.Key.ValueString() || rec.Model != t.plan.IsolationModel.ValueString() || !rec.Placement.Equal(placement) || known && !maps.Equal(rec.Labels, labels) {
		refuseExisting(t.diags, t.plan)
		return
	}
	t.diags.AddWarning(t.plan.what()+" exists already", "It is exactly as it is declared, so that the apply takes it over. "+
		"If it is declared in another place as well, destroying one of the two deletes it.")
}

// labels are the planned labels, if they are known.
func (t *tenantPlan) labels(ctx context.Context) (labels map[string]string, known bool) {
	if !isKnown(ctx, t.plan.Labels) {
		return nil, false
	}
	labels, ds := t.plan.labels(ctx)
	t.diags.Append(ds...)
	return labels, true
}

// update plans changes of a tenant: most leave it where it is.
func (t *tenantPlan) update(ctx context.Context, movedOutside []byte) {
	if !t.known() {
		return // what depends on the place stays unknown
	}
	d, err := t.r.session.lookup(ctx)
	if err != nil {
		addServiceError(t.diags, t.plan.what()+" could not be looked up", err)
		return
	}
	rec, ok := d.tenants[t.plan.TenantID.ValueString()]
	if !ok {
		return // gone since the refresh: Update says so
	}
	here := isAt(rec, t.plan) && (!t.plan.Account.IsNull() || !leavesAccountOpen(d.models[rec.Model].Model))
	if !here && !t.agreed(rec, movedOutside) {
		return
	}
	unfinished, forced := t.underWay(d, rec)
	if here {
		t.stay(forced)
		return
	}
	if _, ok := t.place(ctx, d); !ok || t.diags.HasError() {
		return
	}
	t.set("state", types.StringUnknown())
	t.set("epoch", types.Int64Unknown())
	if !unfinished {
		t.estimate(ctx, d)
	}
}

// isAt says whether a tenant is where a plan puts it. An account that is left out is whatever the model gave it.
func isAt(rec catalog.TenantRecord, plan tenantModel) bool {
	return rec.Model == plan.IsolationModel.ValueString() &&
		(plan.Account.IsNull() || plan.Account.ValueString() == placementAccount(rec.Placement))
}

// stay keeps what does not change, unless something unfinished has to be ended: then the plan shows a change.
func (t *tenantPlan) stay(forced bool) {
	t.set("tables", t.state.Tables)
	if forced {
		t.set("state", types.StringUnknown())
		t.set("epoch", types.Int64Unknown())
		return
	}
	t.set("state", t.state.State)
	t.set("epoch", t.state.Epoch)
}

// place works out where the plan puts the tenant, and whether it may be there.
func (t *tenantPlan) place(ctx context.Context, d *directory) (tenancy.Placement, bool) {
	name := t.plan.IsolationModel.ValueString()
	rec, ok := d.models[name]
	model := rec.Model
	if planned, found := t.r.session.planned.model(name); found {
		model, ok = planned, true
	}
	if !ok {
		t.diags.AddAttributeError(path.Root("isolation_model"), "Isolation model "+quote(name)+" does not exist",
			fmt.Sprintf("%s names it, but it is neither in the catalog nor planned before the tenant. Declare it, and refer to it as "+
				"`aztenancy_isolation_model.….name`, not by its name as a text, so that Terraform creates it first.", t.plan.what()))
		return nil, false
	}
	tenant := tenancy.Tenant{ID: t.plan.TenantID.ValueString(), Key: t.plan.Key.ValueString()}
	placement, err := model.Place(tenant, t.plan.Account.ValueString(), t.r.session.accounts.Locate)
	if err != nil {
		t.diags.AddError(fmt.Sprintf("%s cannot be placed by isolation model %q", t.plan.what(), name), sentence(err))
		return nil, false
	}
	if want, held, ok := t.r.session.planned.claim(d, tenant.ID, placement.Claims(tenant)); !ok {
		addConflict(t.diags, t.plan, want, held)
		return nil, false
	}
	tables, ds := placementValue(ctx, placement)
	t.diags.Append(ds...)
	t.set("tables", tables)
	return placement, true
}

// addConflict says that two tenants would share keys.
func addConflict(diags *diag.Diagnostics, m tenantModel, want, held tenancy.Claim) {
	diags.AddError(fmt.Sprintf("%s cannot be placed by isolation model %q", m.what(), m.IsolationModel.ValueString()),
		sentence(&catalog.ClaimConflictError{Wanted: want, Held: held})+
			fmt.Sprintf("\n\nIf tenant %q has moved away and only left its entities there, `tenantctl purge %s` removes them and gives the range back.", held.TenantID, held.TenantID))
}

// agreed says whether the plan may move the tenant: not if it was moved behind the configuration's back.
func (t *tenantPlan) agreed(rec catalog.TenantRecord, movedOutside []byte) bool {
	from, ok := movedFrom(movedOutside)
	if !ok && rec.Epoch > t.state.Epoch.ValueInt64() && rec.Model != t.state.IsolationModel.ValueString() {
		from, ok = t.state.IsolationModel.ValueString(), true // a plan that did not refresh
	}
	if !ok {
		return true
	}
	is, wanted := placeText(rec.Model, placementAccount(rec.Placement)), placeText(t.plan.IsolationModel.ValueString(), t.plan.Account.ValueString())
	t.diags.AddAttributeError(path.Root("isolation_model"), t.plan.what()+" was moved outside Terraform",
		fmt.Sprintf("Terraform last had it in %q. It is now in %s, at epoch %d, and the configuration says %s. It is never moved silently. There are two ways out:\n\n"+
			"  - to leave it where it is, set `isolation_model = %q` (and `account`, if the model leaves it open) in the configuration;\n"+
			"  - to move it as the configuration says, run `terraform apply -refresh-only` first, which records where it is now. The next plan then shows the move.",
			from, is, rec.Epoch, wanted, rec.Model))
	return false
}

func placeText(model, account string) string {
	if account == "" {
		return fmt.Sprintf("isolation model %q", model)
	}
	return fmt.Sprintf("isolation model %q, account %q", model, account)
}

func movedFrom(word []byte) (model string, ok bool) {
	if len(word) == 0 {
		return "", false
	}
	var m moved
	if err := json.Unmarshal(word, &m); err != nil {
		return "", false
	}
	return m.FromModel, true
}

// underWay looks for a move that has begun and not switched. forced says that the plan must show an update, to finish or
// undo it, although the tenant is where the configuration says.
func (t *tenantPlan) underWay(d *directory, rec catalog.TenantRecord) (found, forced bool) {
	m, ok := d.underWay(rec)
	if !ok {
		return false, false
	}
	wanted := t.plan.IsolationModel.ValueString()
	if owner := m.Lease.Owner; owner != "" && m.Lease.Expires.After(time.Now()) {
		t.diags.AddWarning(t.plan.what()+" is being moved now",
			fmt.Sprintf("%s moves it from %q to %q (state %s). Terraform does not interfere. After the move the configuration has to say `isolation_model = %q`.",
				owner, m.From, m.To, m.State, m.To))
		return true, false
	}
	switch {
	case m.State == migration.Aborting:
		t.diags.AddWarning(fmt.Sprintf("The undoing of a move of tenant %q goes on", rec.ID),
			fmt.Sprintf("Undoing a move to %q was interrupted. Apply finishes it, before anything else.", m.To))
	case m.To == wanted:
		t.diags.AddWarning(fmt.Sprintf("The move of tenant %q goes on", rec.ID),
			fmt.Sprintf("A move to %q stopped in state %s, with %d entities copied. Apply finishes it. Setting `isolation_model = %q` again undoes it instead.",
				m.To, m.State, m.Copied, m.From))
	case m.From == wanted:
		t.diags.AddWarning(fmt.Sprintf("The move of tenant %q is undone", rec.ID),
			fmt.Sprintf("A move to %q stopped in state %s, and the configuration says %q. Apply removes what was copied and lets the tenant be written again. "+
				"Setting `isolation_model = %q` finishes it instead.", m.To, m.State, wanted, m.To))
	default:
		t.diags.AddAttributeError(path.Root("isolation_model"), t.plan.what()+" is half way to another place",
			fmt.Sprintf("A move from %q to %q stopped in state %s, and the configuration says %q. Finish that move by setting `isolation_model = %q`, "+
				"or undo it by setting `isolation_model = %q`; then move on.", m.From, m.To, m.State, wanted, m.To, m.From))
		return true, false
	}
	return true, true
}

// estimateTime is how long a plan may count a tenant's entities.
const estimateTime = time.Minute

// estimate warns of the move, with its size, and refuses one that cannot be done.
func (t *tenantPlan) estimate(ctx context.Context, d *directory) {
	id, to := t.plan.TenantID.ValueString(), t.plan.IsolationModel.ValueString()
	summary := fmt.Sprintf("Tenant %q moves to isolation model %q", id, to)
	const hold = "It is written as ever while it is copied; its writes are held at the end alone, no longer than `migration.max_freeze`, when applications see the state `frozen`. " +
		"What is left at the old place stays there until `tenantctl purge`."
	if _, ok := d.models[to]; !ok {
		t.diags.AddWarning(summary, "The model does not exist yet, so the move's size is not known. "+hold)
		return
	}
	ctx, cancel := context.WithTimeout(ctx, estimateTime)
	defer cancel()
	p, err := t.r.session.engine(ctx, id).Plan(ctx, id, migration.Target{Model: to, Account: t.plan.Account.ValueString()})
	switch {
	case errors.Is(err, migration.ErrNothingToDo):
	case err != nil && ctx.Err() != nil:
		t.diags.AddWarning(summary, fmt.Sprintf("It is large: its entities could not be counted within %s. %s", durationText(estimateTime), hold))
	case err != nil:
		t.diags.AddAttributeError(path.Root("isolation_model"), fmt.Sprintf("Tenant %q cannot move to isolation model %q", id, to), sentence(err))
	default:
		t.diags.AddWarning(summary, sizeText(p)+" "+hold)
	}
}

func sizeText(p *migration.Plan) string {
	var tables []string
	for _, t := range p.Tables {
		if !t.Stays {
			tables = append(tables, fmt.Sprintf("%s (%d entities) from %v to %v", t.Logical, t.Entities, p.From.Tables[t.Logical], p.To.Tables[t.Logical]))
		}
	}
	return fmt.Sprintf("%d entities, %s, in %d transactions: %s.", p.Entities, byteText(p.Bytes), p.Transactions, strings.Join(tables, ", "))
}

// byteText writes a size with a unit that fits.
func byteText(n int64) string {
	switch {
	case n >= 1<<30:
		return fmt.Sprintf("%.1f GiB", float64(n)/(1<<30))
	case n >= 1<<20:
		return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20))
	case n >= 1<<10:
		return fmt.Sprintf("%.1f KiB", float64(n)/(1<<10))
	}
	return fmt.Sprintf("%d bytes", n)
}
