package tableserver

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/aztenancy/terraform-provider-aztenancy/internal/tableserver/control"
	"github.com/aztenancy/terraform-provider-aztenancy/internal/tableserver/throttle"
)

const controlToken = "a-token-for-tests"

// newControlled starts a server with a control surface and two accounts, of which the client has the first.
func newControlled(t *testing.T, o Testing) (*client, *control.Client) {
	t.Helper()
	o.ControlToken = controlToken
	s, addr := startServer(t, Options{InMemory: true, Testing: o, Accounts: []Account{{Name: "home"}, {Name: "other"}}})
	a := s.Accounts()[0]
	c := &client{t: t, account: a, endpoint: s.Endpoint(addr, a.Name)}
	c.do("POST", "Tables", `{"TableName":"Orders"}`).want(t, 201, "")
	return c, control.NewClient("http://"+addr.String(), controlToken)
}

// must fails the test with an error.
func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestSnapshotRestoresAccountWithETagsAndPolicies(t *testing.T) {
	c, ctl := newControlled(t, Testing{})
	c.do("POST", "Orders", `{"PartitionKey":"pü'","RowKey":"","text":"<&>\n","d":3.0,"big@odata.type":"Edm.Int64","big":"9007199254740993",`+
		`"t@odata.type":"Edm.DateTime","t":"2020-01-02T03:04:05.1234567Z","b@odata.type":"Edm.Binary","b":"AAEC","g@odata.type":"Edm.Guid",`+
		`"g":"c9da6455-213d-42c9-9a79-3e9149a57833","yes":true}`).want(t, 201, "")
	c.do("PUT", "Orders?comp=acl", `<SignedIdentifiers><SignedIdentifier><Id>p</Id><AccessPolicy><Expiry>2099-01-01</Expiry>`+
		`<Permission>r</Permission></AccessPolicy></SignedIdentifier></SignedIdentifiers>`).want(t, 204, "")
	c.do("POST", "Tables", `{"TableName":"Empty"}`).want(t, 201, "")
	c.do("PUT", "?restype=service&comp=properties", `<StorageServiceProperties><Cors><CorsRule><AllowedOrigins>http://a</AllowedOrigins>`+
		`<AllowedMethods>GET</AllowedMethods><MaxAgeInSeconds>5</MaxAgeInSeconds><ExposedHeaders></ExposedHeaders><AllowedHeaders></AllowedHeaders>`+
		`</CorsRule></Cors></StorageServiceProperties>`).want(t, 202, "")
	everything := func() string {
		return c.do("GET", "Orders", "", "Accept", "application/json;odata=fullmetadata").body + c.do("GET", "Orders?comp=acl", "").body +
			c.do("GET", "Tables", "").body + c.do("GET", "?restype=service&comp=properties", "").body
	}
	before := everything()
	var snapshot bytes.Buffer
	must(t, ctl.Snapshot(t.Context(), "home", &snapshot))

	c.do("DELETE", "Tables('Empty')", "").want(t, 204, "")
	insert(c, "later", "r").want(t, 201, "")
	c.do("POST", "Tables", `{"TableName":"Later"}`).want(t, 201, "")
	must(t, ctl.Restore(t.Context(), "home", bytes.NewReader(snapshot.Bytes())))
	if after := everything(); after != before {
		t.Errorf("after the restore:\n%s\nbefore:\n%s", after, before)
	}
	insert(c, "p", "new").want(t, 201, "") // the table takes writes

	must(t, ctl.Reset(t.Context(), "home"))
	c.do("GET", "Tables", "").want(t, 200, `"value":[]`)
	c.do("GET", "Orders", "").want(t, 404, "TableNotFound")
	must(t, ctl.Restore(t.Context(), "home", bytes.NewReader(snapshot.Bytes())))
	if after := everything(); after != before {
		t.Errorf("after reset and restore:\n%s\nbefore:\n%s", after, before)
	}
}

