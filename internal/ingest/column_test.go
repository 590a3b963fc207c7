package ingest

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/aztenancy/terraform-provider-aztenancy/internal/edm"
)

func properties(columns []Column) string {
	names := make([]string, len(columns))
	for i, c := range columns {
		names[i] = c.Property
	}
	return strings.Join(names, " ")
}

func TestColumnNamesThatTheServiceRefusesAreRewritten(t *testing.T) {
	cases := []struct{ name, sources, want string }{
		{"names of the bird strikes", "Airport Name|Cost Total $|Speed IAS in knots", "AirportName CostTotal SpeedIASInKnots"},
		{"good names stay", "a|Wildlife_Size|größe", "a Wildlife_Size größe"},
		{"names of the service", "PartitionKey|rowkey|Timestamp", "PartitionKeyValue rowkeyValue TimestampValue"},
		{"first digit", "2024 total", "_2024Total"},
		{"nothing left", "$|", "Column1 Column2"},
		{"taken by a later good name", "Cost $|Cost", "Cost2 Cost"},
		{"twice the same name", "a|a|a", "a a2 a3"},
		{"the numbered name is taken too", "a|a2|a", "a a2 a3"},
		{"letter case tells names apart", "Birthday|birthday", "Birthday birthday"}, // reference §2.4
		{"punctuation", "e-mail|first.name", "eMail firstName"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			columns, err := nameColumns(strings.Split(c.sources, "|"), nil)
			if err != nil || properties(columns) != c.want {
				t.Errorf("got %s, %v; want %s", properties(columns), err, c.want)
			}
		})
	}
}

func TestRenamesComeBeforeRules(t *testing.T) {
	columns, err := nameColumns([]string{"Cost $", "Cost"}, map[string]string{"Cost $": "Dollars"})
	if err != nil || properties(columns) != "Dollars Cost" {
		t.Errorf("got %s, %v", properties(columns), err)
	}
	for _, c := range []struct {
		renames map[string]string
		want    string
	}{
		{map[string]string{"cost $": "X"}, `did you mean "Cost $"?`},
		{map[string]string{"Price": "X"}, `it has "Cost $", "Cost"`},
		{map[string]string{"Cost": "RowKey"}, "RowKey is a name of the service"},
		{map[string]string{"Cost": "a-b"}, `rename of column "Cost" to "a-b"`},
		{map[string]string{"Cost": "X", "Cost $": "X"}, "another column has that name"},
	} {
		_, err := nameColumns([]string{"Cost $", "Cost"}, c.renames)
		if !as[*UsageError](err) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v: %v, want %s", c.renames, err, c.want)
		}
	}
}

func TestEveryRewrittenNameIsLegalAndUnique(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		sources := rapid.SliceOfN(rapid.OneOf(rapid.StringN(0, 20, -1), rapid.StringMatching(`[ab]{1,2}[ $2]?`)), 1, 30).Draw(t, "sources")
		columns, err := nameColumns(sources, nil)
		if as[*UsageError](err) {
			return // letters that are not of an identifier: the user is asked for a name
		}
		if err != nil {
			t.Fatal(err)
		}
		seen := map[string]bool{}
		for i, c := range columns {
			if err := checkPropertyName(c.Property); err != nil {
				t.Fatalf("%q became %q: %v", sources[i], c.Property, err)
			}
			if seen[c.Property] {
				t.Fatalf("%q stands twice", c.Property)
			}
			seen[c.Property] = true
			if c.Source != sources[i] {
				t.Fatalf("column %d is %q, not %q", i, c.Source, sources[i])
			}
		}
	})
}

func TestKeysOfSeveralColumnsNeverMeet(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		part := rapid.StringOf(rapid.SampledFrom([]rune("a|~7C/")))
		draw := func(name string) []string {
			return []string{part.Draw(t, name+"1") + "x", part.Draw(t, name+"2") + "x"}
		}
		a, b := draw("a"), draw("b")
		keys := newRowKeys([]string{"p", "q"}, []int{0, 1})
		keyA, errA := keys.of(Record{Line: 1, Cells: text(a...)})
		keyB, errB := keys.of(Record{Line: 2, Cells: text(b...)})
		if errA != nil || errB != nil {
			t.Fatal(errA, errB)
		}
		if (a[0] == b[0] && a[1] == b[1]) != (keyA.text == keyB.text) {
			t.Fatalf("%q → %s, %q → %s", a, keyA.text, b, keyB.text)
		}
		if err := edm.ValidateKeyPart("RowKey", keyA.text); err != nil {
			t.Fatal(err)
		}
	})
}

func TestContentKeysDependOnContentAlone(t *testing.T) {
	one := newRowKeys([]string{"a", "b"}, nil)
	other := newRowKeys([]string{"b", "x", "a"}, nil) // other order, and a column that is empty
	first := one.ofContent(Record{Cells: text("1", "2")})
	again := one.ofContent(Record{Cells: text("1", "2")})
	if got := other.ofContent(Record{Cells: text("2", "", "1")}); got != first {
		t.Errorf("the order of columns changes the key: %v, %v", got, first)
	}
	if again.text != first.text+"-0002" || !again.duplicate {
		t.Errorf("the duplicate of %s got %v", first.text, again)
	}
	if got := one.ofContent(Record{Cells: text("12", "")}); strings.HasPrefix(got.text, first.text) {
		t.Error("texts run together in the hash")
	}
	one.restart()
	if got := one.ofContent(Record{Cells: text("1", "2")}); got != first {
		t.Errorf("another pass gives %v, not %v", got, first)
	}
	// The recipe in the comment of rowKeys, computed by hand: sha256 of
	// 00000001 "a" 01 00000001 "1" 00000001 "b" 01 00000001 "2".
	if first.text != "9e19f9c5bf97ac5fc60a9d3d19a92ba1" {
		t.Errorf("the key of a=1, b=2 is %s", first.text)
	}
}
