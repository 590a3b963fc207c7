package provider

import (
	"context"
	"fmt"
	"maps"
	"time"

	"github.com/hashicorp/terraform-plugin-framework-timeouts/resource/timeouts"
	"github.com/hashicorp/terraform-plugin-framework-validators/stringvalidator"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/booldefault"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/planmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/stringdefault"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/stringplanmodifier"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"

	"github.com/aztenancy/terraform-provider-aztenancy/internal/tenancy"
)

// What happens to data when its resource is destroyed.
const (
	refuseIfNotEmpty = "refuse_if_not_empty"
	deleteData       = "delete"
)

// limits are how long a resource's operations may take unless its timeouts say otherwise.
type limits struct{ create, read, update, delete time.Duration }

// quickLimits fit resources whose operations are a few requests; deletion waits for the service.
var quickLimits = limits{create: 5 * time.Minute, read: 2 * time.Minute, update: 5 * time.Minute, delete: 10 * time.Minute}

// attribute describes the timeouts attribute with these defaults.
func (l limits) attribute(ctx context.Context) schema.Attribute {
	text := func(operation string, d time.Duration) string {
		return fmt.Sprintf("How long to %s may take, such as `30s` or `2h45m`. Defaults to `%s`.", operation, durationText(d))
	}
	a, ok := timeouts.Attributes(ctx, timeouts.Opts{
		Create: true, CreateDescription: text("create", l.create),
		Read: true, ReadDescription: text("read", l.read),
		Update: true, UpdateDescription: text("update", l.update),
		Delete: true, DeleteDescription: text("delete", l.delete),
	}).(schema.SingleNestedAttribute)
	if !ok {
		panic("the timeouts library describes its attribute in another way")
	}
	a.Attributes = maps.Clone(a.Attributes)
	a.MarkdownDescription = "How long each operation may take."
	return a
}

// durationText writes whole hours and minutes without zero parts.
func durationText(d time.Duration) string {
	if d%time.Hour == 0 {
		return fmt.Sprintf("%dh", d/time.Hour)
	}
	return fmt.Sprintf("%dm", d/time.Minute)
}

func idAttribute(form string) schema.Attribute {
	return schema.StringAttribute{
		MarkdownDescription: "The id that import takes: " + form + ".",
		Computed:            true,
		PlanModifiers:       []planmodifier.String{stringplanmodifier.UseStateForUnknown()},
	}
}

// accountAttribute names the account that holds what.
func accountAttribute(what string) schema.Attribute {
	return schema.StringAttribute{
		MarkdownDescription: "The account that holds the " + what + ": a name of the provider's `accounts`, or `home` for the account " +
			"of the provider block itself. Defaults to `home`. Changing it replaces the resource.",
		Optional:      true,
		Computed:      true,
		Default:       stringdefault.StaticString(tenancy.HomeAccount),
		PlanModifiers: []planmodifier.String{stringplanmodifier.RequiresReplace()},
		Validators:    []validator.String{stringvalidator.LengthAtLeast(1)},
	}
}

func deletionProtectionAttribute(what string) schema.Attribute {
	return schema.BoolAttribute{
		MarkdownDescription: "Whether Terraform refuses to destroy or replace the " + what + ". To destroy it, set `false`, apply, then destroy. Defaults to `true`.",
		Optional:            true,
		Computed:            true,
		Default:             booldefault.StaticBool(true),
	}
}

func destroyPolicyAttribute(description string) schema.Attribute {
	return schema.StringAttribute{
		MarkdownDescription: description,
		Optional:            true,
		Computed:            true,
		Default:             stringdefault.StaticString(refuseIfNotEmpty),
		Validators:          []validator.String{stringvalidator.OneOf(refuseIfNotEmpty, deleteData)},
	}
}
