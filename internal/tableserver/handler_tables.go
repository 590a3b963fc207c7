package tableserver

import (
	"errors"
	"net/http"
	"strconv"
	"strings"

	"github.com/aztenancy/terraform-provider-aztenancy/internal/edm"
	"github.com/aztenancy/terraform-provider-aztenancy/internal/tableserver/odata"
	"github.com/aztenancy/terraform-provider-aztenancy/internal/tableserver/store"
)

// queryTables answers one page of the account's tables.
func (c *call) queryTables() error {
	if c.format.refusal != nil {
		return c.format.refusal
	}
	limit, err := c.query.top()
	if err != nil {
		return err
	}
	filter, err := odata.ParseTableFilter(c.query.get("$filter"))
	if err != nil {
		return err
	}
	from, err := tableOfToken(c.query.get("NextTableName"))
	if err != nil {
		return err
	}
	body := []byte(`{`)
	if c.format.level != edm.NoMetadata {
		body = append(body, `"odata.metadata":`...)
		body = append(edm.AppendJSONString(body, c.base+"$metadata#Tables"+c.selectSuffix()), ',')
	}
	body = append(body, `"value":[`...)
	n := 0
	for t, err := range c.s.store.Tables(c.r.Context(), c.account, from) {
		if err != nil {
			return err
		}
		if limit == 0 {
			break
		}
		if !filter.Matches(t.Name) {
			continue
		}
		if n == limit {
			c.set("x-ms-continuation-NextTableName", tokenOfTable(t))
			break
		}
		if n > 0 {
			body = append(body, ',')
		}
		n++
		body = append(c.appendTable(append(body, '{'), t.Name), '}')
	}
	return c.writeJSON(http.StatusOK, append(body, "]}"...))
}

// The token of a table is its name in lower case, 01 and its creation in hexadecimal, in the form of every token.
const tokenSeparator = "\x01"

func tokenOfTable(t store.Table) string {
	return encodeToken(strings.ToLower(t.Name) + tokenSeparator + strconv.FormatInt(t.Created, 16))
}

func tableOfToken(token string) (string, error) {
	if token == "" {
		return "", nil
	}
	text, err := decodeToken(token)
	if err != nil {
		return "", err
	}
	name, _, _ := strings.Cut(text, tokenSeparator)
	return name, nil
}

// appendTable writes a table's properties, without braces.
func (c *call) appendTable(dst []byte, name string) []byte {
	if c.format.level == edm.FullMetadata {
		link := "Tables('" + name + "')"
		dst = append(edm.AppendJSONString(append(dst, `"odata.type":`...), c.account+".Tables"), ',')
		dst = append(edm.AppendJSONString(append(dst, `"odata.id":`...), c.base+link), ',')
		dst = append(edm.AppendJSONString(append(dst, `"odata.editLink":`...), link), ',')
	}
	return edm.AppendJSONString(append(dst, `"TableName":`...), name)
}

// tableElement is the body that describes one table.
func (c *call) tableElement(name string) []byte {
	body := []byte{'{'}
	if c.format.level != edm.NoMetadata {
		body = append(body, `"odata.metadata":`...)
		body = append(edm.AppendJSONString(body, c.base+"$metadata#Tables/@Element"), ',')
	}
	return append(c.appendTable(body, name), '}')
}

// getTable answers one entry of Tables.
func (c *call) getTable() error {
	if c.format.refusal != nil {
		return c.format.refusal
	}
	t, err := c.s.store.Table(c.r.Context(), c.account, c.resource.table)
	if errors.Is(err, store.ErrTableNotFound) {
		return errNotFound
	}
	if err != nil {
		return err
	}
	return c.writeJSON(http.StatusOK, c.tableElement(t.Name))
}

// createTable makes a table.
func (c *call) createTable() error {
	body, err := c.body()
	if err != nil {
		return err
	}
	if c.prefer != returnNoContent && c.format.refusal != nil {
		return c.format.refusal
	}
	name, err := tableToCreate(c.r.Header, body)
	if err != nil {
		return err
	}
	c.seen.Table = name
	if err := c.admitToAccount(); err != nil {
		return err
	}
	if err := c.s.store.CreateTable(c.r.Context(), c.account, name); err != nil {
		return err
	}
	at := c.base + "Tables('" + name + "')"
	c.set("Location", at)
	if c.prefer == returnNoContent {
		c.set("DataServiceId", at)
		return c.writeNothing()
	}
	return c.writeJSON(http.StatusCreated, c.tableElement(name))
}

// tableToCreate reads the name from the body of a Create Table, which is an entity like others.
func tableToCreate(h http.Header, body []byte) (string, error) {
	if isAtom(h) {
		return "", errAtom
	}
	e, _, err := edm.ParseEntity(body)
	if err != nil {
		return "", err
	}
	name, ok := e.Get("TableName")
	if !ok {
		return "", errNeedValue
	}
	if name.Type() != edm.String {
		return "", errInvalidInput
	}
	return name.Str(), edm.ValidateTableName(name.Str())
}

// deleteTable removes a table. Whatever the name, a table that is not there is ResourceNotFound.
func (c *call) deleteTable() error {
	err := c.s.store.DeleteTable(c.r.Context(), c.account, c.resource.table)
	if errors.Is(err, store.ErrTableNotFound) {
		return errNotFound
	}
	if err != nil {
		return err
	}
	return c.writeNothing()
}
