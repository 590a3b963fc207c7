package acctest_test

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/aztenancy/terraform-provider-aztenancy/internal/acctest"
)

// shellBlock is a fenced block of the README that its reader is meant to type.
var shellBlock = regexp.MustCompile("(?ms)^```sh\n(.*?)^```$")

// The guide of the README is run as it stands, block after block in one shell, in a copy of the tree.
func TestTheGuideOfTheREADMEWorksAsWritten(t *testing.T) {
	if testing.Short() {
		t.Skip("builds the programs and runs Azurite and Terraform")
	}
	terraform := acctest.Terraform(t)
	if listener, err := net.Listen("tcp", "127.0.0.1:10002"); err != nil {
		t.Fatalf("the guide starts Azurite on its usual port: %v", err)
	} else if err := listener.Close(); err != nil {
		t.Fatal(err)
	}
	root := acctest.ModuleRoot(t)
	copied := copyTree(t, root)
	readme, err := os.ReadFile(filepath.Join(root, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	script := strings.Builder{}
	script.WriteString("set -euo pipefail\ntrap 'kill $(jobs -p)' EXIT\n")
	for _, block := range shellBlock.FindAllStringSubmatch(string(readme), -1) {
		script.WriteString(block[1])
		if strings.Contains(block[1], "azurite-table") { // a reader takes a moment; Terraform's retries are no part of the guide
			script.WriteString("until (exec 3<>/dev/tcp/127.0.0.1/10002) 2>/dev/null; do sleep 0.2; done\n")
		}
	}
	text := script.String()
	if terraform.OpenTofu { // the guide says terraform; either does
		text = "terraform() { tofu \"$@\"; }\n" + text
	}
	cmd := exec.CommandContext(t.Context(), "bash", "-c", text)
	cmd.Dir = copied
	cmd.Env = append(terraform.Env, "PATH="+filepath.Dir(terraform.Path)+string(os.PathListSeparator)+os.Getenv("PATH"))
	cmd.WaitDelay = 10 * time.Second
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("the guide stopped with %v:\n%s", err, out)
	}
	for _, want := range []string{
		`Apply complete! Resources: 5 added, 0 changed, 0 destroyed.`,
		`Apply complete! Resources: 0 added, 1 changed, 0 destroyed.`,
		`Destroy complete! Resources: 5 destroyed.`,
	} {
		if !strings.Contains(string(out), want) {
			t.Errorf("the guide did not print %q:\n%s", want, out)
		}
	}
}

// copyTree copies what a commit of the tree would hold into a new folder.
func copyTree(t *testing.T, root string) string {
	t.Helper()
	list := exec.CommandContext(t.Context(), "git", "ls-files", "-z", "--cached", "--others", "--exclude-standard")
	list.Dir = root
	names, err := list.Output()
	if err != nil {
		t.Fatalf("list the files of the tree: %v", err)
	}
	target := t.TempDir()
	for name := range strings.SplitSeq(strings.TrimSuffix(string(names), "\x00"), "\x00") {
		info, err := os.Stat(filepath.Join(root, name))
		if os.IsNotExist(err) { // deleted, but not yet committed
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		data, err := os.ReadFile(filepath.Join(root, name))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.MkdirAll(filepath.Dir(filepath.Join(target, name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(target, name), data, info.Mode().Perm()); err != nil {
			t.Fatal(err)
		}
	}
	return target
}
