package main

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/data/aztables"

	"github.com/aztenancy/terraform-provider-aztenancy/internal/tableserver"
	"github.com/aztenancy/terraform-provider-aztenancy/internal/tableserver/control"
)

func listTables(t *testing.T, endpoint, account, key string) error {
	t.Helper()
	credential, err := aztables.NewSharedKeyCredential(account, key)
	if err != nil {
		t.Fatal(err)
	}
	client, err := aztables.NewServiceClientWithSharedKey(endpoint+account, credential, nil)
	if err != nil {
		t.Fatal(err)
	}
	_, err = client.NewListTablesPager(nil).NextPage(t.Context())
	return err
}

func TestAzuritesFlagsAndAccountsAreUnderstood(t *testing.T) {
	key := func(text string) string { return base64.StdEncoding.EncodeToString([]byte(text)) }
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, azuriteData), []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	// README of Azurite: AZURITE_ACCOUNTS="account1:key1:key2;account2:key1:key2"
	t.Setenv(azuriteAccounts, "one:"+key("a")+":"+key("b")+";two:"+key("c")+";")
	debug := filepath.Join(t.TempDir(), "debug.log")
	p := startCommand(t, 2, "--tableHost", "127.0.0.1", "--tablePort", "0", "--location", dir, "--silent", "--debug", debug, "--loose",
		"--skipApiVersionCheck", "--disableProductStyleUrl", "--disableTelemetry")
	for _, good := range [][2]string{{"one", "a"}, {"one", "b"}, {"two", "c"}} {
		if err := listTables(t, p.endpoint, good[0], key(good[1])); err != nil {
			t.Errorf("account %s, key %s: %v", good[0], good[1], err)
		}
	}
	for _, bad := range [][2]string{{"one", "c"}, {"two", "b"}, {"two", ""}} {
		if err := listTables(t, p.endpoint, bad[0], key(bad[1])); err == nil {
			t.Errorf("account %s takes the key %q", bad[0], bad[1])
		}
	}
	r, err := http.NewRequest(http.MethodGet, p.endpoint+"readyz", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Host = "one.table.localhost" // with --disableProductStyleUrl the host names no account
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	if err := resp.Body.Close(); err != nil || resp.StatusCode != http.StatusOK {
		t.Errorf("readyz: %d", resp.StatusCode)
	}
	if code := p.stop(t, syscall.SIGTERM); code != exitStopped {
		t.Errorf("ended with %d: %s", code, p.stderr)
	}
	text, err := os.ReadFile(debug)
	if err != nil || !strings.Contains(string(text), azuriteData) {
		t.Errorf("no word about Azurite's data: %v %s", err, text)
	}
}

func TestAzuritesFlagsThatCannotBeHonouredAreRefused(t *testing.T) {
	for _, args := range [][]string{
		{"--pwd", "secret"}, {"--oauth", "basic"}, {"--blobPort", "1"}, {"--blobHost", "x"}, {"--queuePort", "1"}, {"--queueHost", "x"},
		{"--extentMemoryLimit", "1"}, {"--tableKeepAliveTimeout", "5"},
		{"--tablePort", "1", "--listen", "127.0.0.1:2"}, {"--silent", "--access-log", "-"}, {"--location", "a", "--inMemoryPersistence"},
	} {
		cmd, stderr := command(t.Context(), append([]string{"--in-memory"}, args...)...)
		_ = cmd.Run()
		if cmd.ProcessState.ExitCode() != exitUsage || !strings.Contains(stderr.String(), "--") || strings.Contains(stderr.String(), "secret") {
			t.Errorf("%v: %d %s", args, cmd.ProcessState.ExitCode(), stderr)
		}
	}
}

func TestWrongAzuriteAccountsAreRefusedWithoutTheirKeys(t *testing.T) {
	const secret = "c2VjcmV0IGtleQ=="
	for text, want := range map[string]string{
		"one": "NAME:KEY1", "one:": "key 1 of account 1", "one:" + secret + ":%%": "key 2 of account 1", "one:" + secret + ";one:" + secret: "twice",
		"One:" + secret: "lower-case", "one:" + secret + ":" + secret + ":" + secret: "NAME:KEY1",
	} {
		if _, err := parseAzuriteAccounts(text); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), secret) {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func TestAnyAccountIsAnsweredWithThePublishedKeyAlone(t *testing.T) {
	p := start(t, 2, "--in-memory", "--any-account", "--account", "own:c2VjcmV0", "--account", tableserver.DevAccount)
	for _, name := range []string{"whatever1", "another2"} {
		if err := listTables(t, p.endpoint, name, tableserver.DevKey); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if err := listTables(t, p.endpoint, name, "c2VjcmV0"); err == nil {
			t.Errorf("%s takes another key", name)
		}
	}
	if err := listTables(t, p.endpoint, "own", tableserver.DevKey); err == nil {
		t.Error("an account with a key of its own takes the published one")
	}
	if err := listTables(t, p.endpoint, "Not-a-name", tableserver.DevKey); err == nil {
		t.Error("a name that no account can have is answered")
	}
	p.stop(t, syscall.SIGTERM)
}

func TestControlSurfaceAndSeedsByFlagsAndNoSecretInTheOutput(t *testing.T) {
	const token = "token-of-this-test"
	dir := t.TempDir()
	file, seed, log := filepath.Join(dir, "token"), filepath.Join(dir, "seed.csv"), filepath.Join(dir, "access.log")
	for name, text := range map[string]string{file: token + "\n", seed: "PartitionKey,RowKey,name\np,r,x\n"} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	p := start(t, 1, "--in-memory", "--control-token-file", file, "--seed", "Load="+seed, "--access-log", log, "--access-log-fields", "azure",
		"--metrics", "--print-connection-strings", "--fault", "operation=QueryTables,status=503,count=1")
	ctl := control.NewClient(p.endpoint, token)
	var snapshot bytes.Buffer
	if err := ctl.Snapshot(t.Context(), tableserver.DevAccount, &snapshot); err != nil || !strings.Contains(snapshot.String(), `"name":"x"`) {
		t.Errorf("snapshot %v: %s", err, snapshot.String())
	}
	reports, err := ctl.Faults(t.Context())
	if err != nil || fmt.Sprint(reports) != "[{operation=QueryTables,status=503,count=1 0 0}]" {
		t.Errorf("faults %v, %v", reports, err)
	}
	if _, err := p.table(t, tableserver.DevAccount).GetEntity(t.Context(), "p", "r", nil); err != nil {
		t.Error(err)
	}
	p.stop(t, syscall.SIGTERM)
	text, err := os.ReadFile(log)
	if err != nil || !strings.Contains(string(text), `"OperationName":"QueryEntity"`) {
		t.Errorf("access log: %v %s", err, text)
	}
	for _, secret := range []string{token, tableserver.DevKey} {
		if strings.Contains(string(text)+p.stderr.String(), secret) {
			t.Errorf("%q is in a log", secret)
		}
	}
}
