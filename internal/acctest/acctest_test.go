package acctest_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/data/aztables"

	"github.com/aztenancy/terraform-provider-aztenancy/internal/acctest"
	"github.com/aztenancy/terraform-provider-aztenancy/internal/tablestorage"
)

func client(t *testing.T, s *acctest.Server, account string) *tablestorage.Client {
	t.Helper()
	a, err := tablestorage.ParseConnectionString(s.ConnectionString(account))
	if err != nil {
		t.Fatal(err)
	}
	c, err := tablestorage.NewClient(a, nil)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestServersAnswerForEveryAccountWithItsOwnKey(t *testing.T) {
	for name, start := range map[string]func(testing.TB, ...acctest.Option) *acctest.Server{
		"tableserver": acctest.StartServer, "Azurite": acctest.StartAzurite,
	} {
		t.Run(name, func(t *testing.T) {
			s := start(t, acctest.WithAccounts("first", "second"))
			for _, account := range []string{"first", "second"} {
				if _, err := client(t, s, account).CreateTable(t.Context(), "Of"+account); err != nil {
					t.Fatal(err)
				}
			}
			tables, err := client(t, s, "first").Tables(t.Context(), "")
			if err != nil || len(tables) != 1 || tables[0] != "Offirst" {
				t.Errorf("got %v %v", tables, err)
			}
			s.Accounts["first"] = s.Accounts["second"]
			if _, err := client(t, s, "first").Tables(t.Context(), ""); err == nil || !strings.Contains(err.Error(), "account key") {
				t.Errorf("the other account's key: %v", err)
			}
		})
	}
}

func TestWrapsCountAndFaultRequests(t *testing.T) {
	var counted atomic.Int32
	s := acctest.StartServer(t, acctest.WithWrap(func(h http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			counted.Add(1)
			h.ServeHTTP(w, r)
		})
	}))
	c := client(t, s, acctest.DefaultAccount)
	if _, err := c.CreateTable(t.Context(), "Orders"); err != nil || counted.Load() != 1 {
		t.Fatalf("%d requests: %v", counted.Load(), err)
	}
	faulty := true
	s.Wrap(func(h http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if faulty { // the server does it, and its answer is lost
				faulty = false
				h.ServeHTTP(httptest.NewRecorder(), r)
				w.WriteHeader(http.StatusInternalServerError)
				return
			}
			h.ServeHTTP(w, r)
		})
	})
	if err := c.DeleteTable(t.Context(), "Orders"); err != nil || counted.Load() != 3 {
		t.Errorf("%d requests: %v", counted.Load(), err)
	}
}

func TestTerraformRunsWithAConfigurationOfOurOwn(t *testing.T) {
	t.Setenv("TF_CLI_CONFIG_FILE", "/does/not/exist")
	t.Setenv("TF_CLI_ARGS", "-no-such-flag")
	cli := acctest.Terraform(t)
	cmd := exec.CommandContext(t.Context(), cli.Path, "version")
	cmd.Env = cli.Env
	if out, err := cmd.CombinedOutput(); err != nil || strings.Contains(string(out), "does/not/exist") {
		t.Errorf("%v: %s", err, out)
	}
}

func TestControlSteersTheRunningServer(t *testing.T) {
	server := acctest.StartServer(t)
	client, err := aztables.NewServiceClientFromConnectionString(server.ConnectionString(acctest.DefaultAccount),
		&aztables.ClientOptions{ClientOptions: policy.ClientOptions{Retry: policy.RetryOptions{MaxRetries: -1}}})
	if err != nil {
		t.Fatal(err)
	}
	if err := server.Control.SetFaults(t.Context(), 0, "operation=CreateTable,at=after,status=500,count=1"); err != nil {
		t.Fatal(err)
	}
	if _, err := client.CreateTable(t.Context(), "Orders", nil); err == nil {
		t.Error("no fault was injected")
	}
	var failure *azcore.ResponseError
	if _, err := client.CreateTable(t.Context(), "Orders", nil); !errors.As(err, &failure) || failure.ErrorCode != "TableAlreadyExists" {
		t.Errorf("the table that was made before the fault: %v", err)
	}
}
