package main

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// target is a server under test: a process on a folder of its own.
type target struct {
	name    string
	address string
	args    []string // the command line, complete
	cmd     *exec.Cmd
}

// targets returns tableserver, Azurite and the bare limit, each on a folder below dir.
func targets(o options, dir string) ([]*target, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	out := []*target{{name: ours}, {name: azurite}, {name: limit}}
	for _, t := range out {
		if t.address, err = freeAddress(); err != nil {
			return nil, err
		}
		_, port, err := net.SplitHostPort(t.address)
		if err != nil {
			return nil, err
		}
		data := filepath.Join(dir, strings.ReplaceAll(t.name, " ", "-"))
		switch t.name {
		case ours:
			t.args = []string{o.server, "--listen", t.address, "--data", data}
		case azurite:
			t.args = []string{"node", o.azurite, "--location", data, "--tableHost", "127.0.0.1", "--tablePort", port,
				"--skipApiVersionCheck", "--disableTelemetry", "--silent"}
		case limit:
			t.args = []string{self, "--bare", data, "--listen", t.address}
		}
	}
	return out, nil
}

const (
	ours    = "tableserver"
	azurite = "Azurite"
	limit   = "bare limit"
)

func freeAddress() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return l.Addr().String(), l.Close()
}

// start runs the process and returns the seconds until probe, a GET below the account, was answered.
func (t *target) start(ctx context.Context, probe string) (float64, error) {
	began := time.Now()
	t.cmd = exec.CommandContext(ctx, t.args[0], t.args[1:]...)
	t.cmd.Stderr = os.Stderr
	if err := t.cmd.Start(); err != nil {
		return 0, fmt.Errorf("start %s: %w", t.name, err)
	}
	var last error
	for time.Since(began) < 2*time.Minute && ctx.Err() == nil {
		c, err := dial(t.address)
		if err == nil {
			_, _, err = c.do("GET", probe, "", nil, 200)
			c.close()
		}
		if err == nil {
			return time.Since(began).Seconds(), nil
		}
		last = err
		time.Sleep(2 * time.Millisecond)
	}
	t.stop()
	return 0, fmt.Errorf("%s does not answer: %w", t.name, last)
}

// stop ends the process as an operator would, and waits for it.
func (t *target) stop() {
	if t.cmd == nil {
		return
	}
	_ = t.cmd.Process.Signal(os.Interrupt) // gone already, or told
	_ = t.cmd.Wait()
	t.cmd = nil
}

// resident returns the process's resident memory and its highest, in MiB.
func (t *target) resident() (now, peak float64, err error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", t.cmd.Process.Pid))
	if err != nil {
		return 0, 0, err
	}
	for line := range strings.Lines(string(text)) {
		fields := strings.Fields(line)
		for name, to := range map[string]*float64{"VmRSS:": &now, "VmHWM:": &peak} {
			if fields[0] == name {
				kib, err := strconv.ParseFloat(fields[1], 64)
				if err != nil {
					return 0, 0, err
				}
				*to = kib / 1024
			}
		}
	}
	return now, peak, nil
}

// prepare makes the tables.
func (t *target) prepare() error {
	c, err := dial(t.address)
	if err != nil {
		return err
	}
	defer c.close()
	for _, table := range []string{"Load", "One"} {
		if _, _, err := c.do("POST", "Tables", "application/json", []byte(`{"TableName":"`+table+`"}`), 204); err != nil {
			return err
		}
	}
	return nil
}
