list "aztenancy_tenant" "pool" {
  provider = aztenancy
  config {
    isolation_model = "pool"
  }
}
