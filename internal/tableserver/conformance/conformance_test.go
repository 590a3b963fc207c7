package conformance

import (
	"context"
	"flag"
	"fmt"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/aztenancy/terraform-provider-aztenancy/internal/acctest"
)

// connection is the account for TestEndpoint; make conformance sets the variable. It holds a key, so that it is no flag.
const connection = "CONFORMANCE_CONNECTION_STRING"

var server = flag.String("server", "", "what stands behind "+connection+": azurite, or nothing for the service itself")

// cases is the whole table.
func cases() []exchange {
	var all []exchange
	for _, section := range [][]exchange{tableCases, headerCases, serviceCases, formatCases, inputCases(), valueCases(), limitCases(),
		queryCases(), comparisonCases(), pageCases(), batchCases(), concurrencyCases, authorizationCases, errorCases} {
		all = append(all, section...)
	}
	return all
}

func TestTableserver(t *testing.T) {
	s := acctest.StartServer(t)
	conform(t, target(t, connectionString(s)), nil)
}

// The account can stand in the host's name, as it does in the cloud, instead of in the path (reference §1.1).
func TestTableserverByHostName(t *testing.T) {
	s := acctest.StartServer(t)
	to := target(t, "AccountName="+acctest.DefaultAccount+";AccountKey="+s.Accounts[acctest.DefaultAccount]+
		";DefaultEndpointsProtocol=http;EndpointSuffix=localhost:10002")
	to.client.Transport = &http.Transport{DisableCompression: true,
		DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, network, strings.TrimPrefix(s.Endpoint, "http://"))
		}}
	t.Cleanup(to.client.CloseIdleConnections)
	conform(t, to, nil)
}

func TestAzurite(t *testing.T) {
	s := acctest.StartAzurite(t)
	conform(t, target(t, connectionString(s)), azuriteDifferences)
}

func TestEndpoint(t *testing.T) {
	to := os.Getenv(connection)
	if to == "" {
		t.Skipf("%s names no account: nothing to compare with", connection)
	}
	var differences []difference
	if *server == "azurite" {
		differences = azuriteDifferences
	}
	conform(t, target(t, to), differences)
}

func target(t *testing.T, connection string) *account {
	t.Helper()
	to, err := newAccount(connection)
	if err != nil {
		t.Fatal(err)
	}
	return to
}

func connectionString(s *acctest.Server) string { return s.ConnectionString(acctest.DefaultAccount) }

// conform runs every case. A case that is not listed must not differ; one that is listed must.
func conform(t *testing.T, to *account, known []difference) {
	listed := reasons(t, known)
	names := make(map[string]bool)
	run := fmt.Sprintf("%x", time.Now().UnixMilli())
	for i, x := range cases() {
		if names[x.name] || x.source == "" {
			t.Fatalf("case %q: give it a name of its own and a source", x.name)
		}
		names[x.name] = true
		t.Run(x.name, func(t *testing.T) {
			s := &session{t: t, target: to, table: fmt.Sprintf("Conf%s%d", run, i), spare: fmt.Sprintf("Spare%s%d", run, i)}
			differences := s.run(x)
			reason, isListed := listed[x.name]
			switch {
			case isListed && len(differences) == 0:
				t.Errorf("no longer differs, take it off the list: %s", reason)
			case !isListed && len(differences) > 0:
				t.Errorf("differs from %s:\n\t%s", x.source, strings.Join(differences, "\n\t"))
			}
		})
	}
	for name := range listed {
		if !names[name] {
			t.Errorf("the list of differences names %q, which is no case", name)
		}
	}
}

// reasons maps the cases of the differences to their reasons.
func reasons(t *testing.T, known []difference) map[string]string {
	listed := make(map[string]string)
	for _, d := range known {
		for _, name := range d.cases {
			if _, twice := listed[name]; twice {
				t.Errorf("the list of differences names %q twice", name)
			}
			listed[name] = d.reason
		}
	}
	return listed
}
