package tablestorage

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/google/uuid"

	"github.com/aztenancy/terraform-provider-aztenancy/internal/edm"
	"github.com/aztenancy/terraform-provider-aztenancy/internal/tablestorage/sas"
)

// The probe's token reaches one partition; it is asked to write there, and next to it. The names are such that nobody
// has them, and the row key is made up.
const (
	probeInside  = "aztenancy probe, inside"
	probeOutside = "aztenancy probe, outside"
	probeETag    = `W/"datetime'1601-01-01T00%3A00%3A00.0000000Z'"` // of no entity
	probeTTL     = 5 * time.Minute
)

// errOddProbe says that the server's answer tells nothing.
var errOddProbe = errors.New("the server's answer to a token with a key range tells nothing")

// ProbeRanges says whether the server holds a SAS to its key range: Azurite signs ranges and lets the token reach the
// whole table (its issue 726). A token for one partition tries to change an entity there, which must come as far as finding
// no such entity, and one outside, which must be refused (403 AuthorizationFailure: reference §7.5). Neither can
// change anything: the entities do not exist, and the condition holds for none. So it works for a read-only client too.
func (c *Client) ProbeRanges(ctx context.Context, table string) (enforced bool, err error) {
	inside := probeInside
	token, err := c.IssueTableSAS(ctx, sas.TableParams{Table: table, Permission: "u", Expiry: time.Now().Add(probeTTL),
		StartPartitionKey: &inside, EndPartitionKey: &inside})
	if err != nil {
		return false, err
	}
	options := c.options
	options.ReadOnly = false
	account := c.account
	account.Credential = SAS{NewSecret(token)}
	limited, err := NewClient(account, &options)
	if err != nil {
		return false, err
	}
	reaches := func(partition string) (bool, error) {
		e := &edm.Entity{PartitionKey: partition, RowKey: uuid.NewString()}
		_, err := limited.Table(table).Merge(ctx, e, probeETag)
		return reachedBy(err)
	}
	control, err := reaches(probeInside)
	if err != nil || !control {
		return false, errors.Join(err, unless(control, errOddProbe))
	}
	outside, err := reaches(probeOutside)
	return !outside && err == nil, err
}

// reachedBy reads the answer to a write of the probe: whether the token let it through to the table.
func reachedBy(err error) (bool, error) {
	var refused *Error
	switch {
	case errors.Is(err, ErrTableNotFound):
		return false, err
	case errors.Is(err, ErrNotFound), errors.Is(err, ErrConditionNotMet):
		return true, nil
	case errors.As(err, &refused) && refused.Status == http.StatusForbidden && refused.Code == "AuthorizationFailure":
		return false, nil
	case err == nil:
		return false, fmt.Errorf("%w: it changed an entity that cannot be there", errOddProbe)
	}
	return false, err
}

func unless(ok bool, err error) error {
	if ok {
		return nil
	}
	return err
}
