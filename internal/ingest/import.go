package ingest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"time"

	"github.com/aztenancy/terraform-provider-aztenancy/internal/catalog"
	"github.com/aztenancy/terraform-provider-aztenancy/internal/edm"
	"github.com/aztenancy/terraform-provider-aztenancy/internal/tablestorage"
)

// Progress hears what an import does; a migration.Progress is one.
type Progress interface {
	Phase(name string)
	Total(rows int64)
	Advance(rows int64)
	Waiting(reason string)
	Note(text string)
}

// DefaultWriters is how many entity group transactions are under way at the same time.
const DefaultWriters = 8

// Importer loads files. Its fields are set before first use.
type Importer struct {
	Catalog  *catalog.Catalog
	Accounts *tablestorage.Accounts
	Progress Progress
	Writers  int // transactions under way at the same time; 0: DefaultWriters
}

// Options say how a file is to be read. Column names are those of the file.
type Options struct {
	Table           string              // logical table
	TenantColumn    string              // whose values name tenants by key or id
	RowKeyColumns   []string            // whose values make the RowKey; none: the row's content does
	PartitionColumn string              // for placements of schemes prefixed and native: the application's partition value
	Types           map[string]edm.Type // declared types by column
	Renames         map[string]string   // property names by column
	SkipUnknown     bool                // leave rows of unknown tenants out instead of refusing the file
	DryRun          bool                // check, compare and count, but write nothing
}

// IncompleteError says that an import stopped after it had begun to write. Running it again finishes it.
type IncompleteError struct {
	Done  int64 // rows that are known to be in place
	Total int64
	Err   error
}

// Error says how far the import came and what to do.
func (e *IncompleteError) Error() string {
	cause := e.Err.Error()
	if errors.Is(e.Err, context.Canceled) {
		cause = "the import was interrupted"
	}
	return fmt.Sprintf("%s (%d of %d rows are known to be in place; run the same command again, it writes the same keys)", cause, e.Done, e.Total)
}

// Unwrap returns the cause.
func (e *IncompleteError) Unwrap() error { return e.Err }

// run is one import: the file, what was found out about it, and the report.
type run struct {
	*Importer
	options Options
	input   *Input
	maker   *rowMaker
	known   map[fingerprint]*knownRow
	rows    int64 // rows that will be in place at the end
	report  Report
}

// Run imports the file in passes: it reads all values to infer types, makes and checks every entity, compares with
// what the tables hold, and only then writes. It keeps about 150 bytes a row in memory, to find duplicate keys and
// what a second import need not write, and at most 64 MiB of entities that wait for their transaction.
//
// The report is not nil whenever a file could be read. Errors: *UsageError and *RowError before anything is
// written; *IncompleteError after that.
func (im *Importer) Run(ctx context.Context, in *Input, o Options) (*Report, error) {
	began := time.Now()
	ctx = tablestorage.WithCorrelation(ctx, "", "import")
	r := &run{Importer: im, options: o, input: in, known: map[fingerprint]*knownRow{}}
	r.report = Report{File: in.Name, Format: in.Format, Table: o.Table, DryRun: o.DryRun}
	before, err := in.identity()
	if err != nil {
		return nil, err
	}
	err = r.do(ctx, before)
	r.finish(time.Since(began))
	if ctx.Err() != nil && err != nil && !errors.As(err, new(*IncompleteError)) {
		err = fmt.Errorf("the import was interrupted before anything was written: %w", ctx.Err())
	}
	return &r.report, err
}

func (r *run) do(ctx context.Context, before identity) error {
	tenants, err := r.Catalog.Tenants(ctx)
	if err != nil {
		return fmt.Errorf("read the tenants from the catalog: %w", err)
	}
	columns, err := r.inferColumns(ctx)
	if err != nil {
		return err
	}
	if r.maker, err = newRowMaker(r.input.Name, columns, r.options, newDirectory(r.options.Table, tenants)); err != nil {
		return err
	}
	if err := r.check(ctx); err != nil {
		return err
	}
	if err := r.compare(ctx); err != nil {
		return err
	}
	if r.options.DryRun {
		return r.foresee(ctx)
	}
	if err := r.stillWritable(ctx); err != nil {
		return err
	}
	if err := r.unchanged(before); err != nil {
		return err
	}
	if err := r.write(ctx, before); err != nil {
		return &IncompleteError{Done: r.inPlace(), Total: r.rows, Err: err}
	}
	r.report.Complete = true
	return nil
}

