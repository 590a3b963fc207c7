package acctest

import (
	"os"
	"path/filepath"
	"testing"
)

// ModuleRoot is the folder of go.mod, above the folder in which the test runs.
func ModuleRoot(t testing.TB) string {
	t.Helper()
	dir, err := os.Getwd()
	must(t, err, "find the working folder")
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			t.Fatal("no go.mod above the working folder")
		}
		dir = parent
	}
}
