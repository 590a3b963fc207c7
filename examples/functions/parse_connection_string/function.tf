output "table_endpoint" {
  value = provider::aztenancy::parse_connection_string("UseDevelopmentStorage=true").table_endpoint
}