// unchanged says whether the file is still what it was.
func (r *run) unchanged(before identity) error {
	now, err := r.input.identity()
	if err != nil {
		return err
	}
	if now != before {
		return &RowError{File: r.input.Name, Reason: "the file was changed while it was being imported; import it again when it is finished"}
	}
	return nil
}

// inferColumns reads the file once to learn its columns and their types.
func (r *run) inferColumns(ctx context.Context) ([]Column, error) {
	r.Progress.Phase("reading")
	var found []inference
	rows := int64(0)
	names, err := r.pass(ctx, func(rec Record) error {
		for len(found) < len(rec.Cells) {
			found = append(found, inference{})
		}
		for i, c := range rec.Cells {
			found[i].observe(c)
		}
		rows++
		return nil
	})
	if err != nil {
		return nil, err
	}
	for len(found) < len(names) {
		found = append(found, inference{})
	}
	if err := checkOptions(names, r.options); err != nil {
		return nil, err
	}
	columns, err := nameColumns(names, r.options.Renames)
	if err != nil {
		return nil, err
	}
	for i := range columns {
		columns[i].Type = found[i].result()
		columns[i].Absent = rows - found[i].values
		if t, ok := r.options.Types[columns[i].Source]; ok {
			columns[i].Type, columns[i].Declared = t, true
		}
		r.report.AbsentValues += columns[i].Absent
	}
	r.report.Columns = columnReports(columns)
	r.report.Read = rows
	return columns, nil
}

// checkOptions refuses options that name columns which the file does not have.
func checkOptions(names []string, o Options) error {
	if err := checkNamed("tenant-column", names, []string{o.TenantColumn}); err != nil {
		return err
	}
	if err := checkNamed("row-key-column", names, o.RowKeyColumns); err != nil {
		return err
	}
	if o.PartitionColumn != "" {
		if err := checkNamed("partition-column", names, []string{o.PartitionColumn}); err != nil {
			return err
		}
	}
	return checkNamed("type", names, slices.Sorted(maps.Keys(o.Types)))
}

func newRowMaker(file string, columns []Column, o Options, d *directory) (*rowMaker, error) {
	names := make([]string, len(columns))
	for i, c := range columns {
		names[i] = c.Source
	}
	keys := make([]int, len(o.RowKeyColumns))
	for i, name := range o.RowKeyColumns {
		keys[i] = slices.Index(names, name)
		if slices.Contains(keys[:i], keys[i]) {
			return nil, &UsageError{fmt.Sprintf("--row-key-column: %q is named twice", name)}
		}
	}
	m := &rowMaker{file: file, columns: columns, tenant: slices.Index(names, o.TenantColumn), partition: -1,
		keys: newRowKeys(names, keys), tenants: d}
	if o.PartitionColumn != "" {
		m.partition = slices.Index(names, o.PartitionColumn)
	}
	return m, nil
}

// stepRows is the number of rows between two looks at the context.
const stepRows = 500

// pass reads the file from its start, reports its rows as advances and returns the names of its columns.
func (r *run) pass(ctx context.Context, each func(Record) error) ([]string, error) {
	n := int64(0)
	names, err := r.quietPass(ctx, func(rec Record) error {
		if n++; n%stepRows == 0 {
			r.Progress.Advance(stepRows)
		}
		return each(rec)
	})
	r.Progress.Advance(n % stepRows)
	return names, err
}

// quietPass is pass without advances.
func (r *run) quietPass(ctx context.Context, each func(Record) error) ([]string, error) {
	reader, err := r.input.reader()
	if err != nil {
		return nil, err
	}
	for n := int64(0); ; n++ {
		if n%stepRows == 0 {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
		}
		rec, err := reader.Read()
		if errors.Is(err, io.EOF) {
			return reader.Columns(), nil
		}
		if err != nil {
			return nil, err
		}
		if err := each(rec); err != nil {
			return nil, err
		}
	}
}

// inPlace returns how many rows are where they belong.
func (r *run) inPlace() int64 {
	var n int64
	for _, route := range r.maker.tenants.routes {
		n += route.counts.Written + route.counts.Unchanged
	}
	return n
}

// finish adds up the counts of the tenants.
func (r *run) finish(took time.Duration) {
	r.report.Seconds = took.Seconds()
	r.report.Tenants = []TenantCounts{}
	if r.maker == nil {
		return
	}
	for _, route := range r.maker.tenants.sorted() {
		c := route.counts
		r.report.Tenants = append(r.report.Tenants, c)
		r.report.Written += c.Written
		r.report.Inserted += c.Inserted
		r.report.Replaced += c.Replaced
		r.report.Unchanged += c.Unchanged
	}
}
