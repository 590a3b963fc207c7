resource "aztenancy_table" "orders" {
  name = "Orders"
}

resource "aztenancy_isolation_model" "pool" {
  name       = "pool"
  kind       = "shared_table"
  tables     = { orders = aztenancy_table.orders.name }
  key_scheme = { kind = "bucketed", separator = "|", buckets = 16 }
}

resource "aztenancy_isolation_model" "own_account" {
  name       = "own-account"
  kind       = "dedicated_account"
  tables     = { orders = "Orders{tenant}" }
  key_scheme = { kind = "tenant" }
}

resource "aztenancy_tenant" "contoso" {
  tenant_id       = "contoso"
  key             = "Contoso"                           # the text in PartitionKeys; defaults to tenant_id
  isolation_model = aztenancy_isolation_model.pool.name # change it: the tenant moves
  labels          = { tier = "trial" }
  migration       = { verify = "full", max_freeze = "10m" }
}

resource "aztenancy_tenant" "fabrikam" {
  tenant_id       = "fabrikam"
  isolation_model = aztenancy_isolation_model.own_account.name
  account         = "premium"
}

output "contoso_orders" {
  value = aztenancy_tenant.contoso.tables["orders"]
}
