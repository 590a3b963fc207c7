# Hashed by its RowKey into one of 16 buckets.
output "bucketed_partition" {
  value = provider::aztenancy::partition_key({ kind = "bucketed", separator = "|", buckets = 16 }, "contoso", "order-0007")
}

# With a partition value of the application's own.
output "prefixed_partition" {
  value = provider::aztenancy::partition_key({ kind = "prefixed", separator = "|" }, "contoso", "2026-06")
}