func TestWrongSnapshotChangesNothing(t *testing.T) {
	c, ctl := newControlled(t, Testing{})
	insert(c, "p", "r").want(t, 201, "")
	var b bytes.Buffer
	must(t, ctl.Snapshot(t.Context(), "home", &b))
	lines := strings.SplitAfter(strings.TrimSuffix(b.String(), "\n"), "\n")
	future := time.Now().Add(48 * time.Hour).UTC().Format("2006-01-02T15:04:05Z")
	for name, text := range map[string]string{
		"empty":          "",
		"torn":           strings.Join(lines[:len(lines)-1], ""),
		"line cut":       b.String()[:b.Len()-20],
		"entity missing": lines[0] + lines[1] + lines[3],
		"no table":       lines[0] + lines[2] + lines[3],
		"entity twice":   lines[0] + lines[1] + lines[2] + lines[2] + `{"tables":1,"entities":2}`,
		"table twice":    lines[0] + lines[1] + strings.Replace(lines[1], "Orders", "ORDERS", 1) + `{"tables":2,"entities":0}`,
		"bad table name": lines[0] + `{"table":"9"}` + "\n" + `{"tables":1,"entities":0}`,
		"other format":   strings.Replace(b.String(), "snapshot 1", "snapshot 2", 1),
		"after the end":  b.String() + lines[1],
		"no key":         lines[0] + lines[1] + `{"entity":{"PartitionKey":"p"}}` + "\n" + `{"tables":1,"entities":1}`,
		"future":         lines[0] + lines[1] + `{"entity":{"PartitionKey":"p","RowKey":"r","Timestamp":"` + future + `"}}` + "\n" + `{"tables":1,"entities":1}`,
	} {
		err := ctl.Restore(t.Context(), "home", strings.NewReader(text))
		var refused *control.Error
		if !errors.As(err, &refused) || refused.Status != 400 || !strings.Contains(err.Error(), "line ") {
			t.Errorf("%s: %v", name, err)
		}
	}
	c.do("GET", "Orders(PartitionKey='p',RowKey='r')", "").want(t, 200, "")
	insert(c, "p", "s").want(t, 201, "")
}

func TestResetOfOneAccountLeavesTheOther(t *testing.T) {
	c, ctl := newControlled(t, Testing{})
	insert(c, "p", "r").want(t, 201, "")
	must(t, ctl.Reset(t.Context(), "other"))
	c.do("GET", "Orders(PartitionKey='p',RowKey='r')", "").want(t, 200, "")
	var refused *control.Error
	if err := ctl.Reset(t.Context(), "nobody"); !errors.As(err, &refused) || refused.Status != 404 {
		t.Errorf("an account that is not there: %v", err)
	}
}

func TestFaultsAndTargetsChangeWhileTheServerRuns(t *testing.T) {
	clock := newManualClock()
	c, ctl := newControlled(t, Testing{Now: clock.now, Metrics: true})
	ctx := t.Context()
	must(t, ctl.SetFaults(ctx, 0, "operation=InsertEntity,status=503,count=1"))
	must(t, ctl.AddFaults(ctx, "operation=InsertEntity,status=500,count=1"))
	insert(c, "p", "r").want(t, 503, "")
	insert(c, "p", "r").want(t, 500, "")
	insert(c, "p", "r").want(t, 201, "")
	reports, err := ctl.Faults(ctx)
	if err != nil || len(reports) != 2 || reports[0].Hit != 1 || reports[0].Matched != 3 || reports[1].Matched != 2 {
		t.Errorf("reports %+v, %v", reports, err)
	}
	if err := ctl.SetFaults(ctx, 0, "drop", "nonsense"); err == nil {
		t.Error("a wrong rule is taken")
	}
	if reports, _ := ctl.Faults(ctx); len(reports) != 2 {
		t.Errorf("a wrong rule changed the others: %+v", reports)
	}
	must(t, ctl.SetFaults(ctx, 0))
	must(t, ctl.SetScaleTargets(ctx, throttle.Targets{Partition: 1}))
	insert(c, "p", "1").want(t, 201, "")
	insert(c, "p", "2").want(t, 503, "ServerBusy")
	if err := ctl.SetScaleTargets(ctx, throttle.Targets{Partition: -1}); err == nil {
		t.Error("a negative target is taken")
	}
	must(t, ctl.SetScaleTargets(ctx, throttle.Targets{}))
	insert(c, "p", "2").want(t, 201, "")
	must(t, ctl.SetPolicyDelay(ctx, 30*time.Second))
	if err := ctl.SetPolicyDelay(ctx, -time.Second); err == nil {
		t.Error("a negative delay is taken")
	}
	hot, err := ctl.Partitions(ctx)
	if err != nil || len(hot) == 0 || hot[0].PartitionKey != "p" || hot[0].Account != "home" {
		t.Errorf("hot partitions %+v, %v", hot, err)
	}
	names, err := ctl.Accounts(ctx)
	if err != nil || fmt.Sprint(names) != "[home other]" {
		t.Errorf("accounts %v, %v", names, err)
	}
}

func TestControlAnswersNobodyWithoutItsToken(t *testing.T) {
	c, _ := newControlled(t, Testing{})
	base := strings.TrimSuffix(c.endpoint, "/home/")
	for _, token := range []string{"", "wrong", controlToken + "x", c.account.EncodedKey()} {
		var refused *control.Error
		if err := control.NewClient(base, token).Reset(t.Context(), "home"); !errors.As(err, &refused) || refused.Status != 401 {
			t.Errorf("token %q: %v", token, err)
		}
	}
	c.do("GET", "Tables", "").want(t, 200, "Orders")
	for _, printed := range []string{fmt.Sprint(control.NewClient(base, controlToken)), fmt.Sprintf("%#v", control.NewClient(base, controlToken))} {
		if strings.Contains(printed, controlToken) {
			t.Errorf("the client prints its token: %s", printed)
		}
	}
}

