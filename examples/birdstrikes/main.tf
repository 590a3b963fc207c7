# Airlines as tenants. The wildlife strikes of each are kept in Azure Table Storage: most airlines share one table, some
# have a table of their own, some an account of their own.

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
  connection_string = var.home
  accounts          = { premium = { connection_string = var.premium } }
}

resource "aztenancy_table" "strikes" {
  name                = "Strikes"
  deletion_protection = false # a demonstration: `terraform destroy` may take it away
}

# Where an airline starts: all of them in one table, each spread over sixteen partitions.
resource "aztenancy_isolation_model" "pool" {
  name       = "pool"
  kind       = "shared_table"
  tables     = { strikes = aztenancy_table.strikes.name }
  key_scheme = { kind = "bucketed", separator = "|", buckets = 16 }
}

resource "aztenancy_isolation_model" "own_table" {
  name       = "own-table"
  kind       = "dedicated_table"
  tables     = { strikes = "Strikes{tenant}" }
  key_scheme = { kind = "tenant" }
}

resource "aztenancy_isolation_model" "own_account" {
  name       = "own-account"
  kind       = "dedicated_account"
  account    = "premium"
  tables     = { strikes = "Strikes{tenant}" }
  key_scheme = { kind = "bucketed", separator = "|", buckets = 4 }
}

locals {
  models = {
    pool        = aztenancy_isolation_model.pool.name
    own-table   = aztenancy_isolation_model.own_table.name
    own-account = aztenancy_isolation_model.own_account.name
  }

  # One tenant for each airline that the data names. The id is made of the name; the key, which stands in the
  # PartitionKeys, is the name as it is: "US AIRWAYS*" needs no cleaning up.
  airlines = {
    for name in distinct([for strike in csvdecode(file("${path.module}/strikes.csv")) : strike["Aircraft Airline Operator"]]) :
    trim(replace(lower(name), "/[^a-z0-9]+/", "-"), "-") => name
  }
}

resource "aztenancy_tenant" "airline" {
  for_each = local.airlines

  tenant_id           = each.key
  key                 = each.value
  isolation_model     = local.models[lookup(var.isolation, each.key, "pool")] # change it: the airline moves
  deletion_protection = false
}

# Reading the shared table is for whoever holds a token on this policy; removing the policy revokes them all.
resource "aztenancy_stored_access_policy" "readers" {
  table       = aztenancy_table.strikes.name
  policy_id   = "readers"
  permissions = ["read"]
  expiry      = var.policy_expiry
}

resource "aztenancy_stored_access_policy" "writers" {
  table       = aztenancy_table.strikes.name
  policy_id   = "writers"
  permissions = ["read", "add", "update"]
  expiry      = var.policy_expiry
}
