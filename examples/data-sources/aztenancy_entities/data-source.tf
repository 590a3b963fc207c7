data "aztenancy_entities" "settings" {
  table  = "Settings"
  filter = "PartitionKey eq ${provider::aztenancy::odata_quote("orders")}"
}

output "limits" {
  value = { for e in data.aztenancy_entities.settings.entities : e.row_key => tonumber(e.properties["Limit"].value) }
}
