action "aztenancy_verify_tenant" "contoso" {
  config {
    tenant_id = "contoso"
  }
}
