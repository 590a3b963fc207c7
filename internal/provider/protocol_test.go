package provider

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/providerserver"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
)

// plugin talks to the provider as Terraform does, without Terraform: for what no Terraform here can do, and for many
// cases in little time. Configurations are maps as in JSON; what they leave out is null.
type plugin struct {
	t       *testing.T
	server  tfprotov6.ProviderServer
	schemas *tfprotov6.GetProviderSchemaResponse
}

func newPlugin(t *testing.T) *plugin {
	t.Helper()
	p := &plugin{t: t, server: providerserver.NewProtocol6(New("test")())()}
	var err error
	if p.schemas, err = p.server.GetProviderSchema(context.Background(), &tfprotov6.GetProviderSchemaRequest{}); err != nil {
		t.Fatal(err)
	}
	return p
}

// configuredPlugin is a plugin with the provider block of a world.
func configuredPlugin(w *world) *plugin {
	w.t.Helper()
	p := newPlugin(w.t)
	if errs := p.configure(w.block()); len(errs) > 0 {
		w.t.Fatal(errs)
	}
	return p
}

// block is the provider block of a world.
func (w *world) block() map[string]any {
	return map[string]any{
		"connection_string": w.server.ConnectionString(homeAccount),
		"accounts":          map[string]any{"premium": map[string]any{"connection_string": w.server.ConnectionString(premiumAccount)}},
	}
}

// value makes a value of a type; unknown stands for one that is not known yet.
func (p *plugin) value(typ tftypes.Type, config map[string]any) tftypes.Value {
	p.t.Helper()
	if config == nil {
		return tftypes.NewValue(typ, nil)
	}
	b, err := json.Marshal(config)
	if err != nil {
		p.t.Fatal(err)
	}
	v, err := tfprotov6.DynamicValue{JSON: b}.Unmarshal(typ)
	if err != nil {
		p.t.Fatal(err)
	}
	v, err = tftypes.Transform(v, func(_ *tftypes.AttributePath, v tftypes.Value) (tftypes.Value, error) {
		var s string
		if v.Type().Is(tftypes.String) && v.IsKnown() && !v.IsNull() && v.As(&s) == nil && s == unknown {
			return tftypes.NewValue(tftypes.String, tftypes.UnknownValue), nil
		}
		return v, nil
	})
	if err != nil {
		p.t.Fatal(err)
	}
	return v
}

// unknown is a text whose value is not known yet.
const unknown = "\x00unknown"

func (p *plugin) dynamic(v tftypes.Value) *tfprotov6.DynamicValue {
	p.t.Helper()
	d, err := tfprotov6.NewDynamicValue(v.Type(), v)
	if err != nil {
		p.t.Fatal(err)
	}
	return &d
}

func (p *plugin) resourceType(name string) tftypes.Type {
	return p.schemas.ResourceSchemas[name].ValueType()
}

func (p *plugin) configure(block map[string]any) (errs []string) {
	p.t.Helper()
	config := p.dynamic(p.value(p.schemas.Provider.ValueType(), block))
	v, err := p.server.ValidateProviderConfig(context.Background(), &tfprotov6.ValidateProviderConfigRequest{Config: config})
	if err != nil {
		p.t.Fatal(err)
	}
	if errs := texts(v.Diagnostics, tfprotov6.DiagnosticSeverityError); len(errs) > 0 {
		return errs
	}
	c, err := p.server.ConfigureProvider(context.Background(), &tfprotov6.ConfigureProviderRequest{Config: config})
	if err != nil {
		p.t.Fatal(err)
	}
	return texts(c.Diagnostics, tfprotov6.DiagnosticSeverityError)
}

// validate returns the errors of `terraform validate`.
func (p *plugin) validate(resource string, config map[string]any) []string {
	p.t.Helper()
	v, err := p.server.ValidateResourceConfig(context.Background(), &tfprotov6.ValidateResourceConfigRequest{
		TypeName: resource, Config: p.dynamic(p.value(p.resourceType(resource), config)),
	})
	if err != nil {
		p.t.Fatal(err)
	}
	return texts(v.Diagnostics, tfprotov6.DiagnosticSeverityError)
}

// plan plans a new resource.
func (p *plugin) plan(resource string, config map[string]any) (*tfprotov6.PlanResourceChangeResponse, tftypes.Value) {
	p.t.Helper()
	typ := p.resourceType(resource)
	d := p.dynamic(p.value(typ, config))
	r, err := p.server.PlanResourceChange(context.Background(), &tfprotov6.PlanResourceChangeRequest{
		TypeName: resource, PriorState: p.dynamic(tftypes.NewValue(typ, nil)), ProposedNewState: d, Config: d,
	})
	if err != nil {
		p.t.Fatal(err)
	}
	if r.PlannedState == nil {
		return r, tftypes.Value{}
	}
	planned, err := r.PlannedState.Unmarshal(typ)
	if err != nil {
		p.t.Fatal(err)
	}
	return r, planned
}

// read refreshes a resource, and returns its new state.
func (p *plugin) read(resource string, state map[string]any) (*tfprotov6.ReadResourceResponse, tftypes.Value) {
	p.t.Helper()
	typ := p.resourceType(resource)
	r, err := p.server.ReadResource(context.Background(), &tfprotov6.ReadResourceRequest{TypeName: resource, CurrentState: p.dynamic(p.value(typ, state))})
	if err != nil {
		p.t.Fatal(err)
	}
	if r.NewState == nil {
		return r, tftypes.Value{}
	}
	now, err := r.NewState.Unmarshal(typ)
	if err != nil {
		p.t.Fatal(err)
	}
	return r, now
}

// texts are the diagnostics of a severity, with their paths.
func texts(ds []*tfprotov6.Diagnostic, severity tfprotov6.DiagnosticSeverity) []string {
	var all []string
	for _, d := range ds {
		if d.Severity == severity {
			at := ""
			if d.Attribute != nil {
				at = hclPath(d.Attribute) + ": "
			}
			all = append(all, fmt.Sprintf("%s%s: %s", at, d.Summary, d.Detail))
		}
	}
	return all
}

// mustSay fails unless one of the diagnostics holds the text.
func mustSay(t *testing.T, all []string, text string) {
	t.Helper()
	if !strings.Contains(strings.Join(all, "\n"), text) {
		t.Errorf("nothing says %q among %q", text, all)
	}
}
