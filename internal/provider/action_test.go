package provider

import (
	"context"
	"maps"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"

	"github.com/aztenancy/terraform-provider-aztenancy/internal/tenancy"
)

// invoke runs an action as Terraform 1.14 does, which is not here.
func (p *plugin) invoke(name, tenantID string, more ...map[string]any) (printed string, errs []string) {
	p.t.Helper()
	attributes := map[string]any{"tenant_id": tenantID}
	for _, m := range more {
		maps.Copy(attributes, m)
	}
	config := p.dynamic(p.value(p.schemas.ActionSchemas[name].Schema.ValueType(), attributes))
	server, ok := p.server.(interface {
		InvokeAction(context.Context, *tfprotov6.InvokeActionRequest) (*tfprotov6.InvokeActionServerStream, error)
	})
	if !ok {
		p.t.Fatal("the provider has no actions")
	}
	stream, err := server.InvokeAction(context.Background(), &tfprotov6.InvokeActionRequest{ActionType: name, Config: config})
	if err != nil {
		p.t.Fatal(err)
	}
	for event := range stream.Events {
		switch e := event.Type.(type) {
		case tfprotov6.ProgressInvokeActionEventType:
			printed += e.Message
		case tfprotov6.CompletedInvokeActionEventType:
			errs = append(errs, texts(e.Diagnostics, tfprotov6.DiagnosticSeverityError)...)
		}
	}
	return printed, errs
}

func TestActionsVerifyAndPurgeWhatAMoveLeft(t *testing.T) {
	w := worldWithoutTerraform(t)
	w.populate()
	w.model(tenancy.Model{Name: "own-table", Kind: tenancy.DedicatedTable, Account: "home", Tables: map[string]string{"orders": "Orders{tenant}"},
		KeyScheme: tenancy.KeyScheme{Kind: tenancy.SchemeTenant}})
	p := configuredPlugin(w)
	_, errs := p.invoke("aztenancy_verify_tenant", "contoso")
	if len(errs) == 0 {
		t.Error("what cannot be compared is called equal")
	}
	_, errs = p.invoke("aztenancy_resume_migration", "contoso")
	mustSay(t, errs, `Tenant "contoso" is not moving`)
	w.moveOutside("contoso", "own-table", "")
	archive := map[string]any{"archive": t.TempDir()}
	for _, wrong := range []map[string]any{{}, {"no_archive": false}, {"archive": t.TempDir(), "no_archive": true}} {
		_, errs = p.invoke("aztenancy_purge_source", "contoso", wrong)
		mustSay(t, errs, "Say whether the old place is archived")
	}
	for _, c := range []struct {
		action, says string
		config       map[string]any
	}{
		{"aztenancy_verify_tenant", "are equal: 30 entities", nil},
		{"aztenancy_purge_source", "30 entities deleted", archive},
		{"aztenancy_purge_source", "nothing is left", map[string]any{"no_archive": true}},
	} {
		printed, errs := p.invoke(c.action, "contoso", c.config)
		if len(errs) > 0 || !strings.Contains(printed, c.says) {
			t.Errorf("%s: %q, %q", c.action, printed, errs)
		}
	}
	if n := w.entities("home", "Orders"); n != 0 {
		t.Errorf("%d entities at the old place", n)
	}
	for action, config := range map[string]map[string]any{"aztenancy_verify_tenant": nil, "aztenancy_purge_source": archive, "aztenancy_resume_migration": nil} {
		if _, errs := p.invoke(action, "nobody", config); len(errs) == 0 {
			t.Errorf("%s of nobody succeeds", action)
		}
	}
}
