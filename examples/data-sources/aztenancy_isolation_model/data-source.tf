data "aztenancy_isolation_model" "pool" {
  name = "pool"
}

# Where the application finds order-0007 of the tenant contoso.
output "partition" {
  value = provider::aztenancy::partition_key(data.aztenancy_isolation_model.pool.key_scheme, "contoso", "order-0007")
}
