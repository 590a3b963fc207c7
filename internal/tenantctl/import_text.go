package tenantctl

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/aztenancy/terraform-provider-aztenancy/internal/ingest"
	"github.com/aztenancy/terraform-provider-aztenancy/internal/tenantctl/ui"
)

// writeImportReport writes what an import did.
func writeImportReport(env *environment, r *ingest.Report) error {
	return write(env, r, func(w io.Writer) error {
		var b strings.Builder
		writeColumns(&b, r)
		writeTenantCounts(&b, r)
		writeSummary(&b, r)
		_, err := io.WriteString(w, b.String())
		return err
	})
}

// writeColumns writes which property each column is.
func writeColumns(b *strings.Builder, r *ingest.Report) {
	t := ui.Table{Header: []string{"COLUMN", "PROPERTY", "TYPE", "ABSENT"}, Right: map[int]bool{3: true}}
	for _, c := range r.Columns {
		typ := c.Type
		switch {
		case typ == "":
			typ = "no value"
		case c.Declared:
			typ += " (declared)"
		}
		t.Rows = append(t.Rows, []string{c.Column, c.Property, typ, ui.Count(c.Absent)})
	}
	_ = t.Write(b) // a strings.Builder takes everything
	b.WriteByte('\n')
}

// writeTenantCounts writes where the rows of each tenant are.
func writeTenantCounts(b *strings.Builder, r *ingest.Report) {
	t := ui.Table{Header: []string{"TENANT", "KEY", "TABLE", "ROWS", "INSERTED", "REPLACED", "UNCHANGED"},
		Right: map[int]bool{3: true, 4: true, 5: true, 6: true}}
	for _, c := range r.Tenants {
		t.Rows = append(t.Rows, []string{c.Tenant, c.Key, c.Account + "/" + c.Table, ui.Count(c.Read), ui.Count(c.Inserted),
			ui.Count(c.Replaced), ui.Count(c.Unchanged)})
	}
	_ = t.Write(b)
	b.WriteByte('\n')
}

// writeSummary writes the counts of the whole file.
func writeSummary(b *strings.Builder, r *ingest.Report) {
	line := func(name, format string, args ...any) {
		fmt.Fprintf(b, "%-15s %s\n", name, fmt.Sprintf(format, args...))
	}
	line("rows", "%s in %s, for %s", ui.Count(r.Read), r.File, ui.Plural(int64(len(r.Tenants)), "tenant"))
	if r.DryRun {
		line("would write", "%s (%s inserted, %s replaced); nothing was written", ui.Count(r.Written), ui.Count(r.Inserted), ui.Count(r.Replaced))
	} else {
		line("written", "%s (%s inserted, %s replaced) in %s, %s", ui.Count(r.Written), ui.Count(r.Inserted), ui.Count(r.Replaced),
			ui.Plural(r.Transactions, "transaction"), ui.Duration(time.Duration(r.Seconds*float64(time.Second))))
	}
	if r.Unchanged > 0 {
		line("unchanged", "%s were there already, equal in every value and type", ui.Count(r.Unchanged))
	}
	if r.Skipped > 0 {
		line("skipped", "%s of %s", ui.Plural(r.Skipped, "row"), ui.Plural(int64(len(r.UnknownTenants)), "unknown tenant"))
	}
	if r.Duplicates > 0 {
		line("duplicates", "%s equal to an earlier one; %s", ui.Plural(r.Duplicates, "row"), r.DuplicateRule)
	}
	line("row keys", "of the %s", r.RowKey)
	if r.EncodedKeys > 0 {
		line("encoded keys", "%s with a value that a key cannot hold as it is; it is written with ~XX", ui.Plural(r.EncodedKeys, "row"))
	}
	line("absent values", "%s empty or null: no property is written for them", ui.Count(r.AbsentValues))
	if !r.Complete {
		line("incomplete", "run the same command again: it writes what is left")
	}
}
