data "aztenancy_capabilities" "home" {}

check "tokens_are_held_to_their_range" {
  assert {
    condition     = data.aztenancy_capabilities.home.enforces_sas_ranges
    error_message = "This server lets a tenant's token reach every tenant of the table."
  }
}
