ephemeral "aztenancy_tenant_sas" "contoso" {
  tenant_id   = "contoso"
  permissions = ["read", "add", "update"]
  ttl         = "15m"
}

# A provider that reaches this tenant's entities and nothing else.
provider "aztenancy" {
  alias             = "contoso"
  connection_string = ephemeral.aztenancy_tenant_sas.contoso.tokens["orders"].connection_string
}
