package tablestorage

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"

	azlog "github.com/Azure/azure-sdk-for-go/sdk/azcore/log"

	"github.com/aztenancy/terraform-provider-aztenancy/internal/edm"
)

// marker is in every secret of these tests.
const marker = "c2VjcmV0"

func TestSecretsAreNeverPrinted(t *testing.T) {
	account := func(c AccountConfig) Account {
		t.Helper()
		a, err := c.Account()
		if err != nil {
			t.Fatal(err)
		}
		return a
	}
	entra := &EntraConfig{TenantID: "t", ClientID: "c", ClientSecret: marker, ClientCertificatePassword: marker, OIDCToken: marker}
	keyed := AccountConfig{Name: "acct", Key: marker}
	signed := AccountConfig{Name: "acct", SAS: "sv=1&sig=" + marker}
	whole := AccountConfig{ConnectionString: "AccountName=acct;AccountKey=" + marker}
	clients, err := NewAccounts(Config{Home: keyed, Accounts: map[string]AccountConfig{"signed": signed}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	type hidden struct {
		secret  Secret
		account Account
	}
	for name, v := range map[string]any{
		"secret":             NewSecret(marker),
		"pointer to secret":  new(NewSecret(marker)),
		"unexported field":   hidden{NewSecret(marker), account(keyed)},
		"account with key":   account(keyed),
		"account with SAS":   account(signed),
		"account with Entra": account(AccountConfig{Name: "acct", Entra: &EntraConfig{TenantID: "t", ClientID: "c", ClientSecret: marker}}),
		"from a string":      account(whole),
		"key config":         keyed,
		"SAS config":         signed,
		"string config":      whole,
		"pointer to config":  &whole,
		"Entra config":       AccountConfig{Name: "acct", Entra: entra},
		"Entra alone":        entra,
		"SAS in endpoint":    AccountConfig{Endpoint: "https://acct.table.core.windows.net?sig=" + marker},
		"config":             Config{Home: keyed, Accounts: map[string]AccountConfig{"a": signed}},
		"clients":            clients,
		"client":             clients.Home(),
		"table":              clients.Home().Table("Orders"),
	} {
		for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%d", "%x"} {
			if text := fmt.Sprintf(verb, v); strings.Contains(text, marker) || strings.Contains(text, fmt.Sprintf("%x", marker)) {
				t.Errorf("%s as %s: %s", name, verb, text)
			}
		}
		text, err := json.Marshal(v)
		if err != nil || strings.Contains(string(text), marker) {
			t.Errorf("%s as JSON: %s %v", name, text, err)
		}
	}
	if text := fmt.Sprintf("%v", keyed); !strings.Contains(text, redacted) || !strings.Contains(text, "acct") {
		t.Errorf("a configuration prints as %s", text)
	}
}

// Neither azcore's log nor an error may show a signature, also where the transport puts the URL into its error.
func TestSignaturesAreNeverLogged(t *testing.T) {
	var mu sync.Mutex
	var logged strings.Builder
	azlog.SetListener(func(_ azlog.Event, text string) {
		mu.Lock()
		defer mu.Unlock()
		logged.WriteString(text + "\n")
	})
	t.Cleanup(func() { azlog.SetListener(nil) })
	fails := func(cause error) answer {
		u := "https://acct.table.core.windows.net/Orders()?sv=1&sig=" + marker
		return answer{err: &url.Error{Op: "Get", URL: u, Err: &url.Error{Op: "Get", URL: u, Err: cause}}}
	}
	refusal := answer{status: 403, body: jsonError("AuthenticationFailed", "no")}
	for name, credential := range map[string]Credential{
		"SAS": SAS{NewSecret("sv=1&sig=" + marker)},
		"key": SharedKey{NewSecret(marker)},
	} {
		for _, a := range []answer{{status: 204}, refusal, fails(errors.New("connection reset")), fails(context.DeadlineExceeded), {status: 500}} {
			c, transport := cannedClientWith(t, credential, a)
			err := c.Table("Orders").Delete(t.Context(), edm.Key{PartitionKey: "p", RowKey: "r"}, AnyETag)
			if text := fmt.Sprintf("%v %+v %#v", err, err, err); strings.Contains(text, marker) {
				t.Errorf("%s: error shows the secret: %s", name, text)
			}
			if name == "SAS" && !strings.Contains(transport.sent[0].url, "sig="+marker) {
				t.Errorf("the SAS was not sent: %s", transport.sent[0].url)
			}
			if name == "key" && !strings.HasPrefix(transport.sent[0].header.Get("Authorization"), "SharedKeyLite acct:") {
				t.Errorf("the request was not signed: %v", transport.sent[0].header)
			}
		}
	}
	mu.Lock()
	defer mu.Unlock()
	text := logged.String()
	if !strings.Contains(text, "Orders") || !strings.Contains(text, http.MethodDelete) {
		t.Fatal("azcore logged nothing: the test tests nothing")
	}
	if strings.Contains(text, marker) || strings.Contains(text, "SharedKeyLite acct:") {
		t.Errorf("azcore logged a secret:\n%s", text)
	}
}
