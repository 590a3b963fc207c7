package tenantctl

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/aztenancy/terraform-provider-aztenancy/internal/edm"
	"github.com/aztenancy/terraform-provider-aztenancy/internal/ingest"
	"github.com/aztenancy/terraform-provider-aztenancy/internal/migration"
)

const importHelp = `Load the rows of a CSV or NDJSON file into the tables of the tenants that the rows name.

Nothing is written before the whole file was read and every row was found good: it names a tenant of the catalog that is
active, it has a key that no other row has, every value fits its type, and the service can store it.

TENANTS  The tenant column holds a tenant's key or its id, exactly. A row goes to the account and table that the catalog
  names for the tenant, and its PartitionKey is made by the key scheme of that placement. For the schemes prefixed and
  native, --partition-column names the value of yours that the PartitionKey holds.

KEYS  The RowKey is the value of --row-key-column; of several they are joined with "|". Rows that are equal in all columns
  are then written once, and rows that have one key but differ are refused. Without the flag the RowKey is a hash of the row's
  content, and exact duplicates are kept under an ordinal. Both ways a second import of a file writes the same keys, and
  what is there already is not written again. What cannot stand in a key is written as "~" and two hexadecimal digits
  (a "/" is ~2F, "~" itself ~7E; with several row key columns "|" is ~7C); the result says how many rows that concerns.

COLUMNS  Each column becomes a property. From a name that the service refuses, all but letters, digits and underscores is
  dropped, and the next letter becomes upper case: "Cost Total $" is CostTotal. A first digit gets "_" before it;
  PartitionKey, RowKey and Timestamp get "Value" behind them; a name that is taken gets a number. --rename names it yourself.
  Empty CSV cells and JSON nulls are absent properties; "" of NDJSON is an empty String.

TYPES  A column is Int32, Int64, Double, Boolean (true, false), DateTime (ISO 8601, UTC unless it says otherwise) or Guid if all
  its values are and nothing is lost; otherwise it is String. Numbers with leading zeros are text. JSON strings are never taken
  for numbers. --type declares one of them, or String or Binary (base64).

MEMORY  About 150 bytes a row of the file, and at most 64 MiB of rows that wait for their transaction.

EXIT STATUS
  0    all rows are in place
  1    a row or the file is wrong, a tenant is not active, or the service refused; nothing was written
  2    the command line or the configuration is wrong, or a flag names a column that the file does not have
  4    incomplete: some rows are written; the same command writes the others
  5    the service is unreachable or busy; try again later
  9    nothing to do: the file has no rows
  130  interrupted; the same command writes the rows that are left`

type importOptions struct {
	File          string
	Format        string
	Delimiter     string
	Types         []string
	Renames       []string
	UnknownTenant string
	Writers       int
	paceOptions
	ingest.Options
}

func newImportCommand(env *environment) *cobra.Command {
	var o importOptions
	cmd := &cobra.Command{
		Use:     "import --file FILE --table TABLE --tenant-column COLUMN",
		Short:   "Load a CSV or NDJSON file into the tenants' tables",
		Long:    importHelp,
		Example: `  tenantctl import --file strikes.csv --table strikes --tenant-column "Aircraft Airline Operator"`,
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return runImport(cmd.Context(), env, o)
		},
	}
	o.addFlags(cmd.Flags())
	requireFlags(cmd, "file", "table", "tenant-column")
	return cmd
}

func (o *importOptions) addFlags(f *pflag.FlagSet) {
	o.paceOptions.addFlags(f)
	f.StringVar(&o.File, "file", "", "the `FILE`; - is standard input")
	f.StringVar(&o.Format, "format", "", "`FORMAT` of the file, csv or ndjson (default: by its extension)")
	f.StringVar(&o.Delimiter, "delimiter", ",", "`CHARACTER` between CSV cells; \\t is a tab")
	f.StringVar(&o.Table, "table", "", "logical `TABLE` to load into, as the isolation models name it")
	f.StringVar(&o.TenantColumn, "tenant-column", "", "`COLUMN` that names each row's tenant by key or id")
	f.StringArrayVar(&o.RowKeyColumns, "row-key-column", nil, "`COLUMN` whose value is the RowKey; may be repeated (default: a hash of the content)")
	f.StringVar(&o.PartitionColumn, "partition-column", "", "`COLUMN` with the value of yours in the PartitionKey, for key schemes prefixed and native")
	f.StringArrayVar(&o.Types, "type", nil, "declare a column's type, as `COLUMN=TYPE`; may be repeated")
	f.StringArrayVar(&o.Renames, "rename", nil, "name a column's property, as `COLUMN=PROPERTY`; may be repeated")
	f.StringVar(&o.UnknownTenant, "unknown-tenant", "fail", "`WHAT` to do with rows of tenants that the catalog does not have: fail or skip")
	f.IntVar(&o.Writers, "writers", ingest.DefaultWriters, "transactions under way at the same time")
	f.BoolVar(&o.DryRun, "dry-run", false, "check everything and say what would be written, but write nothing")
}

