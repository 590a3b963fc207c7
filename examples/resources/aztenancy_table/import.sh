# By name, in the home account
terraform import aztenancy_table.orders Orders

# In another account of the provider block
terraform import aztenancy_table.archive premium/OrdersArchive

# By the table's address, or by its ARM id
terraform import aztenancy_table.orders https://contoso.table.core.windows.net/Orders
terraform import aztenancy_table.orders /subscriptions/00000000-0000-0000-0000-000000000000/resourceGroups/saas/providers/Microsoft.Storage/storageAccounts/contoso/tableServices/default/tables/Orders
