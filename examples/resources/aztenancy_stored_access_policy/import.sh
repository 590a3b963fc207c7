# TABLE/POLICY_ID, in the home account
terraform import aztenancy_stored_access_policy.readers Orders/readers

# ACCOUNT/TABLE/POLICY_ID, in another account of the provider block
terraform import aztenancy_stored_access_policy.readers premium/Orders/readers
