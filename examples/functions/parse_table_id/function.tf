output "storage_account" {
  value = provider::aztenancy::parse_table_id("https://contoso.table.core.windows.net/Orders").storage_account
}
