output "decoded_key" {
  value = provider::aztenancy::decode_key("A~2FB")
}
