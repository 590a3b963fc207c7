data "aztenancy_tenant" "contoso" {
  tenant_id = "contoso"
}

output "contoso_orders_url" {
  value = data.aztenancy_tenant.contoso.tables["orders"].url
}
