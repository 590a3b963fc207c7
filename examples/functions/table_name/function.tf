output "own_table" {
  value = provider::aztenancy::table_name("Orders{tenant}", "contoso-eu")
}
