package provider

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"time"

	"github.com/hashicorp/terraform-plugin-framework-timeouts/resource/timeouts"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/aztenancy/terraform-provider-aztenancy/internal/catalog"
	"github.com/aztenancy/terraform-provider-aztenancy/internal/tenancy"
)

type tenantModel struct {
	ID                 types.String   `tfsdk:"id"`
	TenantID           types.String   `tfsdk:"tenant_id"`
	Key                types.String   `tfsdk:"key"`
	IsolationModel     types.String   `tfsdk:"isolation_model"`
	Account            types.String   `tfsdk:"account"`
	Labels             types.Map      `tfsdk:"labels"`
	AdoptExisting      types.Bool     `tfsdk:"adopt_existing"`
	DeletionProtection types.Bool     `tfsdk:"deletion_protection"`
	DestroyPolicy      types.String   `tfsdk:"destroy_policy"`
	Migration          types.Object   `tfsdk:"migration"`
	State              types.String   `tfsdk:"state"`
	Epoch              types.Int64    `tfsdk:"epoch"`
	Tables             types.Map      `tfsdk:"tables"`
	Timeouts           timeouts.Value `tfsdk:"timeouts"`
}

type tenantIdentity struct {
	TenantID types.String `tfsdk:"tenant_id"`
}

type migrationModel struct {
	Verify        types.String `tfsdk:"verify"`
	Drain         types.String `tfsdk:"drain"`
	MaxFreeze     types.String `tfsdk:"max_freeze"`
	ReverseWindow types.String `tfsdk:"reverse_window"`
}

// placementDescriptions describe the attributes of a tenant's table.
var placementDescriptions = map[string]string{
	"account":             "The account, by its name in the provider's `accounts`, or `home`.",
	"table":               "The physical table.",
	"url":                 "The table's address.",
	"partition_key_start": "The first PartitionKey that the tenant's entities can have. Null where the range begins with the table.",
	"partition_key_end": "The last PartitionKey that they can have, included, as a SAS takes it (`epk`); with the key scheme `prefixed` it goes with an empty `erk`. " +
		"Null where the range ends with the table.",
}

func (m tenantModel) identity() tenantIdentity { return tenantIdentity{TenantID: m.TenantID} }

func (m tenantModel) what() string { return "Tenant " + quote(m.TenantID.ValueString()) }

// labels are the tenant's labels, nil if there are none.
func (m tenantModel) labels(ctx context.Context) (map[string]string, diag.Diagnostics) {
	if len(m.Labels.Elements()) == 0 {
		return nil, nil
	}
	labels := make(map[string]string)
	diags := m.Labels.ElementsAs(ctx, &labels, false)
	return labels, diags
}

// moveTimes are the times that the configuration sets for a move; 0 where it says nothing.
type moveTimes struct {
	drain     time.Duration // between holding the writes and copying
	maxFreeze time.Duration // the longest that writes may be held
	reverse   time.Duration // for which the source is kept
}

func (m tenantModel) moveTimes(ctx context.Context) (moveTimes, diag.Diagnostics) {
	if m.Migration.IsNull() || m.Migration.IsUnknown() {
		return moveTimes{}, nil
	}
	var o migrationModel
	diags := m.Migration.As(ctx, &o, objectAsOptions)
	times, err := o.times()
	if err != nil {
		diags.AddAttributeError(path.Root("migration"), "The move's times are not usable", sentence(err))
	}
	return times, diags
}

// times reads the durations; it returns none where one cannot be read. A drain that does not end before writes are let go again would undo every move.
func (o migrationModel) times() (moveTimes, error) {
	var t moveTimes
	for _, d := range []struct {
		name string
		text types.String
		into *time.Duration
	}{{"drain", o.Drain, &t.drain}, {"max_freeze", o.MaxFreeze, &t.maxFreeze}, {"reverse_window", o.ReverseWindow, &t.reverse}} {
		if d.text.ValueString() == "" {
			continue
		}
		var err error
		if *d.into, err = time.ParseDuration(d.text.ValueString()); err != nil {
			return moveTimes{}, fmt.Errorf("%s %q is not a duration such as `30s`", d.name, d.text.ValueString())
		}
	}
	if t.maxFreeze > 0 && t.drain >= t.maxFreeze {
		return t, fmt.Errorf("drain (%s) is part of the time for which writes are held, so it must be shorter than max_freeze (%s)", t.drain, t.maxFreeze)
	}
	return t, nil
}

