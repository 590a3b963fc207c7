package catalog

import (
	"context"

	"github.com/aztenancy/terraform-provider-aztenancy/internal/tenancy"
)

// ClaimsIn reads the claims on a physical table of a storage account, in order of their ranges.
func (c *Catalog) ClaimsIn(ctx context.Context, storage, table string) ([]tenancy.Claim, error) {
	var claims []tenancy.Claim
	err := c.scan(ctx, partition(claimPartition(storage, table)), "", func(r row) (err error) {
		if isClaimRow(r) {
			claims, err = appendDecoded(claims, r, decodeClaim)
		}
		return err
	})
	return claims, err
}
