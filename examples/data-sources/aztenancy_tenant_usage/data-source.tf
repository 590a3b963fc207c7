data "aztenancy_tenant_usage" "contoso" {
  tenant_id    = "contoso"
  max_entities = 100000
}

output "contoso_megabytes" {
  value = data.aztenancy_tenant_usage.contoso.bytes / 1048576
}
