package tablestorage

import (
	"strings"
	"testing"
)

const testSAS = "sv=2019-02-02&ss=t&srt=sco&sp=r&se=2027-06-30&sig=c2VjcmV0"

func TestConnectionStringsOfEveryShapeAreRead(t *testing.T) {
	for name, c := range map[string]struct{ text, account, endpoint, credential string }{
		// Configure Azure Storage connection strings (Azure documentation)
		"emulator": {"UseDevelopmentStorage=true", "devstoreaccount1", "http://127.0.0.1:10002/devstoreaccount1", "account key"},
		"emulator behind a host": {"UseDevelopmentStorage=true;DevelopmentStorageProxyUri=http://localhost;", "devstoreaccount1",
			"http://localhost:10002/devstoreaccount1", "account key"},
		"emulator, long": {"DefaultEndpointsProtocol=http;AccountName=devstoreaccount1;AccountKey=" + DevelopmentKey +
			";BlobEndpoint=http://127.0.0.1:10000/devstoreaccount1;TableEndpoint=http://127.0.0.1:10002/devstoreaccount1;",
			"devstoreaccount1", "http://127.0.0.1:10002/devstoreaccount1", "account key"},
		"portal": {"DefaultEndpointsProtocol=https;AccountName=acct;AccountKey=" + testKey + ";EndpointSuffix=core.windows.net",
			"acct", "https://acct.table.core.windows.net", "account key"},
		"sovereign": {"DefaultEndpointsProtocol=https;AccountName=acct;AccountKey=" + testKey + ";EndpointSuffix=core.chinacloudapi.cn",
			"acct", "https://acct.table.core.chinacloudapi.cn", "account key"},
		"no protocol, no suffix": {"AccountName=acct;AccountKey=" + testKey, "acct", "https://acct.table.core.windows.net", "account key"},
		"letter case and space":  {" accountname = acct ; ACCOUNTKEY=" + testKey + ";;", "acct", "https://acct.table.core.windows.net", "account key"},
		"portal's SAS": {"BlobEndpoint=https://acct.blob.core.windows.net/;TableEndpoint=https://acct.table.core.windows.net/;" +
			"SharedAccessSignature=" + testSAS, "acct", "https://acct.table.core.windows.net", "SAS token"},
		"SAS with a name":   {"AccountName=acct;SharedAccessSignature=?" + testSAS, "acct", "https://acct.table.core.windows.net", "SAS token"},
		"key with endpoint": {"AccountKey=" + testKey + ";TableEndpoint=https://acct.table.core.windows.net", "acct", "https://acct.table.core.windows.net", "account key"},
		"own domain":        {"AccountName=acct;AccountKey=" + testKey + ";TableEndpoint=https://tables.example.org", "acct", "https://tables.example.org", "account key"},
		"secondary":         {"AccountKey=" + testKey + ";TableEndpoint=https://acct-secondary.table.core.windows.net", "acct", "https://acct-secondary.table.core.windows.net", "account key"},
		"address without the account": {"AccountName=acct;AccountKey=" + testKey + ";TableEndpoint=http://[::1]:10002", "acct",
			"http://[::1]:10002/acct", "account key"},
		"production style emulator": {"AccountKey=" + testKey + ";TableEndpoint=http://acct.table.localhost:10002", "acct",
			"http://acct.table.localhost:10002", "account key"},
	} {
		t.Run(name, func(t *testing.T) {
			a, err := ParseConnectionString(c.text)
			if err != nil {
				t.Fatal(err)
			}
			if a.Name != c.account || a.TableEndpoint != c.endpoint || kindOf(a.Credential) != c.credential {
				t.Errorf("got %s at %s with %s", a.Name, a.TableEndpoint, kindOf(a.Credential))
			}
		})
	}
}

// Every error must say what is wrong, and no error may hold what could be a secret.
func TestBadConnectionStringsAreRefusedWithoutShowingThem(t *testing.T) {
	const secret = "c2VjcmV0c2VjcmV0"
	for name, c := range map[string]struct{ text, says string }{
		"empty":           {"", "empty"},
		"only separators": {" ; ;", "empty"},
		"no pair":         {"AccountName=acct;" + secret, "part 2"},
		"twice":           {"AccountName=acct;AccountKey=" + secret + ";accountkey=" + secret, "part 3 repeats"},
		"no credential":   {"AccountName=acct", "no credential"},
		"two credentials": {"AccountName=acct;AccountKey=" + secret + ";SharedAccessSignature=sig=" + secret, "more than one credential"},
		"no name":         {"AccountKey=" + secret, "account name"},
		"bad key":         {"AccountName=acct;AccountKey=" + secret + "!", "not base64"},
		"no signature":    {"AccountName=acct;SharedAccessSignature=sv=2019-02-02&" + secret, "no signature"},
		"SAS in endpoint": {"TableEndpoint=https://acct.table.core.windows.net/?sig=" + secret + ";AccountKey=" + testKey, "has a query"},
		"bad protocol":    {"DefaultEndpointsProtocol=ftp;AccountName=acct;AccountKey=" + testKey, "DefaultEndpointsProtocol"},
		"bad emulator":    {"UseDevelopmentStorage=yes", "UseDevelopmentStorage"},
		"bad name":        {"AccountName=My_Account;AccountKey=" + testKey, "lower-case"},
		"http elsewhere":  {"DefaultEndpointsProtocol=http;AccountName=acct;AccountKey=" + testKey, "plain http"},
		"user in URL":     {"TableEndpoint=https://me:" + secret + "@acct.table.core.windows.net;AccountKey=" + testKey, "user name"},
		"nameless host":   {"TableEndpoint=http://127.0.0.1:10002;AccountKey=" + testKey, "account name"},
		"not a URL":       {"TableEndpoint=acct.table.core.windows.net;AccountKey=" + testKey, "write it like https://"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := ParseConnectionString(c.text)
			if err == nil {
				t.Fatal("taken")
			}
			if !strings.Contains(err.Error(), c.says) || strings.Contains(err.Error(), secret) {
				t.Errorf("got %q, want it to say %q and to hide %q", err, c.says, secret)
			}
		})
	}
}

func FuzzParseConnectionString(f *testing.F) {
	for _, s := range []string{"UseDevelopmentStorage=true", "AccountName=acct;AccountKey=" + testKey, "a=b;=;",
		"TableEndpoint=http://[::1]:10002;AccountName=acct;SharedAccessSignature=" + testSAS, "DevelopmentStorageProxyUri=%zz;UseDevelopmentStorage=true"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		a, err := ParseConnectionString(s)
		if err != nil {
			return
		}
		if _, err := NewClient(a, nil); err != nil {
			t.Errorf("%q was taken, and no client can be made of it: %v", s, err)
		}
		if strings.HasSuffix(a.TableEndpoint, "/") {
			t.Errorf("endpoint %s", a.TableEndpoint)
		}
	})
}
