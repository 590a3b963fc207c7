# The shared table of a pool. It is dropped only if it is empty and its protection was switched off before.
resource "aztenancy_table" "orders" {
  name = "Orders"
}

# A table in another account of the provider block.
resource "aztenancy_table" "archive" {
  name    = "OrdersArchive"
  account = "premium"
}
