package tablestorage

import (
	"context"
	"errors"
	"net/http"
	"strings"
)

// Capabilities are what an account was found to be able to do.
type Capabilities struct {
	// Server is the Server header of the account's answers; "" where the credential may not list tables.
	Server string
	// ListsTables says whether the credential may list the account's tables. A SAS on one table may not.
	ListsTables bool
	// ManagesPolicies says whether stored access policies can be read and written: with the account key only.
	ManagesPolicies bool
	// EnforcesRanges says whether the server holds a SAS to its key range. Azurite does not: its issue 726.
	EnforcesRanges bool
}

// azuriteServer begins the Server header of Azurite's table service.
const azuriteServer = "Azurite-Table/"

// Probe asks the account one question and says what it can do. A refusal is no error, as it is an answer.
func (c *Client) Probe(ctx context.Context) (Capabilities, error) {
	found := Capabilities{ManagesPolicies: c.CanSignSAS()}
	r := request{operation: "list tables", method: http.MethodGet, path: tablesPath, query: joinQuery(param("$top", "1")), want: []int{http.StatusOK}}
	resp, err := c.do(ctx, r)
	var refused *Error
	switch {
	case err == nil:
		found.Server, found.ListsTables = resp.header.Get("Server"), true
	case errors.As(err, &refused) && refused.Status == http.StatusForbidden && refused.Code == "AuthorizationPermissionMismatch":
	default:
		return Capabilities{}, err
	}
	found.EnforcesRanges = found.ListsTables && !strings.HasPrefix(found.Server, azuriteServer)
	return found, nil
}

// CredentialKind names how the account is signed in to: "account_key", "sas_token" or "entra".
func (c *Client) CredentialKind() string {
	switch c.account.Credential.(type) {
	case SharedKey:
		return "account_key"
	case SAS:
		return "sas_token"
	}
	return "entra"
}
