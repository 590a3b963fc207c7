action "aztenancy_purge_source" "contoso" {
  config {
    tenant_id = "contoso"
    archive   = "/var/backups/tenants"
  }
}
