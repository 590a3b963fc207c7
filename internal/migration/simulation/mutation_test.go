package simulation

import (
	"encoding/json"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/aztenancy/terraform-provider-aztenancy/internal/acctest"
)

var mutants = flag.Bool("mutants", false, "switch each guard of the mover off in turn and see that the simulation finds it (minutes)")

// guards are the places where the mover protects the invariants, each with an edit that switches it off. The edit is made to a copy
// that only the compiler sees.
var guards = []struct{ name, file, with, without string }{
	{"transactions at the target hold a guard row", "writer.go",
		"b.Guard = w.move.guards.operation", ""},
	{"a mover that takes over removes older guards", "run.go",
		"return epoch != m.Lease.Epoch && epoch != gateEpoch", "return false"},
	{"a guard is inserted through the gate's ETag", "guard.go",
		"Entity: guardRow(pk, g.gate), ETag: etag}", "Entity: guardRow(pk, g.gate), ETag: strings.Replace(etag, etag, tablestorage.AnyETag, 1)}"},
	{"a copy is replaced only in the version that was compared", "window.go",
		"Entity: moved, ETag: x.target.ETag}", "Entity: moved, ETag: tablestorage.AnyETag}"},
	{"what is missing at the source is looked for once more before it is deleted at the target", "window.go",
		"if there != nil {\n\t\tw.keep", "if there != nil && false {\n\t\tw.keep"},
	{"what a pass leaves stays provable", "writer.go",
		"w.kept = append(w.kept, m[:]...)", "_ = m"},
	{"what is sent is listed before", "writer.go",
		"if err := w.list(ctx, marks); err != nil {\n\t\treturn err\n\t}\n\tif err := w.sendGroups", "if err := w.sendGroups"},
	{"a seal names versions, not keys", "seal.go",
		`+ "\x00" + etag`, ""},
	{"writers have time to notice the freeze", "freeze.go",
		"case <-time.After(r.options.Drain):", "case <-time.After(0):"},
	{"the freeze belongs to one epoch", "freeze.go",
		"(epoch == 0 || epoch == t.Epoch)", "true"},
	{"the switch swaps the tenant's row on the version that was read", "../catalog/write.go",
		"return c.table.Replace(ctx, e, etag) })", "return c.table.Replace(ctx, e, tablestorage.AnyETag) })"},
	{"a last pass runs under the freeze", "catchup.go",
		`r.reconcile(ctx, "sync")`, `(&pass{}), error(nil)`},
	{"a purge deletes only sealed versions", "purge.go",
		"func deletion(k edm.Key, etag string) tablestorage.Operation {", "func deletion(k edm.Key, etag string) tablestorage.Operation {\n\tetag = tablestorage.AnyETag"},
	{"a purge looks for writes past the freeze", "purge.go",
		"if late.written > 0 {", "if false {"},
}

// Without any one of its guards the mover breaks an invariant, or comes to no end, in some schedule.
func TestEveryGuardIsNeeded(t *testing.T) {
	if !*mutants {
		t.Skip("run by make mutants, which takes minutes: each guard needs a build of its own")
	}
	root := filepath.Join(acctest.ModuleRoot(t), "internal", "migration")
	t.Run("with all guards", func(t *testing.T) { // or else a failure without one says nothing
		original := filepath.Join(root, "guard.go")
		text, err := os.ReadFile(original)
		if err != nil {
			t.Fatal(err)
		}
		if out, ok := survives(t, original, string(text)); !ok {
			t.Fatalf("the simulation fails with all guards on:\n%s", out)
		}
	})
	if t.Failed() {
		return
	}
	for _, g := range guards {
		t.Run(g.name, func(t *testing.T) {
			original := filepath.Join(root, g.file)
			text, err := os.ReadFile(original)
			if err != nil {
				t.Fatal(err)
			}
			if n := strings.Count(string(text), g.with); n != 1 {
				t.Fatalf("%s has %q %d times, not once: name the guard as it is now", g.file, g.with, n)
			}
			if out, ok := survives(t, original, strings.Replace(string(text), g.with, g.without, 1)); ok {
				t.Errorf("no schedule noticed that the guard was off\n%s", out)
			}
		})
	}
}

// survives says whether the simulation passes with another text of one file. A text that does not compile proves nothing.
func survives(t *testing.T, original, text string) (out string, ok bool) {
	t.Helper()
	dir := t.TempDir()
	changed := filepath.Join(dir, "changed.go")
	overlay, err := json.Marshal(map[string]any{"Replace": map[string]string{original: changed}})
	if err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string][]byte{changed: []byte(text), filepath.Join(dir, "overlay.json"): overlay} {
		if err := os.WriteFile(name, content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	binary := filepath.Join(dir, "simulation.test")
	build := exec.CommandContext(t.Context(), "go", "test", "-c", "-overlay", filepath.Join(dir, "overlay.json"), "-o", binary, ".")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("the mutant does not compile: %v\n%s", err, out)
	}
	run := exec.CommandContext(t.Context(), binary, "-test.run", "TestRandomSchedules|TestEveryRequest", "-test.failfast", "-schedules", "500", "-stride", "1", "-test.v")
	b, err := run.CombinedOutput()
	return string(b[max(0, len(b)-2000):]), err == nil
}
