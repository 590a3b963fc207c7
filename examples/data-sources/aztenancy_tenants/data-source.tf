# The trial customers that may be read and written now.
data "aztenancy_tenants" "trial" {
  state  = "active"
  labels = { tier = "trial" }
}

output "trial_tables" {
  value = { for id, tenant in data.aztenancy_tenants.trial.tenants : id => tenant.tables["orders"].url }
}
