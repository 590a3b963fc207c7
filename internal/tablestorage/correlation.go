package tablestorage

import (
	"context"
	"strings"

	"github.com/google/uuid"
)

// correlation is on whose behalf requests are made.
type correlation struct{ tenant, operation string }

type correlationKey struct{}

// WithCorrelation names the tenant and the operation on whose behalf requests are made. They appear in
// x-ms-client-request-id as aztenancy/TENANT/OPERATION/UUID and so in the account's logs. Tenant may be "".
func WithCorrelation(ctx context.Context, tenant, operation string) context.Context {
	return context.WithValue(ctx, correlationKey{}, correlation{headerText(tenant), headerText(operation)})
}

// clientRequestID returns a new id for one request; fallback is the operation where the context names none.
func clientRequestID(ctx context.Context, fallback string) string {
	c, ok := ctx.Value(correlationKey{}).(correlation)
	if !ok {
		c = correlation{"-", headerText(fallback)}
	}
	return strings.Join([]string{"aztenancy", c.tenant, c.operation, uuid.NewString()}, "/")
}

// headerText makes a text fit for one segment of the id: printable ASCII without spaces and slashes, 64 at most.
func headerText(s string) string {
	s = strings.Map(func(r rune) rune {
		if r <= ' ' || r >= 0x7f || r == '/' {
			return '_'
		}
		return r
	}, s)
	if s == "" {
		return "-"
	}
	return s[:min(len(s), 64)]
}
