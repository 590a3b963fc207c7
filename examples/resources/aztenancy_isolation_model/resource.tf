resource "aztenancy_table" "orders" {
  name = "Orders"
}

# Everybody in one table, each spread over sixteen partitions.
resource "aztenancy_isolation_model" "pool" {
  name       = "pool"
  kind       = "shared_table"
  tables     = { orders = aztenancy_table.orders.name } # logical = physical
  key_scheme = { kind = "bucketed", separator = "|", buckets = 16 }
}

# A table for each tenant, made with the tenant.
resource "aztenancy_isolation_model" "own_table" {
  name       = "own-table"
  kind       = "dedicated_table"
  tables     = { orders = "Orders{tenant}" }
  key_scheme = { kind = "tenant" }
}

# An account for each tenant, which the tenant names.
resource "aztenancy_isolation_model" "own_account" {
  name       = "own-account"
  kind       = "dedicated_account"
  tables     = { orders = "Orders{tenant}" }
  key_scheme = { kind = "bucketed", separator = "|", buckets = 4 }
}
