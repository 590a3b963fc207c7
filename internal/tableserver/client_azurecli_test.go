package tableserver_test

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/aztenancy/terraform-provider-aztenancy/internal/acctest"
)

// azureCLI runs az against the default account of a server.
type azureCLI struct {
	t      *testing.T
	path   string
	env    []string
	server *acctest.Server
}

func newAzureCLI(t *testing.T) *azureCLI {
	t.Helper()
	if testing.Short() {
		t.Skip("each az command takes two seconds")
	}
	t.Parallel()
	az := &azureCLI{t: t, path: acctest.AzureCLI(t), server: acctest.StartServer(t)}
	for _, pair := range os.Environ() {
		if !strings.HasPrefix(pair, "AZURE_") {
			az.env = append(az.env, pair)
		}
	}
	az.env = append(az.env, "AZURE_CONFIG_DIR="+t.TempDir(), "AZURE_CORE_COLLECT_TELEMETRY=no")
	return az
}

// run returns what az printed; a failure is what it printed as an error.
func (az *azureCLI) run(credential []string, args ...string) (string, error) {
	var out, errOut bytes.Buffer
	cmd := exec.CommandContext(az.t.Context(), az.path, append(append([]string{"storage"}, args...), credential...)...)
	cmd.Env, cmd.Stdout, cmd.Stderr = az.env, &out, &errOut
	if err := cmd.Run(); err != nil {
		return errOut.String(), err
	}
	return strings.TrimSpace(out.String()), nil
}

// do runs az with the account key.
func (az *azureCLI) do(args ...string) string {
	az.t.Helper()
	out, err := az.run([]string{"--connection-string", az.server.ConnectionString(acctest.DefaultAccount)}, args...)
	if err != nil {
		az.t.Fatalf("az %s: %v: %s", strings.Join(args, " "), err, out)
	}
	return out
}

// refused runs az with the account key and expects an error with the text.
func (az *azureCLI) refused(text string, args ...string) {
	az.t.Helper()
	out, err := az.run([]string{"--connection-string", az.server.ConnectionString(acctest.DefaultAccount)}, args...)
	if err == nil || !strings.Contains(out, text) {
		az.t.Errorf("az %s: %s, want an error with %q", strings.Join(args, " "), out, text)
	}
}

// withToken runs az with a SAS.
func (az *azureCLI) withToken(token string, args ...string) (string, error) {
	return az.run([]string{"--sas-token", token, "--table-endpoint", az.server.TableEndpoint(acctest.DefaultAccount)}, args...)
}

// wantJSON checks members of a JSON object that az printed.
func (az *azureCLI) wantJSON(out string, want map[string]any) {
	az.t.Helper()
	var got map[string]any
	if err := json.Unmarshal([]byte(out), &got); err != nil {
		az.t.Fatalf("%s: %v", out, err)
	}
	for name, value := range want {
		if got[name] != value {
			az.t.Errorf("%s is %v, want %v, in %s", name, got[name], value, out)
		}
	}
}