// resolve turns the flags' texts into options of the importer.
func (o *importOptions) resolve() (delimiter rune, err error) {
	delimiter, err = parseDelimiter(o.Delimiter)
	if err != nil {
		return 0, err
	}
	switch o.UnknownTenant {
	case "fail", "skip":
		o.SkipUnknown = o.UnknownTenant == "skip"
	default:
		return 0, &ingest.UsageError{Reason: fmt.Sprintf("--unknown-tenant %s: it is fail or skip", o.UnknownTenant)}
	}
	if o.Writers < 1 || o.Writers > 64 {
		return 0, &ingest.UsageError{Reason: fmt.Sprintf("--writers %d: it is a number from 1 to 64", o.Writers)}
	}
	o.Options.Types = map[string]edm.Type{}
	for _, text := range o.Types {
		column, name, err := splitAssignment("type", text)
		if err != nil {
			return 0, err
		}
		if o.Options.Types[column], err = ingest.ParseTypeName(name); err != nil {
			return 0, &ingest.UsageError{Reason: fmt.Sprintf("--type %s: %v", text, err)}
		}
	}
	o.Options.Renames = map[string]string{}
	for _, text := range o.Renames {
		column, name, err := splitAssignment("rename", text)
		if err != nil {
			return 0, err
		}
		o.Options.Renames[column] = name
	}
	return delimiter, nil
}

// splitAssignment splits at the last "=": a column may hold one, a type or property name may not.
func splitAssignment(flag, text string) (column, name string, err error) {
	i := strings.LastIndexByte(text, '=')
	if i < 0 || i == len(text)-1 {
		return "", "", &ingest.UsageError{Reason: fmt.Sprintf("--%s %s: write COLUMN=NAME", flag, text)}
	}
	return text[:i], text[i+1:], nil
}

func parseDelimiter(s string) (rune, error) {
	if s == `\t` {
		return '\t', nil
	}
	r, size := utf8.DecodeRuneInString(s)
	if size == 0 || size != len(s) || r == utf8.RuneError || strings.ContainsRune("\"\r\n", r) {
		return 0, &ingest.UsageError{Reason: fmt.Sprintf("--delimiter %q: it is one character, neither a quote nor a line break", s)}
	}
	return r, nil
}

func runImport(ctx context.Context, env *environment, o importOptions) (err error) {
	delimiter, err := o.resolve()
	if err != nil {
		return err
	}
	work, err := env.startPaced(ctx, o.paceOptions)
	if err != nil {
		return err
	}
	defer work.Close()
	in, err := o.openInput(env)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, in.Close()) }()
	in.Delimiter = delimiter

	importer := &ingest.Importer{Catalog: work.services.catalog, Accounts: work.services.accounts, Progress: work.progress, Writers: o.Writers}
	report, err := importer.Run(ctx, in, o.Options)
	work.Close()
	if err != nil {
		if report != nil && as[*ingest.IncompleteError](err) {
			err = errors.Join(err, writeImportReport(env, report))
		}
		return err
	}
	if report.Read == 0 {
		err = fmt.Errorf("import %s: the file has no rows, so nothing was written: %w", report.File, migration.ErrNothingToDo)
	}
	return errors.Join(err, writeImportReport(env, report))
}

// openInput opens the file, or copies standard input.
func (o *importOptions) openInput(env *environment) (*ingest.Input, error) {
	if o.Format == "" {
		if o.File == "-" {
			return nil, &ingest.UsageError{Reason: "standard input has no name that says its format; say it with --format csv or --format ndjson"}
		}
		format, err := ingest.FormatOf(o.File)
		if err != nil {
			return nil, err
		}
		o.Format = string(format)
	}
	format := ingest.Format(strings.ToLower(o.Format))
	if format != ingest.CSV && format != ingest.NDJSON {
		return nil, &ingest.UsageError{Reason: fmt.Sprintf("--format %s: it is csv or ndjson", o.Format)}
	}
	if o.File == "-" {
		return ingest.Spool(env.process.Stdin, "standard input", format)
	}
	return ingest.OpenFile(o.File, format)
}
