# Two customers in one table on a local emulator. Change var.contoso and contoso moves to a table of its own.

terraform {
  required_version = ">= 1.11"
  required_providers {
    aztenancy = {
      source  = "aztenancy/aztenancy"
      version = "~> 0.1"
    }
  }
}

provider "aztenancy" {
  connection_string = "UseDevelopmentStorage=true"
}

variable "contoso" {
  description = "The isolation model of contoso: pool or own-table."
  type        = string
  default     = "pool"
}

resource "aztenancy_table" "orders" {
  name                = "Orders"
  deletion_protection = false
  destroy_policy      = "delete"
}

resource "aztenancy_isolation_model" "pool" {
  name       = "pool"
  kind       = "shared_table"
  tables     = { orders = aztenancy_table.orders.name }
  key_scheme = { kind = "bucketed", separator = "|", buckets = 4 }
}

resource "aztenancy_isolation_model" "own_table" {
  name       = "own-table"
  kind       = "dedicated_table"
  tables     = { orders = "Orders{tenant}" }
  key_scheme = { kind = "tenant" }
}

locals {
  models = {
    pool      = aztenancy_isolation_model.pool.name
    own-table = aztenancy_isolation_model.own_table.name
  }
}

resource "aztenancy_tenant" "contoso" {
  tenant_id           = "contoso"
  isolation_model     = local.models[var.contoso]
  labels              = { tier = "gold" }
  deletion_protection = false
  destroy_policy      = "delete"
}

resource "aztenancy_tenant" "fabrikam" {
  tenant_id           = "fabrikam"
  isolation_model     = local.models["pool"]
  labels              = { tier = "trial" }
  deletion_protection = false
  destroy_policy      = "delete"
}

output "contoso_orders" {
  description = "Where an application finds the orders of contoso."
  value       = aztenancy_tenant.contoso.tables["orders"].url
}
