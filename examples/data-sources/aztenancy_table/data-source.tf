data "aztenancy_table" "orders" {
  name = "Orders"
}

output "orders_url" {
  value = data.aztenancy_table.orders.url
}
