package main

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// block is a fenced block of a guide: what its reader types, or what they see.
var block = regexp.MustCompile("(?ms)^```(sh|text)\n(.*?)^```$")

// The guide is run as it stands, in one shell in an empty folder; only its port is another, which may be taken here.
func TestTheGuideOfTheServerWorksAsWritten(t *testing.T) {
	if _, err := exec.LookPath("curl"); err != nil {
		t.Skip("no curl on PATH, which the guide uses")
	}
	guide, err := os.ReadFile(filepath.Join("..", "..", "templates", "guides", "local-server.md.tmpl"))
	if err != nil {
		t.Fatal(err)
	}
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := free.Addr().String()
	if err := free.Close(); err != nil {
		t.Fatal(err)
	}
	text := strings.ReplaceAll(string(guide), "127.0.0.1:10002", address)
	script := "set -euo pipefail\ntrap 'kill $(jobs -p) 2>/dev/null || true' EXIT\n" +
		"tableserver() { " + asServer + "=1 exec '" + os.Args[0] + "' --listen " + address + " \"$@\"; }\n"
	var want []string
	for _, m := range block.FindAllStringSubmatch(text, -1) {
		if m[1] == "sh" {
			script += m[2]
		} else {
			want = append(want, strings.Split(strings.TrimSuffix(m[2], "\n"), "\n")...)
		}
	}
	cmd := exec.CommandContext(t.Context(), "bash", "-c", script)
	cmd.Dir = t.TempDir()
	cmd.WaitDelay = 10 * time.Second
	var stdout, stderr strings.Builder
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		t.Fatalf("the guide stopped with %v:\n%s%s", err, stdout.String(), stderr.String())
	}
	rest := strings.Split(stdout.String(), "\n")
	for _, line := range want { // in this order
		found := false
		for len(rest) > 0 && !found {
			found, rest = rest[0] == line, rest[1:]
		}
		if !found {
			t.Fatalf("the guide did not print %q where it says so:\n%s", line, stdout.String())
		}
	}
	if len(want) == 0 {
		t.Error("the guide shows no output")
	}
}
