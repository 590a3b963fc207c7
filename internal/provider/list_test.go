package provider

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
)

// list asks for a list as `terraform query` does, which no Terraform here can, and returns names and errors.
func (p *plugin) list(resource string, config map[string]any, limit int64) (names, errs []string) {
	p.t.Helper()
	typ := p.schemas.ListResourceSchemas[resource].ValueType()
	server, ok := p.server.(interface {
		ListResource(context.Context, *tfprotov6.ListResourceRequest) (*tfprotov6.ListResourceServerStream, error)
	})
	if !ok {
		p.t.Fatal("the provider lists nothing")
	}
	stream, err := server.ListResource(context.Background(), &tfprotov6.ListResourceRequest{
		TypeName: resource, Config: p.dynamic(p.value(typ, config)), IncludeResource: true, Limit: limit})
	if err != nil {
		p.t.Fatal(err)
	}
	for r := range stream.Results {
		errs = append(errs, texts(r.Diagnostics, tfprotov6.DiagnosticSeverityError)...)
		if r.Resource == nil {
			continue
		}
		v, err := r.Resource.Unmarshal(p.resourceType(resource))
		if err != nil || r.Identity == nil || v.IsNull() {
			p.t.Errorf("%s: no resource or identity: %v", r.DisplayName, err)
		}
		names = append(names, r.DisplayName)
	}
	return names, errs
}

func TestTablesAndTenantsAreListed(t *testing.T) {
	w := worldWithoutTerraform(t)
	w.populate()
	p := configuredPlugin(w)
	for _, c := range []struct {
		resource string
		config   map[string]any
		limit    int64
		want     []string
	}{
		{"aztenancy_table", map[string]any{}, 0, []string{"Orders", "OrdersArchive", "Settings"}},
		{"aztenancy_table", map[string]any{"account": "premium"}, 0, nil},
		{"aztenancy_table", map[string]any{}, 2, []string{"Orders", "OrdersArchive"}},
		{"aztenancy_tenant", map[string]any{}, 0, []string{"contoso", "fabrikam"}},
		{"aztenancy_tenant", map[string]any{"isolation_model": "own-table"}, 0, nil},
	} {
		names, errs := p.list(c.resource, c.config, c.limit)
		if len(errs) > 0 || !slices.Equal(names, c.want) {
			t.Errorf("%s %v: %q, %q, want %q", c.resource, c.config, names, errs, c.want)
		}
	}
	_, errs := p.list("aztenancy_table", map[string]any{"account": "nowhere"}, 0)
	mustSay(t, errs, `Account "nowhere" is not configured`)
}

func TestTablesOfAzurermAreTakenOver(t *testing.T) {
	w := worldWithoutTerraform(t)
	w.populate()
	p := configuredPlugin(w)
	move := func(provider, state string) (*tfprotov6.MoveResourceStateResponse, []string) {
		r, err := p.server.MoveResourceState(context.Background(), &tfprotov6.MoveResourceStateRequest{
			SourceProviderAddress: provider, SourceTypeName: "azurerm_storage_table", TargetTypeName: "aztenancy_table",
			SourceState: &tfprotov6.RawState{JSON: []byte(state)}})
		if err != nil {
			t.Fatal(err)
		}
		return r, texts(r.Diagnostics, tfprotov6.DiagnosticSeverityError)
	}
	const azurerm = "registry.terraform.io/hashicorp/azurerm"
	for _, state := range []string{
		fmt.Sprintf(`{"id":"https://%s.table.core.windows.net/Tables('Orders')","name":"Orders","storage_account_name":%q,"acl":[]}`, homeAccount, homeAccount),
		fmt.Sprintf(`{"id":"https://%s.table.core.windows.net/Tables('Orders')","name":"Orders"}`, homeAccount),
		fmt.Sprintf(`{"id":"x","name":"Orders","storage_account_id":"/subscriptions/0/resourceGroups/r/providers/Microsoft.Storage/storageAccounts/%s"}`, homeAccount),
	} {
		moved, errs := move(azurerm, state)
		if len(errs) > 0 {
			t.Errorf("%s: %q", state, errs)
			continue
		}
		r, err := p.server.ReadResource(context.Background(), &tfprotov6.ReadResourceRequest{TypeName: "aztenancy_table", CurrentState: moved.TargetState, Private: moved.TargetPrivate})
		if err != nil {
			t.Fatal(err)
		}
		v, err := r.NewState.Unmarshal(p.resourceType("aztenancy_table"))
		if err != nil || len(r.Diagnostics) > 0 {
			t.Errorf("%s: %v, %v", state, err, texts(r.Diagnostics, tfprotov6.DiagnosticSeverityError))
			continue
		}
		for name, want := range map[string]string{"account": "home", "name": "Orders", "id": "Orders", "url": w.server.TableEndpoint(homeAccount) + "/Orders"} {
			if got := attribute(t, v, name); !got.Equal(tftypes.NewValue(tftypes.String, want)) {
				t.Errorf("%s: %s is %v, want %s", state, name, got, want)
			}
		}
	}
	// A table of an account that is not configured is no table of home.
	moved, errs := move(azurerm, `{"id":"x","name":"Orders","storage_account_name":"elsewhere"}`)
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	r, err := p.server.ReadResource(context.Background(), &tfprotov6.ReadResourceRequest{TypeName: "aztenancy_table", CurrentState: moved.TargetState, Private: moved.TargetPrivate})
	if err != nil {
		t.Fatal(err)
	}
	mustSay(t, texts(r.Diagnostics, tfprotov6.DiagnosticSeverityError), `configured account is the storage account "elsewhere"`)
	if _, errs := move("registry.terraform.io/example/azurerm", `{"name":"Orders"}`); len(errs) == 0 {
		t.Error("a state of another provider is taken over")
	}
	if _, errs := move(azurerm, `{"name":"Orders"}`); len(errs) == 0 {
		t.Error("a state without account is taken over")
	}
}
