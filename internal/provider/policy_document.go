package provider

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/hashicorp/terraform-plugin-framework-timetypes/timetypes"
	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/aztenancy/terraform-provider-aztenancy/internal/tablestorage"
)

// maxPolicies is how many stored access policies a table can have (Set Table ACL, REST reference).
const maxPolicies = 5

// permissionLetters are the permissions in the order in which the service writes them.
var permissionLetters = []struct{ letter, name string }{{"r", "read"}, {"a", "add"}, {"u", "update"}, {"d", "delete"}}

var errPolicyExists = errors.New("a policy of this id exists already")

// tooManyPoliciesError says that a table has no room for another policy.
type tooManyPoliciesError struct{ ids []string }

func (e *tooManyPoliciesError) Error() string {
	return "the table has as many policies as it can: " + enumerate(e.ids)
}

// policyDocument is the one document that holds all stored access policies of a table. It has no ETag, so a change is
// read, changed, written and read back: by one goroutine of this process at a time, and again if another program wrote
// in between and our change is lost.
type policyDocument struct {
	session *session
	account string
	table   string
}

// tableKey names a physical table in this session's maps.
func tableKey(account, table string) string { return account + "/" + strings.ToLower(table) }

// read returns the policies as last read or written by this session.
func (d policyDocument) read(ctx context.Context) ([]tablestorage.AccessPolicy, error) {
	return d.session.policies.get(tableKey(d.account, d.table)).get(ctx, d.fetch)
}

func (d policyDocument) fetch(ctx context.Context) ([]tablestorage.AccessPolicy, error) {
	client, err := d.session.accounts.Client(d.account)
	if err != nil {
		return nil, err
	}
	return client.AccessPolicies(ctx, d.table)
}

// change makes one change and returns when done says that the document has it.
func (d policyDocument) change(ctx context.Context, change func([]tablestorage.AccessPolicy) ([]tablestorage.AccessPolicy, error),
	done func([]tablestorage.AccessPolicy) bool,
) error {
	client, err := d.session.accounts.Client(d.account)
	if err != nil {
		return err
	}
	lock := d.session.documents.get(tableKey(d.account, d.table))
	lock.Lock()
	defer lock.Unlock()
	defer d.session.policies.get(tableKey(d.account, d.table)).forget()

	const attempts = 5
	for attempt := range attempts {
		before, err := d.fetch(ctx)
		if err != nil {
			return err
		}
		if attempt > 0 && done(before) {
			return nil
		}
		after, err := change(slices.Clone(before))
		if err != nil {
			return err
		}
		if err := client.SetAccessPolicies(ctx, d.table, after); err != nil {
			return err
		}
		now, err := d.fetch(ctx)
		if err != nil {
			return fmt.Errorf("read the policies back: %w", err)
		}
		if done(now) {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(time.Duration(attempt+1) * 200 * time.Millisecond):
		}
	}
	return fmt.Errorf("another program keeps writing the policies of table %q and overwrote this change %d times", d.table, attempts)
}

func addPolicy(all []tablestorage.AccessPolicy, p tablestorage.AccessPolicy) ([]tablestorage.AccessPolicy, error) {
	if slices.ContainsFunc(all, func(o tablestorage.AccessPolicy) bool { return o.ID == p.ID }) {
		return nil, errPolicyExists
	}
	if len(all) >= maxPolicies {
		full := &tooManyPoliciesError{}
		for _, o := range all {
			full.ids = append(full.ids, o.ID)
		}
		return nil, full
	}
	return append(all, p), nil
}

// replacePolicy keeps the order, and adds a policy that is gone.
func replacePolicy(all []tablestorage.AccessPolicy, p tablestorage.AccessPolicy) ([]tablestorage.AccessPolicy, error) {
	for i := range all {
		if all[i].ID == p.ID {
			all[i] = p
			return all, nil
		}
	}
	return addPolicy(all, p)
}

func removePolicy(all []tablestorage.AccessPolicy, id string) []tablestorage.AccessPolicy {
	return slices.DeleteFunc(all, func(p tablestorage.AccessPolicy) bool { return p.ID == id })
}

// holds returns a test for a document that has the policy as it shall be.
func holds(wanted tablestorage.AccessPolicy) func([]tablestorage.AccessPolicy) bool {
	return func(all []tablestorage.AccessPolicy) bool {
		return slices.ContainsFunc(all, func(p tablestorage.AccessPolicy) bool { return samePolicy(p, wanted) })
	}
}

// lacks returns a test for a document without the policy.
func lacks(id string) func([]tablestorage.AccessPolicy) bool {
	return func(all []tablestorage.AccessPolicy) bool {
		return !slices.ContainsFunc(all, func(p tablestorage.AccessPolicy) bool { return p.ID == id })
	}
}

// samePolicy compares to the second: that is all that this provider writes of a time.
func samePolicy(a, b tablestorage.AccessPolicy) bool {
	return a.ID == b.ID && sameInstant(a.Start, b.Start) && sameInstant(a.Expiry, b.Expiry) &&
		slices.Equal(permissionNames(a.Permission), permissionNames(b.Permission))
}

func sameInstant(a, b *time.Time) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a.Unix() == b.Unix()
}

// permissionNames spells the letters of a policy out, in the service's order.
func permissionNames(letters string) []string {
	var names []string
	for _, p := range permissionLetters {
		if strings.Contains(letters, p.letter) {
			names = append(names, p.name)
		}
	}
	return names
}

// accessPolicy is the policy as the service takes it.
func (m policyModel) accessPolicy(ctx context.Context) tablestorage.AccessPolicy {
	p := tablestorage.AccessPolicy{ID: m.PolicyID.ValueString(), Start: instant(m.Start), Expiry: instant(m.Expiry)}
	var names []string
	m.Permissions.ElementsAs(ctx, &names, false)
	for _, known := range permissionLetters {
		if slices.Contains(names, known.name) {
			p.Permission += known.letter
		}
	}
	return p
}

// take makes the model say what the service has. A time that is the same moment keeps the way it was written.
func (m *policyModel) take(p tablestorage.AccessPolicy) diag.Diagnostics {
	m.Start = rewrite(m.Start, p.Start)
	m.Expiry = rewrite(m.Expiry, p.Expiry)
	names := permissionNames(p.Permission)
	if len(names) == 0 {
		m.Permissions = types.SetNull(types.StringType)
		return nil
	}
	elements := make([]attr.Value, len(names))
	for i, name := range names {
		elements[i] = types.StringValue(name)
	}
	set, diags := types.SetValue(types.StringType, elements)
	m.Permissions = set
	return diags
}

func rewrite(written timetypes.RFC3339, is *time.Time) timetypes.RFC3339 {
	if sameInstant(instant(written), is) {
		return written
	}
	if is == nil {
		return timetypes.NewRFC3339Null()
	}
	return timetypes.NewRFC3339TimeValue(is.UTC())
}

// instant is the moment, cut to the second, or nil where there is none or it is not known.
func instant(v timetypes.RFC3339) *time.Time {
	if v.IsNull() || v.IsUnknown() {
		return nil
	}
	t, diags := v.ValueRFC3339Time()
	if diags.HasError() {
		return nil
	}
	t = t.Truncate(time.Second).UTC()
	return &t
}
