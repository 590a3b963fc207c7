variable "home" {
  description = "Connection string of the account that holds the catalog and the shared table."
  type        = string
  sensitive   = true
}

variable "premium" {
  description = "Connection string of the second account, for airlines with an account of their own."
  type        = string
  sensitive   = true
}

variable "isolation" {
  description = "The isolation model of each airline that is not in the pool, by tenant id."
  type        = map(string)
  default     = { military = "own-table" }

  validation {
    condition     = alltrue([for model in values(var.isolation) : contains(["pool", "own-table", "own-account"], model)])
    error_message = "An isolation model is one of pool, own-table, own-account."
  }
}

variable "policy_expiry" {
  description = "When the stored access policies of the shared table end."
  type        = string
  default     = "2030-01-01T00:00:00Z"
}
