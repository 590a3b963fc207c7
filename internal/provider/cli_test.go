package provider

import (
	"bytes"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/aztenancy/terraform-provider-aztenancy/internal/acctest"
	"github.com/aztenancy/terraform-provider-aztenancy/internal/tenancy"
)

// cli is a folder with a configuration, in which Terraform runs the provider that was built from this tree, as users
// run it: with processes of their own.
type cli struct {
	t         *testing.T
	terraform acctest.CLI
	dir       string
}

func (w *world) cli(config string) *cli {
	w.t.Helper()
	c := &cli{t: w.t, terraform: terraform.found, dir: w.t.TempDir()}
	build := exec.CommandContext(w.t.Context(), "go", "build", "-o", filepath.Join(c.dir, "bin", "terraform-provider-aztenancy"),
		"github.com/aztenancy/terraform-provider-aztenancy")
	if out, err := build.CombinedOutput(); err != nil {
		w.t.Fatalf("build the provider: %v\n%s", err, out)
	}
	rc := fmt.Sprintf("provider_installation {\n  dev_overrides {\n    \"aztenancy/aztenancy\" = %q\n  }\n  direct {}\n}\n", filepath.Join(c.dir, "bin"))
	c.write("cli.tfrc", rc)
	c.terraform.Env = append(os.Environ(), "TF_IN_AUTOMATION=1", "TF_CLI_CONFIG_FILE="+filepath.Join(c.dir, "cli.tfrc"))
	c.write("main.tf", `
terraform {
  required_providers {
    aztenancy = { source = "aztenancy/aztenancy" }
  }
}
`+w.provider()+config)
	return c
}

func (c *cli) write(name, text string) {
	c.t.Helper()
	if err := os.WriteFile(filepath.Join(c.dir, name), []byte(text), 0o600); err != nil {
		c.t.Fatal(err)
	}
}

func (c *cli) command(args ...string) (*exec.Cmd, *bytes.Buffer) {
	cmd := exec.CommandContext(c.t.Context(), c.terraform.Path, args...)
	cmd.Dir, cmd.Env = c.dir, c.terraform.Env
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	return cmd, &out
}

// run runs Terraform, wants an exit code, and returns what was printed.
func (c *cli) run(code int, args ...string) string {
	c.t.Helper()
	cmd, out := c.command(append(args, "-input=false", "-no-color")...)
	_ = cmd.Run() // its exit code says it
	if got := cmd.ProcessState.ExitCode(); got != code {
		c.t.Fatalf("terraform %s: exit code %d, want %d\n%s", strings.Join(args, " "), got, code, out)
	}
	return out.String()
}

// state is the state file.
func (c *cli) state() string {
	c.t.Helper()
	b, err := os.ReadFile(filepath.Join(c.dir, "terraform.tfstate"))
	if err != nil {
		c.t.Fatal(err)
	}
	return string(b)
}

// movable is contoso, whose model is a variable.
const movable = `
variable "model" { default = "pool" }

locals {
  models = {
    pool      = aztenancy_isolation_model.pool.name
    own-table = aztenancy_isolation_model.own_table.name
  }
}
`

func mustPrint(t *testing.T, out, words string) {
	t.Helper()
	if !says(words).MatchString(out) {
		t.Errorf("%q is not printed:\n%s", words, out)
	}
}

func TestPlanOfATenantThatWasMovedOutsideNamesBothWaysOut(t *testing.T) {
	w := newWorld(t)
	c := w.cli(orders + movable + contoso("isolation_model = local.models[var.model]"))
	c.run(0, "apply", "-auto-approve")
	w.fill("contoso", 5)
	w.moveOutside("contoso", "own-table", "")
	for range 2 { // again, not only the first time
		out := c.run(1, "plan")
		mustPrint(t, out, `Tenant "contoso" was moved outside Terraform`)
		mustPrint(t, out, `to leave it where it is, set`)
		mustPrint(t, out, `terraform apply -refresh-only`)
	}
	c.run(1, "apply", "-auto-approve")
	if err := w.isAt("contoso", "own-table", tenancy.Active)(nil); err != nil {
		t.Error(err)
	}
	// One way out: the configuration says where it is. Nothing is to change.
	c.run(0, "plan", "-detailed-exitcode", "-var", "model=own-table")
	w.purge("contoso")
	// The other: what is, is accepted; the next plan moves it, and says so.
	c.run(0, "apply", "-refresh-only", "-auto-approve")
	out := c.run(2, "plan", "-detailed-exitcode")
	mustPrint(t, out, `~ isolation_model = "own-table" -> "pool"`)
}

func TestInterruptedTerraformKeepsTheOldPlaceAndResumes(t *testing.T) {
	w := newWorld(t)
	c := w.cli(orders + movable + contoso("isolation_model = local.models[var.model]"))
	c.run(0, "apply", "-auto-approve")
	w.fill("contoso", 350)
	var hold atomic.Bool
	reached := make(chan struct{}, 1)
	w.server.Wrap(func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
			// Only the verification reads the target: the interrupt comes while it waits for an answer.
			if hold.Load() && r.Method == http.MethodGet && strings.Contains(r.URL.Path, "/Orderscontoso") {
				select {
				case reached <- struct{}{}:
				default:
				}
				<-r.Context().Done()
				return
			}
			next.ServeHTTP(rw, r)
		})
	})
	for _, signal := range []syscall.Signal{syscall.SIGINT, syscall.SIGKILL} {
		plan := filepath.Join(c.dir, "move.tfplan")
		c.run(0, "plan", "-out="+plan, "-var", "model=own-table")
		hold.Store(true)
		cmd, out := c.command("apply", "-input=false", "-no-color", plan)
		cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		ended := make(chan error, 1)
		go func() { ended <- cmd.Wait() }()
		select {
		case <-reached:
		case err := <-ended:
			t.Fatalf("the apply ended before it verified: %v\n%s", err, out)
		}
		// The terminal sends an interrupt to the whole group; SIGKILL here takes the plugin along, as a lost machine does.
		if err := syscall.Kill(-cmd.Process.Pid, signal); err != nil {
			t.Fatal(err)
		}
		if err := <-ended; err == nil {
			t.Fatalf("after %v the apply succeeded:\n%s", signal, out)
		}
		hold.Store(false)
		if signal == syscall.SIGINT {
			mustPrint(t, out.String(), "Apply again to go on")
		}
		if !strings.Contains(c.state(), `"isolation_model": "pool"`) {
			t.Errorf("after %v the state does not keep the old place:\n%s", signal, c.state())
		}
		select {
		case <-reached:
		default:
		}
	}
	out := c.run(0, "apply", "-auto-approve", "-var", "model=own-table")
	mustPrint(t, out, "Resources: 0 added, 1 changed, 0 destroyed")
	if err := w.isAt("contoso", "own-table", tenancy.Active)(nil); err != nil {
		t.Error(err)
	}
	if n := w.entities("home", "Orderscontoso"); n != 350 {
		t.Errorf("%d entities at the new place, want 350", n)
	}
	for name, key := range w.server.Accounts {
		if strings.Contains(c.state(), key) {
			t.Errorf("the state file holds the key of %s", name)
		}
	}
}