func TestControlIsClosedUnlessAskedFor(t *testing.T) {
	c := newClient(t)
	base := strings.TrimSuffix(c.endpoint, "/devstoreaccount1/")
	for _, token := range []string{"", controlToken} {
		if _, err := control.NewClient(base, token).Accounts(t.Context()); err == nil {
			t.Errorf("token %q opens a closed control surface", token)
		}
	}
	if _, err := New(Options{InMemory: true, Testing: Testing{ControlToken: "short"}}); err == nil {
		t.Error("a short token is taken")
	}
}

func seedFile(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	must(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

func TestSeedsFillTablesThatAreNotThere(t *testing.T) {
	ndjson := seedFile(t, "a.ndjson", "\ufeff"+`{"PartitionKey":"p","RowKey":"1","n":5}`+"\n\n"+`{"PartitionKey":"p","RowKey":"2","big@odata.type":"Edm.Int64","big":"7"}`)
	csv := seedFile(t, "a.csv", "PartitionKey,RowKey,Timestamp,name,n,n@type\np,1,2020-01-01T00:00:00Z,\"a,b\",12,Edm.Int64\nq,,,,,\n")
	dir := t.TempDir()
	seeds := []Seed{{Table: "Lines", File: ndjson}, {Account: "other", Table: "Rows", File: csv}}
	open := func() (*client, *client, func()) {
		s, addr := startServer(t, Options{Dir: dir, Accounts: []Account{{Name: "home"}, {Name: "other"}}, Testing: Testing{Seeds: seeds}})
		a, b := s.Accounts()[0], s.Accounts()[1]
		return &client{t: t, account: a, endpoint: s.Endpoint(addr, a.Name)}, &client{t: t, account: b, endpoint: s.Endpoint(addr, b.Name)},
			func() { must(t, s.Close()) }
	}
	home, other, stop := open()
	home.do("GET", "Lines", "").want(t, 200, `"RowKey":"1"`).want(t, 200, `"n":5`).want(t, 200, `"big":"7"`)
	other.do("GET", "Rows(PartitionKey='p',RowKey='1')", "").want(t, 200, `"name":"a,b","n@odata.type":"Edm.Int64","n":"12"`)
	if body := other.do("GET", "Rows(PartitionKey='q',RowKey='')", "").want(t, 200, "").body; strings.Contains(body, "name") {
		t.Errorf("an empty field is a property: %s", body)
	}
	home.do("DELETE", "Lines(PartitionKey='p',RowKey='1')", "", "If-Match", "*").want(t, 204, "")
	stop()
	home, _, stop = open()
	home.do("GET", "Lines(PartitionKey='p',RowKey='1')", "").want(t, 404, "") // what was deleted does not come back
	stop()
}

func TestWrongSeedsStopTheStart(t *testing.T) {
	for name, c := range map[string]struct{ file, text, want string }{
		"not JSON":      {"a.ndjson", "{}\nx", "line 1"},
		"bad line":      {"a.ndjson", `{"PartitionKey":"p","RowKey":"1"}` + "\nx", "line 2"},
		"key twice":     {"a.jsonl", strings.Repeat(`{"PartitionKey":"p","RowKey":"1"}`+"\n", 2), "line 2"},
		"no RowKey":     {"a.csv", "PartitionKey,n\np,1\n", "no column RowKey"},
		"column twice":  {"a.csv", "PartitionKey,RowKey,n,n\n", "column 4"},
		"bad type":      {"a.csv", "PartitionKey,RowKey,n,n@type\np,1,2,Edm.Int31\n", "line 2: column n"},
		"bad value":     {"a.csv", "PartitionKey,RowKey,n,n@type\np,1,x,Edm.Int32\n", "line 2: column n"},
		"types of none": {"a.csv", "PartitionKey,RowKey,n@type\n", "not there"},
		"ragged":        {"a.csv", "PartitionKey,RowKey\np\n", "line 2"},
		"empty CSV":     {"a.csv", "", "line 1"},
		"forbidden key": {"a.csv", "PartitionKey,RowKey\na/b,1\n", "line 2"},
	} {
		path := seedFile(t, c.file, c.text)
		s, err := New(Options{InMemory: true, Testing: Testing{Seeds: []Seed{{Table: "T00", File: path}}}})
		if err == nil {
			t.Errorf("%s: taken", name)
			must(t, s.Close())
		} else if !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for text, want := range map[string]string{"Orders": "TABLE=FILE", "Orders=": "TABLE=FILE", "/Orders=a.csv": "TABLE=FILE",
		"a/9=a.csv": "table", "Orders=a.txt": ".ndjson"} {
		if _, err := ParseSeed(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", text, err)
		}
	}
}

var _ http.Handler = (*controller)(nil)
