package tenancy_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// The snippets of the guide on keys print what this package computes.
func TestTheGuideOnKeysComputesTheSamePartition(t *testing.T) {
	guide, err := os.ReadFile(filepath.Join("..", "..", "templates", "guides", "keys.md.tmpl"))
	if err != nil {
		t.Fatal(err)
	}
	for _, language := range []struct {
		name, file string
		run        []string
	}{
		{"go", "main.go", []string{"go", "run"}},
		{"python", "main.py", []string{"python3"}},
		{"javascript", "main.mjs", []string{"node"}},
	} {
		t.Run(language.name, func(t *testing.T) {
			block := regexp.MustCompile("(?ms)^```" + language.name + "\n(.*?)^```$").FindSubmatch(guide)
			if block == nil {
				t.Fatalf("the guide has no snippet in %s", language.name)
			}
			program, err := exec.LookPath(language.run[0])
			if err != nil {
				t.Skipf("%s is not installed", language.run[0])
			}
			file := filepath.Join(t.TempDir(), language.file)
			if err := os.WriteFile(file, block[1], 0o600); err != nil {
				t.Fatal(err)
			}
			out, err := exec.CommandContext(t.Context(), program, append(language.run[1:], file)...).CombinedOutput()
			if got := strings.TrimSpace(string(out)); err != nil || got != "contoso|15" {
				t.Errorf("it printed %q (%v), want %q", got, err, "contoso|15")
			}
		})
	}
}
