data "aztenancy_tables" "of_orders" {
  prefix = "Orders"
}

output "order_tables" {
  value = data.aztenancy_tables.of_orders.names
}
