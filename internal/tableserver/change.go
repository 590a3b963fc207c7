package tableserver

import (
	"net/http"
	"strings"

	"github.com/aztenancy/terraform-provider-aztenancy/internal/edm"
	"github.com/aztenancy/terraform-provider-aztenancy/internal/tableserver/auth"
	"github.com/aztenancy/terraform-provider-aztenancy/internal/tableserver/store"
)

// change is one write of one entity, alone or within a batch.
type change struct {
	table      string
	key        edm.Key
	operation  store.Operation
	permission auth.Operation
	invalid    error // what is wrong with the keys or the entity; reported after the table was found
}

// readChange turns a request into a change. An error means that it cannot even be said what it would change.
func readChange(method string, at resource, h http.Header, body []byte) (change, error) {
	c := change{table: at.table, key: at.key}
	if at.kind == tableResource {
		return c.insert(h, body)
	}
	condition, conditional, err := ifMatch(h)
	if err != nil {
		return c, err
	}
	c.operation.IfMatch = condition
	if method == http.MethodDelete {
		if !conditional {
			// The header is documented as required; the answer to a request without it is unconfirmed.
			return c, invalidETag("")
		}
		c.operation.Kind, c.permission = store.Delete, auth.DeleteEntity
		c.operation.Entity = &edm.Entity{PartitionKey: at.key.PartitionKey, RowKey: at.key.RowKey}
		return c, nil
	}
	replace := method == http.MethodPut
	switch {
	case replace && conditional:
		c.operation.Kind, c.permission = store.Replace, auth.UpdateEntity
	case replace:
		c.operation.Kind, c.permission = store.UpsertReplace, auth.InsertOrReplaceEntity
	case conditional:
		c.operation.Kind, c.permission = store.Merge, auth.MergeEntity
	default:
		c.operation.Kind, c.permission = store.UpsertMerge, auth.InsertOrMergeEntity
	}
	c.operation.Entity, c.invalid = entityAt(at.key, h, body)
	return c, nil
}

// insert reads the entity of a POST, whose keys stand in the body.
func (c change) insert(h http.Header, body []byte) (change, error) {
	c.operation.Kind, c.permission = store.Insert, auth.InsertEntity
	if isAtom(h) {
		return c, errAtom
	}
	e, present, err := edm.ParseEntity(body)
	if err != nil {
		return c, err
	}
	c.operation.Entity, c.key = e, e.Key()
	if !present.PartitionKey || !present.RowKey {
		c.invalid = errNeedValue
		return c, nil
	}
	c.invalid = e.Validate()
	return c, nil
}

// entityAt reads the entity of a write whose URL names the key: real clients leave the keys out of the body.
func entityAt(key edm.Key, h http.Header, body []byte) (*edm.Entity, error) {
	if isAtom(h) {
		return nil, errAtom
	}
	e, _, err := edm.ParseEntity(body)
	if err != nil {
		return nil, err
	}
	e.PartitionKey, e.RowKey = key.PartitionKey, key.RowKey
	return e, e.Validate()
}

// isAtom says whether a body is in the format that the service takes no more.
func isAtom(h http.Header) bool {
	return strings.HasPrefix(strings.ToLower(h.Get("Content-Type")), "application/atom+xml")
}

// ifMatch reads the condition of a write: "*", or a weak ETag. Any other value is refused (reference §6).
func ifMatch(h http.Header) (condition string, conditional bool, err error) {
	if len(h["If-None-Match"]) > 0 {
		return "", false, errInvalidInput
	}
	values := h["If-Match"]
	if len(values) == 0 {
		return "", false, nil
	}
	v := values[0]
	weak := len(v) >= len(`W/""`) && strings.HasPrefix(v, `W/"`) && strings.HasSuffix(v, `"`)
	if len(values) > 1 || v != "*" && !weak || strings.Count(v, `"`) > 2 {
		return "", false, invalidETag(v)
	}
	return v, true, nil
}
