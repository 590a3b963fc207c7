list "aztenancy_table" "premium" {
  provider = aztenancy
  config {
    account = "premium"
  }
}
