output "filter_by_name" {
  value = "Name eq ${provider::aztenancy::odata_quote("O'Hara")}"
}
