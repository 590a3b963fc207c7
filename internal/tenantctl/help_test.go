package tenantctl

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the golden files anew")

// help returns what a command's -h writes.
func help(t *testing.T, args ...string) string {
	t.Helper()
	var stdout, stderr bytes.Buffer
	code := Run(t.Context(), Process{Stdout: &stdout, Stderr: &stderr, Getenv: func(string) string { return "" }, Version: "0.0.0"}, append(args, "-h"))
	if code != exitDone || stderr.Len() > 0 {
		t.Fatalf("%q -h ended with %d: %s", args, code, stderr.String())
	}
	return stdout.String()
}

func TestHelpIsWhatItWas(t *testing.T) {
	helps := map[string]string{"tenantctl": help(t)}
	for _, cmd := range newRootCommand(&environment{}).Commands() {
		helps[cmd.Name()] = help(t, cmd.Name())
	}
	for name, got := range helps {
		path := filepath.Join("testdata", "help", name+".txt")
		if *update {
			must(t, os.MkdirAll(filepath.Dir(path), 0o755))
			must(t, os.WriteFile(path, []byte(got), 0o644))
		}
		want, err := os.ReadFile(path)
		must(t, err)
		if got != string(want) {
			t.Errorf("the help of %s is not what %s holds; if it is right, run the test with -update:\n%s", name, path, got)
		}
	}
	golden, err := filepath.Glob(filepath.Join("testdata", "help", "*.txt"))
	must(t, err)
	if len(golden) != len(helps) {
		t.Errorf("%d golden files for %d commands", len(golden), len(helps))
	}
}

func TestEveryHelpHasExitStatusesAndAnExampleAndFitsAWideTerminal(t *testing.T) {
	for _, cmd := range newRootCommand(&environment{}).Commands() {
		text := help(t, cmd.Name())
		wants(t, text, "EXIT STATUS\n  0    ", "Examples:\n  tenantctl "+cmd.Name(), "--json", "--config FILE")
		for line := range strings.Lines(text) {
			if n := len([]rune(strings.TrimSuffix(line, "\n"))); n > 132 {
				t.Errorf("%s: a line of %d characters: %s", cmd.Name(), n, line)
			}
		}
	}
}
