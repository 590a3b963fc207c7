package acctest

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// CLI is a Terraform or OpenTofu binary.
type CLI struct {
	Path     string
	OpenTofu bool
	// Env is the environment to run it in: this process's, with TF_CLI_CONFIG_FILE naming an empty file of our own.
	// The inherited value may name a file that is missing, or that changes where providers come from.
	Env []string
}

// Terraform finds Terraform or OpenTofu, 1.11 or newer: the first of $TF_BIN, terraform and tofu on PATH, and
// .cache/bin/tofu of this repository, which make builds. Without any the test fails, or is skipped with -short.
func Terraform(t testing.TB) CLI {
	t.Helper()
	var refused []string
	for _, path := range []string{os.Getenv("TF_BIN"), "terraform", "tofu", filepath.Join(ModuleRoot(t), ".cache", "bin", "tofu")} {
		if path == "" {
			continue
		}
		cli, err := inspectCLI(t, path)
		if err == nil {
			return cli
		}
		refused = append(refused, fmt.Sprintf("%s: %v", path, err))
	}
	text := "no Terraform or OpenTofu 1.11 or newer:\n  " + strings.Join(refused, "\n  ")
	if testing.Short() {
		t.Skip(text)
	}
	t.Fatal(text)
	return CLI{}
}

// inspectCLI asks a binary for its version.
func inspectCLI(t testing.TB, name string) (CLI, error) {
	path, err := exec.LookPath(name)
	if err != nil {
		return CLI{}, err
	}
	config := filepath.Join(t.TempDir(), "cli.tfrc")
	if err := os.WriteFile(config, nil, 0o600); err != nil {
		return CLI{}, err
	}
	cli := CLI{Path: path, Env: cliEnvironment(config)}
	cmd := exec.CommandContext(t.Context(), path, "version", "-json")
	cmd.Env = cli.Env
	out, err := cmd.Output()
	if err != nil {
		return CLI{}, fmt.Errorf("version: %w", err)
	}
	var version struct {
		Version string `json:"terraform_version"`
	}
	if err := json.Unmarshal(out, &version); err != nil {
		return CLI{}, fmt.Errorf("version: %w", err)
	}
	if !atLeast(version.Version, 1, 11) {
		return CLI{}, fmt.Errorf("version %s is older than 1.11", version.Version)
	}
	cmd = exec.CommandContext(t.Context(), path, "version")
	cmd.Env = cli.Env
	if out, err = cmd.Output(); err != nil {
		return CLI{}, fmt.Errorf("version: %w", err)
	}
	cli.OpenTofu = strings.HasPrefix(string(out), "OpenTofu")
	return cli, nil
}

// atLeast compares the first two numbers of a version.
func atLeast(version string, major, minor int) bool {
	var a, b int
	if _, err := fmt.Sscanf(version, "%d.%d", &a, &b); err != nil {
		return false
	}
	return a > major || a == major && b >= minor
}

// cliEnvironment is this process's environment with our configuration file, and without what would change plans or
// output.
func cliEnvironment(config string) []string {
	var env []string
	for _, pair := range os.Environ() {
		name, _, _ := strings.Cut(pair, "=")
		switch {
		case name == "TF_CLI_CONFIG_FILE", name == "TF_DATA_DIR", name == "TF_WORKSPACE", name == "TF_REATTACH_PROVIDERS",
			strings.HasPrefix(name, "TF_CLI_ARGS"), strings.HasPrefix(name, "TF_LOG"):
			continue
		}
		env = append(env, pair)
	}
	return append(env, "TF_CLI_CONFIG_FILE="+config, "TF_IN_AUTOMATION=1", "CHECKPOINT_DISABLE=1")
}

// AzureCLI returns the path of az, or skips the test where it is absent.
func AzureCLI(t testing.TB) string {
	t.Helper()
	path, err := exec.LookPath("az")
	if err != nil {
		t.Skip("no az on PATH: the test runs where the Azure CLI is installed")
	}
	return path
}
