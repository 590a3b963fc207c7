package ingest

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/aztenancy/terraform-provider-aztenancy/internal/edm"
)

// Column is one column of the file and the property that it becomes.
type Column struct {
	Source   string   // name in the file; may be "" or stand twice in a CSV header
	Property string   // property name
	Type     edm.Type // 0 for a column without any value
	Declared bool     // the type was declared, not inferred
	Absent   int64    // rows without a value
}

// Rewritten says whether the property has another name than the column.
func (c Column) Rewritten() bool { return c.Source != c.Property }

// UsageError is a fault of what the user asked for, found against the file: a flag that names no column, for example.
type UsageError struct{ Reason string }

func (e *UsageError) Error() string { return e.Reason }

// nameColumns gives each column its property name. A name that the service takes is kept. From another, every
// character that is no letter, digit or underscore is dropped, and the letter after it becomes upper case:
// "Cost Total $" is CostTotal, "Speed IAS in knots" is SpeedIASInKnots. A name that then begins with a digit gets an
// underscore before it; one of which nothing is left is Column with its position. PartitionKey, RowKey and Timestamp,
// in any case, get Value behind them. A name taken by an earlier column gets the first free number from 2 behind it;
// names that need no rewriting, and renames, are taken before.
func nameColumns(sources []string, renames map[string]string) ([]Column, error) {
	if err := checkNamed("rename", sources, slices.Sorted(maps.Keys(renames))); err != nil {
		return nil, err
	}
	columns := make([]Column, len(sources))
	taken := map[string]bool{}
	for i, source := range sources {
		columns[i].Source = source
		name, renamed := renames[source]
		if !renamed {
			name = source
		}
		err := checkPropertyName(name)
		if renamed && err != nil {
			return nil, &UsageError{fmt.Sprintf("rename of column %q to %q: %v", source, name, err)}
		}
		if renamed && taken[name] {
			return nil, &UsageError{fmt.Sprintf("rename of column %q to %q: another column has that name", source, name)}
		}
		if err == nil && !taken[name] {
			columns[i].Property = name
			taken[name] = true
		}
	}
	for i := range columns {
		if columns[i].Property != "" {
			continue
		}
		name, err := rewrite(columns[i].Source, i+1, taken)
		if err != nil {
			return nil, err
		}
		columns[i].Property = name
		taken[name] = true
	}
	return columns, nil
}

// rewrite makes a free property name of a column name that the service refuses or that is taken.
func rewrite(source string, position int, taken map[string]bool) (string, error) {
	name := joinWords(source)
	switch {
	case name == "":
		name = "Column" + strconv.Itoa(position)
	case unicode.IsDigit([]rune(name)[0]):
		name = "_" + name
	}
	if isSystemName(name) {
		name += "Value"
	}
	free := name
	for n := 2; taken[free]; n++ {
		free = name + strconv.Itoa(n)
	}
	if err := checkPropertyName(free); err != nil {
		return "", &UsageError{fmt.Sprintf("column %q: no property name can be made of it (%v); name one with --rename", source, err)}
	}
	return free, nil
}

// joinWords drops what an identifier cannot hold and writes the words together.
func joinWords(s string) string {
	var b strings.Builder
	gap := false
	for _, r := range s {
		if r != '_' && !unicode.IsLetter(r) && !unicode.IsDigit(r) {
			gap = true
			continue
		}
		if gap && b.Len() > 0 {
			r = unicode.ToUpper(r)
		}
		gap = false
		b.WriteRune(r)
	}
	return b.String()
}

// checkPropertyName says why a property cannot have this name.
func checkPropertyName(name string) error {
	if isSystemName(name) {
		return fmt.Errorf("%s is a name of the service", name)
	}
	return edm.ValidatePropertyName(name)
}

// isSystemName compares without case: names that differ from a system property's only in case are legal, but
// clients confuse them.
func isSystemName(name string) bool {
	return strings.EqualFold(name, "PartitionKey") || strings.EqualFold(name, "RowKey") || strings.EqualFold(name, "Timestamp")
}

// checkNamed refuses option values that name no column, or a name that two columns have.
func checkNamed(option string, sources, names []string) error {
	for _, name := range names {
		count := 0
		for _, s := range sources {
			if s == name {
				count++
			}
		}
		switch {
		case count == 0:
			return &UsageError{fmt.Sprintf("--%s: the file has no column %q%s", option, name, nearest(name, sources))}
		case count > 1:
			return &UsageError{fmt.Sprintf("--%s: %d columns are called %q; give them different names in the file", option, count, name)}
		}
	}
	return nil
}

// nearest names the columns, or the one that differs only in case and spaces.
func nearest(name string, sources []string) string {
	fold := func(s string) string { return strings.ToLower(strings.Join(strings.Fields(s), " ")) }
	for _, s := range sources {
		if fold(s) == fold(name) {
			return fmt.Sprintf("; did you mean %q?", s)
		}
	}
	if len(sources) > 20 {
		return fmt.Sprintf("; it has %d others", len(sources))
	}
	quoted := make([]string, len(sources))
	for i, s := range sources {
		quoted[i] = strconv.Quote(s)
	}
	return "; it has " + strings.Join(quoted, ", ")
}
