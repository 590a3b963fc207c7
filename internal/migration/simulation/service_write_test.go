package simulation

import (
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/aztenancy/terraform-provider-aztenancy/internal/edm"
	"github.com/aztenancy/terraform-provider-aztenancy/internal/tableserver/batch"
)

// transaction carries out all parts of an entity group transaction, or none.
func (s *service) transaction(o operation) answer {
	var parts []batch.Response
	var undo []func()
	seen := map[edm.Key]bool{}
	for i, p := range o.parts {
		a, back := s.write(p)
		undo = append(undo, back)
		if k, _, _ := p.entity(); seen[k] {
			a = refuse(http.StatusBadRequest, "InvalidDuplicateRow")
		} else {
			seen[k] = true
		}
		if a.status < 400 {
			parts = append(parts, batch.Response{Status: a.status, Header: []batch.Field{{Name: "ETag", Value: a.header["ETag"]}}})
			continue
		}
		for j := len(undo) - 1; j >= 0; j-- {
			undo[j]()
		}
		code := string(a.body)
		body := fmt.Sprintf(`{"odata.error":{"code":%s,"message":{"lang":"en-US","value":"%d:refused"}}}`, codeOf(code), i)
		return batchAnswer([]batch.Response{{Status: a.status, Body: []byte(body)}})
	}
	return batchAnswer(parts)
}

// codeOf takes the quoted code out of a refusal's body.
func codeOf(body string) string {
	const before = `{"odata.error":{"code":`
	rest := body[len(before):]
	for i := 1; i < len(rest); i++ {
		if rest[i] == '"' {
			return rest[:i+1]
		}
	}
	return `""`
}

func batchAnswer(parts []batch.Response) answer {
	const id = "1"
	return answer{status: http.StatusAccepted, body: batch.AppendChangeSet(nil, id, parts),
		header: map[string]string{"Content-Type": "multipart/mixed; boundary=" + batch.BatchBoundary(id)}}
}

// entity returns the key and the content that a write is about.
func (o operation) entity() (edm.Key, *edm.Entity, error) {
	if o.method == http.MethodDelete {
		return *o.key, nil, nil
	}
	e, _, err := edm.ParseEntity(o.body)
	if err != nil {
		return edm.Key{}, nil, err
	}
	if o.key != nil {
		e.PartitionKey, e.RowKey = o.key.PartitionKey, o.key.RowKey
	}
	return e.Key(), e, nil
}

// write carries out one write of an entity, and returns how to take it back.
func (s *service) write(o operation) (answer, func()) {
	nothing := func() {}
	t := s.table(o.account, o.table)
	if t == nil {
		return tableNotFound, nothing
	}
	k, e, err := o.entity()
	if err != nil {
		return refuse(http.StatusBadRequest, "InvalidInput"), nothing
	}
	was := t.rows[k]
	insert := o.method == http.MethodPost
	switch {
	case insert && was != nil:
		return entityExists, nothing
	case o.ifMatch != "" && was == nil:
		return resourceNotFound, nothing
	case o.ifMatch != "" && o.ifMatch != "*" && o.ifMatch != was.ETag:
		return notMet, nothing
	}
	undo := func() {
		if was == nil {
			delete(t.rows, k)
			return
		}
		t.rows[k] = was
	}
	if o.method == http.MethodDelete {
		delete(t.rows, k)
		return answer{status: http.StatusNoContent}, undo
	}
	if was != nil && (o.method == http.MethodPatch || o.method == "MERGE") {
		merged := was.Clone()
		for _, p := range e.Properties {
			merged.Set(p.Name, p.Value)
		}
		e = merged
	}
	s.put(t, k, e)
	return answer{status: http.StatusNoContent, header: map[string]string{"ETag": t.rows[k].ETag}}, undo
}

// put stores an entity with a new ETag and Timestamp.
func (s *service) put(t *table, k edm.Key, e *edm.Entity) {
	s.written++
	e = e.Clone()
	e.PartitionKey, e.RowKey = k.PartitionKey, k.RowKey
	e.ETag = `W/"` + strconv.FormatInt(s.written, 10) + `"`
	e.Timestamp = time.Now().UTC().Add(s.skew(t.name + "/" + k.PartitionKey))
	t.rows[k] = e
}