// take makes the model say what the catalog has. open says whether the tenant's isolation model leaves the account to
// each tenant.
func (m *tenantModel) take(ctx context.Context, rec catalog.TenantRecord, open bool) diag.Diagnostics {
	var diags diag.Diagnostics
	m.ID = types.StringValue(rec.ID)
	m.TenantID = types.StringValue(rec.ID)
	m.Key = types.StringValue(rec.Key)
	m.IsolationModel = types.StringValue(rec.Model)
	m.State = types.StringValue(string(rec.State))
	m.Epoch = types.Int64Value(rec.Epoch)
	if account := placementAccount(rec.Placement); open || (!m.Account.IsNull() && m.Account.ValueString() != account) {
		m.Account = types.StringNull()
		if open {
			m.Account = types.StringValue(account)
		}
	}
	if len(rec.Labels) > 0 || len(m.Labels.Elements()) > 0 { // else null stays null and empty stays empty
		labels, ds := types.MapValueFrom(ctx, types.StringType, rec.Labels)
		diags.Append(ds...)
		m.Labels = labels
	}
	if m.Labels.ElementType(ctx) == nil {
		m.Labels = types.MapNull(types.StringType)
	}
	tables, ds := placementValue(ctx, rec.Placement)
	diags.Append(ds...)
	m.Tables = tables
	return diags
}

// placementAccount is the account of a placement. All tables of a model are in one.
func placementAccount(p tenancy.Placement) string {
	for _, t := range p {
		return t.Account
	}
	return ""
}

// leavesAccountOpen says whether tenants of a model name their accounts themselves.
func leavesAccountOpen(m tenancy.Model) bool {
	return m.Kind == tenancy.DedicatedAccount && m.Account == ""
}

// opensAccount says whether the named model leaves the account to its tenants. A model that cannot be read does not.
func (s *session) opensAccount(ctx context.Context, model string) bool {
	d, err := s.lookup(ctx)
	if err != nil {
		return false
	}
	return leavesAccountOpen(d.models[model].Model)
}

// movedOutsideKey is where Read leaves word in private state that the tenant is not where this state last had it.
const movedOutsideKey = "moved_outside"

// moved is that word: the place that the state had before Read looked.
type moved struct {
	FromModel   string `json:"from_model"`
	FromAccount string `json:"from_account,omitempty"`
}

// movedOutside compares the state before a read with what was read. It returns nil if the tenant is where it was: a state
// that was refreshed and saved has accepted the new place.
func movedOutside(before, now tenantModel) []byte {
	imported := before.Epoch.IsNull()
	if imported || now.Epoch.ValueInt64() <= before.Epoch.ValueInt64() ||
		(before.IsolationModel.Equal(now.IsolationModel) && before.Account.Equal(now.Account)) {
		return nil
	}
	b, err := json.Marshal(moved{FromModel: before.IsolationModel.ValueString(), FromAccount: before.Account.ValueString()})
	if err != nil {
		return nil // two strings always marshal
	}
	return b
}

// setLabels writes a tenant's labels unless they are so already, and returns the tenant as it then is.
func setLabels(ctx context.Context, c *catalog.Catalog, id string, labels map[string]string) (catalog.TenantRecord, error) {
	const attempts = 5
	for range attempts {
		rec, err := c.Tenant(ctx, id)
		if err != nil || maps.Equal(rec.Labels, labels) {
			return rec, err
		}
		rec.Labels = labels
		rec, err = c.UpdateTenant(ctx, rec)
		if !errors.Is(err, catalog.ErrChanged) && !errors.Is(err, catalog.ErrUnclear) {
			return rec, err
		}
	}
	return catalog.TenantRecord{}, fmt.Errorf("write the labels of tenant %q: %w %d times in a row", id, catalog.ErrChanged, attempts)
}
