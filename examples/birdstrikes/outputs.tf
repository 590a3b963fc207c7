output "airlines" {
  description = "How many airlines are declared as tenants."
  value       = length(aztenancy_tenant.airline)
}

output "dedicated" {
  description = "Where the airlines live that have left the pool."
  value = {
    for id, tenant in aztenancy_tenant.airline : id => tenant.tables["strikes"].url
    if tenant.isolation_model != "pool"
  }
}
