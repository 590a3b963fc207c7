resource "aztenancy_table" "settings" {
  name                = "Settings"
  deletion_protection = false
}

resource "aztenancy_entity" "order_limits" {
  table         = aztenancy_table.settings.name
  partition_key = "orders"
  row_key       = "limits"
  properties = {
    MaxTotal = { type = "Double", value = "10000" }
    MaxLines = { type = "Int32", value = "500" }
    Since    = { type = "DateTime", value = "2026-06-01T00:00:00Z" }
  }
}
