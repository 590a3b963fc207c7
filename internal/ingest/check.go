package ingest

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"strings"

	"github.com/aztenancy/terraform-provider-aztenancy/internal/edm"
	"github.com/aztenancy/terraform-provider-aztenancy/internal/tenancy"
)

// existence is what a table held under a row's key before the import.
type existence uint8

const (
	isNew   existence = iota // nothing
	isOther                  // an entity with other content
	isSame                   // the same content
)

// knownRow is what is remembered of a row between the passes, by the fingerprint of its address.
type knownRow struct {
	content fingerprint // digest of the entity
	line    int64
	was     existence
	passed  bool // the write has come to it: a further row of this address is an exact duplicate
}

// address returns the fingerprint of where an entity is stored.
func address(place tenancy.TablePlacement, k edm.Key) (f fingerprint) {
	h := sha256.New()
	for _, part := range []string{place.Storage, strings.ToLower(place.Table), k.PartitionKey, k.RowKey} {
		_, _ = h.Write([]byte(part))
		_, _ = h.Write([]byte{0}) // no key or name holds a control character
	}
	copy(f[:], h.Sum(nil))
	return f
}

// contentOf returns the digest of an entity's content.
func contentOf(e *edm.Entity) (f fingerprint) {
	d := e.Digest(e.Key())
	copy(f[:], d[:])
	return f
}

// maxUnknown is how many values without a tenant are told apart.
const maxUnknown = 1000

// UnknownTenantsError says that rows name tenants that the catalog does not have.
type UnknownTenantsError struct {
	First    RowError
	Values   []UnknownTenant // in order of appearance
	Resemble string          // a tenant's key that the first value resembles
}

// Error names the first row, and the other values.
func (e *UnknownTenantsError) Error() string {
	var b strings.Builder
	b.WriteString(e.First.Error())
	if e.Resemble != "" {
		fmt.Fprintf(&b, "; did you mean %q?", e.Resemble)
	}
	rows := int64(0)
	for _, v := range e.Values {
		rows += v.Rows
	}
	fmt.Fprintf(&b, ". %d rows of %d unknown tenants", rows, len(e.Values))
	if len(e.Values) > 1 {
		b.WriteString(":")
		for i, v := range e.Values[:min(len(e.Values), 5)] {
			if i > 0 {
				b.WriteString(",")
			}
			b.WriteString(" " + shown(v.Value))
		}
		if len(e.Values) > 5 {
			b.WriteString(", …")
		}
	}
	b.WriteString(". Nothing was written. Declare the tenants, or leave their rows out with --unknown-tenant skip")
	return b.String()
}

// check makes every entity of the file and remembers its address and content. Nothing has been written when it ends.
func (r *run) check(ctx context.Context) error {
	r.Progress.Phase("checking")
	r.Progress.Total(r.report.Read)
	r.maker.restart()
	unknown := unknownTenants{index: map[string]int{}}
	_, err := r.pass(ctx, func(rec Record) error {
		row, err := r.maker.make(rec)
		if u := (*unknownTenantError)(nil); errors.As(err, &u) {
			r.report.Skipped++
			unknown.add(u.RowError)
			return nil
		}
		if err != nil {
			return err
		}
		return r.remember(row)
	})
	if err != nil {
		return err
	}
	r.report.UnknownTenants = unknown.values
	if len(unknown.values) > 0 && !r.options.SkipUnknown {
		return &UnknownTenantsError{First: unknown.first, Values: unknown.values,
			Resemble: r.maker.tenants.resembling(unknown.first.Value)}
	}
	r.rows = int64(len(r.known))
	r.describeKeys()
	return nil
}

// remember takes a row into account and refuses a key that another row has with other content.
func (r *run) remember(row row) error {
	at, content := address(row.route.place, row.entity.Key()), contentOf(row.entity)
	if row.encoded {
		r.report.EncodedKeys++
	}
	row.route.counts.Read++
	earlier, known := r.known[at]
	if !known {
		r.known[at] = &knownRow{content: content, line: row.line}
		if row.duplicate {
			r.report.Duplicates++
		}
		return nil
	}
	if earlier.content != content {
		return &RowError{File: r.input.Name, Line: row.line, Reason: fmt.Sprintf("the row's key (PartitionKey %q, RowKey %q) is that of line %d, "+
			"which has other values; add a --row-key-column that tells them apart", row.entity.PartitionKey, row.entity.RowKey, earlier.line)}
	}
	r.report.Duplicates++
	return nil
}

// describeKeys says in the report how keys were made and what became of duplicates.
func (r *run) describeKeys() {
	if len(r.options.RowKeyColumns) == 0 {
		r.report.RowKey = "content"
		r.report.DuplicateRule = "kept: each has a RowKey with an ordinal"
		return
	}
	r.report.RowKey = "columns " + quotedList(r.options.RowKeyColumns)
	r.report.DuplicateRule = "written once: equal rows have one key"
}

// unknownTenants collects values that no tenant has.
type unknownTenants struct {
	first  RowError
	values []UnknownTenant
	index  map[string]int
}

func (u *unknownTenants) add(e RowError) {
	if len(u.values) == 0 {
		u.first = e
	}
	i, ok := u.index[e.Value]
	if !ok {
		if len(u.values) == maxUnknown {
			i = maxUnknown - 1 // the last stands for all further ones
		} else {
			i = len(u.values)
			u.values = append(u.values, UnknownTenant{Value: e.Value, Line: e.Line})
			u.index[strings.Clone(e.Value)] = i
		}
	}
	u.values[i].Rows++
}
