action "aztenancy_resume_migration" "contoso" {
  config {
    tenant_id = "contoso"
  }
}
