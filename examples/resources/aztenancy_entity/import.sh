# TABLE/PARTITION_KEY/ROW_KEY, with percent-encoded keys
terraform import aztenancy_entity.order_limits Settings/orders/limits

# of another account than home
terraform import aztenancy_entity.order_limits premium/Settings/orders/limits
