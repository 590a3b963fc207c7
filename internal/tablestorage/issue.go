package tablestorage

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/aztenancy/terraform-provider-aztenancy/internal/tablestorage/sas"
)

// ErrCannotSign says that an account's credential cannot sign tokens.
var ErrCannotSign = errors.New("tokens are signed with the account key or by Entra, and the account is configured with a SAS token: give it one of those")

// A user delegation key is used for reuseDelegation: its revocation (Revoke User Delegation Keys) would otherwise go
// unnoticed, as signing sends nothing. It lives for as long beyond the first token that it signs, and begins a little before
// now, as clocks differ.
const (
	reuseDelegation = time.Hour
	delegationSkew  = 5 * time.Minute
)

// delegation is the user delegation key with which a client signs.
type delegation struct {
	mu    sync.Mutex
	key   sas.DelegationKey
	until time.Time // the end of tokens that it can sign
	stale time.Time // when it is to be asked for again
}

// CanIssueSAS says whether the client can sign a SAS on a table: with the account key, or by Entra.
func (c *Client) CanIssueSAS() bool { return c.CanSignSAS() || isEntra(c.account.Credential) }

// IssueTableSAS returns the query string of a SAS on one table, signed with the account key, or with a user delegation key
// where the account is configured with Entra; p.Account may be left empty. With another credential the error is ErrCannotSign.
func (c *Client) IssueTableSAS(ctx context.Context, p sas.TableParams) (string, error) {
	switch c.account.Credential.(type) {
	case SharedKey:
		return c.SignTableSAS(p)
	case Entra:
		key, err := c.delegationKey(ctx, p.Expiry)
		if err != nil {
			return "", err
		}
		return c.SignDelegatedSAS(p, "", key)
	}
	return "", fmt.Errorf("sign a SAS for table %s of account %q: %w", p.Table, c.account.Name, ErrCannotSign)
}

// delegationKey returns a key for tokens that end at expiry, of before if it is fresh and lives for long enough.
func (c *Client) delegationKey(ctx context.Context, expiry time.Time) (sas.DelegationKey, error) {
	d := &c.delegation
	d.mu.Lock()
	defer d.mu.Unlock()
	now := time.Now()
	if now.Before(d.stale) && !expiry.After(d.until) {
		return d.key, nil
	}
	until := expiry.Add(reuseDelegation).UTC().Truncate(time.Second)
	if longest := now.Add(sas.MaxDelegation - delegationSkew); until.After(longest) {
		until = longest.UTC().Truncate(time.Second)
	}
	key, err := c.UserDelegationKey(ctx, now.Add(-delegationSkew), until, "")
	if err != nil {
		return key, err
	}
	d.key, d.until, d.stale = key, until, now.Add(reuseDelegation)
	return key, nil
}
