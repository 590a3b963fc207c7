package tenancy_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/aztenancy/terraform-provider-aztenancy/internal/edm"
	"github.com/aztenancy/terraform-provider-aztenancy/internal/tenancy"
)

// vector is a line of the guide's table of buckets.
type vector struct {
	text    string
	buckets int
	bucket  int
}

var vectorLine = regexp.MustCompile("(?m)^\\| `([^`]+)` \\| (\\d+) \\| (\\d+) \\|$")

func readGuideOnKeys(t *testing.T) (guide string, vectors []vector) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "templates", "guides", "keys.md.tmpl"))
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range vectorLine.FindAllStringSubmatch(string(text), -1) {
		buckets, _ := strconv.Atoi(m[2]) // digits, by the expression
		bucket, _ := strconv.Atoi(m[3])
		vectors = append(vectors, vector{m[1], buckets, bucket})
	}
	if len(vectors) < 5 {
		t.Fatalf("the guide shows %d buckets", len(vectors))
	}
	return string(text), vectors
}

func TestTheGuideOnKeysShowsTheBucketsThatThisPackageComputes(t *testing.T) {
	_, vectors := readGuideOnKeys(t)
	for _, v := range vectors {
		if got := tenancy.Bucket(v.text, v.buckets); got != v.bucket {
			t.Errorf("the guide puts %q into bucket %d of %d; it is %d", v.text, v.bucket, v.buckets, got)
		}
	}
}

// The snippets of the guide print what this package computes: each its example, and where the language lets a line be
// added, all values of the table too.
func TestTheGuideOnKeysComputesTheSamePartition(t *testing.T) {
	guide, vectors := readGuideOnKeys(t)
	for _, language := range []struct {
		name, file string
		run        []string
		call       string // prints the partition of a text (%s, quoted) among %d buckets
	}{
		{"go", "main.go", []string{"go", "run"}, ""},
		{"python", "main.py", []string{"python3"}, `print(partition_key("contoso", "|", %s, %d))`},
		{"javascript", "main.mjs", []string{"node"}, `console.log(partitionKey("contoso", "|", %s, %d));`},
	} {
		t.Run(language.name, func(t *testing.T) {
			block := regexp.MustCompile("(?ms)^```" + language.name + "\n(.*?)^```$").FindStringSubmatch(guide)
			if block == nil {
				t.Fatalf("the guide has no snippet in %s", language.name)
			}
			program, want := block[1], []string{"contoso|15"}
			if language.call != "" {
				for _, v := range vectors {
					program += fmt.Sprintf(language.call+"\n", quoted(t, v.text), v.buckets)
					want = append(want, partition(t, v))
				}
			}
			if got := runProgram(t, language.run, language.file, program); got != strings.Join(want, "\n") {
				t.Errorf("it printed %q, want %q", got, want)
			}
		})
	}
}

func partition(t *testing.T, v vector) string {
	t.Helper()
	s := tenancy.KeyScheme{Kind: tenancy.SchemeBucketed, Separator: "|", Buckets: v.buckets}
	pk, err := s.PartitionKey("contoso", &edm.Entity{RowKey: v.text})
	if err != nil {
		t.Fatal(err)
	}
	return pk
}

// quoted writes a text as a literal that Python and JavaScript read alike.
func quoted(t *testing.T, s string) string {
	t.Helper()
	b, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// runProgram returns what a program prints, and skips the test where its language is not installed.
func runProgram(t *testing.T, run []string, file, text string) string {
	t.Helper()
	program, err := exec.LookPath(run[0])
	if err != nil {
		t.Skipf("%s is not installed", run[0])
	}
	path := filepath.Join(t.TempDir(), file)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := exec.CommandContext(t.Context(), program, append(run[1:], path)...).CombinedOutput()
	if err != nil {
		t.Fatalf("%s %s: %v\n%s", run[0], file, err, out)
	}
	return strings.TrimSpace(strings.ReplaceAll(string(out), "\r\n", "\n"))
}
