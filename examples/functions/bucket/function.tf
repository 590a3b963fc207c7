# The entity with the RowKey order-0007 is in the partition contoso|09 of a tenant with 16 buckets.
output "bucket" {
  value = provider::aztenancy::bucket("order-0007", 16)
}
