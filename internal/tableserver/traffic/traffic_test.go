package traffic

import (
	"bytes"
	"encoding/json"
	"net/url"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// What space-saving promises (Metwally et al. 2005): a count is never too small, too large by its overcount at most,
// and whoever has more than total/capacity is there.
func TestHeatFindsTheBusiestPartitions(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const capacity = 5
		h := NewHeat(capacity)
		exact, total := map[Partition]uint64{}, uint64(0)
		for range rapid.IntRange(0, 300).Draw(t, "adds") {
			p := Partition{"home", "t", rapid.StringMatching("[a-j]").Draw(t, "pk")}
			n := rapid.IntRange(1, 20).Draw(t, "n")
			h.Add(p, n)
			exact[p] += uint64(n)
			total += uint64(n)
		}
		found := map[Partition]bool{}
		top := h.Top(capacity + 1)
		if len(top) > capacity || len(h.at) > capacity {
			t.Fatalf("%d counters of %d", len(top), capacity)
		}
		for i, p := range top {
			found[p.Partition] = true
			if p.Entities < exact[p.Partition] || p.Entities-p.Overcount > exact[p.Partition] {
				t.Fatalf("%v, but there were %d", p, exact[p.Partition])
			}
			if i > 0 && top[i-1].Entities < p.Entities {
				t.Fatalf("not in order: %v", top)
			}
		}
		for p, n := range exact {
			if n > total/capacity && !found[p] {
				t.Fatalf("%v has %d of %d and no counter", p, n, total)
			}
		}
	})
}

const secretSignature = "c2VjcmV0LXNpZ25hdHVyZQ"

func sample() *Request {
	u, _ := url.Parse("/home/Orders(PartitionKey='Contoso',RowKey='1')?sv=2019-02-02&%73ig=" + secretSignature +
		"&SIG=" + secretSignature + "&sig=" + secretSignature + "&$filter=PartitionKey%20eq%20'Contoso'")
	return &Request{Start: time.Date(2026, 1, 2, 3, 4, 5, 600, time.UTC), Duration: 1500 * time.Microsecond, ID: "id", ClientID: "client",
		Operation: QueryEntity, Account: "home", Scheme: "SAS", Table: "Orders", PartitionKey: "Contoso", Keyed: true, Entities: 1,
		Status: 200, BytesIn: 3, BytesOut: 4, Remote: "127.0.0.1:5", URL: u, Version: "2019-02-02"}
}

func line(t *testing.T, fields Fields, keys Keys, r *Request) (map[string]any, string) {
	t.Helper()
	var b bytes.Buffer
	NewLog(&b, fields, keys).Write(r, "127.0.0.1:10002")
	var out map[string]any
	if err := json.Unmarshal(b.Bytes(), &out); err != nil || strings.Count(b.String(), "\n") != 1 {
		t.Fatalf("not one line of JSON: %v: %q", err, b.String())
	}
	return out, b.String()
}

func TestLogHoldsNoSignatureAndNoKeyUnlessAskedFor(t *testing.T) {
	for _, fields := range []Fields{OwnFields, AzureFields} {
		for _, keys := range []Keys{HashedKeys, PlainKeys} {
			_, text := line(t, fields, keys, sample())
			if strings.Contains(text, secretSignature) {
				t.Errorf("fields %d, keys %d: the signature is in %s", fields, keys, text)
			}
			if shown := strings.Contains(text, "Contoso"); shown != (keys == PlainKeys) {
				t.Errorf("fields %d, keys %d: PartitionKey shown: %v in %s", fields, keys, shown, text)
			}
		}
	}
}

func TestAzureFieldsAreThoseOfStorageTableLogs(t *testing.T) {
	got, _ := line(t, AzureFields, HashedKeys, sample())
	for name, want := range map[string]any{ // Azure Monitor reference, StorageTableLogs
		"TimeGenerated": "2026-01-02T03:04:05.0000006Z", "AccountName": "home", "OperationName": "QueryEntity", "StatusCode": "200",
		"StatusText": "SASSuccess", "DurationMs": 1.5, "CallerIpAddress": "127.0.0.1:5", "AuthenticationType": "SAS", "CorrelationId": "id",
		"ClientRequestId": "client", "RequestBodySize": 3.0, "ResponseBodySize": 4.0, "Category": "StorageRead", "ServiceType": "table",
		"Uri": "http://127.0.0.1:10002/home/Orders", "Protocol": "HTTP",
	} {
		if got[name] != want {
			t.Errorf("%s is %v, want %v", name, got[name], want)
		}
	}
}

func TestOperationsAreFoundByNameAndGroup(t *testing.T) {
	if got, _ := ParseOperations("insertentity|QueryEntity"); len(got) != 2 {
		t.Errorf("got %v", got)
	}
	read, _ := ParseOperations("read")
	write, _ := ParseOperations("write")
	if len(read)+len(write) != len(categories) {
		t.Errorf("read %v and write %v are not all", read, write)
	}
	if _, unknown := ParseOperations("read|"); unknown != "" {
		t.Errorf("named %q", unknown)
	}
}