func TestAzureCLIManagesTablesEntitiesAndPolicies(t *testing.T) {
	az := newAzureCLI(t)
	az.wantJSON(az.do("table", "create", "--name", "Orders"), map[string]any{"created": true})
	az.refused("already exists", "table", "create", "--name", "orders", "--fail-on-exist")
	az.wantJSON(az.do("table", "exists", "--name", "Orders"), map[string]any{"exists": true})
	if out := az.do("table", "list", "--query", "[].name", "-o", "tsv"); out != "Orders" {
		t.Errorf("table list prints %q", out)
	}

	key := []string{"--partition-key", "contoso|00", "--row-key", "it's 1"}
	entity := func(properties ...string) []string {
		return append([]string{"--entity", "PartitionKey=contoso|00", "RowKey=it's 1"}, properties...)
	}
	on := func(command string, args ...string) []string {
		return append([]string{"entity", command, "--table-name", "Orders"}, args...)
	}
	az.do(on("insert", entity("N=5", "N@odata.type=Edm.Int32", "Price=3.5", "Price@odata.type=Edm.Double", "Text=hello")...)...)
	az.refused("already exists", on("insert", entity()...)...)
	az.wantJSON(az.do(on("show", key...)...), map[string]any{"PartitionKey": "contoso|00", "RowKey": "it's 1", "N": 5.0, "Price": 3.5, "Text": "hello"})
	az.do(on("merge", entity("More=x")...)...)
	az.wantJSON(az.do(on("show", key...)...), map[string]any{"Text": "hello", "More": "x"})
	az.do(on("replace", entity("Only=y")...)...)
	if out := az.do(on("query", "--filter", "Only eq 'y' and PartitionKey ge 'contoso|'", "--query", "items[].[Text,Only]", "-o", "tsv")...); out != "None\ty" {
		t.Errorf("entity query prints %q", out)
	}

	az.do("table", "policy", "create", "--table-name", "Orders", "--name", "readers", "--permissions", "r", "--expiry", "2100-01-01T00:00:00Z")
	if out := az.do("table", "policy", "list", "--table-name", "Orders", "--query", "readers.permission", "-o", "tsv"); out != "r" {
		t.Errorf("policy list prints %q", out)
	}
	byPolicy := az.do("table", "generate-sas", "--name", "Orders", "--policy-name", "readers", "-o", "tsv")
	if out, err := az.withToken(byPolicy, on("show", key...)...); err != nil {
		t.Errorf("with a token of the policy: %s", out)
	}
	if out, err := az.withToken(byPolicy, on("delete", key...)...); err == nil || !strings.Contains(out, "You do not have the required permissions") {
		t.Errorf("the readers' token deletes: %s", out)
	}
	elsewhere := az.do("table", "generate-sas", "--name", "Orders", "--permissions", "raud", "--expiry", "2100-01-01T00:00Z",
		"--start-pk", "fabrikam|00", "--end-pk", "fabrikam|15", "-o", "tsv")
	if out, err := az.withToken(elsewhere, on("query", "--query", "length(items)", "-o", "tsv")...); err != nil || out != "0" {
		t.Errorf("a token of another tenant reads %q", out)
	}
	if out, err := az.withToken(elsewhere, on("show", key...)...); err == nil {
		t.Errorf("a token of another tenant shows %s", out)
	}

	az.do(on("delete", key...)...)
	az.refused("does not exist", on("show", key...)...)
	az.wantJSON(az.do("table", "delete", "--name", "Orders"), map[string]any{"deleted": true})
	az.wantJSON(az.do("table", "exists", "--name", "Orders"), map[string]any{"exists": false})
}

func TestAzureCLIPagesThroughEntities(t *testing.T) {
	az := newAzureCLI(t)
	az.do("table", "create", "--name", "Pages")
	for _, rk := range []string{"1", "2"} {
		az.do("entity", "insert", "--table-name", "Pages", "--entity", "PartitionKey=p", "RowKey="+rk)
	}
	query := []string{"entity", "query", "--table-name", "Pages", "--num-results", "1"}
	var page struct {
		Items      []struct{ RowKey string }
		NextMarker map[string]string
	}
	if err := json.Unmarshal([]byte(az.do(query...)), &page); err != nil || len(page.Items) != 1 || page.Items[0].RowKey != "1" {
		t.Fatalf("the first page is %+v, %v", page, err)
	}
	args := append(query, "--marker")
	for name, value := range page.NextMarker {
		args = append(args, strings.ToLower(name)+"="+value)
	}
	page.Items = nil
	if err := json.Unmarshal([]byte(az.do(args...)), &page); err != nil || len(page.Items) != 1 || page.Items[0].RowKey != "2" {
		t.Fatalf("the second page is %+v, %v", page, err)
	}
}
