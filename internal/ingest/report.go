package ingest

// Report is what an import did. Its JSON form is the machine-readable result of tenantctl import.
type Report struct {
	File   string `json:"file"`
	Format Format `json:"format"`
	Table  string `json:"table"`             // logical
	DryRun bool   `json:"dry_run,omitempty"` // nothing was written: the counts say what would be
	// Complete is false for an import that stopped before all rows were written.
	Complete bool `json:"complete"`
	RowCounts
	Skipped         int64           `json:"rows_skipped"`     // rows of unknown tenants, left out as asked for
	Duplicates      int64           `json:"exact_duplicates"` // rows equal to an earlier one
	DuplicateRule   string          `json:"duplicate_rule"`   // what was done with them
	EncodedKeys     int64           `json:"encoded_keys"`     // rows with a value that a key cannot hold as it is
	AbsentValues    int64           `json:"absent_values"`    // empty cells and nulls: no property
	RowKey          string          `json:"row_key"`          // how RowKeys were made
	Columns         []ColumnReport  `json:"columns"`
	Tenants         []TenantCounts  `json:"tenants"`
	UnknownTenants  []UnknownTenant `json:"unknown_tenants,omitempty"`
	Transactions    int64           `json:"transactions"` // entity group transactions that were sent
	Seconds         float64         `json:"seconds"`
	ComparedTenants int64           `json:"compared_tenants"` // tenants that held entities before
}

// RowCounts says what became of rows. Inserted, Replaced and Unchanged are as seen just before the write: another
// writer may have come between. Read is their sum once an import is complete, with the skipped rows and, where
// RowKeys come from columns, the exact duplicates.
type RowCounts struct {
	Read      int64 `json:"rows"`
	Written   int64 `json:"rows_written"` // inserted and replaced
	Inserted  int64 `json:"rows_inserted"`
	Replaced  int64 `json:"rows_replaced"`  // an entity of this key was there with other content
	Unchanged int64 `json:"rows_unchanged"` // the same entity was there; not written again
}

// ColumnReport is one column of the file.
type ColumnReport struct {
	Column    string `json:"column"`
	Property  string `json:"property"`
	Type      string `json:"type"` // "" for a column without any value
	Declared  bool   `json:"declared,omitempty"`
	Rewritten bool   `json:"rewritten,omitempty"`
	Absent    int64  `json:"absent_values"`
}

// TenantCounts is what became of one tenant's rows.
type TenantCounts struct {
	Tenant  string `json:"tenant"`
	Key     string `json:"key"`
	Account string `json:"account"`
	Table   string `json:"table"` // physical
	RowCounts
}

// UnknownTenant is a value of the tenant column that no tenant has.
type UnknownTenant struct {
	Value string `json:"value"`
	Line  int64  `json:"line"` // the first with it
	Rows  int64  `json:"rows"`
}

// add counts one row that was written.
func (c *RowCounts) add(was existence) {
	switch was {
	case isNew:
		c.Inserted++
		c.Written++
	case isOther:
		c.Replaced++
		c.Written++
	case isSame:
		c.Unchanged++
	}
}

// columnReports puts columns into words.
func columnReports(columns []Column) []ColumnReport {
	reports := make([]ColumnReport, len(columns))
	for i, c := range columns {
		reports[i] = ColumnReport{Column: c.Source, Property: c.Property, Type: TypeName(c.Type), Declared: c.Declared,
			Rewritten: c.Rewritten(), Absent: c.Absent}
	}
	return reports
}
