# For a SAS that a program signs by itself.
output "range" {
  value = provider::aztenancy::key_range({ kind = "prefixed", separator = "|" }, "contoso")
}
