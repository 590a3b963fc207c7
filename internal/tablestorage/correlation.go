package tablestorage

import "context"

// WithCorrelation names the tenant and the operation on whose behalf requests are made. They appear in
// x-ms-client-request-id as aztenancy/TENANT/OPERATION/UUID and so in the account's logs. Tenant may be "".
func WithCorrelation(ctx context.Context, tenant, operation string) context.Context {
	panic("under construction")
}
