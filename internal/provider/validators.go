package provider

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/schema/validator"

	"github.com/aztenancy/terraform-provider-aztenancy/internal/edm"
	"github.com/aztenancy/terraform-provider-aztenancy/internal/tenancy"
)

// text is a validator of a known string; it explains itself through the error of its check.
type text struct {
	summary string // "Table name"
	check   func(string) error
}

func (v text) describe() string                           { return v.summary + " must be valid" }
func (v text) Description(context.Context) string         { return v.describe() }
func (v text) MarkdownDescription(context.Context) string { return v.describe() }

func (v text) ValidateString(_ context.Context, req validator.StringRequest, resp *validator.StringResponse) {
	if req.ConfigValue.IsNull() || req.ConfigValue.IsUnknown() {
		return
	}
	if err := v.check(req.ConfigValue.ValueString()); err != nil {
		resp.Diagnostics.AddAttributeError(req.Path, v.summary+" "+quote(req.ConfigValue.ValueString())+" is not usable", sentence(err))
	}
}

// tableName checks a physical table name.
type tableName struct{}

func (tableName) Description(context.Context) string {
	return "must be a table name: 3 to 63 letters and digits, a letter first, and not \"tables\""
}

func (v tableName) MarkdownDescription(ctx context.Context) string { return v.Description(ctx) }

func (tableName) ValidateString(ctx context.Context, req validator.StringRequest, resp *validator.StringResponse) {
	text{"Table name", checkTableName}.ValidateString(ctx, req, resp)
}

// checkTableName adds the right form to what the service would say.
func checkTableName(s string) error {
	err := edm.ValidateTableName(s)
	if err == nil {
		return nil
	}
	reason := err.Error()
	var refused *edm.Error
	if errors.As(err, &refused) {
		reason = refused.Message
	}
	return fmt.Errorf("%s. A table name has 3 to 63 letters and digits, begins with a letter, and is not \"tables\"", strings.TrimRight(reason, "."))
}

func tenantIDValidator() validator.String { return text{"Tenant id", tenancy.ValidateID} }

func tenantKeyValidator() validator.String { return text{"Tenant key", tenancy.ValidateKey} }

// moverPolicyPrefix begins the ids of the policies that the mover uses during a move.
const moverPolicyPrefix = "aztenancy-"

// policyIDValidator checks the id of a stored access policy: 1 to 64 characters (Set Table ACL, REST reference), and none of the mover's.
func policyIDValidator() validator.String {
	return text{"Policy id", func(s string) error {
		switch n := edm.UTF16Len(s); {
		case strings.HasPrefix(s, moverPolicyPrefix):
			return fmt.Errorf("ids that begin with %q belong to the mover, which adds and removes such policies during a move. Choose another id", moverPolicyPrefix)
		case n == 0 || n > 64:
			return fmt.Errorf("a policy id has 1 to 64 characters, this one has %d", n)
		}
		return nil
	}}
}

func positiveDurationValidator() validator.String {
	return text{"Duration", func(s string) error {
		d, err := time.ParseDuration(s)
		if err != nil {
			return errors.New("write a number and a unit, such as `30s`, `15m` or `24h`")
		}
		if d <= 0 {
			return errors.New("a duration here is more than zero, such as `30s`, `15m` or `24h`")
		}
		return nil
	}}
}

// accountNames checks the names of the provider's further accounts.
type accountNames struct{}

func (accountNames) Description(context.Context) string {
	return "names must not be empty, hold \"/\" or be \"home\""
}

func (v accountNames) MarkdownDescription(ctx context.Context) string { return v.Description(ctx) }

func (accountNames) ValidateMap(_ context.Context, req validator.MapRequest, resp *validator.MapResponse) {
	if req.ConfigValue.IsNull() || req.ConfigValue.IsUnknown() {
		return
	}
	for name := range req.ConfigValue.Elements() {
		switch {
		case name == tenancy.HomeAccount:
			resp.Diagnostics.AddAttributeError(req.Path, "Account name \"home\" is taken",
				"\"home\" is the account that the provider block itself describes. Give the further account another name.")
		case name == "" || strings.Contains(name, "/"):
			resp.Diagnostics.AddAttributeError(req.Path, "Account name "+quote(name)+" is not usable",
				"An account name is not empty and holds no \"/\", which separates it from the table's name in import ids.")
		}
	}
}

// moveTimesValidator checks the times of a move against each other.
type moveTimesValidator struct{}

func (moveTimesValidator) Description(context.Context) string {
	return "drain must be shorter than max_freeze"
}

func (v moveTimesValidator) MarkdownDescription(ctx context.Context) string {
	return v.Description(ctx)
}

func (moveTimesValidator) ValidateObject(ctx context.Context, req validator.ObjectRequest, resp *validator.ObjectResponse) {
	if !isKnown(ctx, req.ConfigValue) || req.ConfigValue.IsNull() {
		return
	}
	var o migrationModel
	resp.Diagnostics.Append(req.ConfigValue.As(ctx, &o, objectAsOptions)...)
	if t, err := o.times(); err != nil && t.drain > 0 { // else a duration is none, which its own validator says
		resp.Diagnostics.AddAttributeError(req.Path.AtName("drain"), "The move's times are not usable", sentence(err))
	}
}
