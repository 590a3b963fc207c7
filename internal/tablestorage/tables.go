package tablestorage

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/aztenancy/terraform-provider-aztenancy/internal/edm"
)

// tablesPath is the set of tables.
const tablesPath = "Tables"

// Tables returns the names of the account's tables that begin with prefix in any letter case, as stored. The prefix
// is compared here: how the service orders names of mixed case under a range filter is not documented.
func (c *Client) Tables(ctx context.Context, prefix string) ([]string, error) {
	var found []string
	err := c.listTables(ctx, "", func(name string) {
		if len(name) >= len(prefix) && strings.EqualFold(name[:len(prefix)], prefix) {
			found = append(found, name)
		}
	})
	return found, err
}

// listTables calls each with every table that filter (percent-encoded, "" for all) selects.
func (c *Client) listTables(ctx context.Context, filter string, each func(name string)) error {
	r := request{operation: "list tables", method: http.MethodGet, path: tablesPath, want: []int{http.StatusOK}}
	token := ""
	for {
		r.query = joinQuery(param("$filter", filter), param("NextTableName", token))
		resp, err := c.do(ctx, r)
		if err != nil {
			return err
		}
		var page struct {
			Value []struct{ TableName string }
		}
		if err := json.Unmarshal(resp.body, &page); err != nil {
			return c.unreadable(r, err)
		}
		for _, t := range page.Value {
			each(t.TableName)
		}
		next := escape(resp.header.Get("x-ms-continuation-NextTableName"))
		if next == "" {
			return nil
		}
		if next == token {
			return c.unreadable(r, errStuck)
		}
		token = next
	}
}

// errStuck is a server that hands the same page out for ever.
var errStuck = errors.New("the continuation token is the one that was sent")

// unreadable makes an error of an answer that is not what the protocol says.
func (c *Client) unreadable(r request, err error) *Error {
	e := c.describe(r)
	e.Err = err
	e.advice = fmt.Sprintf("the answer cannot be read: %v", err)
	return e
}

// CreateTable creates a table. created is false if a table of that name is there, in any letter case; also when it is
// there because an earlier try of this very call was carried out and its answer lost.
func (c *Client) CreateTable(ctx context.Context, name string) (created bool, err error) {
	_, err = c.do(ctx, request{
		operation: "create table", table: name, method: http.MethodPost, path: tablesPath, contentType: jsonType,
		body:      append(edm.AppendJSONString([]byte(`{"TableName":`), name), '}'),
		noContent: true, want: []int{http.StatusCreated, http.StatusNoContent},
	})
	if errors.Is(err, ErrTableExists) {
		return false, nil
	}
	return err == nil, err
}

// DeleteTable drops a table and all in it. A table that is not there is ErrTableNotFound, unless an earlier try of
// this call may have dropped it.
func (c *Client) DeleteTable(ctx context.Context, name string) error {
	_, err := c.DropTable(ctx, name)
	return err
}

// DropTable is DeleteTable for callers that must know when the request is over. settled says that each of its tries got
// a definite answer; otherwise one may still be on its way, and drop a later table of that name.
func (c *Client) DropTable(ctx context.Context, name string) (settled bool, err error) {
	var tries attempts
	_, err = c.doCounting(ctx, request{
		operation: opDeleteTable, table: name, method: http.MethodDelete, path: tablesPath + "(" + quote(name) + ")",
		want: []int{http.StatusNoContent},
	}, &tries)
	var refused *Error
	if errors.As(err, &refused) && refused.Retried && errors.Is(err, ErrTableNotFound) {
		err = nil
	}
	return !tries.uncertain, err
}

// TableExists looks a table up in any letter case and returns its name as stored. Whether the service's filter
// ignores case is not documented, so a miss is checked against the whole list.
func (c *Client) TableExists(ctx context.Context, name string) (stored string, ok bool, err error) {
	take := func(found string) {
		if strings.EqualFold(found, name) {
			stored, ok = found, true
		}
	}
	if err = c.listTables(ctx, "TableName%20eq%20"+quote(name), take); err != nil || ok {
		return stored, ok, err
	}
	err = c.listTables(ctx, "", take)
	return stored, ok, err
}

// param returns one query parameter of a value that is percent-encoded already; "" without a value.
func param(name, encoded string) string {
	if encoded == "" {
		return ""
	}
	return escape(name) + "=" + encoded
}

// joinQuery joins the parameters that are not empty.
func joinQuery(params ...string) string {
	var b strings.Builder
	for _, p := range params {
		if p != "" && b.Len() > 0 {
			b.WriteByte('&')
		}
		b.WriteString(p)
	}
	return b.String()
}
