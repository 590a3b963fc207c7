output "encoded_key" {
  value = provider::aztenancy::encode_key("A/B")
}
