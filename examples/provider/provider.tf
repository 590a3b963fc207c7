variable "home" {
  description = "Connection string of the account that holds the catalog."
  type        = string
  sensitive   = true
}

variable "premium" {
  description = "Connection string of an account for tenants that pay for one of their own."
  type        = string
  sensitive   = true
}

provider "aztenancy" {
  connection_string = var.home # or account_name with account_key, sas_token or entra = {}

  accounts = {
    premium = { connection_string = var.premium }
  }
}
