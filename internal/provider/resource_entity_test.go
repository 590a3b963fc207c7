package provider

import (
	"context"
	"testing"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/plancheck"

	"github.com/aztenancy/terraform-provider-aztenancy/internal/acctest"
	"github.com/aztenancy/terraform-provider-aztenancy/internal/edm"
	"github.com/aztenancy/terraform-provider-aztenancy/internal/tablestorage"
)

const limitsAddress = "aztenancy_entity.order_limits"

// stored is the entity of the example as the service has it.
func (w *world) stored() *edm.Entity {
	w.t.Helper()
	e, err := w.client("home").Table("Settings").Get(context.Background(), edm.Key{PartitionKey: "orders", RowKey: "limits"})
	if err != nil {
		w.t.Fatal(err)
	}
	return e
}

func (w *world) entityLives() {
	w.t.Helper()
	config := example(w.t, "resources", "aztenancy_entity", "resource.tf")
	const fewer = `
resource "aztenancy_table" "settings" {
  name                = "Settings"
  deletion_protection = false
}

resource "aztenancy_entity" "order_limits" {
  table         = aztenancy_table.settings.name
  partition_key = "orders"
  row_key       = "limits"
  properties = {
    MaxTotal = { type = "Int64", value = "9007199254740993" }
  }
}
`
	w.run(
		resource.TestStep{Config: config, Check: does(func() {
			e := w.stored()
			if v, _ := e.Get("MaxTotal"); v != edm.DoubleValue(10000) || len(e.Properties) != 3 {
				w.t.Errorf("stored %+v", e)
			}
		})},
		resource.TestStep{ResourceName: limitsAddress, ImportState: true, ImportStateVerify: true, ImportStateId: "Settings/orders/limits",
			ImportStateVerifyIgnore: []string{"properties.Since.value", "properties.MaxTotal.value"}}, // imported in the service's way of writing
		resource.TestStep{ // somebody adds a property: drift, which the apply removes
			PreConfig: func() {
				e := w.stored()
				e.Set("Stray", edm.StringValue("x"))
				if _, err := w.client("home").Table("Settings").Replace(context.Background(), e, tablestorage.AnyETag); err != nil {
					w.t.Fatal(err)
				}
			},
			Config:           config,
			ConfigPlanChecks: resource.ConfigPlanChecks{PreApply: []plancheck.PlanCheck{plancheck.ExpectResourceAction(limitsAddress, plancheck.ResourceActionUpdate)}},
			Check: does(func() {
				if _, has := w.stored().Get("Stray"); has {
					w.t.Error("the stray property is still there")
				}
			}),
		},
		resource.TestStep{ // what is no longer declared is removed
			Config: fewer,
			Check: does(func() {
				if e := w.stored(); len(e.Properties) != 1 || e.Properties[0].Value != edm.Int64Value(9007199254740993) {
					w.t.Errorf("stored %+v", e)
				}
			}),
		},
		resource.TestStep{ // gone outside: made anew
			PreConfig: func() {
				if err := w.client("home").Table("Settings").Delete(context.Background(), w.stored().Key(), tablestorage.AnyETag); err != nil {
					w.t.Fatal(err)
				}
			},
			Config:           fewer,
			ConfigPlanChecks: resource.ConfigPlanChecks{PreApply: []plancheck.PlanCheck{plancheck.ExpectResourceAction(limitsAddress, plancheck.ResourceActionCreate)}},
		},
		resource.TestStep{ // written between plan and apply: not overwritten
			Config: config,
			ConfigPlanChecks: resource.ConfigPlanChecks{PreApply: []plancheck.PlanCheck{after(func() {
				e := w.stored()
				e.Set("MaxTotal", edm.Int64Value(1))
				if _, err := w.client("home").Table("Settings").Replace(context.Background(), e, tablestorage.AnyETag); err != nil {
					w.t.Fatal(err)
				}
			})}},
			ExpectError: says("was changed since Terraform read it"),
		},
		resource.TestStep{Config: config},
	)
}

func TestEntityHasExactlyWhatIsDeclared(t *testing.T) { newWorld(t).entityLives() }

func TestEntityHasExactlyWhatIsDeclaredOnAzurite(t *testing.T) {
	useTerraform(t)
	worldOn(t, acctest.StartAzurite(t, acctest.WithAccounts(homeAccount, premiumAccount))).entityLives()
}

func TestEntitiesThatCannotBeAreFoundByValidate(t *testing.T) {
	p := newPlugin(t)
	property := func(typ, value string) map[string]any {
		return map[string]any{"properties": map[string]any{"P": map[string]any{"type": typ, "value": value}}}
	}
	for _, c := range []struct {
		config map[string]any
		says   string
	}{
		{map[string]any{"table": "tables"}, `table: Table name "tables" is not usable`},
		{map[string]any{"partition_key": "a/b"}, "partition_key: PartitionKey \"a/b\" is not usable"},
		{map[string]any{"row_key": "a#b"}, "row_key: RowKey \"a#b\" is not usable"},
		{property("Number", "1"), `properties["P"].type: `},
		{property("Int32", "2147483648"), `properties: Entity ("a", "b") of table "Settings" is not usable as it is declared: Property "P": its value is no Int32`},
		{property("Boolean", "yes"), `its value is no Boolean`},
		{property("DateTime", "yesterday"), `its value is no DateTime`},
		{map[string]any{"properties": map[string]any{"not a name": map[string]any{"type": "String", "value": "x"}}}, "The service would refuse it"},
	} {
		config := map[string]any{"table": "Settings", "partition_key": "a", "row_key": "b", "properties": map[string]any{}}
		for k, v := range c.config {
			config[k] = v
		}
		mustSay(t, p.validate("aztenancy_entity", config), c.says)
	}
}

func TestEntityIDsAreReadAsTheyAreWritten(t *testing.T) {
	for _, id := range []entityIdentity{
		{optional("home"), optional("Orders"), optional("contoso|00"), optional("order 1%")},
		{optional("premium"), optional("Orders"), optional("ü"), optional("+&=")},
	} {
		m := entityResourceModel{Account: id.Account, Table: id.Table, PartitionKey: id.PartitionKey, RowKey: id.RowKey}
		if got, err := parseEntityID(entityID(m)); err != nil || got != id {
			t.Errorf("%s: %+v, %v", entityID(m), got, err)
		}
	}
	for _, id := range []string{"Orders/a", "a/Orders/b/c/d", "tables/a/b", "Orders/%zz/b", "/Orders/a/b"} {
		if got, err := parseEntityID(id); err == nil {
			t.Errorf("%s is read as %+v", id, got)
		}
	}
}
