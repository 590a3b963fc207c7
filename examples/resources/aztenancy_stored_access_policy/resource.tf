resource "aztenancy_table" "orders" {
  name = "Orders"
}

# Signatures that name this policy can read until the end of June. Remove the policy, and they all stop working.
resource "aztenancy_stored_access_policy" "readers" {
  table       = aztenancy_table.orders.name
  policy_id   = "readers"
  permissions = ["read"]
  expiry      = "2027-06-30T00:00:00Z"
}
