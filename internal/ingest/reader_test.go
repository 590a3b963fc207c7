package ingest

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

// readAll reads a file and renders each row as "line: kind=text …" with - for absent cells.
func readAll(r Reader, err error) ([]string, error) {
	if err != nil {
		return nil, err
	}
	var rows []string
	for {
		rec, err := r.Read()
		if errors.Is(err, io.EOF) {
			return rows, nil
		}
		if err != nil {
			return rows, err
		}
		row := fmt.Sprintf("%d:", rec.Line)
		for _, c := range rec.Cells {
			if c.Kind == CellAbsent {
				row += " -"
			} else {
				row += fmt.Sprintf(" %d=%s", c.Kind, c.Text)
			}
		}
		rows = append(rows, row)
	}
}

func TestCSVRowsKeepLinesQuotesAndAbsence(t *testing.T) {
	src := "\uFEFFa,b\r\n1,\r\n\"x,\"\"y\"\"\",\"two\nlines\"\n\n3,4\n"
	got, err := readAll(newCSVReader("f.csv", strings.NewReader(src), ','))
	want := []string{"2: 1=1 -", "3: 1=x,\"y\" 1=two\nlines", "6: 1=3 1=4"}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("got %q, %v; want %q", got, err, want)
	}
}

func TestNDJSONRowsKeepKindsAndAbsence(t *testing.T) {
	src := `{"a":1,"b":"x"}` + "\n\n" + `{"b":null,"c":[1, {"d":2}]}` + "\r\n" + `{"a":true,"b":"","c":"\ud83d\ude00\\ufffd"}`
	r, err := newNDJSONReader("f.ndjson", strings.NewReader(src))
	got, err := readAll(r, err)
	want := []string{"1: 3=1 2=x", `3: - - 5=[1,{"d":2}]`, `4: 4=true 2= 2=😀\ufffd`}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("got %q, %v; want %q", got, err, want)
	}
	if !slices.Equal(r.Columns(), []string{"a", "b", "c"}) {
		t.Errorf("columns %q", r.Columns())
	}
}

func TestUnreadableRowsNameTheLineAndTheWayOut(t *testing.T) {
	cases := []struct{ name, format, src, want string }{
		{"empty file", "csv", "", "f: the file is empty"},
		{"too few fields", "csv", "a,b\n1,2\n3\n", "f:3: the row's number of fields differs from the header's 2"},
		{"too many fields", "csv", "a,b\n\"x\ny\",2,3\n", "f:2: the row's number"},
		{"quote never closed", "csv", "a\n\"x\n", `f:2: the quoted cell`},
		{"bare quote", "csv", "a\nx\"y\n", `f:2: a cell holds a quote but is not quoted`},
		{"not UTF-8", "csv", "a\nM\xfcller\n", `f:2: column "a": the text is not UTF-8`},
		{"not UTF-8 in the header", "csv", "\xfc\n", `f:1: column "column 1": the text is not UTF-8`},
		{"UTF-16", "csv", "\xff\xfea\x00", "f: the file is UTF-16"},
		{"no JSON", "ndjson", "{\"a\":1}\nx\n", "f:2: the line is not JSON"},
		{"array", "ndjson", "[1]", "f:1: the line holds no JSON object"},
		{"object over two lines", "ndjson", "{\"a\":1,\n\"b\":2}", "f:1:"},
		{"two objects", "ndjson", "{} {}", "f:1: text follows the object"},
		{"name twice", "ndjson", `{"a":1,"a":2}`, `f:1: column "a": the name stands twice`},
		{"half a surrogate pair", "ndjson", `{"a":"\ud83d"}`, `f:1: column "a": the text holds half a surrogate pair`},
		{"second half alone", "ndjson", `{"a":"x\ude00"}`, `half a surrogate pair`},
		{"first half twice", "ndjson", `{"a":"\ud83d\ud83d"}`, `half a surrogate pair`},
		{"not UTF-8", "ndjson", "{\"a\":\"\xfc\"}", `f:1: the line is not UTF-8`},
		{"long line", "ndjson", `{"a":"` + strings.Repeat("x", maxLineBytes) + `"}`, `f:1: the line is longer than 8 MiB`},
	}
	for _, c := range cases {
		t.Run(c.format+" "+c.name, func(t *testing.T) {
			var err error
			if c.format == "csv" {
				_, err = readAll(newCSVReader("f", strings.NewReader(c.src), ','))
			} else {
				_, err = readAll(newNDJSONReader("f", strings.NewReader(c.src)))
			}
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %s", err, c.want)
			}
			if !as[*RowError](err) {
				t.Errorf("%v is no *RowError", err)
			}
		})
	}
}

// as says whether err is or wraps a T.
func as[T error](err error) bool {
	var target T
	return errors.As(err, &target)
}

func FuzzCSVRowsFitTheHeader(f *testing.F) {
	f.Add("a,b\n1,2\n")
	f.Add("\uFEFFa\n\"x\ny\"\n")
	f.Fuzz(func(t *testing.T, src string) {
		r, err := newCSVReader("f", strings.NewReader(src), ',')
		if err != nil {
			return
		}
		checkReader(t, r, func() int { return len(r.Columns()) })
	})
}

func FuzzNDJSONRowsFitTheColumns(f *testing.F) {
	f.Add(`{"a":1,"b":"x"}` + "\n" + `{"c":[{}]}`)
	f.Add(`{"a":"\ud83d\ude00"}`)
	f.Fuzz(func(t *testing.T, src string) {
		r, err := newNDJSONReader("f", strings.NewReader(src))
		if err != nil {
			return
		}
		checkReader(t, r, func() int { return len(r.Columns()) })
	})
}

// checkReader reads to the end: lines grow, cells are UTF-8 and no more than columns, and the file ends.
func checkReader(t *testing.T, r Reader, columns func() int) {
	last := int64(0)
	for {
		rec, err := r.Read()
		if err != nil {
			return
		}
		if rec.Line <= last {
			t.Fatalf("line %d after line %d", rec.Line, last)
		}
		last = rec.Line
		if len(rec.Cells) > columns() {
			t.Fatalf("%d cells, %d columns", len(rec.Cells), columns())
		}
		for _, c := range rec.Cells {
			if !utf8.ValidString(c.Text) || c.Kind == CellAbsent && c.Text != "" {
				t.Fatalf("cell %v", c)
			}
		}
	}
}
