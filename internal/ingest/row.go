package ingest

import (
	"fmt"

	"github.com/aztenancy/terraform-provider-aztenancy/internal/edm"
	"github.com/aztenancy/terraform-provider-aztenancy/internal/tenancy"
)

// row is one row of the file, ready to be written.
type row struct {
	line      int64
	route     *route
	entity    *edm.Entity
	encoded   bool // a value could not stand in a key as it is, and is encoded there
	duplicate bool // an exact duplicate of an earlier row, with a key of its own
}

// rowMaker turns records into entities. One maker serves several passes; each begins with restart.
type rowMaker struct {
	file      string
	columns   []Column
	tenant    int // position of the tenant column
	partition int // position of the partition column; -1: none
	keys      *rowKeys
	tenants   *directory
}

// restart begins another pass over the file.
func (m *rowMaker) restart() { m.keys.restart() }

// unknownTenantError says that the catalog has no tenant for a row.
type unknownTenantError struct{ RowError }

// make turns one record into a row. Errors are *RowError and *unknownTenantError.
func (m *rowMaker) make(rec Record) (row, error) {
	value := rec.Cell(m.tenant).Text
	if value == "" {
		return row{}, m.fault(rec, m.tenant, "the row names no tenant; name one, or remove the row")
	}
	t, encodedTenant, err := m.tenants.find(value)
	if err != nil {
		return row{}, m.fault(rec, m.tenant, err.Error())
	}
	if t == nil {
		return row{}, &unknownTenantError{*m.fault(rec, m.tenant, "no tenant of the catalog has this key or id")}
	}
	r, err := m.tenants.routeOf(t)
	if err != nil {
		return row{}, m.fault(rec, m.tenant, err.Error())
	}
	key, fault := m.keys.of(rec)
	if fault != nil {
		fault.File = m.file
		return row{}, fault
	}
	e := &edm.Entity{RowKey: key.text}
	if e.Properties, err = m.properties(rec); err != nil {
		return row{}, err
	}
	encodedPartition, err := m.setPartitionKey(e, r.place, rec)
	if err != nil {
		return row{}, err
	}
	if err := e.Validate(); err != nil {
		return row{}, &RowError{File: m.file, Line: rec.Line, Reason: "the service cannot store the row: " + err.Error()}
	}
	return row{line: rec.Line, route: r, entity: e, duplicate: key.duplicate,
		encoded: encodedTenant || encodedPartition || key.encoded}, nil
}

// properties converts the cells that have a value.
func (m *rowMaker) properties(rec Record) ([]edm.Property, error) {
	properties := make([]edm.Property, 0, len(rec.Cells))
	for i, c := range rec.Cells {
		if c.Kind == CellAbsent {
			continue
		}
		v, err := convert(m.columns[i].Type, c)
		if err != nil {
			return nil, m.fault(rec, i, err.Error())
		}
		properties = append(properties, edm.Property{Name: m.columns[i].Property, Value: v})
	}
	return properties, nil
}

// setPartitionKey computes the PartitionKey by the key scheme of the placement.
func (m *rowMaker) setPartitionKey(e *edm.Entity, place tenancy.TablePlacement, rec Record) (encoded bool, err error) {
	if ownPartitions(place.Scheme.Kind) {
		if m.partition < 0 {
			return false, &UsageError{fmt.Sprintf("the key scheme of tables such as %s/%s is %s, in which the PartitionKey holds a value "+
				"of your own; name its column with --partition-column", place.Account, place.Table, place.Scheme.Kind)}
		}
		value := rec.Cell(m.partition).Text
		if value == "" {
			return false, m.fault(rec, m.partition, "the partition column has no value here")
		}
		e.PartitionKey = tenancy.EncodeKey(value)
		encoded = e.PartitionKey != value
	}
	e.PartitionKey, err = place.Scheme.PartitionKey(place.Key, e)
	if err != nil {
		return false, &RowError{File: m.file, Line: rec.Line, Reason: fmt.Sprintf("no PartitionKey by key scheme %s: %v", place.Scheme.Kind, err)}
	}
	return encoded, nil
}

// ownPartitions says whether entities of the scheme have a partition value of the application.
func ownPartitions(s tenancy.Scheme) bool {
	return s == tenancy.SchemePrefixed || s == tenancy.SchemeNative
}

func (m *rowMaker) fault(rec Record, column int, reason string) *RowError {
	return &RowError{File: m.file, Line: rec.Line, Column: m.columns[column].Source, Value: rec.Cell(column).Text, Reason: reason}
}
