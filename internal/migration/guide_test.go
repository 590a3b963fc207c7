package migration

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

// The guide has the table of steps as the code runs it.
func TestGuideHasTheStepsThatTheCodeRuns(t *testing.T) {
	guide, err := os.ReadFile("../../templates/guides/moving-tenants.md.tmpl")
	must(t, err)
	seen := map[string]bool{}
	for _, s := range steps {
		if seen[s.state] { // switched has a step of the purge, too, which the purge's own state tells
			continue
		}
		seen[s.state] = true
		if row := fmt.Sprintf("| `%s` | %s |\n", s.state, s.effect); !strings.Contains(string(guide), row) {
			t.Errorf("the guide lacks the row %q", row)
		}
	}
}
